//! Folders of logs whose files come, go and change their names.

use super::*;
use std::fs::{File, rename, write};

fn segment(number: u32) -> String {
    format!("{number:024X}")
}

/// A folder on a file system that can be followed; `None` where there is none here.
fn folder() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().expect("a folder");
    if file_system_of(folder.path()).is_none() {
        println!("skipped: temporary files are neither on ext4 nor on XFS");
        return None;
    }
    Some(folder)
}

#[test]
fn logs_are_known_by_the_names_of_their_files() {
    for (path, kind) in [
        ("/pg/pg_wal/000000010000000000000001", LogKind::Postgres),
        ("/pg/pg_xlog/0000000100000000000000AF", LogKind::Postgres),
        (
            "/pg/pg_wal/000000010000000000000001.partial",
            LogKind::Other,
        ),
        ("/pg/base/000000010000000000000001", LogKind::Other),
        ("/var/lib/mysql/ib_logfile0", LogKind::Innodb),
        ("/var/lib/mysql/#innodb_redo/#ib_redo12", LogKind::Innodb),
        ("/u01/redo01.log", LogKind::Other),
    ] {
        assert_eq!(LogKind::of(Path::new(path)), kind, "{path}");
    }
}

#[test]
fn a_segment_stays_known_when_it_is_recycled_and_a_new_one_is_added() {
    let Some(folder) = folder() else { return };
    let wal = folder.path().to_owned();
    for name in [
        segment(1),
        segment(2),
        "archive_status".to_owned(),
        "xlogtemp.7".to_owned(),
    ] {
        write(wal.join(name), "x").expect("written");
    }
    let made = LogFiles::in_folder(LogKind::Postgres, wal.clone(), wal.clone());
    let mut files = made.expect("segments");
    assert_eq!((files.known().len(), files.change()), (2, true));
    rename(wal.join(segment(1)), wal.join(segment(3))).expect("recycled");
    assert!(files.look().expect("looked").added.is_empty());
    rename(wal.join("xlogtemp.7"), wal.join(segment(4))).expect("a new one");
    let added = files.look().expect("looked").added;
    assert_eq!((added.len(), files.known().len()), (1, 3));
    assert!(files.has(*added.first().expect("one")));
    let empty = tempfile::tempdir_in(&wal).expect("a folder");
    let none = LogFiles::in_folder(LogKind::Postgres, empty.path().into(), "/pg_wal".into());
    assert!(matches!(none, Err(WatchError::NoFiles(path)) if path == Path::new("/pg_wal")));
}

#[test]
fn a_named_file_that_is_switched_or_removed_is_reported() {
    let Some(folder) = folder() else { return };
    let path = folder.path().join("redo01.log");
    File::create(&path).expect("made");
    let named = || vec![(path.clone(), path.clone())];
    let mut files = LogFiles::named(named()).expect("a file");
    assert_eq!((files.kind(), files.change()), (LogKind::Other, false));
    assert!(files.look().expect("looked").changed.is_empty());
    rename(&path, folder.path().join("old.log")).expect("renamed");
    let found = files.look().expect("looked");
    assert_eq!((found.changed.len(), found.added.len()), (1, 0));
    File::create(&path).expect("switched");
    let found = files.look().expect("looked");
    assert_eq!((found.changed.len(), found.added.len()), (1, 1));
    assert_eq!(files.known().len(), 2, "both are followed");
    let folder_is_none = LogFiles::named(vec![(folder.path().into(), "/u01".into())]);
    assert!(folder_is_none.is_err_and(|e| e.to_string().contains("not a regular file")));
}

#[test]
fn the_header_of_innodb_is_that_of_its_format() {
    let Some(folder) = folder() else { return };
    for (head, header_bytes) in [(&b"Phys...."[..], 0x3000), (b"\0\0\0\0....", 2048)] {
        let path = folder.path().join("ib_logfile0");
        write(&path, head).expect("written");
        let files = LogFiles::named(vec![(path.clone(), path)]).expect("a file");
        let known = files.known().values().next().expect("one");
        assert_eq!(known.rules.header_bytes, header_bytes);
        assert!(!known.rules.is_filled_first);
    }
}
