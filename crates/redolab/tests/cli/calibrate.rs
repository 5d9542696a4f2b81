//! `redolab calibrate`: a model with predictions that were made before, or a refusal with the cells
//! that do not repeat.

use crate::harness::{Done, Place, schema_problems};
use sha2::{Digest, Sha256};

fn calibrate(place: &Place, more: &[&str]) -> Done {
    let target = place.path().display().to_string();
    let model = place.path().join("here.toml").display().to_string();
    let short = [
        "--quick",
        "--time",
        "40ms",
        "--warmup",
        "10ms",
        "--allow-busy",
        "--yes",
    ];
    let all = [&["calibrate", &target, "--model", &model][..], &short, more].concat();
    place.run(&all)
}

/// Whether two runs repeat is the machine's; what follows from it is not.
#[test]
fn a_model_was_judged_by_what_it_had_predicted_or_there_is_none() {
    let place = Place::new();
    let done = calibrate(&place, &["--format", "json", "--holdout-seed", "7"]);
    let found = done.json();
    let problems = schema_problems("calibration-1.schema.json", &found);
    assert_eq!(problems, Vec::<String>::new());
    let model = place.path().join("here.toml");
    let predictions = place.path().join("here.predictions.json");
    let fitted = found["fitted"].as_array().expect("cells");
    if !found["refused"].is_null() {
        done.expect(4, &["differ by more than 25"]);
        assert!(
            !model.exists() && !predictions.exists(),
            "nothing to be asked"
        );
        assert!(fitted.len() == 18 && fitted[0]["simulated"].is_null());
        return;
    }
    done.expect(0, &[]);
    let kept = std::fs::read(&predictions).expect("kept");
    let sum: String = Sha256::digest(&kept)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(found["predictions_sha256"], sum.as_str());
    let predicted: serde_json::Value = serde_json::from_slice(&kept).expect("JSON");
    let judged = found["judged"].as_array().expect("cells");
    for (before, after) in predicted.as_array().expect("cells").iter().zip(judged) {
        assert_eq!(*before, after["predicted"]);
    }
    assert_eq!((fitted.len(), judged.len()), (22, 15));
    // The runs that judge have the hash of what was predicted before them.
    let last = found["runs"].as_array().and_then(|runs| runs.last());
    let last = last.and_then(|run| run.as_str()).expect("runs");
    let run = place
        .run(&["runs", "show", last, "--format", "json"])
        .json();
    assert_eq!(run["notes"]["tags"]["predictions-sha256"], sum.as_str());
    let model = model.display().to_string();
    let asked = [
        "simulate", &model, "--jobs", "8", "--time", "50ms", "--warmup", "5ms",
    ];
    place
        .run(&asked)
        .expect(0, &["redolab calibrate, fitted to 22 cells"]);
}

#[test]
fn what_cannot_be_calibrated_is_refused_before_anything_is_written() {
    let place = Place::new();
    calibrate(&place, &["--dry-run"]).expect(0, &["log files"]);
    assert!(!place.path().join("here.toml").exists());
    let there = place.path().join("not-there").display().to_string();
    place.run(&["calibrate", &there]).expect(2, &["not-there"]);
    let model = place.path().join("no/such/here.toml").display().to_string();
    let target = place.path().display().to_string();
    let done = place.run(&["calibrate", &target, "--model", &model]);
    done.expect(1, &["here.toml", "make this directory first"]);
}
