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

/// A file that is shipped.
fn shipped(name: &str) -> &'static str {
    let mut all = device_file::SHIPPED.iter();
    all.find(|(of, _)| *of == name).expect("shipped").1
}

const MEASURED: &str = "model = 1
name = \"measured\"
[device]
kind = \"empirical\"
shares = [0, 0.5, 1.0]
kb = [4.0, 64]
depth = [1, 1]
write_us = [10.0, 20.0, 30.0, 20.0, 30.0, 50.5]
autocorrelation = -0.25
[sources]
shares = \"measured: here\"
kb = \"measured: here\"
depth = \"measured: here\"
write_us = \"measured: here\"
autocorrelation = \"measured: here\"
";

#[test]
fn every_shipped_device_is_read_written_and_varied() {
    let model = Model::parse(TEXT, Path::new("disk.toml")).expect("a model");
    let names: Vec<&str> = ModelDevice::shipped_names().collect();
    assert_eq!(names.len(), 8);
    let measured = ModelDevice::parse(MEASURED, Path::new("measured")).expect("a device");
    let shipped = names.iter().filter_map(|name| ModelDevice::shipped(name));
    let devices: Vec<ModelDevice> = shipped.chain([measured]).collect();
    for (device, name) in devices.iter().zip(names.iter().chain(&["measured"])) {
        assert_eq!(device.name, *name);
        let of = model.with_device(device.clone());
        let other = of.basis.other_device.as_ref().expect("another device");
        assert!(other.contains(&device.basis.source) && of.name.contains(name));
        assert_eq!(of.basis.error_pct, None);
        let text = of.in_toml();
        let again = Model::parse(&text, Path::new("again")).expect("its own");
        assert_eq!(again.device, of.device, "{name}");
        let (_, values) = text.split_once("\nkind = ").expect("a device");
        let lines = values.lines().skip(1);
        let keys = lines.filter_map(|line| line.split_once(" = "));
        let keys: Vec<&str> = keys.map(|(k, _)| k).collect();
        let varied = device.device.varied(1.2);
        let mut varied: Vec<&str> = varied.iter().map(|(key, _)| *key).collect();
        if *name == "measured" {
            // More than the largest share is none.
            varied.insert(0, "shares");
        }
        assert_eq!(varied, keys, "{name}");
    }
}

/// A device, what of its file is replaced by what, and what is said; `\n` is the end of a line.
const WRONG: &str = r#"
hdd ~ rpm = 15000 ~ rpm = 0 ~ :10: rpm = 0: use 1 to
hdd ~ rpm = 15000 ~ rpm = "fast" ~ :10: rpm: use a number
hdd ~ rpm = 15000\n ~  ~ :8: missing field `rpm`
hdd ~ kind = "rotation"\n ~  ~ missing field `kind`
hdd ~ "rotation" ~ "drum" ~ :9: kind: unknown variant `drum`
hdd ~ seek_us = 3900.0 ~ seek_us = 39.0 ~ :13: seek_us = 39: use seek_tr
hdd ~ rpm = "pub ~ rpm = "heard: pub ~ :19: rpm: begin with one of
hdd ~ \nrpm = "published ~ \nrmp = "published ~ rmp: [device] has no
hdd ~ seek_us = "published: data ~ #  ~ :13: seek_us has no source
hdd ~ command_us = 100.0 ~ command_us = 1\ndestage_mb_per_s = 9 ~ :16: destage_mb_per_s without
nvme ~ protected_cache_kb = 6 ~ cache_kb = 64\nprotected_cache_kb = 6 ~ :23: protected_cache_kb and
nvme ~ cache_kb = 65536.0 ~ cache_kb = 8 ~ :22: protected_cache_kb is less than page
nvme ~ channels = 8 ~ channels = 8.5 ~ :10: channels: use a whole number
nvme ~ channels = 8 ~ channels = 0 ~ :10: channels = 0: use 1 to 256
nvme ~ read_us = 70.0 ~ read_us = 70\nothers_pages_per_s = 9 ~ :16: others_pages_per_s without others_share
gp2-100 ~ iops = 300\n ~  ~ :15: iops_kb without iops
gp2-100 ~ iops = 300\n ~ iops = 4000\n ~ :14: iops_burst = 3000: use at least iops
gp2-100 ~ iops_credits = 5400000\n ~  ~ :14: iops_burst without iops_credits
gp2-100 ~ mb_per_s = 128 ~ mb_credits = 128 ~ :17: mb_credits without mb_per_s_burst
gp3 ~ iops = 3000\n ~  ~ :13: iops_kb without iops
gp3 ~ iops = 3000 ~ tail_share = 0.1 ~ :13: tail_share without tail_mean
pmem ~ channels = 1 ~ chanels = 1 ~ unknown field `chanels`
measured ~ 0.5, 1.0] ~ 0.5, 0.9] ~ :5: shares: use 0.0, rising
measured ~ 0.5, 1.0] ~ 1.5, 1.0] ~ :5: shares = 1.5: use 0 to 1
measured ~ [4.0, 64] ~ [4.0] ~ :7: depth: use one number for each of kb
measured ~ 50.5] ~ 50.5 ~ measured.toml:
measured ~ 30.0, 50.5 ~ 50.5, 30.0 ~ :8: write_us: use 2 rows of 3 times
measured ~ [10.0, 20.0 ~ [20.0 ~ :8: write_us: use 2 rows of 3 times
measured ~ -0.25 ~ -1.5 ~ :9: autocorrelation = -1.5: use -0.99 to 0.99
measured ~ [1, 1] ~ 7 ~ :7: depth: use numbers in brackets
"#;

#[test]
fn devices_that_are_wrong_are_refused_with_line_key_and_range() {
    for line in WRONG.lines().filter(|line| !line.is_empty()) {
        let parts: Vec<String> = line.split(" ~ ").map(|p| p.replace("\\n", "\n")).collect();
        let [name, from, to, says] = &parts[..] else {
            panic!("four parts: {line}");
        };
        let text = match &name[..] {
            "measured" => MEASURED,
            name => shipped(name),
        };
        assert!(text.contains(from), "{from}");
        let text = text.replacen(from, to, 1);
        let refused = ModelDevice::parse(&text, Path::new("measured.toml"));
        let said = refused.expect_err("it is wrong").to_string();
        assert!(said.contains(says), "{to}: {said}");
    }
    let said = refused(shipped("hdd"));
    assert!(said.contains("missing field `machine`"), "{said}");
    let of_model = ModelDevice::parse(TEXT, Path::new("disk.toml")).expect("with its machine");
    assert_eq!(of_model.name, "a disk");
}
