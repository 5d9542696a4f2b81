//! Options by which a user notes something about a run: a label, and tags.

use super::CommandError;
use crate::folder::is_name;
use crate::store::LAST;
use clap::Args;
use measure::run::RunNotes;

/// Longest label: a comparison adds the target's name and the round.
const LABEL_MAX: usize = 40;
/// Longest value of a tag, in bytes.
const VALUE_MAX: usize = 200;
/// Tags of a run at most.
const TAGS_MAX: usize = 32;

/// What is noted about a run.
#[derive(Debug, Args)]
pub(crate) struct NotesArgs {
    /// Label of the run
    ///
    /// It can be used wherever a run is named: the newest run with the label, LABEL~1 the one
    /// before.
    #[arg(long, value_name = "NAME", help_heading = "Run store", value_parser = label)]
    label: Option<String>,
    #[command(flatten)]
    tags: TagArgs,
}

/// Tags of a run.
#[derive(Debug, Args)]
pub(crate) struct TagArgs {
    /// Note what redolab cannot see, such as instance=m6i.large or price=0.08; can be repeated
    #[arg(long = "tag", value_name = "KEY=VALUE", help_heading = "Run store", value_parser = tag)]
    tags: Vec<(String, String)>,
}

impl NotesArgs {
    /// The notes.
    ///
    /// # Errors
    /// A key that is given twice, or too many.
    pub(crate) fn notes(&self) -> Result<RunNotes, CommandError> {
        self.tags.notes(self.label.clone())
    }
}

impl TagArgs {
    /// The tags with a label.
    ///
    /// # Errors
    /// A key that is given twice, or too many.
    pub(crate) fn notes(&self, label: Option<String>) -> Result<RunNotes, CommandError> {
        collected(label, &self.tags)
    }
}

/// A label and tags together.
///
/// # Errors
/// A key that is given twice, or too many.
pub(crate) fn collected(
    label: Option<String>,
    tags: &[(String, String)],
) -> Result<RunNotes, CommandError> {
    let mut notes = RunNotes {
        label,
        ..RunNotes::default()
    };
    for (key, value) in tags {
        if notes.tags.insert(key.clone(), value.clone()).is_some() {
            return Err(CommandError::usage(format!(
                "--tag {key}: given twice; use one value for each key"
            )));
        }
    }
    if notes.tags.len() > TAGS_MAX {
        return Err(CommandError::usage(format!(
            "--tag: {} tags; use at most {TAGS_MAX}",
            notes.tags.len()
        )));
    }
    Ok(notes)
}

/// Reads a label.
///
/// # Errors
/// What a label may be.
pub(crate) fn label(text: &str) -> Result<String, String> {
    if !is_name(text) || text.len() > LABEL_MAX {
        return Err(format!(
            "a label has 1 to {LABEL_MAX} letters, digits, dots, dashes and underscores, and does \
             not begin with a dot"
        ));
    }
    if text == LAST {
        return Err("`last` means the newest run; use another label".to_owned());
    }
    Ok(text.to_owned())
}

/// Reads `KEY=VALUE`.
///
/// # Errors
/// What keys and values may be.
pub(crate) fn tag(text: &str) -> Result<(String, String), String> {
    let Some((key, value)) = text.split_once('=') else {
        return Err("write KEY=VALUE, such as volume=gp3".to_owned());
    };
    if !is_name(key) {
        return Err(
            "the key has letters, digits, dots, dashes and underscores, such as volume".to_owned(),
        );
    }
    if value.is_empty() || value.len() > VALUE_MAX || value.chars().any(char::is_control) {
        return Err(format!(
            "the value has 1 to {VALUE_MAX} bytes and no control characters"
        ));
    }
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_names_and_tags_are_pairs() {
        for good in ["gp3", "before-upgrade_2.1"] {
            assert_eq!(label(good).as_deref(), Ok(good));
        }
        for bad in ["", "last", "a b", "a~1", "../x", ".x", &"x".repeat(41)] {
            assert!(label(bad).is_err(), "{bad}");
        }
        let pair = |k: &str, v: &str| Ok((k.to_owned(), v.to_owned()));
        assert_eq!(tag("volume=gp3 16k"), pair("volume", "gp3 16k"));
        assert_eq!(tag("x=a=b"), pair("x", "a=b"));
        for bad in ["volume", "=x", "a b=c", "x=", "x=\u{1b}[2J"] {
            assert!(tag(bad).is_err(), "{bad}");
        }
        let twice = collected(
            None,
            &[
                ("a".to_owned(), "1".to_owned()),
                ("a".to_owned(), "2".to_owned()),
            ],
        );
        assert!(twice.is_err_and(|e| e.message.contains("--tag a")));
    }
}
