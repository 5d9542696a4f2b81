//! Which tests a mutant meets, in which order.
//!
//! What lives here: the stages, quick and strong ones first. The stages of the fast tier take less
//! than a minute together; a mutant that survives them meets the rest, up to redolab's own tests.

/// Test programs that one build makes, and how they are run.
pub struct Stage {
    /// As the data names it.
    pub name: &'static str,
    /// Whether it belongs to the fast tier.
    pub fast: bool,
    /// What is built, as arguments of `cargo test --no-run`.
    pub build: &'static [&'static str],
    /// Arguments of each test program.
    pub run: &'static [&'static str],
    /// Environment of each test program.
    pub env: &'static [(&'static str, &'static str)],
}

const DEVICE_UNITS: Stage = Stage {
    name: "device units",
    fast: true,
    build: &["-p", "redolab-device", "--lib"],
    run: &[],
    env: &[],
};
const REDO_UNITS: Stage = Stage {
    name: "redo units",
    fast: true,
    build: &["-p", "redolab-redo", "--lib"],
    run: &[],
    env: &[],
};
const REDO_QUICK: Stage = Stage {
    name: "redo quick",
    fast: true,
    build: &[
        "-p",
        "redolab-redo",
        "--test",
        "log_full",
        "--test",
        "refusals",
        "--test",
        "pipeline",
        "--test",
        "control_copies",
        "--test",
        "hostile_control",
        "--test",
        "panics",
        "--test",
        "engine",
        "--test",
        "corruption",
    ],
    run: &["--skip", "mebibyte"],
    env: &[("REDO_FLIPS", "1")],
};
const REDO_STRONG: Stage = Stage {
    name: "redo strong",
    fast: true,
    build: &[
        "-p",
        "redolab-redo",
        "--features",
        "crash",
        "--test",
        "crash_simulation",
        "--test",
        "crash_orders",
        "--test",
        "asynchronous",
    ],
    run: &["--skip", "nobody_waits_for"],
    env: &[("REDOLAB_CRASH_SEEDS", "3000")],
};
const REDO_WHOLE: Stage = Stage {
    name: "redo whole",
    fast: false,
    build: &[
        "-p",
        "redolab-redo",
        "--features",
        "crash",
        "--lib",
        "--tests",
    ],
    run: &[],
    env: &[],
};
const BELOW: Stage = Stage {
    name: "measure and device",
    fast: false,
    build: &["-p", "redolab-measure", "-p", "redolab-device", "--lib"],
    run: &[],
    env: &[],
};
const REDOLAB: Stage = Stage {
    name: "redolab",
    fast: false,
    build: &["-p", "redolab", "--lib", "--tests"],
    // These tests start no log of their own: evidence, pages and stored figures.
    run: &[
        "--skip",
        "browser",
        "--skip",
        "evidence",
        "--skip",
        "import",
        "--skip",
        "input",
        "--skip",
        "interchange",
        "--skip",
        "findings",
    ],
    env: &[],
};

const DEVICE: &[Stage] = &[
    DEVICE_UNITS,
    REDO_UNITS,
    REDO_QUICK,
    REDO_STRONG,
    REDO_WHOLE,
    REDOLAB,
];
const REDO: &[Stage] = &[
    REDO_UNITS,
    REDO_QUICK,
    REDO_STRONG,
    REDO_WHOLE,
    BELOW,
    REDOLAB,
];

/// The stages of a crate's mutants.
pub fn of(package: &str) -> &'static [Stage] {
    if package == "redolab-device" {
        DEVICE
    } else {
        REDO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_stages_come_first_and_every_crate_above_is_reached() {
        for package in super::super::draw::PACKAGES {
            let stages = of(package);
            let slow = stages.iter().position(|stage| !stage.fast);
            let slow = slow.expect("there is a whole tier");
            assert!(stages.iter().skip(slow).all(|stage| !stage.fast));
            let own = stages.first().map(|stage| stage.build);
            assert!(own.is_some_and(|build| build.contains(package)));
            let last = stages.last().map(|stage| stage.build);
            assert!(last.is_some_and(|build| build.contains(&"redolab")));
        }
    }
}
