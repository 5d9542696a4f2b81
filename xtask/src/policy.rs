//! The limits that `tidy` enforces, as tables: what may depend on what, where `unsafe` may stand,
//! how long things may be, which words must not appear.
//!
//! Changing a line here changes the design: it needs a decision under `docs/decisions/`.
//! This file is the only one that the word rules do not read.

/// This file, which has to spell what it forbids.
pub const OWN_PATH: &str = "xtask/src/policy.rs";

/// Each workspace crate, and the workspace crates that it may depend on, for any purpose.
pub const LAYERS: &[(&str, &[&str])] = &[
    ("redolab-measure", &[]),
    ("redolab-device", &["redolab-measure"]),
    ("redolab-redo", &["redolab-device", "redolab-measure"]),
    (
        "redolab-simulate",
        &["redolab-redo", "redolab-device", "redolab-measure"],
    ),
    (
        "redolab-drivers",
        &["redolab-measure", "redolab-device", "redolab-redo"],
    ),
    ("redolab-evidence", &["redolab-measure"]),
    ("redolab-analysis", &["redolab-measure"]),
    (
        "redolab-lab",
        &[
            "redolab-measure",
            "redolab-device",
            "redolab-redo",
            "redolab-simulate",
            "redolab-drivers",
            "redolab-evidence",
            "redolab-analysis",
        ],
    ),
    (
        "redolab",
        &[
            "redolab-measure",
            "redolab-device",
            "redolab-redo",
            "redolab-simulate",
            "redolab-drivers",
            "redolab-evidence",
            "redolab-analysis",
            "redolab-lab",
        ],
    ),
    ("xtask", &["redolab-measure", "redolab-analysis"]),
];

/// The crate that others embed.
pub const EMBEDDED: &str = "redolab-redo";
/// Crates below it, its own procedural macros and workspace crates included.
pub const EMBEDDED_BELOW_MAX: usize = 25;
/// The target whose dependencies count.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Build dependencies that compile or look for C.
pub const C_BUILDERS: &[&str] = &["cc", "cmake", "pkg-config", "bindgen", "vcpkg", "autotools"];

/// Values of `links` that stand for no C: the crate uses the key to be unique in a build.
pub const LINKS_WITHOUT_C: &[&str] = &["rayon-core"];

/// The binary.
pub const BINARY: &str = "redolab";
/// The crate of experiments and their store.
pub const LAB: &str = "redolab-lab";
/// The crate of the drivers.
pub const DRIVERS: &str = "redolab-drivers";
/// Asynchronous runtimes that the tests and examples of a crate may use, and the crate.
pub const IN_DEVELOPMENT: &[(&[&str], &str)] = &[(&["smol", "tokio"], EMBEDDED)];
/// Names that only some crates may use, each with whatever continues it with a hyphen, and those
/// crates.
pub const RESERVED: &[(&[&str], &[&str])] = &[
    // Asynchronous runtimes, diagnostics for people.
    (&["async-std", "miette", "smol", "tokio"], &[BINARY]),
    // Columnar files.
    (&["arrow", "parquet"], &[BINARY, LAB]),
    // Database clients, which the lab reaches through the drivers.
    (
        &[
            "mysql",
            "mysql_async",
            "oracle",
            "oracledb",
            "postgres",
            "rusqlite",
            "sqlx",
        ],
        &[BINARY, DRIVERS, LAB],
    ),
];

/// Modules that may hold `unsafe`: the file, the folder, and files named `module_more.rs`.
pub const UNSAFE_MODULES: &[&str] = &[
    "crates/device/src/fault",
    "crates/device/src/file",
    "crates/device/src/ioctl",
    "crates/device/src/null",
    "crates/device/src/pool/tests",
    "crates/device/src/queue",
    "crates/device/src/raw/prepare",
    "crates/device/src/region",
    "crates/device/src/sim_disk",
    "crates/device/src/stripe",
    "crates/device/src/uring",
    "crates/device/src/window",
    "crates/drivers/src/managed/spawn",
    // A model of a device.
    "crates/redo/benches/common/drawn",
    "crates/redo/benches/resilver",
    "crates/redo/benches/stripe",
    "crates/redo/src/buffer",
    // Members write from memory of their own: what is copied is in flight for one of the two sides.
    "crates/redo/src/members",
    "crates/redo/src/crash/disk",
    "crates/redo/src/crash/machine",
    "crates/redo/src/interleavings",
    "crates/redo/src/schedules/disk",
    "crates/redo/tests/common/generated",
    "crates/redo/src/wakers",
    "crates/redo/tests/log/cases",
    "crates/redo/tests/common/orders",
    "crates/redo/tests/log/log_full",
    "fuzz/promises/redo_recovery",
    "crates/lab/src/last_resort",
];

/// Width of a line, in characters.
pub const COLUMNS_MAX: usize = 100;
/// A longer line passes when a string makes it long, which rustfmt does not break: at most this
/// much of it, indentation not counted, is outside a literal.
pub const COLUMNS_BESIDE_STRING: usize = 50;
/// Lines of a file without its test modules: noted above the first, refused above the second.
pub const FILE_LINES_NOTED: usize = 400;
/// See [`FILE_LINES_NOTED`].
pub const FILE_LINES_MAX: usize = 500;
/// Lines of a file that is nothing but tests, where samples and tables stand.
pub const TEST_FILE_LINES_MAX: usize = 800;
/// Lines of `lib.rs`.
pub const LIB_LINES_MAX: usize = 80;

