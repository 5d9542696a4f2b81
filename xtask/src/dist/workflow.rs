//! The release workflow does nothing that cannot be done here: each of its commands is one of ours.
//!
//! What lives here: a comparison of `.github/workflows/release.yml` with the commands of this
//! program and with the folder of the products.

use super::FOLDER;

const WORKFLOW: &str = ".github/workflows/release.yml";
/// The commands, in this order.
const COMMANDS: &[&str] = &[
    "cargo xtask test",
    "cargo xtask check packages",
    "cargo xtask dist",
    "cargo xtask prove dist",
];

/// The commands of a workflow, or the line that hides one.
fn commands(text: &str) -> Result<Vec<&str>, String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim_start();
        let line = line.strip_prefix("- ").unwrap_or(line);
        if let Some(command) = line.strip_prefix("run:") {
            let command = command.trim();
            // A block of lines could contain anything.
            if !command.starts_with("cargo xtask ") {
                return Err(format!("`{line}` is not a command of xtask"));
            }
            found.push(command);
        }
    }
    Ok(found)
}

#[test]
fn each_step_is_a_command_of_xtask() {
    let text = std::fs::read_to_string(crate::root().join(WORKFLOW)).expect("a workflow");
    assert_eq!(commands(&text).expect("commands of xtask"), COMMANDS);
    assert!(text.contains(&format!("path: {FOLDER}/*")), "{WORKFLOW}");
    for command in COMMANDS {
        let word = command.split(' ').nth(2).expect("a command");
        assert!(crate::USAGE.contains(&format!("\n  {word}")), "{word}");
    }
}

#[test]
fn a_command_of_another_kind_is_found() {
    let steps = |run: &str| format!("steps:\n  - uses: actions/checkout@v4\n  - run: {run}\n");
    assert_eq!(
        commands(&steps("cargo xtask dist")),
        Ok(vec!["cargo xtask dist"])
    );
    for other in ["|", "make", "cargo build"] {
        assert!(commands(&steps(other)).is_err(), "{other}");
    }
    assert!(commands("      - name: x\n        run: curl\n").is_err());
}
