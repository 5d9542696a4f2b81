//! Power cuts of disks that keep their promise, and of disks that do not, each in its own way.
//!
//! `REDOLAB_POWER_CUTS` cuts of the honest disk and `REDOLAB_POWER_LIES` of each other one;
//! `REDOLAB_POWER_SEED` repeats the moments; `REDOLAB_POWER_CSV` names a file of data.

use crate::bench::{Bench, Medium, Server, Writer, await_kept, verify, write_arguments};
use crate::disk::Fault;
use crate::{alone, number, skipped};
use measure::workload::split_mix;
use redolab::powertest::channel::PowerToken;
use redolab::powertest::{PlantedWriterBug, WriteOrder, WrittenUntil, write};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

/// Writers in turn.
const WAYS: [&[&str]; 4] = [
    &["--sync-method", "direct"],
    &[
        "--sync-method",
        "buffered",
        "--jobs",
        "4",
        "--pressure",
        "1M",
    ],
    &["--sync-method", "dsync"],
    &[
        "--sync-method",
        "direct",
        "--raw",
        "4K,16K",
        "--files",
        "2",
        "--log-file-size",
        "4M",
    ],
];

/// Acknowledgements before a cut: more than a disk has in its cache.
const ACKNOWLEDGED: u64 = 150;

/// One cut: what `verify` printed, and its exit code.
fn cut(bench: &mut Bench, server: &Server, way: &[&str], state: &mut u64) -> (Value, Option<i32>) {
    let mut arguments = write_arguments(&bench.scratch, &server.address, &bench.at(), way);
    arguments.extend(bench.consent());
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut writer = Writer::start(bench.scratch.command(&words));
    await_kept(&bench.scratch, &server.address, &bench.at(), ACKNOWLEDGED);
    std::thread::sleep(Duration::from_millis(split_mix(state) % 250));
    bench
        .cut(|| writer.fails())
        .expect("the file system is mounted again");
    let ended = verify(
        &bench.scratch,
        &server.address,
        &bench.at(),
        &["--cut-kind", "device-power"],
    );
    (ended.json(), ended.code)
}

/// Cuts a disk so many times; how often each class was found.
fn classes(fault: Fault, ways: &[&[&str]], cuts: u64) -> Option<BTreeMap<String, u64>> {
    classes_on(Medium::FileSystem, fault, ways, cuts)
}

fn classes_on(
    on: Medium,
    fault: Fault,
    ways: &[&[&str]],
    cuts: u64,
) -> Option<BTreeMap<String, u64>> {
    let mut state = number("REDOLAB_POWER_SEED", 11) ^ ((fault as u64) << 32);
    let name = match on {
        Medium::FileSystem => format!("{fault:?}"),
        Medium::RawDevice => format!("{fault:?} raw device"),
    };
    let made = Bench::make_on(&name.replace(' ', "-"), fault, state, on);
    let mut bench = match made {
        Ok(bench) => bench,
        Err(why) => {
            skipped(&why);
            return None;
        }
    };
    let server = Server::start(&bench.scratch, &[]);
    let mut found = BTreeMap::new();
    let mut demanded = 0;
    for number in 0..cuts {
        let way = ways[(number % ways.len() as u64) as usize];
        let (cycle, code) = cut(&mut bench, &server, way, &mut state);
        let class = cycle["class"].as_str().unwrap_or_default().to_owned();
        let lost = cycle["counts"]["lost"].as_u64().unwrap_or(0);
        demanded += cycle["counts"]["demanded"].as_u64().unwrap_or(0);
        assert_eq!(lost == 0, class == "nothing_lost", "{cycle}");
        assert_eq!(code, Some(if lost == 0 { 0 } else { 3 }), "{cycle}");
        assert_eq!(cycle["basis"], "device_lost", "{cycle}");
        assert!(cycle["counts"]["demanded"].as_u64() > Some(0), "{cycle}");
        *found.entry(class).or_insert(0) += 1;
    }
    println!("{name}: {cuts} cuts, {demanded} acknowledgements: {found:?}");
    note(&name, cuts, demanded, &found);
    Some(found)
}

/// A line of data.
fn note(disk: &str, cuts: u64, demanded: u64, found: &BTreeMap<String, u64>) {
    let Some(path) = std::env::var_os("REDOLAB_POWER_CSV") else {
        return;
    };
    let is_new = !std::path::Path::new(&path).exists();
    let file = std::fs::File::options()
        .append(true)
        .create(true)
        .open(path);
    let mut file = file.expect("opens");
    let classes = [
        "nothing_lost",
        "tail_lost",
        "reordered",
        "torn_sector",
        "foreign_block",
    ];
    if is_new {
        writeln!(file, "disk,cuts,acknowledgements,{}", classes.join(",")).expect("writes");
    }
    let count = |class: &str| found.get(class).copied().unwrap_or(0).to_string();
    let counts = classes.map(count).join(",");
    writeln!(file, "{disk},{cuts},{demanded},{counts}").expect("writes");
}

