//! Product code that works in directories of other people changes the file system through
//! descriptors only: a path may lead elsewhere by the time it is used. `device::file::Directory`
//! has the calls. And it prints through code that survives a closed standard error.

use super::Violation;
use crate::policy;
use crate::source::{Kind, Source};

/// Functions of `std::fs`, of `std::os::unix::fs` and of `rustix::fs` that change what a path leads
/// to.
const CHANGING: [&str; 26] = [
    "chmod",
    "chown",
    "copy",
    "create_dir",
    "create_dir_all",
    "hard_link",
    "lchown",
    "link",
    "mkdir",
    "mkfifo",
    "mknod",
    "remove_dir",
    "remove_dir_all",
    "remove_file",
    "rename",
    "rmdir",
    "set_permissions",
    "setxattr",
    "soft_link",
    "symlink",
    "truncate",
    "unlink",
    "utimensat",
    "write",
    "DirBuilder",
    "CWD",
];
/// Macros that panic where their stream is closed.
const PRINTING: [&str; 4] = ["eprint", "eprintln", "print", "println"];

/// Every change of the file system by path, and every macro that prints, in the code of the crates
/// that are listed.
pub fn check(source: &Source) -> Vec<Violation> {
    let is_listed = |root: &&str| source.path.starts_with(*root);
    if !policy::BY_DESCRIPTOR.iter().any(is_listed) {
        return Vec::new();
    }
    let code = source.tokens.iter().enumerate();
    let code = code.filter(|(_, t)| t.kind == Kind::Code && !source.is_test(t.line));
    let mut found = Vec::new();
    for (at, token) in code {
        let mut add = |rule, message: String| {
            found.push(Violation::new(&source.path, token.line, rule, message));
        };
        let name = token.text.as_str();
        if PRINTING.contains(&name) && source.reads(at + 1, &["!"]) {
            let message = format!("`{name}!` panics where its stream is closed: write to it");
            add("closed-stream", message);
        } else if changes(source, at, name) {
            let message = format!(
                "`{name}` changes what a path leads to: use `device::file::Directory`, whose \
                 directory nobody can exchange"
            );
            add("by-path", message);
        }
    }
    found
}

fn changes(source: &Source, at: usize, name: &str) -> bool {
    let is = |from: usize, expected: &[&str]| source.reads(from, expected);
    let behind = |back: usize, expected: &[&str]| at >= back && is(at - back, expected);
    let is_called = is(at + 1, &["("]);
    match name {
        "File" => {
            let made = ["create", "create_new", "options"];
            is(at + 1, &[":", ":"]) && made.iter().any(|made| is(at + 3, &[made]))
        }
        "bind" => behind(3, &["UnixListener", ":", ":"]) || behind(3, &["UnixDatagram", ":", ":"]),
        // Options of an open file; `append` of a list takes no literal.
        "append" | "create" | "create_new" | "write" if behind(1, &["."]) => {
            is(at + 1, &["(", "true", ")"])
        }
        "truncate" if behind(1, &["."]) => is(at + 1, &["(", "true", ")"]),
        "DirBuilder" => is(at + 1, &[":", ":"]),
        "CWD" => of_use(source, at).is_empty(),
        _ if CHANGING.contains(&name) => {
            let qualified = behind(3, &["fs", ":", ":"]) && of_use(source, at).is_empty();
            let bare = is_called && !behind(1, &["."]) && !behind(2, &[":", ":"]);
            let declared = behind(1, &["fn"]);
            qualified || bare && !declared && is_imported(source, name)
        }
        _ => false,
    }
}

/// The tokens of the statement `use` that a token is in, up to it; none where it is in no such.
fn of_use(source: &Source, at: usize) -> &[crate::source::Token] {
    let ends = |token: &crate::source::Token| [";", "fn"].contains(&token.text.as_str());
    let before = source.tokens[..at].iter();
    let from = before.clone().rposition(ends).map_or(0, |end| end + 1);
    let begin = source.tokens[from..at].iter().position(|t| t.text == "use");
    begin.map_or(&[], |begin| &source.tokens[from + begin..at])
}

/// Whether the file imports `name` from a module `fs`.
fn is_imported(source: &Source, name: &str) -> bool {
    let named = |(at, token): (usize, &crate::source::Token)| {
        token.kind == Kind::Code
            && token.text == name
            && of_use(source, at).iter().any(|token| token.text == "fs")
    };
    source.tokens.iter().enumerate().any(named)
}

#[cfg(test)]
mod tests {
    use super::super::{fired, made_up};
    use super::*;

    fn at(text: &str) -> Vec<(&'static str, usize)> {
        let path = "crates/drivers/src/managed/places.rs";
        fired(&check(&Source::new(&made_up(path, text))))
    }

    #[test]
    fn changes_by_path_are_found_however_they_are_written() {
        for changed in [
            "std::fs::create_dir(a)",
            "fs::set_permissions(a, b)",
            "std::fs::write(a, b)",
            "File::create(a)",
            "std::fs::File::create_new(a)",
            "OpenOptions::new().append(true).create(true).open(a)",
            "options.write(true).create_new(true)",
            "DirBuilder::new().mode(0o700).create(a)",
            "UnixListener::bind(a)",
            "std::os::unix::fs::chown(a, None, None)",
            "rustix::fs::unlink(a)",
            "rustix::fs::mkdirat(CWD, a, b)",
        ] {
            let text = format!("//! A.\nfn a() {{ {changed}; }}\n");
            let found = at(&text);
            assert!(!found.is_empty(), "{changed}");
            assert!(found.iter().all(|f| *f == ("by-path", 2)), "{changed}");
        }
        let imported = "//! A.\nuse std::os::unix::fs::{PermissionsExt, chown};\nfn a() {\n    \
                        chown(b, None, None);\n}\n";
        assert_eq!(at(imported), [("by-path", 4)]);
        let linked = "//! A.\nuse std::os::unix::fs::symlink;\nfn a() { symlink(b, c) }\n";
        assert_eq!(at(linked), [("by-path", 3)]);
    }

    #[test]
    fn what_changes_nothing_by_path_is_left_alone() {
        for harmless in [
            "folder.rename(a, b)",
            "std::fs::read(a)",
            "File::open(a)",
            "list.append(&mut other)",
            "text.truncate(5)",
            "file.write(bytes)",
            "rustix::fs::renameat(a, b, c, d)",
            "write(a)",
            "rename(a)",
            "Log::builder(a).create()",
            "let text = \"std::fs::remove_file\";",
        ] {
            let text = format!("//! A.\nuse std::fs::File;\nfn a() {{ {harmless}; }}\n");
            assert_eq!(at(&text), [], "{harmless}");
        }
        let tested = "//! A.\n#[cfg(test)]\nmod tests { fn a() { std::fs::create_dir(a); } }\n";
        assert_eq!(at(tested), []);
        let other = Source::new(&made_up("crates/device/src/a.rs", "fs::rename(a, b);"));
        assert_eq!(fired(&check(&other)), []);
    }

    #[test]
    fn macros_that_print_are_found() {
        assert_eq!(
            at("//! A.\nfn a() { eprintln!(\"a\"); }\n"),
            [("closed-stream", 2)]
        );
        assert_eq!(at("//! A.\nfn a() { writeln!(b, \"a\"); }\n"), []);
    }
}
