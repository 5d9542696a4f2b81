//! A log's files with damage: inspecting them ends with what is sound or an error, and never claims
//! records that were not written.
//!
//! The input is a list of damages of six bytes: file, place (3 bytes), length, value. A first byte
//! that is odd sets the checksums of both copies of the control information right again.

use redo::control::COPY_BYTES;
use redo::engine::Inspection;
use redo::format::{LogId, Summer};
use redo::{CommitMode, Log, Shape};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const RECORDS: u64 = 40;

/// The files of a sound log, and where each damaged copy of it is put.
struct Sound {
    files: Vec<(String, Vec<u8>)>,
    place: PathBuf,
}

fn sound() -> &'static Sound {
    static SOUND: OnceLock<Sound> = OnceLock::new();
    SOUND.get_or_init(|| {
        let base = match Path::new("/dev/shm").is_dir() {
            true => Path::new("/dev/shm").to_owned(),
            false => std::env::temp_dir(),
        };
        let place = base.join(format!("redolab-fuzz-log-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).expect("a folder of our own");
        write(&place);
        let entries = std::fs::read_dir(&place).expect("just made");
        let mut files: Vec<(String, Vec<u8>)> = entries
            .map(|entry| {
                let entry = entry.expect("just made");
                let name = entry.file_name().to_string_lossy().into_owned();
                (name, std::fs::read(entry.path()).expect("just made"))
            })
            .collect();
        files.sort();
        Sound { files, place }
    })
}

/// A log of two lives, of records that tell their number.
fn write(place: &Path) {
    let shape = Shape::new()
        .block_bytes(Some(4096))
        .groups(2)
        .file_bytes(512 << 10);
    Log::builder(place)
        .shape(shape)
        .create()
        .expect("a new log");
    for life in 0..2 {
        let (log, _) = Log::builder(place).open().expect("a sound log");
        let mut session = log.session();
        for n in life * RECORDS / 2..(life + 1) * RECORDS / 2 {
            session.append(&[&record(n)]).expect("room");
            session
                .commit(CommitMode::WAIT_IMMEDIATE)
                .expect("a device that works");
        }
    }
}

fn record(n: u64) -> Vec<u8> {
    vec![n as u8; 1 + (n * 37 % 300) as usize]
}

fn mend(control: &mut [u8]) {
    for copy in control.chunks_exact_mut(COPY_BYTES) {
        let Some(id) = copy.get(12..28).and_then(|b| b.try_into().ok()) else {
            continue;
        };
        let crc = Summer::new(LogId(id)).sum(&copy[..COPY_BYTES - 4], &[]);
        copy[COPY_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
    }
}

/// Bears `bytes`, or panics.
pub fn bear(bytes: &[u8]) {
    let Some((flags, damages)) = bytes.split_first() else {
        return;
    };
    let Sound { files, place } = sound();
    let mut files = files.clone();
    for damage in damages.chunks_exact(6) {
        let which = usize::from(damage[0]) % files.len();
        let (_, file) = &mut files[which];
        let at = u32::from_le_bytes([damage[1], damage[2], damage[3], 0]) as usize;
        let at = at % (file.len() + 1);
        let end = (at + usize::from(damage[4])).min(file.len());
        match damage[4] {
            255 => file.truncate(at),
            _ => file[at..end].fill(damage[5]),
        }
    }
    for (name, file) in &mut files {
        if flags % 2 == 1 && name == "redo.ctl" {
            mend(file);
        }
        std::fs::write(place.join(name), file).expect("a folder of our own");
    }
    let Ok(log) = Inspection::open(place) else {
        return;
    };
    // Mended control information may call for gigabytes, which the files do not have.
    let _ = log.survey(&|_| {});
    let written: Vec<Vec<u8>> = (0..RECORDS).map(record).collect();
    let _ = log.scan(|_, bytes| {
        assert!(
            written.iter().any(|r| r == bytes),
            "{bytes:?} was never written"
        );
    });
}
