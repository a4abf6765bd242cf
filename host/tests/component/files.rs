//! Which files are not even read.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::Command;

use nri_host::component::inspect::{FileError, InspectError, inspect};

use crate::fixture::{Workshop, sound};

fn file_error(path: &Path) -> FileError {
    match inspect(path) {
        Err(InspectError::File(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is our own file");
}

#[test]
fn what_is_not_there_cannot_be_opened() {
    let error = file_error(Path::new("/nowhere/a.so"));
    assert!(matches!(error, FileError::Open { .. }));
    assert_eq!(error.to_string(), "/nowhere/a.so cannot be opened");
}

#[test]
fn only_regular_files_are_read() {
    let workshop = Workshop::new();
    let fifo = workshop.path("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let folder = workshop.path("folder");
    fs::create_dir(&folder).unwrap();
    for path in [fifo.as_path(), &folder, Path::new("/dev/null")] {
        let error = file_error(path);
        assert!(matches!(error, FileError::NotRegular { .. }), "{error}");
    }
}

#[test]
fn a_file_that_others_can_write_is_refused() {
    let workshop = Workshop::new();
    let path = workshop.component("a.so", &[]);
    for mode in [0o666, 0o664, 0o646] {
        set_mode(&path, mode);
        let error = file_error(&path);
        assert!(matches!(error, FileError::Writable { mode: found, .. } if found == mode));
        assert!(
            error.to_string().contains(&format!("mode {mode:04o}")),
            "{error}"
        );
    }
    set_mode(&path, 0o644);
    inspect(&path).expect("it is accepted");
}

#[test]
fn a_folder_in_which_others_can_replace_the_file_is_refused() {
    let workshop = Workshop::new();
    let folder = workshop.path("folder");
    fs::create_dir_all(folder.join("inner")).unwrap();
    let path = workshop.file("folder/inner/a.so", sound());
    set_mode(&folder, 0o777);
    match file_error(&path) {
        FileError::Writable { path, mode } => {
            assert_eq!((path, mode), (fs::canonicalize(&folder).unwrap(), 0o777));
        }
        other => panic!("{other}"),
    }
    // In a sticky folder they cannot.
    set_mode(&folder, 0o1777);
    inspect(&path).expect("it is accepted");
}

#[test]
fn a_link_does_not_hide_where_the_file_lies() {
    let workshop = Workshop::new();
    fs::create_dir(workshop.path("open")).unwrap();
    let path = workshop.file("open/a.so", sound());
    set_mode(&workshop.path("open"), 0o777);
    symlink(&path, workshop.path("link.so")).unwrap();
    let error = file_error(&workshop.path("link.so"));
    assert!(matches!(error, FileError::Writable { .. }), "{error}");
}

#[test]
fn a_file_of_another_user_is_refused() {
    let workshop = Workshop::new();
    let path = workshop.component("a.so", &[]);
    if chown(&path, Some(65534), None).is_err() {
        // Only root can give files away.
        assert!(!nix::unistd::geteuid().is_root());
        return;
    }
    let error = file_error(&path);
    assert!(
        matches!(error, FileError::Owner { uid: 65534, .. }),
        "{error}"
    );
}

#[test]
fn a_file_larger_than_any_library_is_not_read() {
    let workshop = Workshop::new();
    let path = workshop.file("a.so", sound());
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    let error = file_error(&path);
    assert!(
        matches!(
            error,
            FileError::TooLarge {
                limit: 67_108_864,
                ..
            }
        ),
        "{error}"
    );
}
