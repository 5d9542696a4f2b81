//! Circles: files of a crate that know each other, directly or through others.
//!
//! A file knows another one by a `use` or by a path in an expression, resolved through re-exports.
//! Tests do not count. A folder's own file may use its parts, because it declares them.
//!
//! What lives here: names as far as files need them. Items are found by their keyword; macros and
//! modules inside of a file are read as part of it; a path that leads nowhere is of another crate.

use super::Violation;
use crate::source::{Kind, Source, Token};
use std::collections::{BTreeMap, BTreeSet};

/// Words before the name of an item.
const ITEMS: [&str; 9] = [
    "fn",
    "struct",
    "enum",
    "trait",
    "type",
    "const",
    "static",
    "union",
    "macro_rules",
];
/// Re-exports of re-exports are followed so far.
const DEPTH_MAX: usize = 8;

/// A path, and the name that it has in the file; `*` for all names.
struct Import {
    path: Vec<String>,
    name: String,
}

/// What a file says about names.
#[derive(Default)]
struct Names {
    items: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths in expressions and types, of two segments at least.
    paths: Vec<Vec<String>>,
}

/// The modules of a crate that are files, by their path in it, without the crate's own name.
type Modules<'a> = BTreeMap<Vec<String>, (&'a Source, Names)>;

/// Every file that is in a circle.
pub fn check(sources: &[Source]) -> Vec<Violation> {
    let mut crates: BTreeMap<&str, Modules<'_>> = BTreeMap::new();
    for source in sources {
        if let Some((folder, module)) = module(&source.path) {
            let modules = crates.entry(folder).or_default();
            modules.insert(module, (source, names(source)));
        }
    }
    crates.values().flat_map(of_crate).collect()
}

fn of_crate(modules: &Modules<'_>) -> Vec<Violation> {
    let known: BTreeMap<&[String], BTreeSet<&[String]>> = modules
        .keys()
        .map(|module| (module.as_slice(), known_by(modules, module)))
        .collect();
    let reached: BTreeMap<&[String], BTreeSet<&[String]>> = known
        .keys()
        .map(|module| (*module, reach(&known, module)))
        .collect();
    let mut found = Vec::new();
    for (module, reaches) in &reached {
        let circle = |other: &&&[String]| reached[**other].contains(module);
        let others: Vec<String> = reaches
            .iter()
            .filter(circle)
            .filter(|other| *other != module)
            .map(|other| other.join("::"))
            .collect();
        if !others.is_empty() {
            let message = format!("knows and is known by {}", others.join(", "));
            let path = &modules[*module].0.path;
            found.push(Violation::new(path, 1, "circle", message));
        }
    }
    found
}

fn reach<'a>(
    known: &BTreeMap<&'a [String], BTreeSet<&'a [String]>>,
    from: &[String],
) -> BTreeSet<&'a [String]> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&[String]> = known[from].iter().copied().collect();
    while let Some(module) = next.pop() {
        if reached.insert(module) {
            next.extend(known[module].iter().copied());
        }
    }
    reached
}

/// The files that a file knows.
fn known_by<'a>(modules: &'a Modules<'_>, own: &[String]) -> BTreeSet<&'a [String]> {
    let names = &modules[own].1;
    let imports = names.imports.iter().map(|import| &import.path);
    let all = imports.chain(&names.paths);
    let found = all.filter_map(|path| resolve(modules, own, path, 0));
    found
        .filter(|module| *module != own && !module.starts_with(own))
        .collect()
}

/// The file to which a path in a file leads; `None` where that is of another crate.
fn resolve<'a>(
    modules: &'a Modules<'_>,
    own: &[String],
    path: &[String],
    depth: usize,
) -> Option<&'a [String]> {
    if depth > DEPTH_MAX {
        return None;
    }
    let (first, mut rest) = path.split_first()?;
    let mut at: Vec<String> = match first.as_str() {
        "crate" => Vec::new(),
        "self" => own.to_vec(),
        "super" => own.split_last()?.1.to_vec(),
        name => {
            let child = [own, std::slice::from_ref(first)].concat();
            let import = modules[own].1.imports.iter().find(|i| i.name == *name);
            match import {
                _ if modules.contains_key(&child) => child,
                // A name that is imported leads on where its import leads; that one was counted.
                Some(import) if import.path[0] != *name => {
                    let whole = [&import.path[..], rest].concat();
                    return resolve(modules, own, &whole, depth + 1);
                }
                _ => return None,
            }
        }
    };
    while let Some((name, after)) = rest.split_first() {
        if name == "super" {
            at.pop()?;
            rest = after;
            continue;
        }
        let child = [&at[..], std::slice::from_ref(name)].concat();
        if !modules.contains_key(&child) {
            break;
        }
        (at, rest) = (child, after);
    }
    let (module, (_, names)) = modules.get_key_value(&at)?;
    let Some(item) = rest.first().filter(|item| !names.items.contains(*item)) else {
        return Some(module);
    };
    // What is not defined there is imported there.
    let mut through = names.imports.iter().filter_map(|import| {
        let path = match import.name.as_str() {
            name if name == item => [&import.path[..], &rest[1..]].concat(),
            "*" => [&import.path[..], rest].concat(),
            _ => return None,
        };
        resolve(modules, module, &path, depth + 1)
    });
    Some(through.next().unwrap_or(module))
}

