//! The verdict on real file systems, each on a loop device made here, and on what is no place for
//! a log.

use crate::harness::{
    Done, LoopVolume, Mount, Place, expect_run, expect_valid, schema_problems, tmpfs,
};
use serde_json::Value;
use std::path::Path;

/// Room that `check` keeps free, and room for its files.
const GIB: u64 = 8;

fn judged(place: &Place, target: &Path) -> (Done, Value) {
    let more = ["--jobs", "2", "--no-report", "--format", "json", "-q"];
    let target_text = target.display().to_string();
    let quick = crate::harness::QUICK.iter().copied();
    let mut arguments: Vec<&str> = vec!["check", &target_text];
    // One number of jobs instead of two.
    arguments.extend(quick.filter(|a| !matches!(*a, "--jobs" | "1,2")));
    arguments.extend(more);
    let done = place.run(&arguments);
    let json = done.json();
    assert_eq!(
        schema_problems("run-2.schema.json", &json),
        Vec::<String>::new()
    );
    place.expect_clean(target);
    (done, json)
}

/// Kinds and names of the layers, from the path down.
fn layers(json: &Value) -> Vec<String> {
    let layers = json["target"]["stack"]["layers"].as_array();
    let word = |layer: &Value, key: &str| layer[key].as_str().unwrap_or_default().to_owned();
    let one = |layer| format!("{} {}", word(layer, "kind"), word(layer, "name"));
    layers.expect("layers").iter().map(one).collect()
}

fn on_a_loop_device(kind: &str) {
    let Some(volume) = LoopVolume::make(kind, GIB, 512) else {
        return;
    };
    let place = Place::new();
    let target = volume.path().join("target");
    std::fs::create_dir(&target).expect("creates");
    let (done, json) = judged(&place, &target);
    let layers = layers(&json);
    assert_eq!(layers[0], format!("file_system {kind}"));
    assert!(layers[1].starts_with("loop loop"), "{layers:?}");
    let verdict = &json["verdict"];
    // Nothing that a loop device says proves what its file's device does.
    assert_eq!(verdict["durability"], "unverified", "{verdict}");
    expect_conditional(&done, &json);
}

/// The answer follows from the reasons and is never yes: conditional, since nothing proves that a
/// flush reaches the medium. Beside other work the figures may be doubtful, and then there is no
/// answer; or each write takes so long that it is no, for that reason and no other.
fn expect_conditional(done: &Done, json: &Value) {
    let verdict = &json["verdict"];
    let reasons = verdict["reasons"].as_array().expect("reasons");
    let any = |weights: &[&str], begin: &str| {
        let is = |reason: &Value, key: &str, fits: &dyn Fn(&str) -> bool| {
            reason[key].as_str().is_some_and(fits)
        };
        let weighs = |reason: &Value| is(reason, "weight", &|w| weights.contains(&w));
        let mut found = reasons.iter().filter(|reason| weighs(reason));
        found.any(|reason| is(reason, "id", &|id| id.starts_with(begin)))
    };
    assert!(!any(&["bad"], "stack.") && !any(&["bad"], "durability."));
    let (code, answer) = if any(&["caution", "bad"], "validity.") {
        (4, "undetermined")
    } else if any(&["bad"], "latency.") {
        (3, "no")
    } else {
        (0, "conditional")
    };
    done.expect(code, &[]);
    assert_eq!(verdict["answer"], answer, "{verdict}");
    expect_valid(json);
}

/// What is volatile is no place for a log, whatever its figures are worth.
fn expect_no(done: &Done, json: &Value) {
    let verdict = &json["verdict"];
    assert_eq!(verdict["durability"], "volatile", "{verdict}");
    assert_eq!(verdict["answer"], "no", "{verdict}");
    expect_run(done, 3);
}

#[test]
fn ext4() {
    on_a_loop_device("ext4");
}

#[test]
fn xfs() {
    on_a_loop_device("xfs");
}

#[test]
fn btrfs() {
    on_a_loop_device("btrfs");
}

#[test]
fn memory_is_no_place_for_a_log() {
    let place = Place::new();
    let Some(mount) = tmpfs(&place, GIB << 10) else {
        return;
    };
    let (done, json) = judged(&place, &mount.at);
    expect_no(&done, &json);
    assert_eq!(layers(&json), ["memory_file_system tmpfs"]);
}

#[test]
fn an_overlay_is_judged_by_its_upper_directory() {
    let place = Place::new();
    let Some(mount) = tmpfs(&place, GIB << 10) else {
        return;
    };
    let at = |name: &str| {
        let path = mount.at.join(name);
        std::fs::create_dir(&path).expect("creates");
        path.display().to_string()
    };
    let (lower, upper, work, merged) = (at("lower"), at("upper"), at("work"), at("merged"));
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let merged = Path::new(&merged);
    let Some(overlay) = Mount::make(&["-t", "overlay", "-o", &options, "overlay"], merged) else {
        return crate::harness::skipped("an overlay cannot be mounted here");
    };
    let (done, json) = judged(&place, merged);
    expect_no(&done, &json);
    let layers = layers(&json);
    assert_eq!(layers, ["overlay overlay", "memory_file_system tmpfs"]);
    drop(overlay);
}

#[test]
fn the_machines_own_disk_is_judged_with_care() {
    let place = Place::new();
    let (done, json) = judged(&place, &place.target);
    if json["target"]["stack"]["hypervisor"].is_null() {
        return crate::harness::skipped("not in a virtual machine");
    }
    let verdict = &json["verdict"];
    let layers = layers(&json);
    if layers.iter().any(|l| l.starts_with("memory_file_system")) {
        return crate::harness::skipped("the temporary directory is in memory");
    }
    assert_eq!(verdict["durability"], "unverified", "{verdict}");
    expect_conditional(&done, &json);
}
