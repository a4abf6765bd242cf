//! What a process has in use, from `/proc`.

use std::fs;

use anyhow::{Context, Result};

/// Descriptors, threads and memory of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resources {
    /// Open descriptors.
    pub descriptors: usize,
    /// Names of the threads, sorted.
    pub threads: Vec<String>,
    /// Resident memory, in KiB.
    pub rss_kib: u64,
    /// Resident memory with shared pages divided by those who share them, in KiB.
    pub pss_kib: u64,
    /// Memory that is no part of a file, in KiB: what the process itself has allocated. Unlike the
    /// others it does not depend on what else runs.
    pub anonymous_kib: u64,
}

/// Counts what a process has.
///
/// # Errors
///
/// When there is no such process.
pub fn resources(pid: u32) -> Result<Resources> {
    let folder = format!("/proc/{pid}");
    let count = fs::read_dir(format!("{folder}/fd"))
        .with_context(|| format!("process {pid} is gone"))?
        .count();
    let mut threads = Vec::new();
    for task in fs::read_dir(format!("{folder}/task"))? {
        // A thread may end while they are listed.
        if let Ok(name) = fs::read_to_string(task?.path().join("comm")) {
            threads.push(name.trim_end().to_owned());
        }
    }
    threads.sort();
    let memory = fs::read_to_string(format!("{folder}/smaps_rollup"))?;
    let kib = |key: &str| -> Result<u64> {
        let line = memory.lines().find_map(|line| line.strip_prefix(key));
        let line = line.with_context(|| format!("no {key} in smaps_rollup"))?;
        Ok(line.trim_end_matches("kB").trim().parse()?)
    };
    Ok(Resources {
        descriptors: count,
        threads,
        rss_kib: kib("Rss:")?,
        pss_kib: kib("Pss:")?,
        anonymous_kib: kib("Anonymous:")?,
    })
}

/// How often the threads of a process have left the processor so far, of their own accord or not.
///
/// # Errors
///
/// When there is no such process.
pub fn context_switches(pid: u32) -> Result<u64> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .with_context(|| format!("process {pid} is gone"))?;
    let mut switches = 0;
    for task in tasks {
        // A thread may end while they are listed.
        let status = fs::read_to_string(task?.path().join("status")).unwrap_or_default();
        let counts = status
            .lines()
            .filter_map(|line| line.split_once("ctxt_switches:"))
            .filter_map(|(_, count)| count.trim().parse::<u64>().ok());
        switches += counts.sum::<u64>();
    }
    Ok(switches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_is_counted() {
        let before = resources(std::process::id()).unwrap();
        assert!(before.descriptors > 0 && before.pss_kib > 0);
        assert!(before.rss_kib >= before.pss_kib && before.rss_kib >= before.anonymous_kib);
        assert!(before.anonymous_kib > 0);
        assert!(!before.threads.is_empty());
        let switches = context_switches(std::process::id()).unwrap();
        std::thread::yield_now();
        assert!(context_switches(std::process::id()).unwrap() >= switches);
    }
}
