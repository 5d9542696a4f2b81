//! The account that runs a server: servers refuse root.

use super::ManagedError;
use std::fs;
use std::path::Path;

/// Accounts are listed here.
const ACCOUNTS: &str = "/etc/passwd";
/// The account that owns nothing, where no account of the server's own exists.
const NOBODY: &str = "nobody";

/// An account without privileges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAccount {
    /// Its name.
    pub name: String,
    /// Its user id.
    pub uid: u32,
    /// Its group id.
    pub gid: u32,
}

impl ServerAccount {
    /// The account that is to run a server: `None`, which means the user's own, unless that is
    /// root; then the one called `usual`, if it exists, or else nobody.
    ///
    /// # Errors
    /// Root, and neither account exists.
    pub fn for_server(usual: &str) -> Result<Option<ServerAccount>, ManagedError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let list = fs::read_to_string(Path::new(ACCOUNTS));
        let list = list.map_err(ManagedError::system(ACCOUNTS))?;
        [usual, NOBODY]
            .iter()
            .find_map(|name| ServerAccount::in_list(&list, name))
            .map(Some)
            .ok_or_else(|| {
                ManagedError::Unusable(format!(
                    "database servers refuse to run as root, and {ACCOUNTS} has neither the \
                     account {usual} nor {NOBODY}: run redolab as another user"
                ))
            })
    }

    /// The account with that name in a list as `/etc/passwd` has it, unless it is root.
    fn in_list(list: &str, name: &str) -> Option<ServerAccount> {
        let line = list
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let mut fields = line.split(':').skip(1);
        let (uid, gid) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        (uid != 0).then(|| ServerAccount {
            name: name.to_owned(),
            uid,
            gid,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_by_its_whole_name_and_root_is_none() {
        let list = "root:x:0:0:root:/root:/bin/sh\npostgresql:x:7:8::/:\npostgres:x:103:110::/:\n\
                    toor:x:0:0::/:\nbad:x:a:b::/:\n";
        let found = ServerAccount::in_list(list, "postgres").expect("it is there");
        assert_eq!((found.uid, found.gid), (103, 110));
        for name in ["root", "toor", "bad", "post", "x"] {
            assert_eq!(ServerAccount::in_list(list, name), None, "{name}");
        }
    }
}
