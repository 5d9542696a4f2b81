//! `redolab runs` and `redolab report`, and stores that are not as they should be.

use crate::harness::{Place, entries, schema_problems};

#[test]
fn runs_are_listed_shown_carried_and_deleted() {
    let place = Place::new();
    let id = place.store_a_run();
    let other = place.store_a_run();
    let second = |name: &str| name[..15].to_owned();
    assert!(second(&other) >= second(&id), "{id}, {other}: by time");
    assert_ne!(other, id, "two runs of one second differ");

    let json = place.run(&["runs", "list", "--format", "json"]).json();
    assert_eq!(
        schema_problems("runs-1.schema.json", &json),
        Vec::<String>::new()
    );
    assert_eq!(json["runs"].as_array().expect("runs").len(), 2);
    place
        .run(&["runs"])
        .expect(0, &[&id, &other, "Verdict", "LGWR-LAT1"]);

    let shown = place.run(&["runs", "show", &id]);
    shown.expect(0, &[&id, "origin: measured", "log file sync", "LGWR-LAT1"]);
    let json = place.run(&["runs", "show", &id, "--format", "json"]).json();
    assert_eq!(
        schema_problems("run-2.schema.json", &json),
        Vec::<String>::new()
    );

    let report = place.run(&["report", &id]);
    let file = format!("redolab-{id}.html");
    report.expect(0, &[&file]);
    let html = std::fs::read_to_string(place.path().join(&file)).expect("written");
    assert!(html.contains(&id) && html.contains("default-src 'none'"));

    let file = place.path().join("run.json").display().to_string();
    place
        .run(&["report", &id, "--format", "redolab", "-o", &file])
        .expect(0, &[]);
    place
        .run(&["import", &file])
        .expect(1, &["already in the store", &file]);
    place.run(&["runs", "delete", &id]).expect(0, &["Deleted"]);
    place
        .run(&["runs", "show", &id])
        .expect(2, &["not in the store"]);
    place.run(&["import", &file]).expect(0, &[&id]);
    let again = place.run(&["runs", "show", &id]);
    assert_eq!(again.out, shown.out, "nothing is lost on the way");
}

#[test]
fn a_report_is_written_as_markdown_and_figure_by_figure() {
    let place = Place::new();
    let id = place.store_a_run();
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).expect("written");
    let output = ["report", "last", "-o", "ticket.md"];
    place.run(&output).expect(0, &["ticket.md"]);
    let text = read("ticket.md");
    for part in [
        "### ",
        "| Workload | Jobs | Commits/s |",
        "| LGWR-LAT1 | 1 |",
        &id,
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    let figure = ["report", "last", "--figure", "answer"];
    let file = format!("redolab-{id}-answer.svg");
    place.run(&figure).expect(0, &[&file]);
    let svg = read(&file);
    assert!(svg.starts_with("<svg xmlns") && svg.contains("measured") && svg.contains(&id));
    let unknown = ["report", "last", "--figure", "none"];
    place
        .run(&unknown)
        .expect(2, &["no figure `none`", "answer", "LGWR-LAT1"]);
    for (name, words) in [
        ("x.png", "as SVG, not as PNG"),
        ("x.jpg", "ends with .svg, not with .jpg"),
    ] {
        let refused = [&figure[..], &["-o", name]].concat();
        place.run(&refused).expect(2, &[words]);
        assert!(!place.path().join(name).exists());
    }
    let which = ["report", "last", "-o", "x.svg"];
    place.run(&which).expect(2, &["--figure ID is missing"]);
}

#[test]
fn a_run_is_named_by_a_unique_beginning_or_as_the_last() {
    let place = Place::new();
    let first = place.store_a_run();
    place
        .run(&["runs", "show", &first[..8]])
        .expect(0, &[&first]);
    // Of the century: a day may end between the two.
    let begin = &first[..2];
    let last = place.store_a_run();
    place.run(&["runs", "show", "last"]).expect(0, &[&last]);
    place
        .run(&["runs", "show", begin])
        .expect(2, &["the ids of 2 runs begin with these", &first, &last]);
    for (name, words) in [
        ("zzz", "not in the store"),
        ("", "not in the store"),
        ("../store", "not in the store"),
    ] {
        place.run(&["runs", "show", name]).expect(2, &[words]);
    }
    place
        .run(&["runs", "delete", "last"])
        .expect(2, &["name the run"]);
    place
        .run(&["runs", "delete", &first, "zzz"])
        .expect(2, &["zzz"]);
    place.run(&["runs"]).expect(0, &[&first, &last]);
}

