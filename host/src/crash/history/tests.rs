use std::fs;
use std::io::Write as _;

use super::*;

const NOW: u64 = 1_800_000_000;
const RULE: QuarantineConfig = QuarantineConfig {
    failures: 3,
    window: Duration::from_secs(600),
};

fn crash(component: &str, time: u64) -> Crash {
    Crash {
        time,
        component: component.to_owned(),
        fingerprint: "f".to_owned(),
        step: "CreateContainer".to_owned(),
        pod: "web-0".to_owned(),
        cause: "SIGSEGV".to_owned(),
        ..Crash::default()
    }
}

fn of(component: &str, times: &[u64]) -> History {
    History {
        folder: None,
        crashes: times.iter().map(|time| crash(component, *time)).collect(),
        unstored: None,
    }
}

fn time(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn left(history: &History, rule: QuarantineConfig, now: u64) -> Option<u64> {
    let kept_out = history.kept_out("10-gpu", "f", rule, time(now))?;
    Some(kept_out.time.as_secs())
}

fn append(file: &mut File, crash: &Crash) {
    let line = serde_json::to_string(crash).unwrap();
    writeln!(file, "{line}").unwrap();
}

#[test]
fn so_many_crashes_within_the_window_keep_a_component_out_for_ten_minutes() {
    let history = of("10-gpu", &[NOW - 400, NOW - 200, NOW]);
    assert_eq!(left(&history, RULE, NOW), Some(600));
    assert_eq!(left(&history, RULE, NOW + 599), Some(1));
    assert_eq!(left(&history, RULE, NOW + 600), None);
    let kept_out = history.kept_out("10-gpu", "f", RULE, time(NOW)).unwrap();
    assert_eq!((kept_out.crashes, kept_out.last.time), (3, NOW));
    let scattered = of("10-gpu", &[NOW - 1400, NOW - 700, NOW]);
    assert_eq!(left(&scattered, RULE, NOW), None);
}

#[test]
fn what_others_did_or_what_was_done_as_another_does_not_count() {
    let history = of("10-gpu", &[NOW, NOW, NOW]);
    let now = time(NOW);
    assert!(history.kept_out("10-gpu", "f", RULE, now).is_some());
    assert!(history.kept_out("10-gpu", "other", RULE, now).is_none());
    assert!(history.kept_out("20-gpu", "f", RULE, now).is_none());
    let never = QuarantineConfig {
        failures: 0,
        ..RULE
    };
    assert!(history.kept_out("10-gpu", "f", never, now).is_none());
}

#[test]
fn each_time_lasts_twice_as_long_until_a_day_without_one() {
    let once = QuarantineConfig {
        failures: 1,
        ..RULE
    };
    let day = 24 * 3600;
    let times = [NOW, NOW + 600, NOW + 600 + 1200];
    assert_eq!(left(&of("10-gpu", &times[..2]), once, times[1]), Some(1200));
    assert_eq!(left(&of("10-gpu", &times), once, times[2]), Some(2400));
    let after_long = [NOW, NOW + 600, NOW + 600 + 1200 + day];
    assert_eq!(
        left(&of("10-gpu", &after_long), once, after_long[2]),
        Some(600)
    );
}

#[test]
fn a_clock_that_was_wrong_keeps_nobody_out_for_long() {
    let history = of("10-gpu", &[0, u64::MAX, u64::MAX, u64::MAX]);
    assert_eq!(left(&history, RULE, NOW), Some(600));
    assert_eq!(left(&of("10-gpu", &[NOW, NOW, NOW]), RULE, 0), Some(600));
}

#[test]
fn what_a_dying_process_wrote_is_news_once_and_counted_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("not/there/yet");
    let mut first = History::open(&state).unwrap();
    assert!(first.news.is_empty());
    append(&mut first.record, &crash("10-gpu", NOW));
    append(&mut first.record, &crash("", NOW));
    let second = History::open(&state).unwrap();
    assert_eq!(second.news, [crash("10-gpu", NOW), crash("", NOW)]);
    assert!(second.unsaved.is_none() && !second.damaged);
    let third = History::open(&state).unwrap();
    assert!(third.news.is_empty());
    assert_eq!(third.history.crashes, [crash("10-gpu", NOW)]);
    assert!(third.history.knows("10-gpu") && !third.history.knows(""));
}

