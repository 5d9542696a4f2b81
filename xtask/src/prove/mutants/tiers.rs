//! Which tests a mutant meets, in which order.
//!
//! What lives here: the stages, quick and strong ones first, in four tiers. A crate's own unit
//! tests are the first one; the stages of the fast tier take less than a minute together with
//! these; those of the crates' tier are all tests of the crates that are changed; those of the
//! whole tier are redolab's own tests.

use crate::Outcome;

/// How far a mutant is tested; each tier contains those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// The unit tests of the crate that is changed.
    Units,
    /// Under a minute with those.
    Fast,
    /// All tests of the crates.
    Crates,
    /// Every test that may notice it.
    Whole,
}

impl Tier {
    /// As the data and the option name it.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Units => "units",
            Tier::Fast => "fast",
            Tier::Crates => "crates",
            Tier::Whole => "whole",
        }
    }

    /// The tier of a name.
    ///
    /// # Errors
    /// When no tier has this name.
    pub fn parse(name: &str) -> Outcome<Tier> {
        let all = [Tier::Units, Tier::Fast, Tier::Crates, Tier::Whole];
        let found = all.into_iter().find(|tier| tier.name() == name);
        found.ok_or_else(|| format!("no tier {name}; there are units, fast, crates, whole"))
    }
}

/// Test programs that one build makes, and how they are run.
pub struct Stage {
    /// As the data names it.
    pub name: &'static str,
    /// The tier that it belongs to.
    pub tier: Tier,
    /// What is built, as arguments of `cargo test --no-run`.
    pub build: &'static [&'static str],
    /// Arguments of each test program.
    pub run: &'static [&'static str],
    /// Environment of each test program.
    pub env: &'static [(&'static str, &'static str)],
}

const DEVICE_UNITS: Stage = Stage {
    name: "device units",
    tier: Tier::Units,
    build: &["-p", "redolab-device", "--lib"],
    run: &[],
    env: &[],
};
const REDO_UNITS: Stage = Stage {
    name: "redo units",
    tier: Tier::Units,
    build: &["-p", "redolab-redo", "--lib"],
    run: &[],
    env: &[],
};
/// The same for mutants of the crate below, after its own.
const REDO_UNITS_ABOVE: Stage = Stage {
    tier: Tier::Fast,
    ..REDO_UNITS
};
const REDO_ENGINE: Stage = Stage {
    name: "redo engine",
    tier: Tier::Fast,
    build: &["-p", "redolab-redo", "--test", "engine"],
    run: &[],
    env: &[],
};
const REDO_QUICK: Stage = Stage {
    name: "redo quick",
    tier: Tier::Fast,
    build: &["-p", "redolab-redo", "--test", "log"],
    run: &[
        "inspection::",
        "log_full::",
        "refusals::",
        "pipeline::",
        "control_copies::",
        "hostile_control::",
        "panics::",
        "corruption::",
        "--skip",
        "mebibyte",
    ],
    env: &[("REDO_FLIPS", "1")],
};
const REDO_STRONG: Stage = Stage {
    name: "redo strong",
    tier: Tier::Fast,
    build: &[
        "-p",
        "redolab-redo",
        "--features",
        "crash",
        "--test",
        "crash",
        "--test",
        "log",
    ],
    run: &[
        "crash_simulation::",
        "crash_orders::",
        "asynchronous::",
        "--skip",
        "nobody_waits_for",
    ],
    env: &[("REDOLAB_CRASH_SEEDS", "3000")],
};
const REDO_REST: Stage = Stage {
    name: "redo rest",
    tier: Tier::Crates,
    build: &[
        "-p",
        "redolab-redo",
        "--test",
        "killed_creation",
        "--test",
        "log",
    ],
    run: &[
        "creation",
        "left_over",
        "known_durable::",
        "mixed_copies::",
        "sectors::",
        "swapped_folder::",
        "version_1::",
    ],
    env: &[],
};
const REDO_WHOLE: Stage = Stage {
    name: "redo whole",
    tier: Tier::Crates,
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
    tier: Tier::Crates,
    build: &["-p", "redolab-measure", "-p", "redolab-device", "--lib"],
    run: &[],
    env: &[],
};
const REDOLAB: Stage = Stage {
    name: "redolab",
    tier: Tier::Whole,
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
    REDO_UNITS_ABOVE,
    REDO_ENGINE,
    REDO_QUICK,
    REDO_STRONG,
    REDO_REST,
    REDO_WHOLE,
    REDOLAB,
];
const REDO: &[Stage] = &[
    REDO_UNITS,
    REDO_ENGINE,
    REDO_QUICK,
    REDO_STRONG,
    REDO_REST,
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
    fn a_tier_has_a_name() {
        for tier in [Tier::Units, Tier::Fast, Tier::Crates, Tier::Whole] {
            assert_eq!(Tier::parse(tier.name()), Ok(tier));
        }
        assert!(Tier::parse("slow").is_err());
    }

    #[test]
    fn fast_stages_come_first_and_every_crate_above_is_reached() {
        for package in super::super::draw::PACKAGES {
            let stages = of(package);
            let tiers: Vec<Tier> = stages.iter().map(|stage| stage.tier).collect();
            assert!(tiers.is_sorted(), "{tiers:?}");
            assert_eq!(tiers.last(), Some(&Tier::Whole));
            let own = stages.first().map(|stage| stage.build);
            assert!(own.is_some_and(|build| build.contains(package)));
            let last = stages.last().map(|stage| stage.build);
            assert!(last.is_some_and(|build| build.contains(&"redolab")));
        }
    }
}
