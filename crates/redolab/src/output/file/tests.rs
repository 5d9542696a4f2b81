//! A file that has no name and cannot be given one through /proc.

use super::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_file_that_proc_gives_no_name_is_copied_to_one() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("result");
    std::fs::write(&path, "earlier").expect("writes");
    let mut place = Place::at(&path).expect("a place");
    let mut file = place.open(Mode::from_raw_mode(0o600)).expect("opens");
    if place.temporary.is_some() {
        println!("skipped: no files without a name here");
        return;
    }
    file.write_all(b"the whole result").expect("writes");
    let placed = place.give_name(&file, "/nowhere/at/all");
    placed.expect("copied");
    let name = place.temporary.clone().expect("it has a name now");
    let beside = folder.path().join(&name);
    assert_eq!(std::fs::read(&beside).expect("reads"), b"the whole result");
    let mode = std::fs::metadata(&beside).expect("there").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    place.put(&file, Existing::Replace).expect("renamed");
    assert_eq!(std::fs::read(&path).expect("reads"), b"the whole result");
    assert!(!beside.exists(), "nothing stays beside the place");

    // What is given up is removed, as is a name that /proc gave.
    let mut place = Place::at(&path).expect("a place");
    let file = place.open(Mode::from_raw_mode(0o644)).expect("opens");
    place.give_name(&file, "/nowhere/at/all").expect("copied");
    place.give_up();
    assert_eq!(std::fs::read(&path).expect("reads"), b"the whole result");
    let left = std::fs::read_dir(folder.path()).expect("lists").count();
    assert_eq!(left, 1);
}
