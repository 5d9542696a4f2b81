//! The command line as a run keeps it: without passwords.

/// The command line, argument by argument, without passwords. Arguments need not be UTF-8: paths
/// are any bytes.
pub fn command_line() -> Vec<String> {
    std::env::args_os()
        .map(|arg| without_password(&arg.to_string_lossy()))
        .collect()
}

/// `text` without the password of an address in it: `scheme://user:password@host`,
/// `?password=...`. What may be one is taken for one.
pub fn without_password(text: &str) -> String {
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
