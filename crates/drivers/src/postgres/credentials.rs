//! Where a password comes from: the address, `PGPASSWORD`, or a password file as libpq reads it.

use super::url::{Address, Host};
use crate::client::Password;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

/// A password file is read up to here.
const FILE_MAX: u64 = 1 << 20;
/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Directories of Unix sockets that libpq is built with: a password file calls them `localhost`.
const DEFAULT_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// What a client takes from its surroundings, as libpq does.
#[derive(Clone, Debug)]
pub struct ClientEnvironment {
    /// `PGUSER`.
    pub user: Option<String>,
    /// `PGPASSWORD`.
    pub password: Option<Password>,
    /// `PGPASSFILE`, or `.pgpass` in the home directory.
    pub password_file: Option<PathBuf>,
    /// `PGSSLMODE`.
    pub ssl_mode: Option<String>,
    /// The longest wait for an answer of the server.
    pub patience: Duration,
}

impl ClientEnvironment {
    /// That of this process, and a patience of 60 s.
    #[must_use]
    pub fn of_process() -> ClientEnvironment {
        let text = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        let path = |name| std::env::var_os(name).filter(|text| !text.is_empty());
        let home = || path("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
        ClientEnvironment {
            user: text("PGUSER"),
            password: text("PGPASSWORD").map(Password::new),
            password_file: path("PGPASSFILE").map(PathBuf::from).or_else(home),
            ssl_mode: text("PGSSLMODE"),
            patience: PATIENCE,
        }
    }

    /// Nothing: a server of redolab's own needs no password.
    #[must_use]
    pub fn none() -> ClientEnvironment {
        ClientEnvironment {
            user: None,
            password: None,
            password_file: None,
            ssl_mode: None,
            patience: PATIENCE,
        }
    }
}

/// The password for an address, and why a password file was not used.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// The password, if there is one.
    pub password: Option<Password>,
    /// A clause for messages, or nothing.
    pub note: String,
}

impl Credentials {
    /// The first of: the address's, `PGPASSWORD`, the password file's.
    #[must_use]
    pub fn find(address: &Address, environment: &ClientEnvironment) -> Credentials {
        let given = address.password.clone();
        if let Some(password) = given.or_else(|| environment.password.clone()) {
            return Credentials {
                password: Some(password),
                note: String::new(),
            };
        }
        let Some(path) = &environment.password_file else {
            return Credentials::default();
        };
        let Ok(metadata) = std::fs::metadata(path) else {
            return Credentials::default();
        };
        let ignored = |why: &str| Credentials {
            password: None,
            note: format!("; the password file is ignored, because {why}"),
        };
        if !metadata.is_file() {
            return ignored("it is not a plain file");
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            return ignored("group or others have access to it (chmod 0600)");
        }
        let mut bytes = Vec::new();
        let read =
            std::fs::File::open(path).and_then(|file| file.take(FILE_MAX).read_to_end(&mut bytes));
        if read.is_err() {
            return ignored("it cannot be read");
        }
        let password = in_file(&String::from_utf8_lossy(&bytes), address);
        let note = match password {
            Some(_) => "; the password is that of the password file",
            None => "; the password file has no line for this address",
        };
        Credentials {
            password,
            note: note.to_owned(),
        }
    }
}

/// The password of the first line that fits: `host:port:database:user:password`, where `*` fits
/// everything and a backslash takes a colon or a backslash as it is.
fn in_file(text: &str, address: &Address) -> Option<Password> {
    let hosts: Vec<String> = match &address.host {
        Host::Network(host) => vec![host.clone()],
        Host::Directory(path) => {
            let path = path.to_string_lossy().into_owned();
            let is_default = DEFAULT_DIRECTORIES.contains(&path.as_str());
            let local = is_default.then(|| "localhost".to_owned());
            std::iter::once(path).chain(local).collect()
        }
    };
    let port = address.port.to_string();
    let wanted = [&port, &address.database, &address.user];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (fields, password) = fields(line);
        let Some((password, [host, rest @ ..])) =
            password.zip(fields.as_slice().first_chunk::<4>())
        else {
            continue;
        };
        let fits = |field: &(String, bool), wanted: &str| field.1 || field.0 == wanted;
        if hosts.iter().any(|wanted| fits(host, wanted))
            && rest
                .iter()
                .zip(wanted)
                .all(|(field, wanted)| fits(field, wanted))
        {
            return Some(password)
                .filter(|password| !password.is_empty())
                .map(Password::new);
        }
    }
    None
}

/// The four fields before the password, each with whether it fits everything, and the password.
fn fields(line: &str) -> (Vec<(String, bool)>, Option<String>) {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut is_escaped = false;
    let mut has_escape = false;
    for c in line.chars() {
        match c {
            '\\' if !is_escaped => {
                (is_escaped, has_escape) = (true, true);
                continue;
            }
            ':' if !is_escaped && fields.len() < 4 => {
                let is_any = field == "*" && !has_escape;
                fields.push((std::mem::take(&mut field), is_any));
                has_escape = false;
            }
            c => field.push(c),
        }
        is_escaped = false;
    }
    let password = (fields.len() == 4).then_some(field);
    (fields, password)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, address: &str) -> Option<String> {
        let address = Address::parse(address, None).expect("an address");
        let password = in_file(file, &address)?;
        String::from_utf8(password.bytes().to_vec()).ok()
    }

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let file = "# h:5432:a:ann:comment\nshort:line\nh:5433:*:*:port\nh:*:b:ann:database\n\
                    h:5432:a:\\*:star\nh:5432:a:ann:first:\\:rest\\\\\nh:5432:a:ann:second\n\
                    /run/pg:*:*:*:directory\nlocalhost:*:*:*:local\n\\:\\:1:*:*:*:six\n";
        for (address, password) in [
            ("postgres://ann@h/a", Some("first::rest\\")),
            ("postgres://ann@h/b", Some("database")),
            ("postgres://bob@h/a", None),
            ("postgres://%2A@h/a", Some("star")),
            ("postgres://bob@h:5433/x", Some("port")),
            ("postgres://ann@/a?host=/run/pg", Some("directory")),
            ("postgres://ann@/a?host=/tmp", Some("local")),
            ("postgres://ann@[::1]/a", Some("six")),
            ("postgres://ann@other/a", None),
        ] {
            assert_eq!(found(file, address).as_deref(), password, "{address}");
        }
    }

    #[test]
    fn a_password_file_that_others_can_read_is_ignored() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pgpass");
        std::fs::write(&path, "*:*:*:*:secret\n").expect("written");
        let environment = ClientEnvironment {
            user: None,
            password: None,
            password_file: Some(path.clone()),
            ssl_mode: None,
            patience: PATIENCE,
        };
        let address = Address::parse("postgres://ann@h/a", None).expect("an address");
        for (mode, is_used) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, permissions).expect("changed");
            let found = Credentials::find(&address, &environment);
            assert_eq!(found.password.is_some(), is_used, "{mode:o}");
            assert_eq!(found.note.contains("chmod 0600"), !is_used, "{mode:o}");
            assert!(!format!("{found:?}").contains("secret"), "{mode:o}");
        }
        let own = ClientEnvironment {
            password: Some(Password::new("other".to_owned())),
            ..environment
        };
        let found = Credentials::find(&address, &own);
        assert_eq!(found.password, Some(Password::new("other".to_owned())));
    }
}
