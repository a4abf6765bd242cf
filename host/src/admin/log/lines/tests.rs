use tracing_subscriber::layer::SubscriberExt;

use super::*;

/// What is kept of what `log` logs.
fn kept(log: impl FnOnce()) -> LogLines {
    let lines = LogLines::default();
    let subscriber = tracing_subscriber::registry().with(lines.clone());
    tracing::subscriber::with_default(subscriber, log);
    lines
}

fn after(lines: &LogLines, component: &str, time_us: u64) -> (Vec<Arc<Line>>, bool) {
    lines.after(component, time_us, lines.newest_us())
}

fn texts(lines: &LogLines, component: &str) -> Vec<String> {
    let (lines, _) = after(lines, component, 0);
    lines.iter().map(|line| line.text.clone()).collect()
}

#[test]
fn what_names_a_component_is_kept_with_its_fields_and_nothing_else() {
    let lines = kept(|| {
        tracing::info!("started");
        let component = "10-gpu";
        tracing::warn!(
            component,
            method = "CreateContainer",
            ignored = true,
            n = 7,
            "call failed"
        );
        tracing::error!(component, error = %"no");
        tracing::info!(component = "20-nic", "active");
    });
    assert_eq!(lines.components(), ["10-gpu", "20-nic"]);
    let (gpu, left_out) = after(&lines, "10-gpu", 0);
    let said: Vec<_> = gpu
        .iter()
        .map(|line| (&*line.component, &*line.level, line.text.as_str()))
        .collect();
    let failed = "call failed method=\"CreateContainer\" ignored=true n=7";
    assert_eq!(
        said,
        [("10-gpu", "warn", failed), ("10-gpu", "error", "error=no")]
    );
    assert!(!left_out);
    assert_eq!(texts(&lines, "20-nic"), ["active"]);
    assert_eq!(texts(&lines, "30-fpga"), [""; 0]);
}

#[test]
fn the_last_lines_are_kept_of_each_component_for_itself() {
    let lines = kept(|| {
        tracing::info!(component = "20-nic", "active");
        for number in 0..MAX_LINES + 3 {
            tracing::info!(component = "10-gpu", "{number}");
        }
    });
    let (gpu, left_out) = after(&lines, "10-gpu", 0);
    assert_eq!(gpu.len(), MAX_LINES);
    assert_eq!((gpu[0].text.as_str(), left_out), ("3", true));
    assert_eq!(texts(&lines, "20-nic"), ["active"]);
}

#[test]
fn long_lines_are_cut_and_make_all_others_way_that_do_not_fit_beside_them() {
    let long = format!("x{}", "é".repeat(MAX_LINE));
    let lines = kept(|| {
        for _ in 0..2 * MAX_BYTES / MAX_LINE {
            tracing::info!(component = "10-gpu", "{long}");
        }
    });
    let texts = texts(&lines, "10-gpu");
    assert_eq!(texts.len(), MAX_BYTES / MAX_LINE);
    assert!(texts.iter().all(|text| text.len() == MAX_LINE - 1));
}

#[test]
fn what_comes_after_a_line_is_found_by_its_time_and_a_gap_is_told() {
    let lines = kept(|| {
        for number in 0..MAX_LINES {
            tracing::info!(component = "10-gpu", "{number}");
        }
    });
    let (all, _) = after(&lines, "10-gpu", 0);
    let seen = all[MAX_LINES - 2].time_us;
    let (new, gap) = after(&lines, "10-gpu", seen);
    assert_eq!((new.len(), new[0].text.as_str(), gap), (1, "199", false));
    assert_eq!(after(&lines, "10-gpu", new[0].time_us), (Vec::new(), false));
    // What follows a line that has made way.
    let log_more = tracing_subscriber::registry().with(lines.clone());
    tracing::subscriber::with_default(log_more, || {
        for _ in 0..MAX_LINES {
            tracing::info!(component = "10-gpu", "more");
        }
    });
    let (new, gap) = after(&lines, "10-gpu", seen);
    assert_eq!((new.len(), gap), (MAX_LINES, true));
    // A time that has not been is of another host, on a clock that was ahead.
    let (all, _) = after(&lines, "10-gpu", u64::MAX);
    assert_eq!(all.len(), MAX_LINES);
}

#[test]
fn lines_of_all_components_have_an_order() {
    let lines = kept(|| {
        for number in 0..100 {
            tracing::info!(component = ["10-gpu", "20-nic"][number % 2], "{number}");
        }
    });
    let mut all: Vec<_> = ["10-gpu", "20-nic"]
        .into_iter()
        .flat_map(|component| after(&lines, component, 0).0)
        .collect();
    all.sort_by_key(|line| line.time_us);
    let texts: Vec<_> = all.iter().map(|line| line.text.parse::<u32>()).collect();
    assert!(texts.into_iter().eq((0..100).map(Ok)));
}

#[test]
fn of_too_many_components_the_most_silent_makes_way() {
    let lines = kept(|| {
        for number in 0..=MAX_COMPONENTS {
            tracing::info!(component = format!("{number:02}-gpu"), "active");
            tracing::info!(component = "00-gpu", "still here");
        }
    });
    assert_eq!(lines.components().len(), MAX_COMPONENTS);
    assert!(!texts(&lines, "00-gpu").is_empty());
    assert!(texts(&lines, "01-gpu").is_empty());
    assert!(!texts(&lines, "64-gpu").is_empty());
}

#[test]
fn threads_that_log_at_once_and_one_that_reads_get_each_line_once_and_in_order() {
    const THREADS: usize = 4;
    const EACH: usize = MAX_LINES / THREADS;
    let lines = LogLines::default();
    let dispatch = tracing::Dispatch::new(tracing_subscriber::registry().with(lines.clone()));
    let log = |thread| {
        tracing::dispatcher::with_default(&dispatch, || {
            for number in 0..EACH {
                tracing::info!(component = "10-gpu", "{thread}/{number}");
            }
        });
    };
    let mut read: Vec<Arc<Line>> = Vec::new();
    let mut read_on = || {
        let newest_us = read.last().map_or(0, |line| line.time_us);
        read.extend(after(&lines, "10-gpu", newest_us).0);
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn({
                    let log = &log;
                    move || log(thread)
                })
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            read_on();
        }
        read_on();
    });
    assert!(read.is_sorted_by(|a, b| a.time_us < b.time_us));
    for thread in 0..THREADS {
        let prefix = format!("{thread}/");
        let numbers = read
            .iter()
            .filter_map(|line| line.text.strip_prefix(&prefix));
        assert!(numbers.eq((0..EACH).map(|number| number.to_string())));
    }
}
