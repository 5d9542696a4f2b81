//! What a guard is asked to run: from arguments to a [`ServerOrder`], and back.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// How many processes an order makes, as an argument.
const ONE: &str = "one";
/// See [`ONE`].
const MANY: &str = "many";

/// A server, or another program of its package, that a guard is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOrder {
    /// The program.
    pub program: PathBuf,
    /// Its arguments. They must contain no secret: every user of the machine can read them.
    pub arguments: Vec<OsString>,
    /// The directory that it runs in.
    pub directory: PathBuf,
    /// User and group that it runs as; `None` for those of redolab.
    pub account: Option<(u32, u32)>,
    /// Number of the signal that asks for its orderly end.
    pub end_signal: i32,
    /// Number of the signal by which it ends at once. Its data need not stay usable.
    pub kill_signal: i32,
    /// How long it may take to end at once, before SIGKILL.
    pub patience: Duration,
    /// It is a script, or another program that starts processes and waits for them: all of them
    /// end at once with it.
    pub starts_others: bool,
}

impl ServerOrder {
    /// The order as arguments.
    #[must_use]
    pub fn to_arguments(&self) -> Vec<OsString> {
        let account = match self.account {
            Some((uid, gid)) => format!("{uid}:{gid}"),
            None => "-".to_owned(),
        };
        let mut arguments: Vec<OsString> = vec![
            self.directory.clone().into(),
            account.into(),
            self.end_signal.to_string().into(),
            self.kill_signal.to_string().into(),
            self.patience.as_millis().to_string().into(),
            if self.starts_others { MANY } else { ONE }.into(),
            self.program.clone().into(),
        ];
        arguments.extend(self.arguments.iter().cloned());
        arguments
    }

    /// The order that arguments are; `None` where they are none.
    #[must_use]
    pub fn of_arguments(arguments: &[OsString]) -> Option<ServerOrder> {
        let [
            directory,
            account,
            end,
            kill,
            patience,
            processes,
            program,
            rest @ ..,
        ] = arguments
        else {
            return None;
        };
        let number = |text: &OsStr| text.to_str()?.parse::<u64>().ok();
        let signal = |text: &OsStr| i32::try_from(number(text)?).ok();
        let account = match account.to_str()? {
            "-" => None,
            ids => {
                let (uid, gid) = ids.split_once(':')?;
                Some((uid.parse().ok()?, gid.parse().ok()?))
            }
        };
        Some(ServerOrder {
            program: program.into(),
            arguments: rest.to_vec(),
            directory: directory.into(),
            account,
            end_signal: signal(end)?,
            kill_signal: signal(kill)?,
            patience: Duration::from_millis(number(patience)?),
            starts_others: match processes.to_str()? {
                ONE => false,
                MANY => true,
                _ => return None,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn an_order_survives_its_arguments() {
        let order = ServerOrder {
            program: "/usr/bin/server".into(),
            arguments: vec!["-D".into(), OsString::from_vec(vec![b'/', 0xff])],
            directory: "/".into(),
            account: Some((103, 110)),
            end_signal: 2,
            kill_signal: 3,
            patience: Duration::from_millis(1500),
            starts_others: false,
        };
        let arguments = order.to_arguments();
        assert_eq!(ServerOrder::of_arguments(&arguments), Some(order.clone()));
        assert_eq!(ServerOrder::of_arguments(&arguments[..6]), None);
        let other = ServerOrder {
            account: None,
            starts_others: true,
            ..order
        };
        assert_eq!(
            ServerOrder::of_arguments(&other.to_arguments()),
            Some(other)
        );
    }
}
