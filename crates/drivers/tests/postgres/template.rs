//! Data of a new server, made once for all tests of a build and copied for each.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::UNIX_EPOCH;

/// Has the data of a new server of this program in `data`: copied from what `make` made there the
/// first time.
pub fn data(program: &Path, data: &Path, make: impl FnOnce()) {
    static COPY: Mutex<()> = Mutex::new(());
    let _copy = COPY
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    // Owners stay, so that tests of root and of others have templates of their own.
    let user = rustix::process::geteuid().as_raw();
    let installed = program.metadata().and_then(|found| found.modified());
    let installed = installed.expect("a program").duration_since(UNIX_EPOCH);
    let name = format!(
        "{}-{user}-{}",
        program.display(),
        installed.expect("a time").as_secs()
    );
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.replace('/', "-"));
    if kept.exists() {
        return copy(&kept, data);
    }
    make();
    // Another program may be as far.
    let part = kept.with_extension(format!("part-{}", std::process::id()));
    copy(data, &part);
    if std::fs::rename(&part, &kept).is_err() {
        std::fs::remove_dir_all(&part).expect("removed");
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.expect("cp runs").success(), "{}", to.display());
}
