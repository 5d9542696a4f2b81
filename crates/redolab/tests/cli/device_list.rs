//! `redolab devices` on this machine.

use crate::harness::{LoopVolume, Place, schema_problems};
use serde_json::Value;

#[test]
fn every_file_system_is_listed_and_the_document_is_valid() {
    let place = Place::new();
    let done = place.run(&["devices", "--format", "json"]);
    let json = done.expect(0, &[]).json();
    assert_eq!(
        schema_problems("devices-1.schema.json", &json),
        Vec::<String>::new()
    );
    let stacks = json["stacks"].as_array().expect("stacks");
    assert!(!stacks.is_empty());
    for stack in stacks {
        let depths = stack["depths"].as_array().expect("depths");
        assert_eq!(
            depths.len(),
            stack["layers"].as_array().expect("layers").len()
        );
    }
    // Others mount and unmount meanwhile: what stood before and after was there in between.
    let text = place.run(&["devices"]);
    let after = place.run(&["devices", "--format", "json"]).json();
    let after: Vec<&Value> = after["stacks"]
        .as_array()
        .expect("stacks")
        .iter()
        .map(|stack| &stack["path"])
        .collect();
    let lasting = stacks
        .iter()
        .filter(|stack| after.contains(&&stack["path"]));
    let lasting: Vec<&str> = lasting.filter_map(|stack| stack["path"].as_str()).collect();
    assert!(lasting.contains(&"/"), "{lasting:?}");
    for path in lasting {
        text.expect(0, &[&format!("{path}\n")]);
    }
    assert!(!text.out.contains('\u{1b}'));
    assert!(!place.store.exists(), "a look needs no store");
}

#[test]
fn the_schemas_agree_on_what_a_layer_is() {
    let read = |name: &str| -> Value {
        let path = format!("{}/../../schemas/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("the schema is in the repository");
        serde_json::from_str(&text).expect("JSON")
    };
    let (run, devices) = (read("run-2.schema.json"), read("devices-1.schema.json"));
    for definition in ["Layer", "LayerKind"] {
        assert_eq!(run["$defs"][definition], devices["$defs"][definition]);
    }
}

#[test]
fn a_loop_device_is_drawn_down_to_the_disk_of_its_file() {
    let Some(volume) = LoopVolume::make("ext4", 1, 4096) else {
        return;
    };
    let place = Place::new();
    let path = volume.path().display().to_string();
    let done = place.run(&["devices", &path]);
    done.expect(
        0,
        &[
            "file system ext4",
            "loop device loop",
            "4096 logical",
            "backed by",
            "image",
        ],
    );
    let indent = |word: &str| {
        let line = done.out.lines().find(|l| l.trim_start().starts_with(word));
        line.map(|l| l.len() - l.trim_start().len())
    };
    assert!(
        indent("file system ext4") < indent("loop device"),
        "{}",
        done.out
    );
}

#[test]
fn a_path_that_is_not_there_is_named() {
    let place = Place::new();
    place
        .run(&["devices", "nowhere"])
        .expect(2, &["nowhere", "No such file"]);
}
