//! Labels and tags of runs, the names by which runs are found, the listing, and the differences of
//! two runs, through the binary.

use crate::harness::{Done, Place, schema_problems};
use serde_json::Value;

fn run(place: &Place, more: &[&str]) -> String {
    let common = [
        "run", "--null", "--jobs", "2", "--time", "200ms", "--warmup", "0", "-q", "--format",
        "json",
    ];
    let done = place.run(&[&common[..], more].concat());
    done.expect(0, &[]);
    let json = done.json();
    assert_eq!(
        schema_problems("run-2.schema.json", &json),
        Vec::<String>::new()
    );
    json["run_id"].as_str().expect("an id").to_owned()
}

fn shown(place: &Place, name: &str) -> String {
    let done = place.run(&["runs", "show", name, "--format", "json"]);
    done.expect(0, &[]);
    done.json()["run_id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_label_and_last_name_runs_everywhere() {
    let place = Place::new();
    let first = run(&place, &["--label", "gp3"]);
    let second = run(&place, &["--label", "gp3"]);
    let third = run(&place, &[]);
    for (name, id) in [
        ("last", &third),
        ("last~1", &second),
        ("last~2", &first),
        ("gp3", &second),
        ("gp3~1", &first),
        (first.as_str(), &first),
    ] {
        assert_eq!(shown(&place, name), *id, "{name}");
    }
    let few = ["there are only", "redolab runs"];
    place.run(&["runs", "show", "last~3"]).expect(2, &few);
    place.run(&["runs", "show", "gp3~2"]).expect(2, &few);
    place
        .run(&["runs", "show", "gp2"])
        .expect(2, &["gp2", "not in the store"]);
    place
        .run(&["compare", "gp3~1", "last"])
        .expect(0, &[&first, &third]);
    let report = place.path().join("r.html");
    let report = report.to_str().expect("UTF-8");
    place.run(&["report", "gp3", "-o", report]).expect(0, &[]);
    place.run(&["compare", "--as", "capacity", "gp3"]);
    place
        .run(&["report", "last~1", "--format", "redolab", "-o", "e.json"])
        .expect(0, &[]);
    for name in ["gp3", "last", "last~1"] {
        place
            .run(&["runs", "delete", name])
            .expect(2, &["name the run by its id"]);
    }
    place.run(&["runs", "delete", &first]).expect(0, &[]);
    place.run(&["runs", "show", "gp3~1"]).expect(2, &few);
}

#[test]
fn tags_are_in_every_view_and_can_be_added_later() {
    let place = Place::new();
    let tags = [
        "--tag",
        "volume=gp3",
        "--tag",
        "price=0.08 USD",
        "--label",
        "a",
    ];
    let id = run(&place, &tags);
    let notes = |json: &Value| json["notes"].clone();
    let json = place.run(&["runs", "show", "a", "--format", "json"]).json();
    let want = serde_json::json!({"label": "a", "tags": {"volume": "gp3", "price": "0.08 USD"}});
    assert_eq!(notes(&json), want);
    place.run(&["runs", "show", "a"]).expect(
        0,
        &["price=0.08 USD, volume=gp3", &format!("Run {id} a  origin")],
    );
    place
        .run(&["runs", "show", "a", "--format", "markdown"])
        .expect(0, &["volume=gp3"]);
    let csv = place.run(&["runs", "show", "a", "--format", "csv"]).out;
    assert!(
        csv.lines()
            .next()
            .is_some_and(|l| l.ends_with(",label,tags")),
        "{csv}"
    );
    assert!(csv.contains(",a,\"price=0.08 USD, volume=gp3\""), "{csv}");

    let manifest = place.store.join(&id).join("manifest.json");
    let before = std::fs::read(&manifest).expect("stored");
    place
        .run(&["runs", "tag", "a", "volume=io2", "zone=b", "--label", "b"])
        .expect(0, &[]);
    assert_eq!(std::fs::read(&manifest).expect("stored"), before);
    let json = place.run(&["runs", "show", "b", "--format", "json"]).json();
    assert_eq!(
        schema_problems("run-2.schema.json", &json),
        Vec::<String>::new()
    );
    assert_eq!(json["notes"]["tags"]["volume"], "io2");
    assert_eq!(json["notes"]["tags"]["price"], "0.08 USD");
    place
        .run(&["runs", "show", "a"])
        .expect(2, &["not in the store"]);
    place
        .run(&["runs", "tag", "b"])
        .expect(2, &["give KEY=VALUE"]);

    place
        .run(&["report", "b", "--format", "redolab", "-o", "e.json"])
        .expect(0, &[]);
    place.run(&["runs", "delete", &id]).expect(0, &[]);
    place.run(&["import", "e.json"]).expect(0, &[]);
    assert_eq!(shown(&place, "b"), id, "notes go with an export");
}

#[test]
fn wrong_labels_and_tags_are_refused_before_anything_is_measured() {
    let place = Place::new();
    let refused = |more: &[&str]| place.run(&[&["run", "--null"], more].concat());
    for (more, word) in [
        (&["--label", "last"][..], "newest run"),
        (&["--label", "a b"], "letters, digits"),
        (&["--tag", "volume"], "KEY=VALUE"),
        (&["--tag", "a=1", "--tag", "a=2"], "--tag a: given twice"),
    ] {
        refused(more).expect(2, &[word]);
    }
    let listed = place.run(&["runs", "list", "--format", "json"]).json();
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(0));
}