#[test]
fn an_honest_disk_loses_nothing() {
    let _alone = alone();
    let cuts = number("REDOLAB_POWER_CUTS", 4);
    if let Some(found) = classes(Fault::Honest, &WAYS, cuts) {
        assert_eq!(found, BTreeMap::from([("nothing_lost".to_owned(), cuts)]));
    }
}

#[test]
fn a_disk_that_drops_flushes_loses_the_tail() {
    let _alone = alone();
    let cuts = number("REDOLAB_POWER_LIES", 2);
    let ways = [WAYS[0], WAYS[3]];
    if let Some(found) = classes(Fault::DropsFlushes, &ways, cuts) {
        assert_eq!(found, BTreeMap::from([("tail_lost".to_owned(), cuts)]));
    }
}

#[test]
fn a_disk_that_reorders_is_recognised() {
    let _alone = alone();
    let cuts = number("REDOLAB_POWER_LIES", 2);
    let ways = [WAYS[0], WAYS[3]];
    if let Some(found) = classes(Fault::Reorders, &ways, cuts) {
        assert_eq!(found, BTreeMap::from([("reordered".to_owned(), cuts)]));
    }
}

#[test]
fn a_disk_that_tears_is_recognised() {
    let _alone = alone();
    let cuts = number("REDOLAB_POWER_LIES", 2);
    let ways = [WAYS[0], WAYS[3]];
    if let Some(found) = classes(Fault::Tears, &ways, cuts) {
        assert_eq!(found, BTreeMap::from([("torn_sector".to_owned(), cuts)]));
    }
}

/// A log on a raw device, without a file system whose journal flushes too.
#[test]
fn raw_devices_are_classed_as_file_systems_are() {
    let _alone = alone();
    for (fault, class, cuts) in [
        (
            Fault::Honest,
            "nothing_lost",
            number("REDOLAB_POWER_CUTS", 4).div_ceil(2),
        ),
        (
            Fault::DropsFlushes,
            "tail_lost",
            number("REDOLAB_POWER_LIES", 2),
        ),
        (
            Fault::Reorders,
            "reordered",
            number("REDOLAB_POWER_LIES", 2),
        ),
        (Fault::Tears, "torn_sector", number("REDOLAB_POWER_LIES", 2)),
    ] {
        let Some(found) = classes_on(Medium::RawDevice, fault, &WAYS[..1], cuts) else {
            return;
        };
        assert_eq!(
            found,
            BTreeMap::from([(class.to_owned(), cuts)]),
            "{fault:?}"
        );
    }
}

/// At length: cuts at any moment, of which one in fifty meets a flush that was not carried out.
#[test]
fn a_disk_that_loses_one_flush_in_fifty_is_found_at_length() {
    let cuts = number("REDOLAB_POWER_RARE", 0);
    if cuts == 0 {
        return;
    }
    let _alone = alone();
    if let Some(found) = classes(Fault::LosesOneFlushIn50, &WAYS[..1], cuts) {
        assert!(found.contains_key("tail_lost"), "{found:?}");
        assert!(
            found
                .keys()
                .all(|class| ["tail_lost", "nothing_lost"].contains(&class.as_str()))
        );
    }
}

/// The disk dies when it has confirmed a flush that it did not carry out: what that flush
/// acknowledged is lost, and nothing else.
#[test]
fn one_flush_in_fifty_that_is_not_carried_out_is_enough() {
    let _alone = alone();
    let mut bench = match Bench::make("once", Fault::LosesOneFlushIn50, 5) {
        Ok(bench) => bench,
        Err(why) => return skipped(&why),
    };
    let server = Server::start(&bench.scratch, &[]);
    let mut writer = Writer::on(&bench.scratch, &server, &bench.at(), WAYS[0]);
    await_kept(&bench.scratch, &server.address, &bench.at(), ACKNOWLEDGED);
    bench.with_disk(|disk| disk.dies_lying = true);
    // It ends by itself: its disk confirms nothing any more.
    let ended = writer.child.wait().expect("it ends");
    assert_eq!(ended.code(), Some(1));
    bench.cut(|| {}).expect("the file system is mounted again");
    let kind = ["--cut-kind", "device-power"];
    let judged = verify(&bench.scratch, &server.address, &bench.at(), &kind);
    let cycle = judged.json();
    assert_eq!(judged.code, Some(3), "{cycle}");
    assert_eq!(cycle["class"], "tail_lost", "{cycle}");
    let lost = cycle["counts"]["lost"].as_u64().unwrap_or(0);
    assert!(
        (1..=4).contains(&lost),
        "what one flush acknowledged: {cycle}"
    );
    assert!(
        cycle["first_lost"]
            .as_str()
            .is_some_and(|text| text.contains("record")),
        "{cycle}"
    );
    let evidence = bench.scratch.place("mount/redolab-powertest-lost");
    assert!(judged.err.contains(&evidence), "{}", judged.err);
}

