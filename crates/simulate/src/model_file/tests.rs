//! Models that are read again, refused and varied.

use super::*;

const TEXT: &str = include_str!("sample.toml");

fn refused(text: &str) -> String {
    let refused = Model::parse(text, Path::new("disk.toml"));
    refused.expect_err("it is wrong").to_string()
}

#[test]
fn what_is_written_is_read_again() {
    let model = Model::parse(TEXT, Path::new("disk.toml")).expect("a model");
    assert_eq!(model.costs.work_ns, 1500);
    assert_eq!(model.basis.jobs, Some([1, 16]));
    let again = Model::parse(&model.in_toml(), Path::new("again")).expect("its own");
    assert_eq!(again, model);
    // No time loses a nanosecond on its way.
    for ns in 1..3000_u64 {
        let mut of = model.clone();
        of.costs.work_ns = ns;
        let again = Model::parse(&of.in_toml(), Path::new("again")).expect("its own");
        assert_eq!(again.costs.work_ns, ns);
    }
}

#[test]
fn what_is_wrong_is_refused_with_its_line_key_and_range() {
    for (from, to, says) in [
        (
            "model = 1",
            "model = 2",
            "disk.toml:1: model = 2: this version reads 1",
        ),
        (
            "processors = 2",
            "processors = 0",
            "disk.toml:9: processors = 0: use 1 to 1024",
        ),
        (
            "work_us = 1.5",
            "work_us = -1.0",
            "disk.toml:10: work_us = -1: use 0 to",
        ),
        (
            "work_us = 1.5",
            "work_us = 0.0",
            "disk.toml:10: work_us = 0",
        ),
        ("wake_us = 2.0\n", "", "missing field `wake_us`"),
        ("wake_us = 2.0", "wake_us = \"2 ms\"", "disk.toml:14:"),
        ("idle_us", "idel_us", "unknown field `idel_us`"),
        (
            "write_us = 40.0",
            "write_us = nan",
            "write_us = NaN: use 0 to",
        ),
        (
            "flush_us = 40.0",
            "flush_us = -3.0",
            "disk.toml:25: flush_us = -3: use 0 to",
        ),
        (
            "kind = \"service\"",
            "kind = \"drum\"",
            "unknown variant `drum`",
        ),
        ("[machine]", "[machine", "disk.toml:8:"),
        (
            "jobs = [1, 16]",
            "jobs = [16, 1]",
            "disk.toml:6: jobs = [16, 1]: use the least, from 1, and the most",
        ),
        (
            "jobs = [1, 16]",
            "error_pct = -1.0",
            "disk.toml:6: error_pct = -1: use 0 to 1000",
        ),
    ] {
        let said = refused(&TEXT.replacen(from, to, 1));
        assert!(said.contains(says), "{to}: {said}");
    }
}

#[test]
fn every_value_is_varied_once() {
    let model = Model::parse(TEXT, Path::new("disk.toml")).expect("a model");
    let text = model.in_toml();
    let values = text
        .split("\nprocessors = 2\n")
        .nth(1)
        .expect("the machine");
    let keys = values
        .lines()
        .filter_map(|line| Some(line.split_once(" = ")?.0));
    let keys: Vec<&str> = keys.filter(|key| *key != "kind").collect();
    let varied: Vec<&str> = model.varied(1.2).iter().map(|(key, _)| *key).collect();
    assert_eq!(varied, keys, "of every value it is known what it changes");
    for (key, changed) in model.varied(1.2) {
        let lines = |m: &Model| m.in_toml().lines().map(str::to_owned).collect::<Vec<_>>();
        let (a, b) = (lines(&model), lines(&changed));
        let differ: Vec<_> = a.iter().zip(&b).filter(|(a, b)| a != b).collect();
        assert_eq!(differ.len(), 1, "{key}");
        assert!(differ[0].0.starts_with(key), "{key}: {differ:?}");
    }
}
