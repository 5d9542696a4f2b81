//! Commands and options that have another form now. Nothing was released with them, so they are in
//! this table alone: they print the new form, and end as wrong usage does.

use std::ffi::OsString;

/// Words of an old form, and the new one.
const MOVED: [(&str, &str); 13] = [
    (
        "summary",
        "redolab compare --as r2 FILE... (or --label NAME=FILE; --r4 is --as r4)",
    ),
    (
        "capacity",
        "redolab compare --as capacity RUN|FILE... (--workload is --curve)",
    ),
    ("runs diff", "redolab compare --as differences RUN RUN"),
    (
        "runs export",
        "redolab report RUN --format FORMAT -o PATH (without --format: redolab)",
    ),
    ("runs load", "redolab import FILE..."),
    ("runs path", "redolab runs list --format json (its `store`)"),
    (
        "tprocc run",
        "redolab run --workload tproc-c --on URL (--users is --jobs, --ramp-up is --warmup)",
    ),
    (
        "import --redact",
        "redolab redact FILE... -o DIR, then redolab import DIR",
    ),
    (
        "import --redact-sql",
        "redolab redact FILE... -o DIR --redact sql, then redolab import DIR",
    ),
    (
        "collect oracle --interval",
        "redolab collect oracle --time TIME",
    ),
    ("man --dir", "redolab man -o DIR"),
    (
        "run --users",
        "redolab run --workload tproc-c --jobs LADDER",
    ),
    (
        "run --ramp-up",
        "redolab run --workload tproc-c --warmup TIME",
    ),
];

/// The new form of an old command line.
pub(super) fn new_form(arguments: &[OsString]) -> Option<String> {
    let arguments: Vec<_> = (arguments.iter().skip(1))
        .map(|word| word.to_string_lossy())
        .collect();
    let is_old = |old: &str| {
        let mut words = old.split(' ');
        let mut commands = arguments.iter().filter(|word| !word.starts_with('-'));
        words.all(|word| match word.starts_with("--") {
            true => arguments
                .iter()
                .any(|given| given == word || given.split('=').next() == Some(word)),
            false => commands.next().is_some_and(|given| given == word),
        })
    };
    let (old, new) = MOVED.iter().find(|(old, _)| is_old(old))?;
    Some(format!("redolab: `{old}` is now: {new}"))
}
