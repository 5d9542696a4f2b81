//! The published JSON Schemas against what is really written.

use serde_json::Value;

fn schema(name: &str) -> jsonschema::Validator {
    let path = format!("{}/../../schemas/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the schema is in the repository");
    let json = serde_json::from_str(&text).expect("the schema is JSON");
    jsonschema::draft202012::new(&json).expect("the schema is a schema")
}

fn problems(validator: &jsonschema::Validator, value: &Value) -> Vec<String> {
    validator
        .iter_errors(value)
        .map(|e| format!("{}: {e}", e.instance_path))
        .collect()
}

#[test]
fn a_run_with_every_field_filled_is_valid() {
    let validator = schema("run-2.schema.json");
    let run = crate::common::full_run(
        "20261120-101500-4f2a11",
        &crate::common::histogram(1, 50_000),
    );
    let json = serde_json::to_value(&run).expect("a run is JSON");
    assert_eq!(problems(&validator, &json), Vec::<String>::new());
    assert!(
        no_nulls(&json),
        "the test's run leaves a field empty, so it shows less than it says"
    );
}

#[test]
fn every_way_that_the_log_may_choose_is_valid() {
    let validator = schema("run-2.schema.json");
    let mut run = crate::common::full_run("r", &crate::common::histogram(1, 5_000));
    let learning = run.rows[0].learning.as_mut().expect("the row has learned");
    let switch = learning.log_file_sync_switch_log[0].clone();
    let flags = [(false, false), (false, true), (true, false), (true, true)];
    let ways = flags.map(|(inline, polling)| redo::CommitWay { inline, polling });
    learning.log_file_sync_switch_log = ways
        .iter()
        .map(|way| measure::run::RecordedSyncSwitch {
            to: way.name().to_owned(),
            ..switch.clone()
        })
        .collect();
    let json = serde_json::to_value(&run).expect("a run is JSON");
    assert_eq!(problems(&validator, &json), Vec::<String>::new());
}

#[test]
fn a_run_with_nothing_optional_is_valid() {
    let validator = schema("run-2.schema.json");
    let mut run = crate::common::full_run("r", &measure::Histogram::new());
    run.verdict = None;
    run.report = None;
    run.lab_overhead_ns = None;
    run.rows = vec![measure::run::Row::default()];
    run.target = measure::run::Target::default();
    run.need = measure::judgement::Need::default();
    let json = serde_json::to_value(&run).expect("a run is JSON");
    assert_eq!(problems(&validator, &json), Vec::<String>::new());
}

#[test]
fn every_kind_of_target_and_workload_is_valid() {
    use measure::run::{
        DatabaseFacts, ImportedFacts, ImportedWorkload, ScopedSetting, TargetFacts, WatchedFacts,
        WorkloadInfo,
    };
    let validator = schema("run-2.schema.json");
    let mut run = crate::common::full_run("r", &crate::common::histogram(1, 5_000));
    let database = DatabaseFacts {
        product: "p".to_owned(),
        version: "17".to_owned(),
        settings: [("wal_sync_method".to_owned(), "fdatasync".to_owned())].into(),
        log_open_flags: Some("O_RDWR".to_owned()),
        log_directory: Some("/wal".to_owned()),
        calibrations: vec![measure::run::RedoCalibration::default()],
    };
    let imported = ImportedFacts {
        evidence: vec!["oracle-trace".to_owned()],
    };
    let off = || [("fsync".to_owned(), "off".to_owned())].into();
    let watched = WatchedFacts {
        settings: off(),
        changed_settings: off(),
        scoped_settings: vec![ScopedSetting::default()],
        ..WatchedFacts::default()
    };
    let names = vec!["pid 7".to_owned()];
    for (facts, workload) in [
        (TargetFacts::Unknown, WorkloadInfo::Unknown),
        (TargetFacts::Database(database), run.workload.clone()),
        (TargetFacts::Watched(watched), run.workload.clone()),
        (
            TargetFacts::Imported(imported),
            WorkloadInfo::Imported(ImportedWorkload { names }),
        ),
    ] {
        (run.target.facts, run.workload) = (facts, workload);
        let json = serde_json::to_value(&run).expect("a run is JSON");
        assert_eq!(problems(&validator, &json), Vec::<String>::new());
        let back: measure::run::Run = serde_json::from_value(json).expect("a run");
        assert_eq!(back, run);
    }
}

