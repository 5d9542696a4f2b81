//! The evidence of a cut: every kind of cut stated about every situation that can be made here,
//! through the binary. What cannot be made (counters of a drive) is in the table of
//! `measure::power_test::evidence`.

use crate::bench::{Bench, Scratch, Server, Writer, await_kept, run, unmount, verify};
use crate::disk::Fault;
use crate::program::done;
use crate::{alone, skipped};

/// What is stated, the exit code, and words of the answer: of the error, or of the JSON.
type Stated<'a> = (&'a str, i32, &'a str);

/// States each in turn about one open test. What cannot be judged leaves it open.
fn state(scratch: &Scratch, server: &Server, at: &str, each: &[Stated<'_>]) {
    for (kind, code, words) in each {
        let judged = verify(scratch, &server.address, at, &["--cut-kind", kind]);
        assert_eq!(judged.code, Some(*code), "{kind}: {judged:?}");
        let said = if *code == 4 { &judged.err } else { &judged.out };
        let one_line = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(one_line.contains(words), "{kind}: {words}: {one_line}");
    }
}

/// Every stack of the store, with what its cuts show and how many show a loss of power.
fn standings(scratch: &Scratch) -> Vec<(String, u64)> {
    let list = run(scratch.command(&["powertest", "list", "--format", "json"])).json();
    let series = list["series"].as_array().expect("a list");
    let of = |series: &serde_json::Value| {
        let standing = series["standing"].as_str().unwrap_or_default();
        (standing.to_owned(), series["cuts"].as_u64().unwrap_or(99))
    };
    series.iter().map(of).collect()
}

fn killed(scratch: &Scratch, server: &Server, at: &str) {
    let mut writer = Writer::on(scratch, server, at, &[]);
    await_kept(scratch, &server.address, at, 20);
    writer.kill();
}

const NOT_RESTARTED: &str = "was not restarted";

#[test]
fn the_end_of_a_process_is_no_cut_of_any_kind() {
    let scratch = Scratch::new("killed");
    let server = Server::start(&scratch, &[]);
    let at = scratch.place("plain");
    killed(&scratch, &server, &at);
    let stated = [
        ("device-power", 4, "nothing was cut"),
        ("host-power", 4, NOT_RESTARTED),
        ("guest-reset", 4, NOT_RESTARTED),
        ("file-system-shutdown", 4, "nothing was cut"),
    ];
    state(&scratch, &server, &at, &stated);
    assert!(standings(&scratch).is_empty(), "it does not count");
    // Files that somebody removed are not what a device lost either.
    std::fs::remove_dir_all(scratch.path.join("plain/redolab-powertest")).expect("removes");
    state(&scratch, &server, &at, &stated);
    assert!(standings(&scratch).is_empty(), "it does not count");
}

/// The program of the switch ends the writer, and says that it cut the power.
#[test]
fn a_switch_that_switches_nothing_is_no_cut() {
    let _alone = alone();
    let scratch = Scratch::new("no-switch");
    let marks = scratch.place("marks");
    let script = format!("echo cut >> {marks}");
    let cut = ["--cut-after", "100ms..100ms", "--cut", "sh", "-c", &script];
    let mut server = Server::start(&scratch, &cut);
    let at = scratch.place("plain");
    let mut writer = Writer::on(&scratch, &server, &at, &[]);
    server.lines.wait_for("sh ended after");
    writer.kill();
    state(
        &scratch,
        &server,
        &at,
        &[
            ("device-power", 4, "check what it switches"),
            ("host-power", 4, NOT_RESTARTED),
            ("file-system-shutdown", 4, "check what it switches"),
        ],
    );
    assert!(standings(&scratch).is_empty(), "it does not count");
}

/// A file system on a loop device that stays attached, or that each mount attaches again.
struct Mounted {
    scratch: Scratch,
    what: Vec<String>,
    device: Option<String>,
}

impl Mounted {
    fn make(name: &str, stays: bool) -> Result<Mounted, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("loop devices need root".to_owned());
        }
        done("xfs_io", &["-V"])?;
        let scratch = Scratch::new(name);
        let image = scratch.place("image");
        let file = std::fs::File::create(&image).map_err(|e| e.to_string())?;
        file.set_len(64 << 20).map_err(|e| e.to_string())?;
        done("mkfs.ext4", &["-q", &image])?;
        let (device, what) = match stays {
            true => {
                let found = done("losetup", &["--find", "--show", &image])?;
                let device = found.trim().to_owned();
                (Some(device.clone()), vec![device])
            }
            false => (None, vec!["-o".to_owned(), "loop".to_owned(), image]),
        };
        let mounted = Mounted {
            scratch,
            what,
            device,
        };
        mounted.mount()?;
        Ok(mounted)
    }

    fn at(&self) -> String {
        self.scratch.place("mount")
    }

    fn mount(&self) -> Result<(), String> {
        let at = self.at();
        let words: Vec<&str> = self
            .what
            .iter()
            .map(String::as_str)
            .chain([at.as_str()])
            .collect();
        done("mount", &words).map(drop)
    }

    fn again(&self) {
        unmount(&self.at()).expect("unmounts");
        self.mount().expect("mounts");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(device) = &self.device {
            // The janitor unmounts what is left, and detaches what it then finds.
            let _ = unmount(&self.at());
            let _ = done("losetup", &["-d", device]);
        }
    }
}

