//! Rules about documents: what is generated is fresh, the layout's document was read when the
//! layout changed, tests that assumptions name exist, decisions have their shape, links lead
//! somewhere.

use super::Violation;
use crate::docs;
use crate::policy;
use crate::tree::File;
use std::path::Path;

/// Every violation about documents. `root` is asked only whether a linked file exists.
pub fn check(root: &Path, files: &[File]) -> Vec<Violation> {
    let mut found = Vec::new();
    generated(files, &mut found);
    assumptions(files, &mut found);
    map(files, &mut found);
    let index = files
        .iter()
        .find(|file| file.path == policy::DECISIONS_INDEX);
    for file in files.iter().filter(|file| file.ending() == "md") {
        decision(file, index, &mut found);
        length(file, &mut found);
        links(file, &|path| root.join(path).exists(), &mut found);
    }
    found
}

fn generated(files: &[File], found: &mut Vec<Violation>) {
    let made = match docs::made(files) {
        Ok(made) => made,
        Err(problem) => return found.push(Violation::new("docs", 1, "generated", problem)),
    };
    for (path, fresh) in made {
        let now = files.iter().find(|file| file.path == path);
        if now.map(|file| &file.text) == fresh.as_ref() {
            continue;
        }
        let (now, fresh) = (
            now.map_or("", |file| file.text.as_str()),
            fresh.unwrap_or_default(),
        );
        let same = now.lines().zip(fresh.lines()).take_while(|(a, b)| a == b);
        let message = match path.as_str() {
            policy::LAYOUT_DOCUMENT => {
                "the code of the layout has changed: read this document against it, then \
                 `cargo xtask docs`"
            }
            _ => "differs from what it is generated from: `cargo xtask docs` writes it",
        };
        let line = same.count() + 1;
        found.push(Violation::new(&path, line, "generated", message));
    }
}

/// A test is named in code, as a path whose last part has several words.
fn assumptions(files: &[File], found: &mut Vec<Violation>) {
    let Some(file) = files
        .iter()
        .find(|f| f.path == policy::ASSUMPTIONS_DOCUMENT)
    else {
        return;
    };
    let stands = |name: &str| {
        let (test, module) = (format!("fn {name}("), format!("/{name}"));
        let is_code = |f: &&File| f.ending() == "rs";
        let mut code = files.iter().filter(is_code);
        code.any(|f| f.text.contains(&test) || f.path.contains(&module))
    };
    for (line, code) in codes(&file.text) {
        let name = code.rsplit("::").next().unwrap_or(code);
        let words = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let is_test = code.contains("::") && name.contains('_') && name.chars().all(words);
        if is_test && !stands(name) {
            let message = format!("there is no `{code}`");
            found.push(Violation::new(&file.path, line, "assumptions", message));
        }
    }
}

/// Code between backquotes, with its line.
fn codes(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    lines.flat_map(|(index, line)| {
        let codes = line.split('`').skip(1).step_by(2);
        codes.map(move |code| (index + 1, code))
    })
}

/// A path into a crate leads to a file, or to a name in the file before it.
fn map(files: &[File], found: &mut Vec<Violation>) {
    let there = |path: &str| -> bool {
        let mut files = files.iter();
        files.any(|f| {
            f.path
                .strip_prefix(path)
                .is_some_and(|r| r.starts_with(['.', '/']))
        })
    };
    let Some(map) = files.iter().find(|f| f.path == policy::CODE_MAP) else {
        return;
    };
    for (line, code) in codes(&map.text) {
        let Some((name, rest)) = code.split_once("::") else {
            continue;
        };
        let source = format!("crates/{name}/src");
        let (module, last) = rest.rsplit_once("::").unwrap_or(("lib", rest));
        let module = format!("{source}/{}", module.replace("::", "/"));
        let named = |f: &File| policy::in_module(&f.path, &module) && f.text.contains(last);
        let leads = there(&format!("{source}/{}", rest.replace("::", "/")));
        if there(&source) && !leads && !files.iter().any(named) {
            let message = format!("there is no `{code}`");
            found.push(Violation::new(&map.path, line, "code-map", message));
        }
    }
}

fn decision(file: &File, index: Option<&File>, found: &mut Vec<Violation>) {
    let Some(name) = file.path.strip_prefix(policy::DECISIONS) else {
        return;
    };
    if file.path == policy::DECISIONS_INDEX {
        return;
    }
    let mut told = |message| found.push(Violation::new(&file.path, 1, "decision", message));
    if !is_dated(name) {
        told(format!("`{name}` is not named YYYY-MM-DD-title.md"));
    }
    if index.is_some_and(|index| !index.text.contains(&format!("({name})"))) {
        told(format!("`{}` does not list it", policy::DECISIONS_INDEX));
    }
    for heading in policy::DECISION_HEADINGS {
        let is_it = |line: &str| line.starts_with('#') && line.trim_matches(['#', ' ']) == *heading;
        if !file.text.lines().any(is_it) {
            told(format!("the heading `{heading}` is missing"));
        }
    }
}