#[test]
fn one_bad_run_hides_no_other() {
    let place = Place::new();
    let (sound, damaged) = (place.store_a_run(), place.store_a_run());
    let newer = place.store_a_run();
    let manifest = |id: &str| place.store.join(id).join("manifest.json");
    let text = std::fs::read_to_string(manifest(&damaged)).expect("reads");
    let forged = text.replacen("\"valid\":true", "\"valid\":false", 1);
    let forged = forged.replacen("\"valid\": true", "\"valid\": false", 1);
    assert_ne!(forged, text);
    std::fs::write(manifest(&damaged), forged).expect("writes");
    let text = std::fs::read_to_string(manifest(&newer)).expect("reads");
    std::fs::write(
        manifest(&newer),
        text.replace("redolab.run/2", "redolab.run/3"),
    )
    .expect("writes");

    place.run(&["runs"]).expect(
        0,
        &[
            &sound,
            "damaged: CRC32C",
            "redolab.run/3",
            "use the newer redolab",
        ],
    );
    place.run(&["runs", "show", &sound]).expect(0, &[]);
    place
        .run(&["runs", "show", &damaged])
        .expect(1, &["damaged", "CRC32C"]);
    place.run(&["report", &damaged]).expect(1, &["damaged"]);
    place
        .run(&["report", &damaged, "--format", "redolab"])
        .expect(1, &["damaged"]);
    place
        .run(&["runs", "show", &newer])
        .expect(1, &["redolab.run/3"]);
    let left = entries(place.path());
    assert_eq!(
        left,
        ["store", "target"],
        "a refused command writes no file"
    );
    place
        .run(&["runs", "delete", &damaged, &newer])
        .expect(0, &[]);
}

/// The first version of a run was never released, and nothing reads it.
#[test]
fn a_run_of_version_1_is_refused_with_what_to_do() {
    let place = Place::new();
    let (sound, old) = (place.store_a_run(), place.store_a_run());
    place
        .run(&["report", &old, "--format", "redolab", "-o", "old.json"])
        .expect(0, &[]);
    let manifest = place.store.join(&old).join("manifest.json");
    for file in [&manifest, &place.path().join("old.json")] {
        let text = std::fs::read_to_string(file).expect("reads");
        let older = text.replacen("redolab.run/2", "redolab.run/1", 1);
        assert_ne!(older, text);
        std::fs::write(file, older).expect("writes");
    }
    let file = manifest.display().to_string();
    let why = [&*file, "redolab.run/1", "measure again", "runs delete"];
    place
        .run(&["runs"])
        .expect(0, &[&sound, &old, "redolab.run/1", "measure again"]);
    for command in [
        &["runs", "show", &old][..],
        &["report", &old, "--format", "redolab"],
        &["report", &old],
        &["compare", &old, &sound],
    ] {
        place.run(command).expect(1, &why);
    }
    for command in [
        &["import", "old.json"][..],
        &["compare", "old.json", &sound],
    ] {
        let why = ["old.json", "redolab.run/1", "measure again"];
        place.run(command).expect(1, &why);
    }
    place.run(&["runs", "delete", &old]).expect(0, &[]);
}