#[test]
fn a_file_system_that_is_mounted_again_is_no_cut_of_power() {
    let _alone = alone();
    for stays in [true, false] {
        let mounted = match Mounted::make(&format!("again-{stays}"), stays) {
            Ok(mounted) => mounted,
            Err(why) => return skipped(&why),
        };
        let server = Server::start(&mounted.scratch, &[]);
        let at = mounted.at();
        killed(&mounted.scratch, &server, &at);
        mounted.again();
        state(
            &mounted.scratch,
            &server,
            &at,
            &[
                ("device-power", 4, "is not a cut"),
                ("host-power", 4, NOT_RESTARTED),
                ("guest-reset", 4, NOT_RESTARTED),
                ("file-system-shutdown", 0, "\"basis\": \"operators_word\""),
            ],
        );
        let expected = vec![("partly tested".to_owned(), 0)];
        assert_eq!(standings(&mounted.scratch), expected);
        let text = run(mounted.scratch.command(&["powertest", "list"])).out;
        assert!(
            text.contains("by word") && text.contains("by the operator's word"),
            "{text}"
        );
        // What is gone after it was read from the device again was lost, whatever ended the writer.
        killed(&mounted.scratch, &server, &at);
        mounted.again();
        done("rm", &["-r", &format!("{at}/redolab-powertest")]).expect("removes");
        let lost = [("device-power", 3, "tail_lost")];
        state(&mounted.scratch, &server, &at, &lost);
    }
}

#[test]
fn a_file_system_that_was_shut_down_kept_the_power_of_its_device() {
    let _alone = alone();
    for stays in [true, false] {
        let mounted = match Mounted::make(&format!("down-{stays}"), stays) {
            Ok(mounted) => mounted,
            Err(why) => return skipped(&why),
        };
        let server = Server::start(&mounted.scratch, &[]);
        let at = mounted.at();
        let mut writer = Writer::on(&mounted.scratch, &server, &at, &[]);
        await_kept(&mounted.scratch, &server.address, &at, 20);
        done("xfs_io", &["-x", "-c", "shutdown", &at]).expect("shuts down");
        writer.fails();
        mounted.again();
        state(
            &mounted.scratch,
            &server,
            &at,
            &[
                ("device-power", 4, "still answered"),
                ("host-power", 4, NOT_RESTARTED),
                ("guest-reset", 4, NOT_RESTARTED),
                (
                    "file-system-shutdown",
                    0,
                    "\"basis\": \"file_system_error\"",
                ),
            ],
        );
        let expected = vec![("partly tested".to_owned(), 0)];
        assert_eq!(standings(&mounted.scratch), expected);
    }
}