fn length(file: &File, found: &mut Vec<Violation>) {
    let mut short = policy::SHORT_DOCUMENTS.iter();
    let most = short.find(|(path, _)| *path == file.path);
    if let Some((_, most)) = most.filter(|(_, most)| file.text.len() > *most) {
        let message = format!("{} bytes, {most} allowed: move a part", file.text.len());
        found.push(Violation::new(&file.path, 1, "document-length", message));
    }
}

/// Whether a file's name is `YYYY-MM-DD-title.md`.
fn is_dated(name: &str) -> bool {
    let Some((date, title)) = name.split_at_checked(11) else {
        return false;
    };
    let shape: String = date
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    let mut parts = date
        .split('-')
        .skip(1)
        .map_while(|part| part.parse::<u32>().ok());
    let (month, day) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    let title = title.strip_suffix(".md").unwrap_or("");
    let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    shape == "0000-00-00-"
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && !title.is_empty()
        && title.chars().all(kebab)
}

fn links(file: &File, exists: &dyn Fn(&str) -> bool, found: &mut Vec<Violation>) {
    for (line, target) in targets(&file.text) {
        let elsewhere = target.contains("://") || target.starts_with("mailto:");
        let path = target.split('#').next().unwrap_or("");
        if elsewhere || path.is_empty() {
            continue;
        }
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        if !within(folder, path).is_some_and(|path| exists(&path)) {
            let message = format!("`{target}` leads nowhere");
            found.push(Violation::new(&file.path, line, "link", message));
        }
    }
}

/// A relative path made into one from the root; none if it leaves the project.
fn within(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    if path.starts_with('/') {
        return None;
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Targets of a document's links with their lines: inline, by reference, and in HTML attributes.
/// Code is not read.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        let opened = line.trim_start();
        if opened.starts_with("```") || opened.starts_with("~~~") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        // Every second piece between backquotes is code.
        let line: String = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
        for (open, close) in [("](", ')'), ("src=\"", '"'), ("href=\"", '"')] {
            for rest in line.split(open).skip(1) {
                let target = rest.split(close).next().unwrap_or("");
                found.push((index + 1, first_word(target)));
            }
        }
        if opened.starts_with('[')
            && let Some((name, target)) = line.split_once("]: ")
            && !name.contains("](")
        {
            found.push((index + 1, first_word(target)));
        }
    }
    found
}

