//! Units: no option takes a time or a size without one, and each says which spellings it takes.

use crate::harness::Place;

/// The commands that have options of any kind.
const COMMANDS: [&str; 9] = [
    "check", "run", "compare", "probe", "devices", "import", "inspect", "findings", "report",
];
/// What an option takes that is a time or a size, and what is good for it.
const MEASURED: [(&str, &str); 5] = [
    ("TIME", "20s"),
    ("SIZE", "64M"),
    ("SIZES", "1k,4k"),
    ("SIZE@PERIOD", "500@1s"),
    ("512|4096", "4096"),
];
/// What an option takes that is neither: counts, ratios, words, places.
const OTHERS: &[&str] = &[
    "ID",
    "KEY=VALUE",
    "NAMES",
    "RUN|FILE",
    "WIDTH:PATHS",
    "KIND:PATHS",
    "N|PATHS",
    "SOURCE=OFFSET",
    "N",
    "LADDER",
    "RATIO",
    "PERCENT",
    "NAME",
    "MODE",
    "METHOD",
    "LIST",
    "ENGINE",
    "API",
    "PROCESS",
    "FILE",
    "DIR",
    "DIR[,RATIO]",
    "DIR[,EVERY]",
    "DEVICE",
    "PATH",
    "NAME=PATH",
    "NAME=VALUE",
    "NAME=SOURCE",
    "NAME[=SOURCE]",
    "NAMES",
    "KEY=VALUE",
    "NAME=LEVEL,LEVEL",
    "LEVEL,LEVEL=SOURCE",
    "CONDITION",
    "KIND",
    "UNIT",
];
/// Words that clap lists as values, or that stand for a declaration.
const WORDS: [&str; 5] = ["FORMAT", "RBA", "URL", "VIEW", "WHAT[=BASIS]"];

/// The options of a command with what they take, as its help lists them.
fn options(place: &Place, command: &str) -> Vec<(String, String)> {
    let help = place.run(&[command, "--help"]);
    let lines = help.out.lines().map(str::trim_start);
    let option = |line: &str| {
        let at = line.starts_with('-').then(|| line.find("--"))??;
        let (name, value) = line.get(at..)?.split_once(" <")?;
        let value = value.split_once('>')?.0;
        Some((name.to_owned(), value.to_owned()))
    };
    lines.filter_map(option).collect()
}

/// Arguments that end the command before it looks at anything, once its options are read, and
/// without which the option is refused for other reasons.
fn others(command: &str, option: &str) -> Vec<&'static str> {
    let mut all = match command {
        "compare" if option == "--ring-size" || option == "--failover-delay" => {
            let ring = "a=failover:/nowhere/at-all,/nowhere/ring";
            vec!["--on", ring, "--on", "b=/nowhere/at-all"]
        }
        _ if option == "--ring-size" || option == "--failover-delay" => {
            vec!["--members", "failover:/nowhere/at-all,/nowhere/ring"]
        }
        "compare" if option == "--sync-under" => vec!["--as", "capacity", "/nowhere/at-all"],
        "run" => vec!["--on", "/nowhere/at-all"],
        "compare" => vec!["--on", "a=/nowhere/at-all", "--on", "b=/nowhere/at-all"],
        _ => vec!["/nowhere/at-all"],
    };
    match option {
        "--sizes" => all.extend(["--workload", "size-sweep", "--log-file-size", "64M"]),
        "--burst" if command == "check" => all.extend(["--rate", "50", "--soak", "1h"]),
        "--burst" => all.extend(["--rate", "50"]),
        _ => {}
    }
    all
}

#[test]
fn no_option_takes_a_bare_time_or_size() {
    let place = Place::new();
    let mut measured = 0;
    for command in COMMANDS {
        for (option, value) in options(&place, command) {
            let Some((_, good)) = MEASURED.iter().find(|(name, _)| *name == value) else {
                let known = OTHERS.contains(&value.as_str()) || WORDS.contains(&value.as_str());
                assert!(
                    known,
                    "{command} {option} takes {value}: a time, a size, or what else?"
                );
                continue;
            };
            measured += 1;
            // Smaller ones are refused for what they say.
            let large = matches!(option.as_str(), "--tbw" | "--max-write");
            let good = match option.as_str() {
                _ if large => "600T",
                // At most a second.
                "--failover-delay" => "20ms",
                _ => *good,
            };
            let with = |text: &str| {
                let mut arguments = vec![command.to_owned(), option.clone(), text.to_owned()];
                arguments.extend(others(command, &option).into_iter().map(str::to_owned));
                place.run(&arguments)
            };
            let bare = if value == "SIZE@PERIOD" { "500@7" } else { "7" };
            with(bare).expect(2, &[&option, "`7` has no unit"]);
            with("soon").expect(2, &[&option, "`soon`"]);
            with(good).expect(2, &[]);
            let said = with(good).err;
            assert!(
                said.contains("/nowhere/at-all"),
                "{command} {option} {good}: {said}"
            );
        }
    }
    assert!(
        measured >= 30,
        "only {measured} options take a time or a size"
    );
}

#[test]
fn what_is_counted_may_be_in_thousands() {
    let place = Place::new();
    for arguments in [
        ["check", "--commit-rate", "5k", "/nowhere/at-all"],
        ["run", "--commits", "200k", "--on=/nowhere/at-all"],
        ["run", "--rate", "1.5k", "--on=/nowhere/at-all"],
        ["check", "--tbw", "600T", "/nowhere/at-all"],
        ["check", "--redo-rate", "80M/s", "/nowhere/at-all"],
    ] {
        place
            .run(&arguments)
            .expect(2, &["/nowhere/at-all", "does not exist"]);
    }
    for (arguments, says) in [
        (
            ["check", "--p99", "2", "."],
            "--p99: `2` has no unit; write 2ms, 2s or 2m",
        ),
        (["check", "--redo-rate", "80", "."], "80M"),
        (["check", "--tbw", "600", "."], "such as 600T"),
        (
            ["check", "--commit-rate", "5s", "."],
            "`5s` is not a number",
        ),
    ] {
        place.run(&arguments).expect(2, &[says]);
    }
}
