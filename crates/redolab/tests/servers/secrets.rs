//! Looking for a secret where none may be.

use std::path::Path;

pub fn contains(bytes: &[u8], secret: &str) -> bool {
    bytes
        .windows(secret.len())
        .any(|at| at == secret.as_bytes())
}

/// No file below `folder` contains the secret, but the one that the test wrote it to; how many were
/// looked at.
pub fn expect_no_file_with(folder: &Path, secret: &str, but: &Path) -> usize {
    let mut looked_at = 0;
    for entry in std::fs::read_dir(folder).expect("lists") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            looked_at += expect_no_file_with(&path, secret, but);
        } else if path.is_file() && path != but {
            let bytes = std::fs::read(&path).expect("reads");
            assert!(!contains(&bytes, secret), "{}", path.display());
            looked_at += 1;
        }
    }
    looked_at
}
