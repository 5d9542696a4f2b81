//! Every cell of an import against the file that it comes from: this checker runs the binary and
//! shares no code with the readers of evidence.
//!
//! `REDOLAB_DOCUMENTS` names a folder with further evidence, such as whole documents of which the
//! repository holds excerpts: every file in it is checked too.

mod checker;
mod coverage;
mod formula;
mod number;
mod source;
mod trace;

#[path = "../../../../xtask/src/generate/evidence/mod.rs"]
mod generate;

use checker::{Import, Report};
use serde_json::Value;
use source::SourceText;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file's import, and its text.
struct Imported {
    json: Value,
    files: BTreeMap<String, SourceText>,
}

impl Imported {
    fn check(&self) -> Report {
        let import = Import {
            json: &self.json,
            files: &self.files,
        };
        import.check()
    }
}

/// Imports a file by the binary; `None` for a file that it refuses.
fn import(path: &Path) -> Option<Imported> {
    let store = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_redolab"))
        .args(["import", "--format", "json"])
        .arg(path)
        .env("REDOLAB_STORE", store.path())
        .output()
        .expect("the binary runs");
    let json: Value = serde_json::from_slice(&output.stdout).ok()?;
    // What is packed is not unpacked here.
    if json["imported"]["sources"][0]["packing"] != "" {
        return None;
    }
    let bytes = std::fs::read(path).expect("a file");
    let files = [(path.display().to_string(), SourceText::of(&bytes))];
    Some(Imported {
        json,
        files: files.into(),
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of a folder and of its folders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.metadata().is_ok_and(|m| m.len() < 4 << 20) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Problems of files, each with its name.
fn problems(paths: &[PathBuf]) -> (Vec<String>, [u64; 2]) {
    let (mut all, mut verified) = (Vec::new(), [0; 2]);
    for path in paths {
        let Some(imported) = import(path) else {
            continue;
        };
        let report = imported.check();
        verified = [0, 1].map(|i| verified[i] + report.verified[i]);
        let name = path.display();
        all.extend(report.problems.iter().map(|p| format!("{name}: {p}")));
    }
    (all, verified)
}

#[test]
fn every_cell_of_the_studies_is_in_the_files() {
    let (problems, verified) = problems(&files(&root().join("studies")));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(verified[0] > 500 && verified[1] > 100, "{verified:?}");
}

/// Tokens of a file that lines which were read hold and cells do not, and what is wrong with the
/// regions of its lines.
fn uncovered(path: &Path) -> Option<(coverage::Coverage, Option<String>)> {
    let imported = import(path)?;
    let report = imported.check();
    let name = path.display().to_string();
    let (source, text) = (
        &imported.json["imported"]["sources"][0],
        &imported.files[&name],
    );
    let read = report.read.get(&name).map_or(&[][..], Vec::as_slice);
    let lines = source["lines"].as_u64().unwrap_or(0);
    Some((
        coverage::of(source, text, read),
        coverage::gaps(source, lines),
    ))
}

/// Tokens that are in no cell, by file: the counts may fall and never rise. `REDOLAB_DOCUMENTS`
/// prints those of its files.
#[test]
fn tokens_that_no_cell_has_become_fewer() {
    let ratchet = include_str!("uncovered.txt")
        .lines()
        .filter(|l| !l.starts_with('#'));
    let allowed: BTreeMap<&str, usize> = ratchet
        .filter_map(|l| l.split_once(' '))
        .map(|(count, file)| (file, count.parse().expect("a count")))
        .collect();
    let mut wrong = Vec::new();
    let own = [root().join("studies"), root().join("fuzz/corpus")];
    let own = own.iter().flat_map(|folder| files(folder));
    for path in own.chain(samples()) {
        let Some((coverage, gap)) = uncovered(&path) else {
            continue;
        };
        let name = path.strip_prefix(root()).expect("below the root");
        let name = name.display().to_string();
        wrong.extend(gap.map(|g| format!("{name}: {g}")));
        let (now, before) = (
            coverage.uncovered.len(),
            allowed.get(name.as_str()).copied().unwrap_or(0),
        );
        if now != before {
            let some: Vec<_> = coverage.uncovered.iter().take(5).collect();
            wrong.push(format!("{now} {name} (was {before}) {some:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let Some(folder) = std::env::var_os("REDOLAB_DOCUMENTS") else {
        return;
    };
    for path in files(Path::new(&folder)) {
        if let Some((coverage, gap)) = uncovered(&path) {
            let (read, passed) = (coverage.read, coverage.passed);
            let left = coverage.uncovered.len();
            println!(
                "{}: {read} tokens read, {passed} passed over, {left} not",
                path.display()
            );
            let some: Vec<_> = coverage.uncovered.iter().take(12).collect();
            println!("   {some:?} {gap:?}");
            assert_eq!(gap, None, "{}", path.display());
        }
    }
}

#[test]
fn every_cell_of_the_corpus_is_in_the_files() {
    let (problems, verified) = problems(&files(&root().join("fuzz/corpus")));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(verified[0] > 1000 && verified[1] > 500, "{verified:?}");
}

/// Real listings, inputs of cases, and every so many of the healthy inputs of other programs.
const SAMPLES: [(&str, usize); 5] = [
    ("crates/evidence/tests/listings/real", 1),
    ("crates/redolab/tests/cases/inputs", 1),
    ("crates/redolab/tests/cases/sixty", 1),
    ("crates/redolab/tests/cases/fifth", 1),
    ("experiments/findings/healthy", 8),
];

fn samples() -> Vec<PathBuf> {
    let of = |(folder, each): (&str, usize)| files(&root().join(folder)).into_iter().step_by(each);
    let all = SAMPLES.into_iter().flat_map(of);
    // Keys are no evidence.
    all.filter(|path| !path.ends_with("keys.md")).collect()
}

#[test]
fn every_cell_of_samples_and_cases_is_in_the_files() {
    let (problems, verified) = problems(&samples());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(verified[0] > 5000 && verified[1] > 500, "{verified:?}");
}

#[test]
fn every_cell_of_generated_evidence_is_in_the_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = std::env::var("REDOLAB_SEED").ok();
    let first: u64 = first.map_or(1, |s| s.parse().expect("REDOLAB_SEED is a number"));
    let mut paths = Vec::new();
    for seed in first..first + 2 {
        for (at, made) in generate::all(seed, 3 + seed % 9).iter().enumerate() {
            let name = format!("{seed}-{at}-{}-{}.txt", made.kind, made.layout);
            let path = folder.path().join(name.replace(['/', ' '], "_"));
            std::fs::write(&path, &made.text).expect("written");
            paths.push(path);
        }
    }
    let (problems, verified) = problems(&paths);
    assert!(problems.is_empty(), "seed {first}: {}", problems.join("\n"));
    assert!(verified[0] > 1000 && verified[1] > 100, "{verified:?}");
}

/// A change of an import that is wrong.
type Alteration = (&'static str, fn(&mut Value));

/// The first cell that was read of a table, and its place in the JSON.
fn origin<'a>(json: &'a mut Value, table: &str, column: usize) -> &'a mut Value {
    let tables = json["imported"]["tables"].as_array_mut().expect("tables");
    let table = tables
        .iter_mut()
        .find(|t| t["id"] == *table)
        .expect("the table");
    &mut table["origins"][0]["cells"][column]
}

#[test]
fn a_wrong_import_is_refused() {
    let path = root().join("studies/000/functions-252-271.txt");
    let sound = import(&path).expect("evidence");
    assert!(sound.check().problems.is_empty());
    const TABLE: &str = "iostat_by_function";
    let altered: [Alteration; 8] = [
        ("the column beside it", |json| {
            let column = origin(json, TABLE, 6)[1].as_u64().expect("a column");
            origin(json, TABLE, 6)[1] = (column + 1).into();
        }),
        ("the line below", |json| {
            let line = origin(json, TABLE, 6)[0].as_u64().expect("a line");
            origin(json, TABLE, 6)[0] = (line + 1).into();
        }),
        ("one digit fewer", |json| {
            let length = origin(json, TABLE, 5)[2].as_u64().expect("a length");
            origin(json, TABLE, 5)[2] = (length - 1).into();
        }),
        ("another factor", |json| {
            origin(json, TABLE, 4)[3] = 1e12.into()
        }),
        ("the place of the neighbour", |json| {
            *origin(json, TABLE, 5) = origin(json, TABLE, 6).clone();
        }),
        ("a number without an origin", |json| {
            *origin(json, TABLE, 5) = Value::Null
        }),
        ("an invented zero", |json| {
            let tables = json["imported"]["tables"].as_array_mut().expect("tables");
            let table = tables.iter_mut().find(|t| t["id"] == TABLE).expect("it");
            table["rows"][0][1] = 0.into();
        }),
        ("another result of a formula", |json| {
            let tables = json["imported"]["tables"].as_array_mut().expect("tables");
            let table = tables.iter_mut().find(|t| t["id"] == TABLE).expect("it");
            let seconds = table["rows"][0][11].as_f64().expect("a window");
            table["rows"][0][11] = (seconds * 1.001).into();
        }),
    ];
    for (what, alter) in altered {
        let mut json = sound.json.clone();
        alter(&mut json);
        let import = Import {
            json: &json,
            files: &sound.files,
        };
        let problems = import.check().problems;
        assert_eq!(problems.len(), 1, "{what}: {problems:?}");
    }
}

#[test]
fn every_cell_of_documents_is_in_the_files() {
    let Some(folder) = std::env::var_os("REDOLAB_DOCUMENTS") else {
        return;
    };
    let (problems, verified) = problems(&files(Path::new(&folder)));
    println!("{} cells read, {} derived", verified[0], verified[1]);
    assert!(
        problems.is_empty(),
        "{} problems\n{}",
        problems.len(),
        problems.join("\n")
    );
}