/// Whole words that mark unfinished work, in code, comments and documents.
pub const MARKERS: &[&str] = &["TODO", "FIXME", "XXX"];
/// Beginnings of paths that exist on one machine only.
pub const MACHINE_PATHS: &[&str] = &["/home/", "/root/", "/Users/", "/work/"];
/// Hosts that only a package client needs to know.
pub const REGISTRY_HOSTS: &[&str] = &["index.crates.io", "static.crates.io"];
/// Phrases that readers stumble over, and what to write instead.
pub const DIALECT: &[(&str, &str)] = &[
    ("told", "reported, given, distinguished"),
    ("tells", "reports, shows, distinguishes"),
    ("whoever", "who it is"),
    ("for who", "for those who"),
    ("own word", "reports, reported by"),
    ("held against", "compared with, threshold:"),
    ("speaks", "is about, counts"),
    ("has redo written", "makes the log writer write"),
    ("counts for nothing", "what follows from it"),
    ("is one alone", "is a log write of its own"),
    ("these options with", "sets, and the default"),
    ("who asks", "the thread, session or caller that asks"),
    ("who opens", "the process or program that opens"),
    ("who closes", "the thread that closes"),
    ("who closed", "the thread that closed"),
    ("who gave", "the thread that gave"),
    ("who embeds", "the program that embeds"),
    ("who begins", "the thread that begins"),
    ("whom it concerns", "the thread, session or reader"),
    ("stand beside", "are beside, are shown with"),
    ("stands beside", "is beside, is shown with"),
];
/// Endings of the files that the word rules read; a file without an ending is read too.
/// Samples of foreign evidence (traces, snapshots) keep whatever their origin wrote.
pub const WORDED: &[&str] = &[
    "rs", "md", "toml", "sh", "yml", "yaml", "js", "css", "html", "txt",
];
/// Files whose words are not ours.
pub const NOT_WORDED: &[&str] = &["Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT"];

/// Documents that are read in one sitting, and their most bytes.
pub const SHORT_DOCUMENTS: &[(&str, usize)] = &[
    ("README.md", 9_000),
    ("ARCHITECTURE.md", 16_000),
    ("CONTRIBUTING.md", 4_500),
];

/// Where decisions are kept, and what each must discuss.
pub const DECISIONS: &str = "docs/decisions/";
/// The list of decisions.
pub const DECISIONS_INDEX: &str = "docs/decisions/README.md";
/// Headings of a decision.
pub const DECISION_HEADINGS: &[&str] = &[
    "Context",
    "Decision",
    "Alternatives",
    "What would change our mind",
];

/// The document of the on-disk layout.
pub const LAYOUT_DOCUMENT: &str = "docs/format.md";
/// The modules that define the layout: each the file of that name or the folder.
pub const LAYOUT_MODULES: &[&str] = &["crates/redo/src/format", "crates/redo/src/control"];
/// The document of what is relied on, which names tests.
pub const ASSUMPTIONS_DOCUMENT: &str = "docs/assumptions.md";
/// The document that maps the code, whose paths lead to files.
pub const CODE_MAP: &str = "ARCHITECTURE.md";
/// The document generated from the metric catalogue.
pub const METRICS_DOCUMENT: &str = "docs/metrics.md";
/// The document generated from the catalogue of findings.
pub const FINDINGS_DOCUMENT: &str = "docs/findings.md";

/// The document of tests, whose table of proofs is generated.
pub const TESTING_DOCUMENT: &str = "docs/testing.md";

/// Product code that changes the file system through descriptors only.
pub const BY_DESCRIPTOR: &[&str] = &[
    "crates/drivers/src/",
    "crates/lab/src/",
    "crates/redolab/src/",
];

/// Violations that may stay until their file is next touched.
pub const RATCHET: &str = "xtask/ratchet.txt";

/// Whether `path` is the module, lies in its folder, or is named after it (`module_more.rs`).
pub fn in_module(path: &str, module: &str) -> bool {
    path.strip_prefix(module)
        .is_some_and(|rest| rest.starts_with(['.', '/', '_']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_its_file_its_folder_and_its_namesakes() {
        let module = "crates/device/src/file";
        for (path, inside) in [
            ("crates/device/src/file.rs", true),
            ("crates/device/src/file/direct.rs", true),
            ("crates/device/src/file_direct.rs", true),
            ("crates/device/src/files.rs", false),
            ("crates/device/src/queue.rs", false),
        ] {
            assert_eq!(in_module(path, module), inside, "{path}");
        }
    }

    #[test]
    fn layers_have_no_circle() {
        for (position, (name, below)) in LAYERS.iter().enumerate() {
            for other in *below {
                let at = LAYERS.iter().position(|(name, _)| name == other);
                assert!(at.is_some_and(|at| at < position), "{name} -> {other}");
            }
        }
    }
}
