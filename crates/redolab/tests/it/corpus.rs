//! The corpora of the fuzz targets that are not of importers: each file is borne as the fuzz target
//! bears it, and so is each file cut in the middle.

use std::path::Path;

#[path = "../../../../fuzz/promises/redo_format.rs"]
mod redo_format;
#[path = "../../../../fuzz/promises/redo_inspect.rs"]
mod redo_inspect;
#[path = "../../../../fuzz/promises/redo_recovery.rs"]
mod redo_recovery;
#[path = "../../../../fuzz/promises/store_hlog.rs"]
mod store_hlog;
#[path = "../../../../fuzz/promises/store_run.rs"]
mod store_run;
#[path = "../../../../fuzz/promises/trace_ring.rs"]
mod trace_ring;
#[path = "../../../../fuzz/promises/unpack.rs"]
mod unpack;

fn each(corpus: &str, bear: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let folder = folder.join(corpus);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{corpus}: {e}"));
    let mut files = 0;
    for entry in entries {
        let path = entry.expect("an entry").path();
        println!("{}", path.display());
        let bytes = std::fs::read(&path).expect("a file");
        bear(&bytes);
        bear(&bytes[..bytes.len() / 2]);
        files += 1;
    }
    assert!(files >= 3, "{corpus}: {files} files");
}

#[test]
fn the_block_format_bears_its_corpus() {
    each("redo-format", redo_format::bear);
}

#[test]
fn recovery_bears_its_corpus() {
    each("redo-recovery", redo_recovery::bear);
}

#[test]
fn inspection_bears_its_corpus() {
    each("redo-inspect", redo_inspect::bear);
}

#[test]
fn interval_logs_bear_their_corpus() {
    each("store-hlog", store_hlog::bear);
}

#[test]
fn the_store_bears_its_corpus() {
    each("store-run", store_run::bear);
}

#[test]
fn pages_of_the_trace_bear_their_corpus() {
    each("trace-ring", trace_ring::bear);
}

#[test]
fn unpacking_bears_its_corpus() {
    each("unpack", unpack::bear);
}
