//! What is measured: a path, or a server by its address; and the command line as a run keeps it.

use super::CommandError;
use super::common::SafetyArgs;
use crate::experiment::plan::{PlannedTarget, TargetAddress};
use clap::Args;
use std::path::Path;

impl SafetyArgs {
    /// The target that `path` names: a path, or the address of a server.
    ///
    /// # Errors
    /// A server that is to be destroyed.
    pub(crate) fn target(&self, path: &Path) -> Result<PlannedTarget, CommandError> {
        let Some((scheme, address)) = address(path) else {
            return Ok(PlannedTarget::Path {
                path: path.to_owned(),
                destroy: self.destroy.clone(),
            });
        };
        if self.destroy.is_some() {
            let why = "--destroy takes the path of a raw block device; a server has no such path";
            return Err(CommandError::usage(why));
        }
        Ok(PlannedTarget::Driver {
            name: scheme.to_owned(),
            address: TargetAddress(address.to_owned()),
        })
    }
}

/// Scheme and text of a path that is an address.
fn address(path: &Path) -> Option<(&str, &str)> {
    let text = path.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    (!scheme.is_empty() && scheme.chars().all(is_scheme)).then_some((scheme, text))
}

/// A server in place of a path.
#[derive(Debug, Args)]
pub(crate) struct DriverArgs {
    /// Measure a database server through this driver (postgres), instead of redolab's own log
    #[arg(
        long,
        value_name = "NAME",
        requires = "url",
        help_heading = "Database",
        conflicts_with_all = ["destroy", "path"]
    )]
    driver: Option<String>,
    /// Address of the server, such as postgres://user@host:5432/database
    #[arg(
        long,
        value_name = "URL",
        requires = "driver",
        help_heading = "Database"
    )]
    url: Option<String>,
}

impl DriverArgs {
    /// The server that was named; else what `path` names.
    ///
    /// # Errors
    /// As of [`SafetyArgs::target`].
    pub(crate) fn target(
        &self,
        safety: &SafetyArgs,
        path: &Path,
    ) -> Result<PlannedTarget, CommandError> {
        match (&self.driver, &self.url) {
            (Some(name), Some(address)) => Ok(PlannedTarget::Driver {
                name: name.clone(),
                address: TargetAddress(address.clone()),
            }),
            _ => safety.target(path),
        }
    }
}

/// The command line, argument by argument, without passwords. Arguments need not be UTF-8: paths
/// are any bytes.
pub(crate) fn command_line() -> Vec<String> {
    std::env::args_os()
        .map(|arg| without_password(&arg.to_string_lossy()))
        .collect()
}

/// `text` without the password of an address in it: `scheme://user:password@host`,
/// `?password=...`. What may be one is taken for one.
pub(crate) fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let (rest, parameter) = match rest.find("password=") {
        Some(at) => (&rest[..at], "password=***"),
        None => (rest, ""),
    };
    let (user, rest) = match rest.rsplit_once('@') {
        Some((user, rest)) => (Some(user), rest),
        None => (None, rest),
    };
    let user = user.map(|user| match user.split_once(':') {
        Some((name, _)) => format!("{name}:***@"),
        None => format!("{user}@"),
    });
    format!("{scheme}://{}{rest}{parameter}", user.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_line_holds_a_password() {
        for (text, shown) in [
            ("postgres://u:secret@h/d", "postgres://u:***@h/d"),
            (
                "--url=postgres://u:se:c@ret@h/d",
                "--url=postgres://u:***@h/d",
            ),
            ("pg=postgres://u:se/cret?@h", "pg=postgres://u:***@h"),
            ("postgres://u@h:5432/d", "postgres://u@h:5432/d"),
            ("postgres://h:5432/d", "postgres://h:5432/d"),
            (
                "postgres://h/d?password=secret&x=1",
                "postgres://h/d?password=***",
            ),
            (
                "postgres://h/d?password=a:b@c",
                "postgres://h/d?password=***",
            ),
            ("/u01/a:b@c", "/u01/a:b@c"),
        ] {
            assert_eq!(without_password(text), shown);
        }
    }
}
