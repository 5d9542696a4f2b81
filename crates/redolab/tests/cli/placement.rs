//! The floor per processor, through the binary: measured by `probe` and `check`, shown and stored.

use crate::harness::{Done, Place, schema_problems};
use measure::run::Run;
use serde_json::Value;

/// The arguments of a short probe of `place`.
fn probe(place: &Place, more: &[&str]) -> Done {
    let target = place.target.display().to_string();
    let common = ["probe", &target, "--time", "60ms", "--allow-busy", "-q"];
    place.run(&[&common[..], more].concat())
}

/// What was measured: the processors, and the rounds of each, which are equally many.
fn cpus_and_rounds(json: &Value) -> (Vec<Option<u64>>, usize) {
    let places = json["placement"]["places"].as_array().expect("places");
    let rounds = |place: &Value| place["round_p50_ns"].as_array().map_or(0, Vec::len);
    let all: Vec<usize> = places.iter().map(rounds).collect();
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
    let cpus = places.iter().map(|place| place["cpu"].as_u64()).collect();
    (cpus, all.first().copied().unwrap_or(0))
}

#[test]
fn the_floor_of_each_processor_is_measured_and_stored() {
    let place = Place::new();
    let allowed = device::cpus::allowed().expect("the system reports it");
    let printed = probe(&place, &["--format", "json"]);
    printed.expect(0, &[]);
    let json = printed.json();
    let problems = schema_problems("run-2.schema.json", &json);
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(json["placement"]["allowed_cpus"], allowed.len());
    assert_eq!(json["placement"]["write_bytes"], 4096);
    let shown = place.run(&["runs", "show", "last"]);
    if allowed.len() < 2 {
        shown.expect(0, &["one processor only"]);
        return;
    }
    let (cpus, rounds) = cpus_and_rounds(&json);
    assert_eq!(cpus[0], None, "the unpinned thread is first");
    if allowed.len() <= device::placement::FEW_PROCESSORS {
        let all = allowed.iter().map(|cpu| Some(*cpu as u64));
        assert_eq!(cpus[1..], Vec::from_iter(all));
    }
    // On a busy device the time may end within the first rounds; they are shown as not enough.
    let sentence = match rounds {
        0..5 => "Processors are not compared",
        _ => "not pinned",
    };
    let words = [
        "The floor by processor: durable writes of 4 KiB",
        "not pinned",
        sentence,
    ];
    shown.expect(0, &words);
    let found = json["findings"].as_array().expect("findings");
    let is_floor = |finding: &&Value| finding["id"] == "processor.floor";
    assert_eq!(
        found.iter().find(is_floor).is_some(),
        rounds >= 5,
        "{found:?}"
    );
    probe(&place, &[]).expect(0, &["by processor", "Interrupts"]);
}

#[test]
fn runs_without_it_are_still_read() {
    let place = Place::new();
    let mut json = probe(&place, &["--format", "json"]).json();
    let with: Run = serde_json::from_value(json.clone()).expect("a run");
    assert!(with.placement.is_some(), "it was measured");
    json.as_object_mut().expect("a run").remove("placement");
    let problems = schema_problems("run-2.schema.json", &json);
    assert_eq!(problems, Vec::<String>::new());
    let without: Run = serde_json::from_value(json).expect("a run");
    let expected = Run {
        placement: None,
        power_tests: None,
        ..with
    };
    assert_eq!(without, expected);
}

#[test]
fn one_processor_is_compared_with_nothing() {
    let place = Place::new();
    // A process inherits what the thread that starts it may use.
    let (json, text) = std::thread::scope(|scope| {
        let pinned = scope.spawn(|| {
            let allowed = device::cpus::allowed().expect("the system reports it");
            device::cpus::pin(&allowed[..1]).expect("it is allowed");
            (probe(&place, &["--format", "json"]), probe(&place, &[]))
        });
        pinned.join().expect("no panic")
    });
    let json = json.json();
    assert_eq!(json["placement"]["allowed_cpus"], 1);
    assert_eq!(json["placement"]["places"], serde_json::json!([]));
    let found = json["findings"].as_array().expect("findings");
    let is_about = |f: &&Value| {
        f["id"]
            .as_str()
            .is_some_and(|id| id.starts_with("processor."))
    };
    assert!(found.iter().find(is_about).is_none(), "{found:?}");
    text.expect(
        0,
        &["There is nothing to compare: this process may use one processor only."],
    );
}

#[test]
fn a_check_measures_it_and_its_report_shows_it() {
    let place = Place::new();
    let report = place.path().join("report.html");
    let report_text = report.display().to_string();
    let done = place.check(
        &place.target,
        &["--format", "json", "--report", &report_text, "-q"],
    );
    let json = done.json();
    assert!(
        json["placement"]["allowed_cpus"].as_u64() > Some(0),
        "{}",
        json["placement"]
    );
    let html = std::fs::read_to_string(&report).expect("written");
    assert!(
        html.contains("The floor by processor"),
        "no section in the report"
    );
}

#[test]
fn the_advice_names_an_option_that_exists() {
    let place = Place::new();
    let option = "--log-writer-cpu ";
    place
        .run(&["findings", "processor.pin"])
        .expect(0, &[option]);
    for command in ["check", "run"] {
        place.run(&[command, "--help"]).expect(0, &[option]);
    }
}
