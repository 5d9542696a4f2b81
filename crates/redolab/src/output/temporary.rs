//! Names of files that are not whole yet. They are beside the files that they will be called.

use std::ffi::OsStr;
use std::hash::{BuildHasher, Hasher};

/// How such a name ends, and how many digits are before that.
const END: &str = ".tmp";
const DIGITS: usize = 16;

fn begin(name: &OsStr) -> String {
    let shown: String = name.to_string_lossy().chars().take(40).collect();
    format!(".{shown}.")
}

/// A name that no other process uses at the same time.
pub(super) fn name_for(name: &OsStr) -> String {
    // Each RandomState is seeded by the system; the counter in it makes two differ.
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!("{}{random:0DIGITS$x}{END}", begin(name))
}

/// Whether a file is one that is not whole yet and would have been called `name`.
#[must_use]
pub fn is_of(file: &OsStr, name: &str) -> bool {
    let file = file.to_string_lossy();
    let rest = file.strip_prefix(&begin(OsStr::new(name)));
    let random = rest.and_then(|rest| rest.strip_suffix(END));
    random.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_their_file_alone() {
        let name = name_for(OsStr::new("begin.txt"));
        assert!(is_of(OsStr::new(&name), "begin.txt"), "{name}");
        for other in ["begin", "begin.txt.", "in.txt"] {
            assert!(!is_of(OsStr::new(&name), other), "{other}");
        }
        assert!(!is_of(OsStr::new(".begin.txt.notes.tmp"), "begin.txt"));
    }
}
