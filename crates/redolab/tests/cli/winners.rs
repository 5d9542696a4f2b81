//! Who wins a comparison of targets that were measured now: what loses acknowledged commits never
//! does; and raw devices beside each other.

use crate::harness::{LoopDevice, Place, schema_problems};
use serde_json::Value;

fn checked(json: &Value) {
    let problems = schema_problems("comparison-1.schema.json", json);
    assert_eq!(problems, Vec::<String>::new());
}

/// A directory in memory beside one that is not: the faster one does not win, in any output.
#[test]
#[expect(clippy::too_many_lines, reason = "one comparison in every output")]
fn memory_never_wins_over_a_disk() {
    let place = Place::new();
    let memory = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
    let disk = format!("disk={}", place.target.display());
    let ram = format!("ram={}", memory.path().display());
    let rounds = [
        "compare",
        "--on",
        &disk,
        "--on",
        &ram,
        "--rounds",
        "5",
        "--jobs",
        "1",
        "--commits",
        "100",
        "--warmup",
        "0",
        "--log-file-size",
        "8M",
        "--log-groups",
        "2",
        "--allow-busy",
        "-q",
        "--report",
        "both.html",
    ];
    let text = place.run(&rounds);
    let both = "Durability: disk unverified, ram volatile.";
    text.expect(
        0,
        &[
            both,
            "verdict: no, durability: volatile",
            "ram loses its acknowledged commits",
        ],
    );
    let html = std::fs::read_to_string(place.path().join("both.html")).expect("written");
    assert!(html.contains(both), "the report has no durability");
    for text in [&text.out, &html] {
        assert!(
            !text.contains("ram wins") && !text.contains("ram is better"),
            "{text}"
        );
    }
    // Two of the stored rounds: the same verdicts.
    let listed = place.run(&["runs", "list", "--format", "json"]).json();
    let id = |at: usize| {
        listed["runs"][at]["run_id"]
            .as_str()
            .expect("a name")
            .to_owned()
    };
    let (a, b) = (id(0), id(1));
    let stored = place.run(&["compare", &a, &b]);
    stored.expect(
        0,
        &[
            "verdict: no, durability: volatile",
            "durability: unverified",
        ],
    );
    let markdown = place.run(&["compare", &a, &b, "--format", "markdown"]);
    markdown.expect(
        0,
        &[
            "durability: volatile",
            "durability: unverified",
            "acknowledged commits",
        ],
    );
    let json = place.run(&["compare", &a, &b, "--format", "json"]).json();
    checked(&json);
    let of = |at: usize| {
        json["runs"][at]["durability"]
            .as_str()
            .expect("known")
            .to_owned()
    };
    let mut durability = [of(0), of(1)];
    durability.sort();
    assert_eq!(durability, ["unverified", "volatile"]);
}

/// Raw devices beside each other and beside a directory; each needs a `--destroy` of its own.
#[test]
fn raw_devices_are_compared_with_a_consent_for_each() {
    let (Some(one), Some(two)) = (LoopDevice::make(96, &[]), LoopDevice::make(96, &[])) else {
        return;
    };
    let place = Place::new();
    let fs = format!("fs={}", place.target.display());
    let (a, b) = (format!("a={}", one.node), format!("b={}", two.node));
    let small = [
        "--rounds",
        "2",
        "--jobs",
        "1",
        "--commits",
        "200",
        "--log-file-size",
        "8M",
        "--log-groups",
        "2",
        "--allow-busy",
        "-q",
        "--format",
        "json",
    ];
    let compare = |on: &[&str], destroy: &[&str]| {
        let on = on.iter().flat_map(|target| ["--on", target]);
        let destroy = destroy.iter().flat_map(|node| ["--destroy", node]);
        let own: Vec<&str> = ["compare"].into_iter().chain(on).chain(destroy).collect();
        place.run(&[&own[..], &small].concat())
    };
    let before = one.ends();
    for (on, destroy, said) in [
        (vec![fs.as_str(), &a], vec![], "--destroy"),
        (vec![&a, &b], vec![one.node.as_str()], two.node.as_str()),
        (
            vec![&fs, &a],
            vec![one.node.as_str(), &two.node],
            "no --on names this path",
        ),
        (
            vec![&fs, &a],
            vec![place.target.to_str().expect("text")],
            "--destroy",
        ),
    ] {
        compare(&on, &destroy).expect(2, &[said]);
    }
    assert!(one.ends() == before, "a refused device is as it was");
    for (on, destroy) in [
        (vec![fs.as_str(), &a], vec![one.node.as_str()]),
        (vec![&a, &b], vec![&one.node, &two.node]),
    ] {
        let done = compare(&on, &destroy);
        done.expect(0, &[]);
        let kinds: Vec<Value> = (0..2)
            .map(|at| done.json()["runs"][at]["target_kind"].clone())
            .collect();
        assert_eq!(kinds[1], "raw_device", "{kinds:?}");
        checked(&done.json());
    }
    let run = [
        "run",
        "--on",
        &one.node,
        "--destroy",
        &one.node,
        "--destroy",
        &two.node,
    ];
    place.run(&run).expect(2, &["give --destroy once"]);
}