/// A target without its title and angle brackets.
fn first_word(target: &str) -> String {
    let word = target.split_whitespace().next().unwrap_or("");
    word.trim_matches(['<', '>']).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::{fired, made_up};
    use super::*;

    #[test]
    fn assumptions_name_tests_that_exist() {
        let text =
            "1. `a::tests::it_holds`, `a::tests::it_went`,\n `device::sim_disk`, `some_word`.";
        let files = [
            made_up(policy::ASSUMPTIONS_DOCUMENT, text),
            made_up("crates/a/src/lib.rs", "fn it_holds() {}\n// it_went\n"),
            made_up("crates/device/src/sim_disk/state.rs", ""),
        ];
        let mut found = Vec::new();
        assumptions(&files, &mut found);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].message, "there is no `a::tests::it_went`");
    }

    #[test]
    fn the_map_leads_to_code() {
        let files = |text: &str| {
            [
                made_up(policy::CODE_MAP, text),
                made_up("crates/a/src/lib.rs", "pub use b::Name;\n"),
                made_up("crates/a/src/b/mod.rs", "pub struct Name;\n"),
                made_up("crates/a/src/b/c.rs", "fn d() {}\n"),
            ]
        };
        for (text, expected) in [
            (
                "`a::b` `a::b::c` `a::b::c::d` `a::b::Name` `a::Name` `std::fs` `b`",
                vec![],
            ),
            ("`a::b`\n`a::c`", vec![("code-map", 2)]),
            (
                "`a::b::c::e` `a::Other`",
                vec![("code-map", 1), ("code-map", 1)],
            ),
        ] {
            let mut found = Vec::new();
            map(&files(text), &mut found);
            assert_eq!(fired(&found), expected, "{text}");
        }
    }

    #[test]
    fn links_lead_somewhere() {
        let there = |path: &str| ["docs/a.md", "README.md", "docs", "img/x.svg"].contains(&path);
        for (text, expected) in [
            (
                "[a](a.md) [b](../README.md#part) [c](#here) [d](https://example.org/x)",
                vec![],
            ),
            ("[a](b.md)", vec![("link", 1)]),
            ("`[a](b.md)`", vec![]),
            ("```\n[a](b.md)\n```\n[b](c.md)", vec![("link", 4)]),
            ("[a](a.md \"title\") [b](<a.md>)", vec![]),
            ("[a]: a.md\n[b]: b.md", vec![("link", 2)]),
            (
                "<img src=\"../img/x.svg\"> <a href=\"../img/y.svg\">",
                vec![("link", 1)],
            ),
            (
                "[a](../../outside.md) [b](/README.md)",
                vec![("link", 1), ("link", 1)],
            ),
        ] {
            let mut found = Vec::new();
            links(&made_up("docs/b.md", text), &there, &mut found);
            assert_eq!(fired(&found), expected, "{text}");
        }
    }

    #[test]
    fn decisions_have_their_shape() {
        let good: String = policy::DECISION_HEADINGS
            .iter()
            .map(|heading| format!("## {heading}\n\ntext\n\n"))
            .collect();
        let names = ["2026-11-20-one-writer.md", "2026-11-20-a.md"];
        let index = names.map(|name| format!("- [a]({name})")).join("\n");
        let index = made_up(policy::DECISIONS_INDEX, &index);
        let count = |name: &str, text: &str| {
            let mut found = Vec::new();
            decision(
                &made_up(&format!("{}{name}", policy::DECISIONS), text),
                Some(&index),
                &mut found,
            );
            found.len()
        };
        assert_eq!(count("2026-11-20-one-writer.md", &good), 0);
        for name in [
            "2026-13-20-a.md",
            "2026-11-20-.md",
            "20-11-2026-a.md",
            "a.md",
            "2026-11-20-A b.md",
        ] {
            assert_eq!(
                count(name, &good),
                2,
                "{name}: its name, and it is not listed"
            );
        }
        assert_eq!(count("2026-11-20-b.md", &good), 1, "it is not listed");
        assert_eq!(
            count("2026-11-20-a.md", &good.replace("## Context", "Context")),
            1
        );
        let mut found = Vec::new();
        decision(&made_up("docs/other.md", ""), Some(&index), &mut found);
        decision(&index, Some(&index), &mut found);
        assert_eq!(found, []);
    }

    #[test]
    fn documents_for_one_sitting_stay_short() {
        let [(path, most), ..] = policy::SHORT_DOCUMENTS else {
            panic!("no documents");
        };
        for (path, bytes, fires) in [
            (*path, *most, false),
            (*path, most + 1, true),
            ("docs/long.md", most + 1, false),
        ] {
            let mut found = Vec::new();
            length(&made_up(path, &"a".repeat(bytes)), &mut found);
            assert_eq!(found.len(), usize::from(fires), "{path} {bytes}");
        }
    }

    #[test]
    fn generated_documents_are_fresh() {
        let layout = |n: u8| made_up("crates/redo/src/format.rs", &format!("const A: u8 = {n};"));
        let metrics = made_up(policy::METRICS_DOCUMENT, &docs::metrics());
        let hash = docs::layout_hash(&[layout(1)]).expect("there is a layout");
        let document = made_up(
            policy::LAYOUT_DOCUMENT,
            &docs::with_layout_hash("# Layout\n", &hash),
        );
        let rules = |files: &[File]| {
            let mut found = Vec::new();
            generated(files, &mut found);
            found.iter().map(|v| v.rule).collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        let listed = made_up(policy::FINDINGS_DOCUMENT, &docs::findings());
        let fresh = [metrics, listed];
        let with = |more: &[File]| rules(&[&fresh[..], more].concat());
        assert_eq!(with(&[layout(1), document.clone()]), none);
        assert_eq!(with(&[layout(2), document.clone()]), ["generated"]);
        assert_eq!(with(&[layout(2)]), none);
        assert_eq!(rules(&[document]), ["generated", "generated"]);
        let tests = |text: &str| made_up(policy::TESTING_DOCUMENT, text);
        let place = "<!-- proofs -->\n<!-- /proofs -->\n";
        let filled = docs::testing(place).expect("a place");
        assert_eq!(with(&[tests(&filled)]), none);
        assert_eq!(with(&[tests(place)]), ["generated"]);
        assert_eq!(with(&[tests("# no place")]), ["generated"]);
        let figure = made_up("docs/figures/log-gathering.svg", "<svg/>");
        assert_eq!(with(&[figure]), ["generated"], "there is no data for it");
        let data = made_up("experiments/stream/data.csv", "a,b\n1\n");
        assert_eq!(with(&[data]), ["generated"], "data that is not whole");
    }
}
