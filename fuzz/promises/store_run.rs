//! What a store may hold or be given: an exported run, and a run's folder with files of any bytes.
//! Nothing panics, a damaged run is an entry like any other, and what is loaded is exported again.
//!
//! The first byte says which; `=== NAME` on a line of its own begins a file of the folder. `SUM`
//! behind a name of the contents stands for the checksum that the manifest really has.

use redolab::store::{Store, hlog};
use std::path::Path;

fn place() -> std::path::PathBuf {
    let base = match Path::new("/dev/shm").is_dir() {
        true => Path::new("/dev/shm").to_owned(),
        false => std::env::temp_dir(),
    };
    base.join(format!("redolab-fuzz-{}", std::process::id()))
}

fn look(store: &Store) {
    for entry in store.list().expect("the store itself is sound") {
        let _ = store.load_draft(&entry.id);
        let _ = store.load_histograms(&entry.id);
        if store.load(&entry.id).is_ok() {
            let mut out = Vec::new();
            let _ = store.export(&entry.id, &mut out);
        }
    }
}

fn folder(root: &Path, text: &[u8]) {
    let run = root.join("20260101-000000-000000");
    std::fs::create_dir_all(&run).expect("a folder of our own");
    let mut name: Option<String> = None;
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for line in text.split_inclusive(|b| *b == b'\n') {
        if let Some(rest) = line.strip_prefix(b"=== ") {
            let stem = String::from_utf8_lossy(rest).trim().to_owned();
            let sound = !stem.is_empty() && stem.len() < 80 && !stem.starts_with('.');
            let plain = stem
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
            name = (sound && plain).then_some(stem);
            files.extend(name.clone().map(|n| (n, Vec::new())));
        } else if let (Some(_), Some((_, bytes))) = (&name, files.last_mut()) {
            bytes.extend_from_slice(line);
        }
    }
    let manifest = files.iter().find(|(n, _)| n == "manifest.json");
    let sum = manifest.map_or(0, |(_, bytes)| hlog::crc32c(bytes));
    for (name, bytes) in &files {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.replace("SUM", &format!("{sum:08x}")).into_bytes(),
            Err(_) => bytes.clone(),
        };
        std::fs::write(run.join(name), text).expect("a fresh file");
    }
}

/// Bears `bytes`, or panics.
pub fn bear(bytes: &[u8]) {
    let Some((which, text)) = bytes.split_first() else {
        return;
    };
    let root = place();
    let _ = std::fs::remove_dir_all(&root);
    let store = Store::open(&root).expect("a store of our own");
    if which % 2 == 1 {
        folder(&root, text);
        look(&store);
    } else if let Ok(id) = store.import(&mut std::io::Cursor::new(text)) {
        store.load(&id).expect("what was imported is loaded");
        store.load_histograms(&id).expect("and its histograms");
        let mut out = Vec::new();
        store.export(&id, &mut out).expect("and exported");
        look(&store);
    }
    let _ = std::fs::remove_dir_all(&root);
}
