//! `redolab simulate`: rows in virtual time, on a model that is a file.

use crate::harness::Place;
use std::path::PathBuf;

const MODEL: &str = include_str!("../../../simulate/src/model_file/sample.toml");

fn model(place: &Place, change: (&str, &str)) -> PathBuf {
    let path = place.path().join("disk.toml");
    let text = MODEL.replacen(change.0, change.1, 1);
    std::fs::write(&path, text).expect("written");
    path
}

fn simulate(place: &Place, model: &std::path::Path, more: &[&str]) -> crate::harness::Done {
    let model = model.display().to_string();
    let short = ["--time", "100ms", "--warmup", "10ms"];
    place.run(&[&["simulate", &model][..], &short, more].concat())
}

/// Commits per second of each row.
fn rates(done: &crate::harness::Done) -> Vec<f64> {
    let run: measure::run::Run = serde_json::from_value(done.json()).expect("a run");
    let rates = run.rows.iter().map(|row| row.commit_throughput_tps);
    rates.collect::<Option<_>>().expect("known")
}

#[test]
fn the_first_screen_says_that_it_is_computed_on_what_and_how_far() {
    let place = Place::new();
    let path = model(&place, ("", ""));
    let report = place.path().join("what-if.html").display().to_string();
    let more = [
        "--jobs",
        "1,32",
        "--log-writer",
        "lgwr",
        "--report",
        &report,
    ];
    let done = simulate(&place, &path, &more);
    done.expect(
        0,
        &[
            "Verdict: UNDETERMINED",
            "Simulated (doubtful):",
            "Its error was not measured; extrapolated: 32 jobs",
            "what matters most is",
            "origin: simulated",
            "Values from: made up for a test",
            "not measured: nobody knows how wrong this is",
            "Extrapolated: 32 jobs (2.0 times the most that were fitted)",
            "Not modelled: other work",
            "A fifth",
        ],
    );
    let html = std::fs::read_to_string(&report).expect("a report");
    assert!(
        html.contains("made up for a test"),
        "the page has the model"
    );
    // It is a run like every other.
    place
        .run(&["runs", "show", "last"])
        .expect(0, &["origin: simulated"]);
    let shown = place.run(&["runs", "show", "last", "--format", "json"]);
    let problems = crate::harness::schema_problems("run-2.schema.json", &shown.json());
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn one_model_gives_one_answer_and_its_values_move_it() {
    let place = Place::new();
    let path = model(&place, ("", ""));
    let more = [
        "--jobs",
        "8",
        "--log-writer",
        "lgwr",
        "--format",
        "json",
        "-q",
    ];
    let usual = rates(&simulate(&place, &path, &more));
    assert_eq!(usual, rates(&simulate(&place, &path, &more)));
    let with = |more: &[&str], path: &std::path::Path| rates(&simulate(&place, path, more))[0];
    let one = with(&[&more[..], &["--processors", "1"]].concat(), &path);
    let shown = place.run(&["runs", "show", "last"]);
    shown.expect(0, &["Extrapolated: 1 processor (the model is of 2)"]);
    assert!(
        one < usual[0],
        "{one} with one processor, {usual:?} with two"
    );
    let slower = model(&place, ("flush_us = 40.0", "flush_us = 400.0"));
    let slow = with(&more, &slower);
    assert!(slow < 0.5 * usual[0], "{slow} with a slow flush");
}

#[test]
fn another_device_is_named_with_its_source_on_the_first_screen() {
    let place = Place::new();
    let path = model(&place, ("", ""));
    let file = place.path().join("slow.toml");
    let text = "model = 1\nname = \"slow\"\n[basis]\nsource = \"made up\"\n[device]\nkind = \
                \"service\"\nwrite_us = 9000\nwrite_us_per_kb = 0\n[sources]\nwrite_us = \
                \"assumed: x\"\nwrite_us_per_kb = \"assumed: x\"\n";
    std::fs::write(&file, text).expect("written");
    let file = file.display().to_string();
    for (name, says) in [
        (
            "hdd",
            "device hdd (not fitted here; data sheet of a Seagate",
        ),
        (&*file, "device slow (not fitted here; made up)"),
    ] {
        let done = simulate(&place, &path, &["--device", name, "--jobs", "1"]);
        done.expect(
            0,
            &[
                says,
                "Its error was not measured",
                "Values from: machine: made up",
            ],
        );
    }
    let json = [
        "--jobs",
        "1",
        "--format",
        "json",
        "-q",
        "--log-writer",
        "inline",
    ];
    let rate = |name| {
        rates(&simulate(
            &place,
            &path,
            &[&json[..], &["--device", name]].concat(),
        ))[0]
    };
    let (hdd, slow) = (rate("hdd"), rate(&file));
    assert!(
        (235.0..255.0).contains(&hdd),
        "a commit per rotation of 4 ms: {hdd}"
    );
    assert!((95.0..115.0).contains(&slow), "{slow}");
    for (name, says) in [
        ("drum", "drum: not a device, nor a file that can be read"),
        (
            "drum",
            "hdd, hdd-array, sata, nvme, pmem, gp2-100, gp3, io2",
        ),
    ] {
        simulate(&place, &path, &["--device", name]).expect(2, &[says]);
    }
    for name in ["hdd-array", "sata", "nvme", "pmem", "gp2-100", "gp3", "io2"] {
        place.run(&["simulate", "--help"]).expect(0, &[name]);
    }
    let large = ["--device", "gp3", "--log-file-size", "64G"];
    simulate(&place, &path, &large).expect(2, &["does not fit into a device of 100.0 GiB"]);
    std::fs::write(&file, text.replace("9000", "-9000")).expect("written");
    let refused = simulate(&place, &path, &["--device", &file]);
    refused.expect(2, &["slow.toml:7: write_us = -9000: use 0 to"]);
}

#[test]
fn members_race_and_mirror_each_other() {
    let place = Place::new();
    let path = model(&place, ("", ""));
    let with = |members: &'static str| ["--jobs", "8", "--members", members];
    let race = simulate(&place, &path, &with("race:model,nvme"));
    race.expect(
        0,
        &[
            "2 members (the model is of one device)",
            "First of",
            "a disk",
            "nvme",
        ],
    );
    let rate = |more: &[&str]| {
        let more = [more, &["--jobs", "8", "--format", "json"]].concat();
        rates(&simulate(&place, &path, &more))[0]
    };
    let alone = rate(&[]);
    let race = rate(&["--members", "race:model,nvme"]);
    let mirror = rate(&["--members", "mirror:model,model"]);
    assert!(mirror < alone && alone < race, "{mirror} {alone} {race}");
    // A value of the model is that of all members that are on its device.
    let moved = |members: &'static str| {
        let done = simulate(
            &place,
            &path,
            &["--jobs", "1", "--format", "json", "--members", members],
        );
        let all = done.json()["target"]["influence"].clone();
        let all = all.as_array().expect("influences").clone();
        let found = all
            .iter()
            .find(|of| of["value"] == "write_us")
            .expect("a value");
        found["change_pct"].as_f64().expect("a number")
    };
    let (both, one) = (moved("mirror:model,model"), moved("mirror:model,hdd"));
    assert!(both < -4.0 && one > -1.0, "{both} {one}");
    simulate(&place, &path, &with("ring:model,nvme")).expect(2, &["a ring and failover"]);
    simulate(&place, &path, &with("race:model,nothing")).expect(2, &["nothing: not a device"]);
}

