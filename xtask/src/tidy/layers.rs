//! Rules about dependencies, checked against what cargo resolves.
//!
//! Workspace edges and the names that only the binary may use come from `cargo metadata`. What
//! stands below the embedded crate comes from `cargo tree`, because metadata joins the features
//! of the whole workspace, and a program that embeds the crate gets only its own.

use super::Violation;
use crate::{Outcome, cargo, policy};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A crate as cargo resolved it.
#[derive(Clone, Debug, Default)]
struct Crate {
    name: String,
    version: String,
    /// Path of its manifest from the root, for a crate of the workspace.
    manifest: Option<String>,
    /// The C library that its build script links.
    links: Option<String>,
    /// Names of direct dependencies as declared: normal, build and development.
    declared: BTreeSet<String>,
    /// Those of them that only its tests, benchmarks and examples use.
    development: BTreeSet<String>,
    /// Ids of normal dependencies as resolved.
    normal: Vec<String>,
}

/// Every violation about dependencies.
pub fn check(root: &Path) -> Outcome<Vec<Violation>> {
    let metadata = ask(
        root,
        &[
            "metadata",
            "--format-version=1",
            "--filter-platform",
            policy::TARGET,
        ],
    )?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|e| format!("cargo metadata is not JSON: {e}"))?;
    let crates = crates(&metadata, root);
    let mut found = edges(&crates);
    found.extend(reserved(&crates));
    let lists = |edges: &str| -> Outcome<Vec<(String, String)>> {
        let edges = format!("--edges={edges}");
        let target = format!("--target={}", policy::TARGET);
        let package = format!("--package={}", policy::EMBEDDED);
        let tree = ask(root, &["tree", "--prefix=none", &edges, &target, &package])?;
        Ok(listed(&tree))
    };
    if crates.values().any(|c| c.name == policy::EMBEDDED) {
        found.extend(embedded(
            &crates,
            &lists("normal")?,
            &lists("normal,build")?,
        ));
    }
    Ok(found)
}

fn ask(root: &Path, arguments: &[&str]) -> Outcome<String> {
    let output = cargo()
        .args(arguments)
        .arg("--locked")
        .current_dir(root)
        .output()
        .map_err(|e| format!("cargo: {e}"))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo {}: {told}", arguments.join(" ")));
    }
    String::from_utf8(output.stdout).map_err(|e| format!("cargo {}: {e}", arguments.join(" ")))
}

fn text(value: &Value, key: &str) -> String {
    value
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or("")
        .to_string()
}

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The crates of `cargo metadata`, by id.
fn crates(metadata: &Value, root: &Path) -> BTreeMap<String, Crate> {
    let members: BTreeSet<&str> = array(metadata, "workspace_members")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let mut found = BTreeMap::new();
    for package in array(metadata, "packages") {
        let id = text(package, "id");
        let manifest = text(package, "manifest_path");
        let own = Path::new(&manifest).strip_prefix(root).ok();
        let own = own.map_or(manifest.clone(), |path| path.display().to_string());
        let names = |development: bool| {
            let all = array(package, "dependencies").iter();
            let kind = move |d: &&Value| (text(d, "kind") == "dev") == development;
            all.filter(kind).map(|d| text(d, "name"))
        };
        let shipped: BTreeSet<String> = names(false).collect();
        let mut development: BTreeSet<String> = names(true).collect();
        development.retain(|name| !shipped.contains(name));
        let entry = Crate {
            name: text(package, "name"),
            version: text(package, "version"),
            manifest: members.contains(id.as_str()).then_some(own),
            links: package
                .get("links")
                .and_then(Value::as_str)
                .map(String::from),
            declared: &shipped | &development,
            development,
            normal: Vec::new(),
        };
        found.insert(id, entry);
    }
    let nodes = metadata
        .get("resolve")
        .map_or(&[][..], |r| array(r, "nodes"));
    for node in nodes {
        let is_normal = |d: &&Value| array(d, "dep_kinds").iter().any(|k| k["kind"].is_null());
        let normal = array(node, "deps")
            .iter()
            .filter(is_normal)
            .map(|d| text(d, "pkg"));
        if let Some(entry) = found.get_mut(&text(node, "id")) {
            entry.normal = normal.collect();
        }
    }
    found
}

/// Workspace crates depend downwards only.
fn edges(crates: &BTreeMap<String, Crate>) -> Vec<Violation> {
    let mut found = Vec::new();
    let own: BTreeSet<&str> = members(crates).map(|(_, c)| c.name.as_str()).collect();
    for (manifest, member) in members(crates) {
        let name = member.name.as_str();
        let mut told = |message| found.push(Violation::new(manifest, 1, "layers", message));
        let Some((_, below)) = policy::LAYERS.iter().find(|(layer, _)| *layer == name) else {
            told(format!(
                "`{name}` has no layer: another crate needs a decision"
            ));
            continue;
        };
        let own = |d: &&String| own.contains(d.as_str()) && *d != name;
        for other in member.declared.iter().filter(own) {
            if !below.contains(&other.as_str()) {
                told(format!("`{name}` must not depend on `{other}`"));
            }
        }
    }
    found
}