/// The crate of a file of product code, and its module there.
fn module(path: &str) -> Option<(&str, Vec<String>)> {
    let (folder, inside) = path.split_once("/src/")?;
    let inside = inside.strip_suffix(".rs")?;
    let mut module: Vec<String> = inside.split('/').map(str::to_owned).collect();
    match module.last()?.as_str() {
        "mod" => drop(module.pop()),
        "lib" | "main" if module.len() == 1 => module.clear(),
        _ => {}
    }
    Some((folder, module))
}

fn names(source: &Source) -> Names {
    let code = |token: &&Token| token.kind == Kind::Code && !source.is_test(token.line);
    let words: Vec<&str> = source
        .tokens
        .iter()
        .filter(code)
        .map(|token| token.text.as_str())
        .collect();
    let mut names = Names::default();
    let mut at = 0;
    while at < words.len() {
        match words[at] {
            "use" => {
                at = tree(&words, at + 1, &[], &mut names.imports);
                continue;
            }
            word if ITEMS.contains(&word) => {
                let name = words[at + 1..].iter().find(|word| is_name(word));
                names.items.extend(name.map(|name| (*name).to_owned()));
            }
            word if is_name(word) => {
                let (path, end) = path(&words, at);
                if path.len() > 1 {
                    names.paths.push(path);
                    at = end;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    names
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn is_step(words: &[&str], at: usize) -> bool {
    words.get(at) == Some(&":") && words.get(at + 1) == Some(&":")
}

/// The names from `at` on that are joined by `::`, and where they end.
fn path(words: &[&str], mut at: usize) -> (Vec<String>, usize) {
    let mut path = vec![words[at].to_owned()];
    at += 1;
    while is_step(words, at) && words.get(at + 2).is_some_and(|word| is_name(word)) {
        path.push(words[at + 2].to_owned());
        at += 3;
    }
    (path, at)
}

/// Reads the tree of a `use` from `at` on, below `above`; returns where it ends.
fn tree(words: &[&str], mut at: usize, above: &[String], found: &mut Vec<Import>) -> usize {
    if is_step(words, at) {
        // `::name` is of another crate.
        at += 2;
    }
    let mut own = above.to_vec();
    while let Some(word) = words.get(at) {
        match *word {
            "{" => {
                at += 1;
                while words.get(at).is_some_and(|word| *word != "}") {
                    at = tree(words, at, &own, found);
                    at += usize::from(words.get(at) == Some(&","));
                }
                return at + 1;
            }
            "*" => {
                let name = "*".to_owned();
                found.push(Import { path: own, name });
                return at + 1;
            }
            name => {
                own.push(name.to_owned());
                at += 1;
            }
        }
        if is_step(words, at) {
            at += 2;
            continue;
        }
        if own.last().is_some_and(|last| last == "self") {
            own.pop();
        }
        let mut name = own.last().cloned().unwrap_or_default();
        if words.get(at) == Some(&"as") {
            name = words.get(at + 1).copied().unwrap_or_default().to_owned();
            at += 2;
        }
        if !own.is_empty() {
            found.push(Import { path: own, name });
        }
        return at;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::made_up;
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let sources = files
            .iter()
            .map(|(path, text)| Source::new(&made_up(&format!("crates/a/src/{path}"), text)));
        let found = check(&sources.collect::<Vec<_>>());
        found.into_iter().map(|v| v.path).collect()
    }

    #[test]
    fn files_that_know_each_other_are_found() {
        let two = ["crates/a/src/one.rs", "crates/a/src/two.rs"];
        for (one, other) in [
            ("use crate::two::Two;", "use super::one::One;"),
            (
                "fn f() { crate::two::g(); }",
                "use crate::one;\nfn g() { one::f(); }",
            ),
            ("use crate::{b, two::{self, T}};", "use crate::One;"),
            (
                "use crate::two::*;",
                "use super::one as first;\nfn g() { first::f() }",
            ),
        ] {
            let lib = "mod one;\nmod two;\npub use one::One;";
            let found = circles(&[("lib.rs", lib), ("one.rs", one), ("two.rs", other)]);
            assert_eq!(found, two, "{one} {other}");
        }
    }

    #[test]
    fn tests_and_the_parts_of_a_folder_do_not_count() {
        for (one, other) in [
            (
                "use crate::two::Two;",
                "#[cfg(test)]\nmod tests { use crate::one::One; }",
            ),
            ("use crate::two::Two;", "use std::one::One;"),
            ("use crate::two::Two;", "use other::one::One;"),
        ] {
            let found = circles(&[("lib.rs", ""), ("one.rs", one), ("two.rs", other)]);
            assert!(found.is_empty(), "{one} {other}: {found:?}");
        }
        let parts = [
            ("a/mod.rs", "mod part;\nuse part::Part;\npub struct Whole;"),
            ("a/part.rs", "use super::Whole;\npub struct Part;"),
        ];
        assert!(circles(&parts).is_empty());
    }

    #[test]
    fn a_circle_goes_through_a_re_export_and_through_others() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;"),
            ("a/mod.rs", "mod deep;\npub use deep::Deep;"),
            ("a/deep.rs", "use crate::b::B;\npub struct Deep;"),
            ("b.rs", "use crate::c::C;\npub struct B;"),
            ("c.rs", "use crate::a::Deep;\npub struct C;"),
        ];
        let paths = ["a/deep", "b", "c"].map(|file| format!("crates/a/src/{file}.rs"));
        assert_eq!(circles(&files), paths);
    }
}