#[test]
fn a_device_that_went_away_is_a_cut_of_its_power_and_of_nothing_else() {
    let _alone = alone();
    let mut bench = match Bench::make("away", Fault::Honest, 29) {
        Ok(bench) => bench,
        Err(why) => return skipped(&why),
    };
    let server = Server::start(&bench.scratch, &[]);
    let at = bench.at();
    let mut writer = Writer::on(&bench.scratch, &server, &at, &[]);
    await_kept(&bench.scratch, &server.address, &at, 20);
    bench.cut(|| writer.fails()).expect("it is mounted again");
    state(
        &bench.scratch,
        &server,
        &at,
        &[
            ("host-power", 4, NOT_RESTARTED),
            ("guest-reset", 4, NOT_RESTARTED),
            ("file-system-shutdown", 4, "state --cut-kind device-power"),
            ("device-power", 0, "\"basis\": \"device_lost\""),
        ],
    );
    let expected = vec![("partly tested".to_owned(), 1)];
    assert_eq!(standings(&bench.scratch), expected);
    let listing = ["powertest", "list", "--cuts-bound", "95"];
    let text = run(bench.scratch.command(&listing)).out;
    assert!(text.contains("tested: 0 lost in 1 cut"), "{text}");
    assert!(text.contains("below 95 % per cut"), "{text}");
}

#[test]
fn a_restart_alone_is_by_the_operators_word() {
    let _alone = alone();
    if !rustix::process::geteuid().is_root() {
        return skipped("another start of the machine needs root");
    }
    let scratch = Scratch::new("restart");
    let server = Server::start(&scratch, &[]);
    let at = scratch.place("plain");
    killed(&scratch, &server, &at);
    scratch.restart();
    state(
        &scratch,
        &server,
        &at,
        &[
            ("device-power", 4, "the machine was restarted"),
            ("file-system-shutdown", 4, "the machine was restarted"),
            ("host-power", 0, "\"basis\": \"operators_word\""),
        ],
    );
    assert_eq!(standings(&scratch), [("partly tested".to_owned(), 0)]);
    // However often it is stated, and however loose the bound is.
    let mut loose = scratch.command(&["powertest", "list", "--cuts-bound", "100"]);
    let text = run({
        loose.args(["--format", "table"]);
        loose
    });
    assert!(text.out.contains(": partly tested: 0 lost"), "{text:?}");
    // What a restart loses refutes, whatever it was.
    killed(&scratch, &server, &at);
    scratch.restart();
    std::fs::remove_dir_all(scratch.path.join("plain/redolab-powertest")).expect("removes");
    state(&scratch, &server, &at, &[("host-power", 3, "tail_lost")]);
    assert_eq!(standings(&scratch)[0].0, "refuted");
}

/// The text that people read: the result, the cut, what shows it and what it covers.
#[test]
fn the_text_of_a_judged_cut_says_what_shows_it_and_what_it_covers() {
    let _alone = alone();
    let mounted = match Mounted::make("text", true) {
        Ok(mounted) => mounted,
        Err(why) => return skipped(&why),
    };
    let (scratch, at) = (&mounted.scratch, mounted.at());
    let server = Server::start(scratch, &[]);
    killed(scratch, &server, &at);
    mounted.again();
    let token = scratch.token();
    let address = server.address.as_str();
    let mut arguments = vec!["powertest", "verify", "--on", &at, "--to", address];
    arguments.extend(["--token-file", &token, "--cut-kind", "file-system-shutdown"]);
    let judged = run(scratch.command(&arguments));
    assert_eq!(judged.code, Some(0), "{judged:?}");
    let one_line = judged.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "NOTHING LOST",
        "0 of ",
        "The cut, as stated: file-system shutdown",
        "The cut is by the operator's word alone",
        "the device kept its cache",
        "the verdict of check stays unverified",
        "20 such cuts without a loss are needed (below 13.9 % per cut at 95 %)",
    ] {
        assert!(one_line.contains(words), "{words}: {one_line}");
    }
}