fn members(crates: &BTreeMap<String, Crate>) -> impl Iterator<Item = (&str, &Crate)> {
    let of = |c: &'_ Crate| c.manifest.is_some();
    crates
        .values()
        .filter(move |c| of(c))
        .map(|c| (c.manifest.as_deref().unwrap_or(""), c))
}

/// The crates that may use a crate; `None` where all may.
fn reserved_for(name: &str) -> Option<&'static [&'static str]> {
    let continues = |only: &&str| {
        name.strip_prefix(only)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let found = policy::RESERVED
        .iter()
        .find(|(names, _)| names.iter().any(continues));
    found.map(|(_, users)| *users)
}

/// What only some crates may use is neither declared by another crate nor anywhere below it.
fn reserved(crates: &BTreeMap<String, Crate>) -> Vec<Violation> {
    let mut found = Vec::new();
    for (manifest, member) in members(crates) {
        let below = below(crates, member).into_iter().map(|c| c.name.as_str());
        let mut only = policy::IN_DEVELOPMENT.iter();
        let only = only.find(|(_, user)| *user == member.name);
        let may = |name: &&str| {
            let listed = only.is_some_and(|(names, _)| names.contains(name));
            listed && member.development.contains(*name)
        };
        let declared = member.declared.iter().map(String::as_str);
        let declared = declared.filter(|name| !may(name));
        let names: BTreeSet<&str> = declared.chain(below).collect();
        for name in names {
            let Some(users) = reserved_for(name).filter(|u| !u.contains(&member.name.as_str()))
            else {
                continue;
            };
            let message = format!("`{name}` belongs only in `{}`", users.join("`, `"));
            found.push(Violation::new(manifest, 1, "dependencies", message));
        }
    }
    found
}

/// Every crate that a crate's normal dependencies reach.
fn below<'a>(crates: &'a BTreeMap<String, Crate>, from: &'a Crate) -> Vec<&'a Crate> {
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let mut ahead: Vec<&str> = from.normal.iter().map(String::as_str).collect();
    while let Some(id) = ahead.pop() {
        if reached.insert(id)
            && let Some(next) = crates.get(id)
        {
            ahead.extend(next.normal.iter().map(String::as_str));
        }
    }
    reached
        .into_iter()
        .filter_map(|id| crates.get(id))
        .collect()
}

/// Names and versions of `cargo tree --prefix=none`, each once, without the root of the tree.
fn listed(tree: &str) -> Vec<(String, String)> {
    let lines = tree.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" v")?;
        let version = rest.split_whitespace().next()?;
        Some((name.to_string(), version.to_string()))
    });
    let first = lines.clone().next();
    let all: BTreeSet<(String, String)> = lines.collect();
    all.into_iter()
        .filter(|entry| Some(entry) != first.as_ref())
        .collect()
}

