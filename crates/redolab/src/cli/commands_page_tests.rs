//! docs/commands.md is made from the definitions of the command line: the commands, and tables of
//! their options. Groups of options that several commands share are listed once.
//!
//! `REDOLAB_WRITE_DOCS=1 cargo test -p redolab --lib commands_page` writes it.

use super::Cli;
use clap::{Arg, Command, CommandFactory};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "\
# Commands

<!-- generated: REDOLAB_WRITE_DOCS=1 cargo test -p redolab --lib commands_page -->

What each command does, and every option. `redolab COMMAND -h` prints a summary of a command, `redolab COMMAND
--help` all of its options, `redolab man` a manual page.

| command | what it does |
|---|---|
";

/// Options under no heading of their own are listed with each command.
const PLAIN: &str = "Options";

/// A cell of a table. The first paragraph of a help text ends without a full stop.
fn cell(text: &str) -> String {
    let mut line = String::new();
    for part in text.split("\n\n") {
        if !line.is_empty() {
            line.push_str(if line.ends_with(['.', ':', ']']) {
                " "
            } else {
                ". "
            });
        }
        line += &part.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    line.replace('|', "\\|").replace('<', "&lt;")
}

/// What an argument is called, and what its help says of it.
fn row(argument: &Arg) -> String {
    let name = match (argument.get_short(), argument.is_positional()) {
        (Some(short), false) => format!("-{short}, {argument}"),
        _ => argument.to_string(),
    };
    let help = argument.get_long_help().or(argument.get_help());
    let mut help = help.map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}`: {help}", value.get_name()),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if argument.get_action().takes_values() && !values.is_empty() {
        let _ = write!(help, " [{}]", values.join("; "));
    }
    let defaults = argument.get_default_values().iter();
    let defaults: Vec<_> = defaults.map(|value| value.to_string_lossy()).collect();
    if argument.get_action().takes_values() && !defaults.is_empty() {
        let _ = write!(help, " [default: {}]", defaults.join(" "));
    }
    format!("| `{}` | {} |\n", name.replace('|', "\\|"), cell(&help))
}

/// Every command that does something, with its whole name.
fn leaves(command: &Command, name: &str, found: &mut Vec<(String, Command)>) {
    let parts: Vec<_> = command.get_subcommands().collect();
    let does_something = parts.is_empty() || !command.is_subcommand_required_set();
    if does_something && name.contains(' ') {
        found.push((name.to_owned(), command.clone()));
    }
    for part in parts
        .iter()
        .filter(|part| part.get_name() != "help" && !part.is_hide_set())
    {
        leaves(part, &format!("{name} {}", part.get_name()), found);
    }
}

fn page() -> String {
    let mut found = Vec::new();
    let mut cli = Cli::command();
    cli.build();
    leaves(&cli, "redolab", &mut found);
    let heading = |argument: &Arg| argument.get_help_heading().unwrap_or(PLAIN).to_owned();
    let mut users: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
    let own = |argument: &Arg| !["help", "version"].contains(&argument.get_id().as_str());
    let shown = |argument: &&Arg| !argument.is_hide_set() && own(argument);
    for (name, command) in &found {
        for argument in command.get_arguments().filter(shown) {
            let users = users.entry((heading(argument), row(argument))).or_default();
            users.insert(name);
        }
    }
    let mut text = HEAD.to_owned();
    for (name, command) in &found {
        let about = command.get_about().map(ToString::to_string);
        let link = name.replace(' ', "-");
        let about = cell(&about.unwrap_or_default());
        let _ = writeln!(text, "| [`{name}`](#{link}) | {about} |");
    }
    let mut shared: BTreeMap<(&str, Vec<&str>), String> = BTreeMap::new();
    for (name, command) in &found {
        let about = command.get_long_about().or(command.get_about());
        let about = about.map(ToString::to_string).unwrap_or_default();
        let _ = write!(
            text,
            "\n## {name}\n{}\n\n| option | what it does |\n|---|---|\n",
            about.trim()
        );
        let mut others = BTreeSet::new();
        for argument in command.get_arguments().filter(shown) {
            let (heading, row) = (heading(argument), row(argument));
            let Some(((heading, row), users)) = users.get_key_value(&(heading, row)) else {
                continue;
            };
            if users.len() == 1 || heading == PLAIN {
                text.push_str(row);
            } else {
                others.insert(heading.as_str());
                let rows = shared
                    .entry((heading, users.iter().copied().collect()))
                    .or_default();
                if !rows.contains(row.as_str()) {
                    rows.push_str(row);
                }
            }
        }
        if !others.is_empty() {
            let others: Vec<&str> = others.into_iter().collect();
            let _ = writeln!(
                text,
                "\nMore options, [shared with other commands](#shared-options): {}.",
                others.join(", ")
            );
        }
    }
    text.push_str("\n## Shared options\n");
    for ((heading, users), rows) in shared {
        let users = users
            .iter()
            .map(|user| format!("`{user}`"))
            .collect::<Vec<_>>()
            .join(", ");
        let _ = write!(
            text,
            "\n### {heading}\nOf {users}.\n\n| option | what it does |\n|---|---|\n{rows}"
        );
    }
    text
}

#[test]
fn the_page_of_commands_is_made_from_their_definitions() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let fresh = page();
    if std::env::var_os("REDOLAB_WRITE_DOCS").is_some() {
        std::fs::write(&path, &fresh).expect("the page can be written");
    }
    let Ok(now) = std::fs::read_to_string(&path) else {
        return println!("skipped: docs/commands.md is not part of the package");
    };
    assert!(
        now == fresh,
        "docs/commands.md is old: REDOLAB_WRITE_DOCS=1 cargo test -p redolab --lib commands_page"
    );
}