#[test]
fn what_is_not_simulated_is_refused_by_the_name_of_its_option() {
    let place = Place::new();
    let path = model(&place, ("", ""));
    for (more, says) in [
        (
            &["--rate", "1000"][..],
            "--rate: an open loop is not simulated",
        ),
        (
            &["--log-writer", "workers=2"],
            "--log-writer: workers=2 is not simulated",
        ),
        (&["--io-depth", "2", "--log-writer", "lgwr"], "--io-depth"),
        (&["--dry-run"], "--dry-run: what is only planned is not"),
        (
            &["--destroy", "/dev/zero"],
            "--destroy: a simulation writes",
        ),
        (&["--max-write", "1G"], "--max-write"),
        (&["--sync-method", "direct"], "--sync-method"),
        (&["--io", "threads"], "--io"),
        (&["--compressibility", "2"], "--compressibility"),
        (&["--huge-pages"], "--huge-pages"),
        (&["--jobs", "0"], "--jobs"),
        (&["--processors", "0"], "--processors"),
        (&["--flush-triggers", "none"], "deadlock"),
    ] {
        simulate(&place, &path, more).expect(2, &[says]);
    }
    for (change, says) in [
        (
            ("wake_us = 2.0", "wake_us = -2.0"),
            "disk.toml:14: wake_us = -2: use 0 to",
        ),
        (
            ("processors = 2", "processors = 0"),
            "disk.toml:9: processors = 0: use 1 to 1024",
        ),
        (("idle_us", "idel_us"), "unknown field `idel_us`"),
    ] {
        let path = model(&place, change);
        simulate(&place, &path, &[]).expect(2, &[says]);
    }
    let absent = place.path().join("absent.toml");
    simulate(&place, &absent, &[]).expect(2, &["absent.toml"]);
    // Nothing of it was stored.
    place.run(&["runs", "list"]).expect(0, &[]);
}