/// The embedded crate stays small and free of C.
fn embedded(
    crates: &BTreeMap<String, Crate>,
    normal: &[(String, String)],
    building: &[(String, String)],
) -> Vec<Violation> {
    let name = policy::EMBEDDED;
    let manifest = members(crates)
        .find(|(_, c)| c.name == name)
        .map_or("Cargo.toml", |(m, _)| m);
    let mut found = Vec::new();
    let mut told = |message| found.push(Violation::new(manifest, 1, "dependencies", message));
    if normal.len() > policy::EMBEDDED_BELOW_MAX {
        let (now, allowed) = (normal.len(), policy::EMBEDDED_BELOW_MAX);
        let names: Vec<&str> = normal.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(", ");
        told(format!(
            "{now} crates below `{name}`, {allowed} allowed: {names}"
        ));
    }
    for (below, version) in building {
        if policy::C_BUILDERS.contains(&below.as_str()) {
            told(format!("`{below}` below `{name}` builds or looks for C"));
        }
        let linked = crates
            .values()
            .find(|c| c.name == *below && c.version == *version)
            .and_then(|c| c.links.as_deref());
        if let Some(library) = linked.filter(|l| !policy::LINKS_WITHOUT_C.contains(l)) {
            told(format!("`{below}` below `{name}` links `{library}`"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, declared: &[&str], links: Option<&str>) -> Value {
        let declared: Vec<Value> = declared.iter().map(|d| json!({ "name": d })).collect();
        json!({
            "id": name, "name": name, "version": "1.0.0", "links": links,
            "manifest_path": format!("/p/{name}/Cargo.toml"), "dependencies": declared,
        })
    }

    /// Crates by name: members, then others, with what each depends on.
    fn world(members: &[(&str, &[&str])], others: &[(&str, &[&str])]) -> BTreeMap<String, Crate> {
        let all = || members.iter().chain(others);
        let node = |(name, deps): &(&str, &[&str])| {
            let deps: Vec<Value> = deps
                .iter()
                .map(|d| json!({ "pkg": d, "dep_kinds": [{ "kind": null }] }))
                .collect();
            json!({ "id": name, "deps": deps })
        };
        let metadata = json!({
            "packages": all().map(|(n, d)| package(n, d, None)).collect::<Vec<_>>(),
            "workspace_members": members.iter().map(|(n, _)| *n).collect::<Vec<_>>(),
            "resolve": { "nodes": all().map(node).collect::<Vec<_>>() },
        });
        crates(&metadata, Path::new("/p"))
    }

    fn told(found: &[Violation]) -> Vec<String> {
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn edges_point_down() {
        let good = world(
            &[
                ("redolab-measure", &["serde"]),
                ("redolab-device", &["redolab-measure"]),
            ],
            &[("serde", &[])],
        );
        assert_eq!(told(&edges(&good)), Vec::<String>::new());
        let bad = world(
            &[
                ("redolab-device", &["redolab-measure", "redolab-redo"]),
                ("redolab-measure", &[]),
                ("redolab-extra", &[]),
                ("redolab-redo", &[]),
            ],
            &[],
        );
        let expected = [
            "redolab-device/Cargo.toml:1: layers: `redolab-device` must not depend on \
             `redolab-redo`",
            "redolab-extra/Cargo.toml:1: layers: `redolab-extra` has no layer: another crate \
             needs a decision",
        ];
        assert_eq!(told(&edges(&bad)), expected);
    }

    #[test]
    fn only_the_binary_has_clients_and_runtimes() {
        let below: (&str, &[&str]) = ("client", &["tokio-postgres"]);
        let good = world(
            &[("redolab", &["client"])],
            &[below, ("tokio-postgres", &[])],
        );
        assert_eq!(told(&reserved(&good)), Vec::<String>::new());
        let bad = world(
            &[("redolab-redo", &["client"])],
            &[below, ("tokio-postgres", &[])],
        );
        let expected = "redolab-redo/Cargo.toml:1: dependencies: `tokio-postgres` belongs only \
                        in `redolab`";
        assert_eq!(told(&reserved(&bad)), [expected]);
        assert!(reserved_for("smol_str").is_none() && reserved_for("arrows").is_none());
        assert!(reserved_for("arrow-array").is_some() && reserved_for("miette").is_some());
    }

    #[test]
    fn tests_of_the_embedded_crate_have_runtimes_and_the_crate_has_none() {
        let of = |member: &str, kind: Option<&str>| {
            let dependency = json!({ "name": "tokio", "kind": kind });
            let mut package = package(member, &[], None);
            package["dependencies"] = json!([dependency]);
            let metadata = json!({ "packages": [package], "workspace_members": [member] });
            told(&reserved(&crates(&metadata, Path::new("/p")))).len()
        };
        assert_eq!(of("redolab-redo", Some("dev")), 0);
        assert_eq!(of("redolab-redo", None), 1);
        assert_eq!(of("redolab-device", Some("dev")), 1);
    }

    #[test]
    fn only_the_drivers_and_the_binary_have_database_clients() {
        let client: (&str, &[&str]) = ("postgres-protocol", &[]);
        let needs: &[&str] = &["postgres-protocol"];
        let good = world(&[("redolab", needs), ("redolab-drivers", needs)], &[client]);
        assert_eq!(told(&reserved(&good)), Vec::<String>::new());
        let bad = world(
            &[("redolab-drivers", &["tokio"]), ("redolab-redo", needs)],
            &[client, ("tokio", &[])],
        );
        let expected = [
            "redolab-drivers/Cargo.toml:1: dependencies: `tokio` belongs only in `redolab`",
            "redolab-redo/Cargo.toml:1: dependencies: `postgres-protocol` belongs only in \
             `redolab`, `redolab-drivers`, `redolab-lab`",
        ];
        assert_eq!(told(&reserved(&bad)), expected);
    }

    #[test]
    fn the_tree_is_read_without_its_root_and_repeats() {
        let tree = "redolab-redo v0.1.0 (/p/redo)\nserde v1.0.2\nserde v1.0.2 (*)\n\
                    syn v2.0.1 (proc-macro)\n";
        let pair = |n: &str, v: &str| (n.to_string(), v.to_string());
        assert_eq!(listed(tree), [pair("serde", "1.0.2"), pair("syn", "2.0.1")]);
    }

    #[test]
    fn the_embedded_crate_stays_small_and_free_of_c() {
        let mut crates = world(&[(policy::EMBEDDED, &[])], &[("z-sys", &[])]);
        let pair = |n: &str| (n.to_string(), "1.0.0".to_string());
        let many = |n: usize| (0..n).map(|i| pair(&format!("c{i}"))).collect::<Vec<_>>();
        let most = policy::EMBEDDED_BELOW_MAX;
        assert_eq!(
            told(&embedded(&crates, &many(most), &many(most))),
            Vec::<String>::new()
        );
        assert_eq!(embedded(&crates, &many(most + 1), &[]).len(), 1);
        assert_eq!(embedded(&crates, &[], &[pair("cc")]).len(), 1);
        assert_eq!(embedded(&crates, &[], &[pair("z-sys")]).len(), 0);
        if let Some(linking) = crates.get_mut("z-sys") {
            linking.links = Some("z".to_string());
        }
        assert_eq!(embedded(&crates, &[], &[pair("z-sys")]).len(), 1);
    }
}