const PLANTED: &str = "REDOLAB_POWER_PLANTED";

/// A writer that acknowledges before its commit returned: refuted on an honest disk.
#[test]
fn a_writer_that_acknowledges_too_early_is_refuted_on_an_honest_disk() {
    if let Ok(order) = std::env::var(PLANTED) {
        return planted_writer(&order);
    }
    let _alone = alone();
    let mut bench = match Bench::make("planted", Fault::Honest, 3) {
        Ok(bench) => bench,
        Err(why) => return skipped(&why),
    };
    let server = Server::start(&bench.scratch, &[]);
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    let test = "cuts::a_writer_that_acknowledges_too_early_is_refuted_on_an_honest_disk";
    let order = [bench.at(), server.address.clone(), bench.scratch.token()].join(" ");
    command
        .args([test, "--exact", "--nocapture"])
        .env(PLANTED, order);
    command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped());
    let mut writer = Writer::start(bench.scratch.under_test(command));
    await_kept(&bench.scratch, &server.address, &bench.at(), ACKNOWLEDGED);
    // What it acknowledges between the death of its disk and its own is not durable.
    bench
        .cut(|| drop(writer.child.wait()))
        .expect("the file system is mounted again");
    let kind = ["--cut-kind", "device-power"];
    let judged = verify(&bench.scratch, &server.address, &bench.at(), &kind);
    let cycle = judged.json();
    assert_eq!(
        (judged.code, &cycle["class"]),
        (Some(3), &Value::from("tail_lost")),
        "{cycle}"
    );
}

fn planted_writer(order: &str) {
    let words: Vec<&str> = order.split(' ').collect();
    let [path, server, token] = words[..] else {
        panic!("three words: {order}");
    };
    let token = PowerToken::read(token.as_ref()).expect("a token");
    let outcome = write(&WriteOrder {
        path: path.into(),
        destroy: None,
        server: server.to_owned(),
        token,
        jobs: 4,
        until: WrittenUntil::default(),
        shape: redo::Shape::new().groups(3).file_bytes(1 << 20),
        sync_method: device::SyncMethod::Direct,
        payload_bytes: 600,
        raw: None,
        pressure_bytes: None,
        abandon: false,
        planted: PlantedWriterBug::AcknowledgeBeforeCommit,
        say: &|line| eprintln!("{line}"),
        interrupt: redolab::signals::Interrupt::default(),
    });
    eprintln!("{outcome:?}");
}

/// A disk that went back to a moment before the test's folder was made, or to an earlier test.
#[test]
fn a_folder_that_is_gone_has_lost_everything() {
    let _alone = alone();
    let mut bench = match Bench::make("gone", Fault::Honest, 17) {
        Ok(bench) => bench,
        Err(why) => return skipped(&why),
    };
    let server = Server::start(&bench.scratch, &[]);
    let at = bench.at();
    let begin = |bench: &mut Bench| {
        let mut writer = Writer::on(&bench.scratch, &server, &at, &[]);
        await_kept(&bench.scratch, &server.address, &at, 10);
        bench.cut(|| writer.fails()).expect("it is mounted again");
    };
    let judged = |bench: &Bench| {
        let kind = ["--cut-kind", "device-power"];
        verify(&bench.scratch, &server.address, &at, &kind)
    };
    let (folder, copy) = (format!("{at}/redolab-powertest"), format!("{at}/copy"));
    begin(&mut bench);
    crate::program::done("cp", &["-r", &folder, &copy]).expect("copies");
    let passed = judged(&bench);
    assert_eq!(passed.code, Some(0), "{passed:?}");
    let left = crate::program::done("ls", &["-a", &at]).expect("lists");
    assert!(
        !left.contains("redolab-powertest"),
        "nothing is left: {left}"
    );
    begin(&mut bench);
    crate::program::done("rm", &["-r", &folder]).expect("removes");
    let gone = judged(&bench).json();
    assert_eq!(gone["class"], "tail_lost", "{gone}");
    assert_eq!(gone["counts"]["lost"], gone["counts"]["demanded"]);
    // Now the folder of the first test is back.
    begin(&mut bench);
    crate::program::done("rm", &["-r", &folder]).expect("removes");
    crate::program::done("mv", &[&copy, &folder]).expect("moves");
    let earlier = judged(&bench).json();
    assert_eq!(earlier["class"], "tail_lost", "{earlier}");
    assert_eq!(earlier["totals"]["refuted_cuts"], 2, "{earlier}");
}
