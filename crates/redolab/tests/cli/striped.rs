//! `--stripe`: a log over several directories, through `run` and `check`; what is refused, and that
//! nothing stays.

use crate::harness::{
    Done, Place, QUICK, directories, expect_empty, expect_valid, listed, skipped, tmpfs,
};
use std::path::PathBuf;

fn stripe(width: &str, directories: &[PathBuf]) -> String {
    format!("{width}:{}", listed(directories))
}

fn run(place: &Place, stripe: &str, more: &[&str]) -> Done {
    let own = [
        "run",
        "--stripe",
        stripe,
        "--jobs",
        "2",
        "--commits",
        "20",
        "--log-file-size",
        "4M",
        "--allow-busy",
    ];
    place.run(&[&own[..], more].concat())
}

#[test]
fn a_run_on_a_stripe_is_measured_and_leaves_nothing() {
    let place = Place::new();
    let all = directories(&place, 3);
    let named = stripe("fine", &all);
    let done = run(&place, &named, &["--force-same-device", "--format", "json"]);
    done.expect(0, &[]);
    let json = done.json();
    expect_valid(&json);
    let facts = &json["target"]["stripe"];
    assert_eq!(facts["width_bytes"], 128 << 10, "{facts}");
    let listed: Vec<PathBuf> = facts["directories"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|path| PathBuf::from(path.as_str().expect("a path")))
        .collect();
    let all_of_them: Vec<PathBuf> = all
        .iter()
        .map(|d| d.canonicalize().expect("there"))
        .collect();
    assert_eq!(listed, all_of_them);
    assert_eq!(json["rows"][0]["commits"], 40);
    expect_empty(&all);
    let text = run(&place, &stripe("coarse", &all), &["--force-same-device"]);
    text.expect(0, &[]);
    assert!(
        text.out.contains("Stripe of 1024 KiB over 3 directories"),
        "{}",
        text.out
    );
}

#[test]
fn a_check_of_a_stripe_has_a_verdict() {
    let place = Place::new();
    let all = directories(&place, 2);
    let named = stripe("coarse", &all);
    let own = [
        "check",
        "--stripe",
        &named,
        "--force-same-device",
        "--no-report",
    ];
    let done = place.run(&[&own[..], &QUICK, &["--format", "json"]].concat());
    // 4 where others keep the device busy: the verdict is undetermined then.
    assert!(matches!(done.code, Some(0 | 3 | 4)), "{done:?}");
    let json = done.json();
    expect_valid(&json);
    assert!(!json["floor"].as_array().expect("a list").is_empty());
    assert!(json["verdict"]["answer"].is_string(), "{}", json["verdict"]);
    expect_empty(&all);
}

#[test]
fn what_is_no_stripe_is_refused_before_anything_is_written() {
    let place = Place::new();
    let all = directories(&place, 2);
    let missing = place.path().join("missing");
    let (one, two) = (all[0].display().to_string(), all[1].display().to_string());
    for (named, words) in [
        (
            stripe("fine", &all),
            &["same device", "--force-same-device"][..],
        ),
        (format!("fine:{one}"), &["from 2 to 32"]),
        (
            format!("wide:{one},{two}"),
            &["fine (128 KiB) or coarse (1 MiB)"],
        ),
        (
            format!("fine:{one},,{two}"),
            &["a directory without a name"],
        ),
        (one.clone(), &["such as fine:/u01,/u02"]),
        (
            format!("fine:{one},{}", missing.display()),
            &["missing: does not exist"],
        ),
    ] {
        let done = run(&place, &named, &[]);
        assert_eq!(done.code, Some(2), "{named}: {done:?}");
        assert!(
            words.iter().all(|word| done.err.contains(word)),
            "{named}: {}",
            done.err
        );
    }
    let twice = run(
        &place,
        &format!("fine:{one},{one}"),
        &["--force-same-device"],
    );
    twice.expect(2, &["named twice"]);
    let both = run(&place, &stripe("fine", &all), &["--on", &one]);
    both.expect(2, &["--stripe", "--on"]);
    expect_empty(&all);
}

/// Two file systems: nobody has to insist, and each needs room for its own part only.
#[test]
fn directories_on_two_volumes_need_no_word() {
    let place = Place::new();
    let all = directories(&place, 1);
    let Some(memory) = tmpfs(&place, 64) else {
        return skipped("no tmpfs can be mounted");
    };
    let named = stripe("fine", &[all[0].clone(), memory.at.clone()]);
    run(&place, &named, &["--dry-run"]).expect(0, &["nothing was written"]);
    // A quarter of 64 MiB has to stay free, and half of the files needs 80 MiB.
    let large = ["--dry-run", "--log-groups", "40"];
    run(&place, &named, &large).expect(2, &["not enough room"]);
    expect_empty(&all);
}
