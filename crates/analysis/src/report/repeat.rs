//! The command that repeats a run or a comparison.

use super::Section;
use super::escape::esc;
use measure::run::Run;

pub(super) fn command(run: &Run) -> Option<Section> {
    command_of(&run.command)
}

/// A command, quoted so that a shell takes it as it was given.
pub(super) fn command_of(command: &[String]) -> Option<Section> {
    if command.is_empty() {
        return None;
    }
    let line: Vec<String> = command.iter().map(|a| quoted(a)).collect();
    Section::html(
        "repeat",
        "Repeat this run",
        "The command as it was given, quoted for a shell.",
        format!(
            "<pre tabindex=\"0\"><code>{}</code></pre>",
            esc(&line.join(" "))
        ),
    )
}

/// An argument as a shell takes it.
fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_survive_a_shell() {
        assert_eq!(quoted("--jobs=1,8"), "--jobs=1,8");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
