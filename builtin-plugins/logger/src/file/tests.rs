use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{FileSink, OpenError, Rotation};
use crate::sink::Sink;

/// A folder, and where the file in it is.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("events");
    (folder, path)
}

fn open(path: &Path, bytes: u64, keep: u32) -> FileSink {
    FileSink::open(path, Some(Rotation { bytes, keep })).expect("the folder is there")
}

/// Writes records, and each at once.
fn write(sink: &mut FileSink, records: &[&str]) {
    for record in records {
        sink.write(record.as_bytes());
        sink.flush();
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| format!("{error}"))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn records_are_appended_to_a_file_that_not_everybody_reads() {
    let (_folder, path) = folder();
    for record in ["a", "b"] {
        write(&mut FileSink::open(&path, None).unwrap(), &[record]);
    }
    assert_eq!(read(&path), "a\nb\n");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o137, 0, "{mode:o}");
}

#[test]
fn a_device_that_is_full_loses_records_and_the_sink_goes_on() {
    let (_folder, path) = folder();
    let mut sink = FileSink::open(&path, None).unwrap();
    let full = fs::OpenOptions::new().append(true).open("/dev/full");
    let good = std::mem::replace(&mut sink.opened.file, full.unwrap());
    write(&mut sink, &["a", "b"]);
    assert_eq!((sink.lost(), sink.problems().len()), (2, 1));
    sink.opened.file = good;
    write(&mut sink, &["c"]);
    assert_eq!((sink.lost(), sink.problems().len()), (2, 0));
    assert_eq!(read(&path), "c\n");
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let (folder, path) = folder();
    let refused = |path: &Path| FileSink::open(path, None).unwrap_err();
    let relative = refused(Path::new("events"));
    assert!(matches!(relative, OpenError::Relative(_)));
    assert!(matches!(refused(folder.path()), OpenError::Open { .. }));
    let device = refused(Path::new("/dev/null"));
    assert!(matches!(device, OpenError::NotRegular(_)));
    let absent = refused(&path.join("below"));
    assert!(matches!(absent, OpenError::Open { .. }));
}

#[test]
fn a_full_file_gives_its_place_and_the_oldest_goes() {
    let (folder, path) = folder();
    let mut sink = open(&path, 8, 2);
    write(
        &mut sink,
        &["one", "two", "three", "four", "5", "6", "seven"],
    );
    assert_eq!(names(folder.path()), ["events", "events.1", "events.2"]);
    assert_eq!(read(&path), "6\nseven\n");
    assert_eq!(read(&folder.path().join("events.1")), "four\n5\n");
    assert_eq!(read(&folder.path().join("events.2")), "three\n");
}

#[test]
fn records_that_wait_together_are_rotated_one_by_one() {
    let (folder, path) = folder();
    let mut sink = open(&path, 8, 9);
    for record in ["one", "two", "three", "four"] {
        sink.write(record.as_bytes());
    }
    sink.flush();
    assert_eq!(read(&folder.path().join("events.2")), "one\ntwo\n");
    assert_eq!(read(&folder.path().join("events.1")), "three\n");
    assert_eq!(read(&path), "four\n");
}

#[test]
fn only_a_single_record_makes_a_file_too_long() {
    let (folder, path) = folder();
    let mut sink = open(&path, 8, 9);
    write(&mut sink, &["a", "much too long", "b"]);
    assert_eq!(read(&folder.path().join("events.2")), "a\n");
    assert_eq!(read(&folder.path().join("events.1")), "much too long\n");
    assert_eq!(read(&path), "b\n");
}

#[test]
fn a_file_of_before_counts_towards_the_length() {
    let (folder, path) = folder();
    fs::write(&path, "before\n").unwrap();
    write(&mut open(&path, 8, 1), &["after"]);
    assert_eq!(read(&folder.path().join("events.1")), "before\n");
    assert_eq!(read(&path), "after\n");
}

#[test]
fn no_old_file_is_kept_if_none_is_to_be() {
    let (folder, path) = folder();
    write(&mut open(&path, 8, 0), &["one", "two", "three"]);
    assert_eq!(names(folder.path()), ["events"]);
    assert_eq!(read(&path), "three\n");
}

#[test]
fn a_file_that_was_moved_away_or_removed_is_made_again() {
    let (folder, path) = folder();
    let mut sink = FileSink::open(&path, None).unwrap();
    write(&mut sink, &["one"]);
    let moved = folder.path().join("moved");
    fs::rename(&path, &moved).unwrap();
    write(&mut sink, &["two"]);
    assert_eq!(
        (read(&moved), read(&path)),
        ("one\n".into(), "two\n".into())
    );
    fs::remove_file(&path).unwrap();
    write(&mut sink, &["three"]);
    assert_eq!(read(&path), "three\n");
}

#[test]
fn a_file_that_was_emptied_starts_over() {
    let (folder, path) = folder();
    let mut sink = open(&path, 8, 3);
    write(&mut sink, &["one", "two"]);
    fs::OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(&path)
        .unwrap();
    write(&mut sink, &["three"]);
    assert_eq!(names(folder.path()), ["events"]);
    assert_eq!(read(&path), "three\n");
}

#[test]
fn without_a_place_for_a_new_file_the_old_one_is_written_to() {
    let (folder, path) = folder();
    let mut sink = FileSink::open(&path, None).unwrap();
    let moved = folder.path().join("moved");
    fs::rename(&path, &moved).unwrap();
    fs::create_dir(&path).unwrap();
    write(&mut sink, &["one", "two"]);
    assert_eq!(read(&moved), "one\ntwo\n");
    let problems = sink.problems();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].file.as_deref(), path.to_str());
    fs::remove_dir(&path).unwrap();
    write(&mut sink, &["three"]);
    assert_eq!(read(&path), "three\n");
    assert!(sink.problems().is_empty());
}

#[test]
fn a_rotation_that_fails_loses_nothing_and_is_tried_again() {
    let (folder, path) = folder();
    let in_the_way = folder.path().join("events.1");
    fs::create_dir(&in_the_way).unwrap();
    let mut sink = open(&path, 8, 1);
    write(&mut sink, &["one", "two", "three"]);
    assert_eq!(read(&path), "one\ntwo\nthree\n");
    fs::remove_dir(&in_the_way).unwrap();
    write(&mut sink, &["4", "five"]);
    assert_eq!(read(&in_the_way), "one\ntwo\nthree\n4\n");
    assert_eq!(read(&path), "five\n");
}

#[test]
fn what_took_the_place_of_the_file_is_not_rotated() {
    let (folder, path) = folder();
    let mut sink = open(&path, 8, 2);
    write(&mut sink, &["one", "two", "three"]);
    let moved = folder.path().join("moved");
    fs::rename(&path, &moved).unwrap();
    fs::create_dir(&path).unwrap();
    write(&mut sink, &["four", "five", "six"]);
    assert_eq!(read(&moved), "three\nfour\nfive\nsix\n");
    assert_eq!(names(folder.path()), ["events", "events.1", "moved"]);
    assert_eq!(read(&folder.path().join("events.1")), "one\ntwo\n");
}

#[test]
fn behind_a_link_the_file_is_rotated_and_not_the_link() {
    let (folder, path) = folder();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    write(&mut open(&link, 8, 1), &["one", "two", "three"]);
    assert_eq!(names(folder.path()), ["events", "events.1", "link"]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(read(&link), "three\n");
}