/// The listing with an answer, and the words of its line of `id`.
fn line(place: &Place, id: &str) -> (Done, String) {
    let done = place.run(&["runs"]);
    done.expect(0, &[]);
    let found = done.out.lines().find(|line| line.starts_with(id));
    let found = found
        .unwrap_or_else(|| panic!("{id}: {}", done.out))
        .to_owned();
    (done, found)
}

#[test]
fn the_listing_shows_figures_verdict_and_options() {
    let place = Place::new();
    let id = run(
        &place,
        &[
            "--label",
            "gp3",
            "--tag",
            "volume=gp3",
            "--log-writer",
            "inline",
        ],
    );
    let (listing, found) = line(&place, &id);
    for heading in [
        "Run",
        "Label",
        "Commits/s",
        "p99",
        "Verdict",
        "Options",
        "Tags",
    ] {
        assert!(listing.out.contains(heading), "{heading}: {}", listing.out);
    }
    for word in ["gp3", "no", "--log-writer inline", "volume=gp3"] {
        assert!(found.contains(word), "{word}: {found}");
    }
    assert!(!found.contains("--label"), "{found}");
    let json = place.run(&["runs", "list", "--format", "json"]).json();
    assert_eq!(
        schema_problems("runs-1.schema.json", &json),
        Vec::<String>::new()
    );
    let entry = &json["runs"][0];
    let run = place.run(&["runs", "show", &id, "--format", "json"]).json();
    assert_eq!(
        entry["commits_per_s"],
        run["rows"][0]["commit_throughput_tps"]
    );
    assert_eq!(
        entry["p99_ns"],
        run["rows"][0]["waits"]["log_file_sync"]["p99_ns"]
    );
    assert_eq!(
        (&entry["answer"], &entry["label"]),
        (&"no".into(), &"gp3".into())
    );
}

#[test]
fn a_doubtful_run_is_not_listed_as_valid() {
    let place = Place::new();
    // So few commits are a doubt.
    let done = place.run(&[
        "run",
        "--null",
        "--jobs",
        "1",
        "--commits",
        "2",
        "-q",
        "--format",
        "json",
    ]);
    done.expect(0, &[]);
    let json = done.json();
    assert_ne!(
        json["validity"]["problems"].as_array().map(Vec::len),
        Some(0),
        "{json}"
    );
    let (_, found) = line(&place, json["run_id"].as_str().expect("an id"));
    assert!(found.contains("doubtful"), "{found}");
    let listed = place.run(&["runs", "list", "--format", "json"]).json();
    assert_eq!(listed["runs"][0]["doubtful"], true);
}

#[test]
fn two_runs_are_told_apart_by_their_options() {
    let place = Place::new();
    let a = run(&place, &["--log-writer", "inline", "--label", "x"]);
    let b = run(&place, &["--log-writer", "lgwr", "--label", "x"]);
    let text = place.run(&["compare", "--as", "differences", "x~1", "x"]);
    text.expect(
        0,
        &[&a, &b, "target.log_writer", "inline", "lgwr", "command"],
    );
    assert!(!text.out.contains("environment."), "{}", text.out);
    assert!(!text.out.contains("notes."), "{}", text.out);
    let json = place
        .run(&["compare", "--as", "differences", &a, &b, "--format", "json"])
        .json();
    let problems = schema_problems("run-differences-1.schema.json", &json);
    assert_eq!(problems, Vec::<String>::new());
    place
        .run(&["compare", "--as", "differences", &a, &a])
        .expect(0, &["the same options"]);
}

#[test]
fn rounds_of_a_comparison_have_labels_of_their_own() {
    let place = Place::new();
    let (a, b) = (place.path().join("a"), place.path().join("b"));
    for folder in [&a, &b] {
        std::fs::create_dir(folder).expect("a fresh directory");
    }
    let on = |name: &str, path: &std::path::Path| format!("{name}={}", path.display());
    let done = place.run(&[
        "compare",
        "--on",
        &on("a", &a),
        "--on",
        &on("b", &b),
        "--rounds",
        "1",
        "--jobs",
        "1",
        "--time",
        "100ms",
        "--warmup",
        "0",
        "--log-file-size",
        "8M",
        "--log-groups",
        "2",
        "--allow-busy",
        "--label",
        "night",
        "--tag",
        "rack=3",
    ]);
    assert!(matches!(done.code, Some(0 | 4)), "{done:?}");
    for name in ["night-a-1", "night-b-1"] {
        let json = place
            .run(&["runs", "show", name, "--format", "json"])
            .json();
        assert_eq!(json["notes"]["tags"]["rack"], "3", "{name}");
    }
}