#[test]
fn stores_that_cannot_be_used_are_refused_before_anything_is_measured() {
    type Prepare = fn(&Place);
    let target = |place: &Place| place.target.display().to_string();
    let cases: [(&str, Prepare, &[&str]); 4] = [
        (
            "a newer store",
            |place| {
                std::fs::create_dir(&place.store).expect("creates");
                let marker = r#"{"schema": "redolab.store/2"}"#;
                std::fs::write(place.store.join("store.json"), marker).expect("writes");
            },
            &["redolab.store/2", "use the newer redolab"],
        ),
        (
            "something else",
            |place| {
                std::fs::create_dir(&place.store).expect("creates");
                std::fs::write(place.store.join("thesis.doc"), "x").expect("writes");
            },
            &["not a run store"],
        ),
        (
            "a file",
            |place| std::fs::write(&place.store, "x").expect("writes"),
            &["run store", "store"],
        ),
        (
            "a damaged marker",
            |place| {
                std::fs::create_dir(&place.store).expect("creates");
                std::fs::write(place.store.join("store.json"), "{").expect("writes");
            },
            &["store.json", "damaged"],
        ),
    ];
    for (what, prepare, words) in cases {
        let place = Place::new();
        prepare(&place);
        println!("{what}");
        place
            .run(&["check", &target(&place), "--allow-busy"])
            .expect(1, words);
        place.run(&["runs"]).expect(1, words);
        place.expect_clean(&place.target);
    }
}

#[test]
fn what_is_no_export_is_refused_and_leaves_nothing() {
    let place = Place::new();
    place.store_a_run();
    let before = entries(&place.store);
    for (name, bytes) in [
        ("empty", &b""[..]),
        ("text", b"hello"),
        ("other", br#"{"schema": "redolab.run/2"}"#),
        (
            "older",
            br#"{"schema": "redolab.export/1", "run": {}, "hlog": {}}"#,
        ),
        ("binary", b"\xff\xfe\x00"),
        ("deep", "[".repeat(100_000).as_bytes()),
    ] {
        std::fs::write(place.path().join(name), bytes).expect("writes");
        place.run(&["import", name]).expect(1, &[name]);
    }
    place.run(&["import", "missing"]).expect(2, &["missing"]);
    assert_eq!(entries(&place.store), before);
}

/// Study 000's table: per worker the waits, those over 1, 10 and 20 ms, and the longest.
#[test]
fn the_table_of_workers_comes_out_of_a_run() {
    let place = Place::new();
    for (writer, workers, more) in [
        ("workers=3", 3, &["--log-writer-cpu", "0"][..]),
        ("adaptive", 4, &[]),
        ("lgwr", 0, &[]),
    ] {
        let run = [
            "run",
            "--null",
            "--jobs",
            "8",
            "--time",
            "300ms",
            "--warmup",
            "0",
            "--format",
            "json",
            "-q",
            "--log-writer",
            writer,
        ];
        let done = place.run(&[&run[..], more].concat());
        if done.code != Some(0) && done.err.contains("not allowed to this process") {
            println!("skipped: this process may not run on CPU 0");
            continue;
        }
        done.expect(0, &[]);
        let json = done.json();
        let problems = schema_problems("run-2.schema.json", &json);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(json["target"]["log_writer"], writer);
        let cpus = &json["target"]["log_writer_cpus"];
        assert_eq!(cpus.as_array().map(Vec::is_empty), Some(more.is_empty()));
        let row = &json["rows"][0];
        let list = row["workers"].as_array().expect("a list");
        assert_eq!(list.len(), workers, "{writer}");
        let count = |wait: &serde_json::Value| wait["count"].as_u64().expect("a number");
        let wrote: u64 = list
            .iter()
            .map(|w| count(&w["log_file_parallel_write"]))
            .sum();
        let all = count(&row["waits"]["log_file_parallel_write"]);
        assert!(wrote == all || writer != "workers=3", "{wrote} of {all}");
        let id = json["run_id"].as_str().expect("a name");
        let shown = place.run(&["runs", "show", id]);
        let report = place.run(&["report", id]);
        report.expect(0, &[]);
        let html = std::fs::read_to_string(place.path().join(format!("redolab-{id}.html")));
        let html = html.expect("written");
        for number in 0..workers {
            let name = format!("LG0{number}");
            shown.expect(0, &[&name, "each log writer worker"]);
            assert!(html.contains(&name), "{name}");
        }
        assert_eq!(html.contains("LG00"), workers > 0);
        assert_eq!(
            shown.out.contains("between alone and workers"),
            writer == "adaptive"
        );
    }
}
