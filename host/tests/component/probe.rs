//! Libraries that end, block or abuse the process that loads them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nri_host::component::inspect::{inspect, inspect_bytes};
use nri_host::component::load::{Libraries, LoadError, Probe, ProbeError};

use crate::fixture::{Workshop, sound};

const HEADERS: &str = "#include <fcntl.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
                       #include <signal.h>\n#include <string.h>\n";

/// A component with this code in a constructor.
fn component(workshop: &Workshop, constructor: &str) -> PathBuf {
    let code = format!(
        "{HEADERS}__attribute__((constructor)) static void constructor(void) {{ {constructor} }}"
    );
    workshop.component_with("a.so", &code, &[])
}

fn probe() -> Probe {
    Probe::new(env!("CARGO_BIN_EXE_nri-host").into())
}

/// What a process of its own makes of the library.
fn tried_out(workshop: &Workshop, library: &Path) -> Result<(), LoadError> {
    let inspected = inspect(library).expect("it is fit to be loaded");
    Libraries::new(workshop.path("state"), probe()).probe(&inspected)
}

/// Why a component with this code in a constructor is not loaded.
fn refusal(constructor: &str) -> String {
    let workshop = Workshop::new();
    let library = component(&workshop, constructor);
    match tried_out(&workshop, &library) {
        Err(LoadError::Probe(error @ ProbeError::Died { .. })) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_constructor_that_ends_its_process_is_told_by_how_it_did() {
    for (constructor, expected) in [
        (
            "*(volatile int *)1 = 1;",
            "was killed by SIGSEGV in its constructors",
        ),
        ("abort();", "was killed by SIGABRT in its constructors"),
        ("exit(3);", "exited with status 3 in its constructors"),
        (
            "char score[9]; FILE *f = fopen(\"/proc/self/oom_score_adj\", \"r\");\
             fputs(fgets(score, 9, f), stderr); exit(4);",
            "exited with status 4 in its constructors, saying \"1000\"",
        ),
        ("exit(0);", "exited with status 0 in its constructors"),
        (
            "raise(SIGKILL);",
            "was killed by SIGKILL in its constructors",
        ),
        (
            "fputs(\"no licence\\nfound\\n\", stderr); _exit(1);",
            "exited with status 1 in its constructors, saying \"no licence\\nfound\"",
        ),
    ] {
        let reason = refusal(constructor);
        assert!(reason.starts_with(expected), "{constructor}: {reason}");
    }
}

#[test]
fn a_constructor_that_does_not_return_is_given_up() {
    let expected = "did not come back within 5s in its constructors";
    let closes_everything = "for (int fd = 0; fd < 1024; fd++) close(fd); for (;;) pause();";
    let prints_without_end = "for (;;) puts(\"and on, and on, and on\");";
    thread::scope(|scope| {
        for constructor in [
            "for (;;) pause();",
            "for (;;) {}",
            closes_everything,
            prints_without_end,
        ] {
            scope.spawn(move || {
                let reason = refusal(constructor);
                assert!(reason.starts_with(expected), "{constructor}: {reason}");
                assert!(reason.len() < 4096, "{constructor}: {reason}");
            });
        }
    });
}

#[test]
fn a_resolver_of_a_function_that_crashes_is_found() {
    let workshop = Workshop::new();
    let code = "static int chosen(void) { return 0; }\n\
                static void *resolve(void) { return *(volatile int *)1 ? 0 : (void *)chosen; }\n\
                __attribute__((ifunc(\"resolve\"))) static int choice(void);\n\
                __attribute__((used)) static int call(void) { return choice(); }";
    let library = workshop.component_with("a.so", code, &[]);
    match tried_out(&workshop, &library) {
        Err(LoadError::Probe(error @ ProbeError::Died { .. })) => {
            assert!(error.to_string().contains("SIGSEGV"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_constructor_finds_nothing_of_the_process_that_it_is_kept_from() {
    // Components open files for every child to inherit: libraries in C do.
    let inheritable = File::open("/dev/null").unwrap();
    fcntl(&inheritable, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
    let reason = refusal(
        "extern char **environ; int fds = 0, variables = 0;\n\
         for (int fd = 0; fd < 1024; fd++) fds += fcntl(fd, F_GETFD) != -1;\n\
         for (char **v = environ; *v; v++) variables += strncmp(*v, \"LD_\", 3) != 0;\n\
         fprintf(stderr, \"%d %d\", fds, variables); _exit(1);",
    );
    // Its three streams, its own file and the way to report.
    assert!(reason.contains("\"5 0\""), "{reason}");
}

#[test]
fn what_a_constructor_has_started_ends_with_it() {
    let workshop = Workshop::new();
    let pid_file = workshop.path("pid");
    let constructor = format!(
        "if (fork() == 0) for (;;) pause();\n\
         FILE *f = fopen(\"{}\", \"w\"); fprintf(f, \"%d\", getpid()); fclose(f);",
        pid_file.display()
    );
    let library = component(&workshop, &constructor);
    tried_out(&workshop, &library).expect("it returned");
    let group: i32 = fs::read_to_string(pid_file).unwrap().parse().unwrap();
    let living: Vec<String> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok())
        .filter(|stat| {
            // Behind the name: state, parent and process group.
            let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 2..].split(' ').collect();
            fields[2] == group.to_string() && fields[0] != "Z" && fields[0] != "X"
        })
        .collect();
    assert!(living.is_empty(), "{living:?}");
}

/// The processes in which a constructor that counts has run.
fn runs(counter: &Path) -> Vec<u32> {
    let text = fs::read_to_string(counter).unwrap_or_default();
    let pid = |line: &str| line.parse().expect("a process wrote its number");
    text.lines().map(pid).collect()
}

fn counting(workshop: &Workshop, name: &str, args: &[&str]) -> PathBuf {
    let code = format!(
        "{HEADERS}__attribute__((constructor)) static void count(void) {{\n\
         FILE *f = fopen(\"{}\", \"a\"); fprintf(f, \"%d\\n\", getpid()); fclose(f); }}",
        workshop.path("runs").display()
    );
    workshop.component_with(name, &code, args)
}

#[test]
fn a_file_is_tried_out_once_and_a_changed_one_again() {
    let workshop = Workshop::new();
    let state = workshop.path("state");
    let counter = workshop.path("runs");
    let us = std::process::id();
    let load = |library: &Path| {
        // As after a restart of the host.
        let libraries = Libraries::new(state.clone(), probe().remembering(&state));
        libraries.load(&inspect(library).unwrap()).unwrap();
        let runs = runs(&counter);
        fs::remove_file(&counter).unwrap();
        runs
    };
    let library = counting(&workshop, "a.so", &[]);
    let first = load(&library);
    assert_eq!((first.len(), first[1]), (2, us), "{first:?}");
    assert_ne!(first[0], us);
    // The process has this library already, so another copy of it is loaded.
    assert_eq!(load(&library), [us]);
    let changed = counting(&workshop, "a.so", &["-DVERSION=\"2\""]);
    assert_eq!(load(&changed).len(), 2);
    assert_eq!(load(&changed), [us]);
}

#[test]
fn a_file_that_needs_others_is_tried_out_each_time_since_they_can_change() {
    let workshop = Workshop::new();
    let state = workshop.path("state");
    let needed = |code: &str| workshop.compile("libvendor.so", code, &["-shared"]);
    needed("int vendor;");
    let rpath = format!("-Wl,--no-as-needed,-rpath,{}", workshop.path("").display());
    let library = workshop.component("a.so", &[&rpath, "-lvendor"]);
    let inspected = inspect(&library).unwrap();
    let tried_out = || {
        let libraries = Libraries::new(state.clone(), probe().remembering(&state));
        libraries.probe(&inspected)
    };
    tried_out().expect("nothing is wrong with either");
    needed("#include <stdlib.h>\n__attribute__((constructor)) static void fail(void) { abort(); }");
    let error = tried_out().expect_err("the other one has changed");
    assert!(error.to_string().contains("SIGABRT"), "{error}");
}

#[test]
fn components_of_one_library_try_it_out_together() {
    let workshop = Workshop::new();
    let inspected = inspect(&counting(&workshop, "a.so", &[])).unwrap();
    let libraries = Libraries::new(workshop.path("state"), probe());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| libraries.load(&inspected).unwrap());
        }
    });
    let different: BTreeSet<u32> = runs(&workshop.path("runs")).into_iter().collect();
    assert_eq!(
        (runs(&workshop.path("runs")).len(), different.len()),
        (2, 2)
    );
}

#[test]
fn a_bad_library_is_tried_out_again_and_holds_up_no_other() {
    let workshop = Workshop::new();
    let state = workshop.path("state");
    let libraries = Libraries::new(state.clone(), probe().remembering(&state));
    let counter = workshop.path("runs");
    let constructor = format!(
        "FILE *f = fopen(\"{}\", \"a\"); fprintf(f, \"%d\\n\", getpid()); fclose(f); exit(3);",
        counter.display()
    );
    let bad = inspect(&component(&workshop, &constructor)).unwrap();
    for _ in 0..2 {
        let error = libraries.load(&bad).expect_err("its constructor exits");
        assert!(error.to_string().contains("status 3"), "{error}");
    }
    assert_eq!(runs(&counter).len(), 2);

    let hanging = component(&workshop, "for (;;) pause();");
    let hanging = inspect(&hanging).unwrap();
    let good = inspect(&workshop.component("good.so", &[])).unwrap();
    thread::scope(|scope| {
        let hangs = scope.spawn(|| libraries.load(&hanging).map(drop));
        libraries.load(&good).expect("nothing is wrong with it");
        hangs.join().unwrap().expect_err("it hangs");
    });
}

/// Whoever starts the host may have told the system to forget its children.
#[test]
fn a_process_that_never_learns_how_its_children_ended_still_knows_what_did_well() {
    let workshop = Workshop::new();
    let config = |name: &str, constructor: &str| {
        let library = component(&workshop, constructor);
        let own = workshop.path(&format!("{name}.so"));
        fs::rename(library, &own).unwrap();
        format!("[[component]]\nname = \"{name}\"\nindex = 10\nlibrary = {own:?}\n")
    };
    let text = config("good", "") + &config("bad", "abort();");
    let config = workshop.file("nri-host.toml", text.as_bytes());
    let output = Command::new("env")
        .arg("--ignore-signal=CHLD")
        .arg(env!("CARGO_BIN_EXE_nri-host"))
        .args(["check", "--config"])
        .arg(config)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("OK: 10-good"), "{text}");
    assert!(text.contains("bad.so: ended in its constructors"), "{text}");
}

#[test]
fn without_a_program_to_try_it_out_a_library_is_not_loaded() {
    let workshop = Workshop::new();
    let inspected = inspect(&workshop.component("a.so", &[])).unwrap();
    let missing = Probe::new(workshop.path("no-such-program"));
    let error = Libraries::new(workshop.path("state"), missing)
        .load(&inspected)
        .expect_err("there is no program");
    assert!(
        matches!(*error, LoadError::Probe(ProbeError::Start(_))),
        "{error}"
    );
    let other = Probe::new("/bin/false".into());
    let error = Libraries::new(workshop.path("state"), other)
        .load(&inspected)
        .expect_err("it is another program");
    assert!(error.is_inconclusive(), "{error}");
}

/// A file with damage that inspection does not see may crash the dynamic loader: not this process.
#[test]
fn damaged_files_never_end_the_host() {
    const FILES: usize = 100;
    let workshop = Workshop::new();
    let mut random = fastrand::Rng::with_seed(4);
    let (mut good, mut bad) = (0, 0);
    while good + bad < FILES {
        let mut bytes = sound().to_vec();
        for _ in 0..random.usize(1..=3) {
            let at = random.usize(..bytes.len());
            // Most of what is zero is never looked at.
            if bytes[at] != 0 {
                bytes[at] = random.u8(..);
            }
        }
        if bytes == sound() || inspect_bytes(&bytes).is_err() {
            continue;
        }
        match tried_out(&workshop, &workshop.file("damaged.so", &bytes)) {
            Ok(()) => good += 1,
            Err(LoadError::Probe(ProbeError::Died { .. } | ProbeError::Refused { .. })) => bad += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(good > 0 && bad > 0, "{good} good and {bad} bad ones");
}