#[test]
fn drift_is_caught() {
    let validator = schema("run-2.schema.json");
    let run = crate::common::full_run("r", &crate::common::histogram(1, 50_000));
    let sound = serde_json::to_value(&run).expect("a run is JSON");
    for (pointer, key, value) in [
        ("", "new_field", Value::from(1)),
        ("/rows/0", "new_field", Value::from(1)),
        ("/rows/0/waits/log_file_sync", "p50_ns", Value::from("1")),
        ("/target/stack/layers/0", "kind", Value::from("floppy")),
        ("/verdict/reasons/0", "weight", Value::Null),
        ("/validity", "valid", Value::from(1)),
        ("", "schema", Value::from("redolab.run/3")),
        ("/rows/0", "commits", Value::from(-1)),
    ] {
        let mut json = sound.clone();
        let object = json.pointer_mut(pointer).and_then(Value::as_object_mut);
        object.expect("an object").insert(key.to_owned(), value);
        assert!(!validator.is_valid(&json), "{pointer}/{key} was accepted");
    }
    for (pointer, key) in [
        ("", "origin"),
        ("/rows/0", "commit_latency"),
        ("/floor/0", "latency"),
        ("/placement/places/0", "interrupts"),
    ] {
        let mut json = sound.clone();
        let object = json.pointer_mut(pointer).and_then(Value::as_object_mut);
        object.expect("an object").remove(key);
        assert!(!validator.is_valid(&json), "{pointer}/{key} may be missing");
    }
}

#[test]
fn drift_of_comparisons_is_caught() {
    let validator = schema("comparison-1.schema.json");
    let series = || {
        let mut series = analysis::compare::WaitSeries::new();
        for second in 0..6 {
            series.push(&crate::common::histogram(second, 5_000));
        }
        series
    };
    let side = |name: &str| analysis::compare::Side {
        name: name.to_owned(),
        run: crate::common::full_run(name, &crate::common::histogram(1, 50_000)),
        complete: true,
        series: vec![[("log_file_sync".to_owned(), series())].into()],
    };
    let options = analysis::compare::Options {
        resamples: 50,
        conditions: vec!["log_file_sync > +10%".parse().expect("a condition")],
        ..analysis::compare::Options::default()
    };
    let comparison = analysis::compare::stored::compare(&[side("a"), side("b")], &options);
    let sound = serde_json::to_value(&comparison).expect("a comparison is JSON");
    assert_eq!(problems(&validator, &sound), Vec::<String>::new());
    for (pointer, key, value) in [
        ("", "schema", Value::from("redolab.comparison/2")),
        ("", "new_field", Value::from(1)),
        ("/runs/0", "origin", Value::from("guessed")),
        ("/differences/0", "basis", Value::from("hearsay")),
        ("/differences/0", "ratio", Value::from("1")),
        ("/distributions/0", "density", Value::from(1)),
        ("/conditions/0", "breached", Value::Null),
    ] {
        let mut json = sound.clone();
        let object = json.pointer_mut(pointer).and_then(Value::as_object_mut);
        object.expect("an object").insert(key.to_owned(), value);
        assert!(!validator.is_valid(&json), "{pointer}/{key} was accepted");
    }
}

#[test]
fn the_stores_marker_is_valid() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    redolab::store::Store::open(dir.path()).expect("opens");
    let text = std::fs::read(dir.path().join("store.json")).expect("reads");
    let marker: Value = serde_json::from_slice(&text).expect("JSON");
    let validator = schema("store-1.schema.json");
    assert_eq!(problems(&validator, &marker), Vec::<String>::new());
    assert!(!validator.is_valid(&serde_json::json!({"schema": "redolab.store/2"})));
}

/// No field anywhere is null.
fn no_nulls(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => items.iter().all(no_nulls),
        Value::Object(fields) => fields.values().all(no_nulls),
        _ => true,
    }
}
