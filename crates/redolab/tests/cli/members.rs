//! `--members`: a log that several directories hold whole, through `run` and `check`; what is
//! refused, and that nothing stays.

use crate::harness::{Done, Place, QUICK, directories, expect_empty, expect_valid, listed};

fn run(place: &Place, members: &str, more: &[&str]) -> Done {
    let own = [
        "run",
        "--members",
        members,
        "--jobs",
        "2",
        "--commits",
        "50",
        "--log-file-size",
        "4M",
        "--allow-busy",
    ];
    place.run(&[&own[..], more].concat())
}

#[test]
fn runs_on_members_report_each_and_leave_nothing() {
    let place = Place::new();
    let all = directories(&place, 4);
    let two = listed(&all[..2]);
    let cells = format!("mirror:(race:{two}),(race:{})", listed(&all[2..]));
    let kinds = [
        (format!("mirror:{two}"), "mirror of 2", 2),
        (format!("race:{two}"), "race of 2", 2),
        (cells, "mirror of 2 races of 2", 4),
    ];
    for (members, kind, count) in kinds {
        let json = run(
            &place,
            &members,
            &[
                "--force-same-device",
                "--format",
                "json",
                "--log-write-warning",
                "0.001us",
            ],
        );
        json.expect(0, &[]);
        let json = json.json();
        expect_valid(&json);
        // Which member ended a slow write last is not known: it is not said to be the first.
        let slow = &json["rows"][0]["slow_log_writes"]["writes"];
        let slow = slow.as_array().expect("a list");
        assert!(!slow.is_empty(), "{kind}");
        assert!(
            slow.iter().all(|w| w["member"].is_null()),
            "{kind}: {slow:?}"
        );
        let facts = json["target"]["members"].as_array().expect("members");
        assert_eq!(facts.len(), count, "{kind}");
        for member in facts {
            assert_eq!(member["in_sync"], true, "{member}");
            assert!(member["log_writes"].as_u64() > Some(0), "{member}");
        }
        let first = |n: usize| facts[n]["first"].as_u64().expect("a number");
        let writes = facts[0]["log_writes"].as_u64().expect("a number");
        match kind {
            "race of 2" => assert!(first(0) + first(1) >= writes, "{facts:?}"),
            "mirror of 2" => assert_eq!((first(0), first(1)), (writes, writes)),
            _ => {}
        }
        assert_eq!(json["rows"][0]["commits"], 100);
        let text = run(&place, &members, &["--force-same-device"]);
        text.expect(0, &[]);
        assert!(
            text.out.contains(&format!("Members: {kind}")),
            "{}",
            text.out
        );
        assert_eq!(text.out.contains("FL_DISK_FIRST"), kind == "race of 2");
    }
    expect_empty(&all);
}

#[test]
fn a_check_of_members_has_a_verdict() {
    let place = Place::new();
    let all = directories(&place, 2);
    let members = format!("mirror:{}", listed(&all));
    let own = ["check", "--members", &members, "--force-same-device"];
    let done = place.run(&[&own[..], &QUICK].concat());
    assert!(
        done.out.contains("Members: mirror of 2"),
        "{}{}",
        done.out,
        done.err
    );
    expect_empty(&all);
}

#[test]
fn members_that_protect_nothing_or_cannot_be_are_refused() {
    let place = Place::new();
    let all = directories(&place, 3);
    let two = listed(&all[..2]);
    let refused = |members: &str, words: &[&str]| {
        run(&place, members, &[]).expect(2, words);
    };
    refused(
        &format!("mirror:{two}"),
        &["--members", "--force-same-device"],
    );
    refused(&format!("quorum:{two}"), &["mirror:/u01,/u02"]);
    refused("mirror:/u01", &["1 directories", "2 to 16"]);
    let uneven = format!("mirror:(race:{two}),(race:{})", all[2].display());
    refused(&uneven, &["as many directories each"]);
    refused(
        &format!("mirror:{},{}", all[0].display(), all[0].display()),
        &["named twice"],
    );
    expect_empty(&all);
}