#[test]
fn what_cannot_be_stored_counts_now_and_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = History::open(folder.path()).unwrap();
    append(&mut first.record, &crash("10-gpu", NOW));
    let obstacle = folder.path().join(ALL).with_extension("new");
    fs::create_dir(&obstacle).unwrap();
    for _ in 0..2 {
        let opened = History::open(folder.path()).unwrap();
        assert_eq!(opened.news.len(), 1);
        assert!(opened.history.knows("10-gpu"));
        let error = crate::chain(&opened.unsaved.unwrap());
        assert!(error.contains(ALL), "{error}");
    }
    fs::remove_dir(&obstacle).unwrap();
    assert!(History::open(folder.path()).unwrap().unsaved.is_none());
    assert!(History::open(folder.path()).unwrap().news.is_empty());
}

#[test]
fn what_could_be_stored_only_later_is_counted_once_and_can_be_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = History::open(folder.path()).unwrap();
    append(&mut first.record, &crash("10-gpu", NOW));
    let obstacle = folder.path().join(ALL).with_extension("new");
    fs::create_dir(&obstacle).unwrap();
    let mut second = History::open(folder.path()).unwrap();
    assert!(second.unsaved.is_some());
    fs::remove_dir(&obstacle).unwrap();
    second.history.add(crash("20-cdi", NOW)).unwrap();
    let third = History::open(folder.path()).unwrap();
    assert!(third.news.is_empty());
    assert_eq!(third.history.crashes.len(), 2);

    append(&mut second.record, &crash("10-gpu", NOW + 1));
    fs::create_dir(&obstacle).unwrap();
    let mut fourth = History::open(folder.path()).unwrap().history;
    fs::remove_dir(&obstacle).unwrap();
    assert!(fourth.forget("10-gpu").unwrap());
    assert!(
        !History::open(folder.path())
            .unwrap()
            .history
            .knows("10-gpu")
    );
}

#[test]
fn without_a_folder_nothing_is_remembered_and_that_is_said() {
    let mut history = History::default();
    let error = history.add(crash("10-gpu", NOW)).unwrap_err();
    assert!(matches!(error, HistoryError::NoFolder));
    assert!(history.knows("10-gpu"), "this process knows it");
    assert!(history.forget("10-gpu").unwrap());
}

#[test]
fn crashes_are_added_and_forgotten_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let mut history = History::open(folder.path()).unwrap().history;
    history.add(crash("10-gpu", NOW)).unwrap();
    history.add(crash("20-cdi", NOW)).unwrap();
    let mut again = History::open(folder.path()).unwrap().history;
    assert!(again.knows("10-gpu") && again.knows("20-cdi"));
    again.forget("10-gpu").unwrap();
    again.forget("10-gpu").unwrap();
    let again = History::open(folder.path()).unwrap().history;
    assert!(!again.knows("10-gpu") && again.knows("20-cdi"));
}

#[test]
fn only_the_newest_crashes_of_so_many_components_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut history = History::open(folder.path()).unwrap().history;
    for number in 0..250 {
        history.add(crash("10-gpu", number)).unwrap();
    }
    assert_eq!(history.crashes.len(), MAX_KEPT);
    assert_eq!(history.crashes[0].time, 150);
    for number in 0..150 {
        history.add(crash(&format!("{number}-gpu"), NOW)).unwrap();
    }
    assert_eq!(history.crashes.len(), MAX_COMPONENTS);
    assert!(!history.knows("10-gpu") && history.knows("149-gpu"));
}

#[test]
fn lines_that_are_no_records_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut good = serde_json::to_vec(&crash("10-gpu", NOW)).unwrap();
    good.push(b'\n');
    let bad: [&[u8]; 5] = [
        b"{}\n",
        b"[1]\n",
        b"\xff\xfe\0\n",
        b"{\"time\":-1}\n",
        b"{\"ti",
    ];
    let text = [&bad[..1], &[&good[..]], &bad[1..]].concat().concat();
    for file in [LAST, ALL] {
        fs::write(folder.path().join(file), &text).unwrap();
        let opened = History::open(folder.path()).unwrap();
        assert!(opened.damaged);
        assert_eq!(opened.history.crashes.last(), Some(&crash("10-gpu", NOW)));
        assert!(!History::open(folder.path()).unwrap().damaged);
    }
}
