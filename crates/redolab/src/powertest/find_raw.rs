//! What the disk holds of acknowledged raw writes, sector by sector.
//!
//! Invariants: nothing is written or flushed; a file that is missing holds nothing; a sector counts
//! only for the place and the write that it names.

use super::find::FoundWrites;
use super::judge::{CheckedWrite, PlaceFound};
use super::messages::{PowerAck, RawFileShape};
use super::raw::content;
use super::records::{SECTOR, SectorName, TestId, common_pieces};
use crate::folder::Folder;
use device::{FileSet, LogDevice};

/// What is in a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectorFound {
    Whole,
    /// What was there before.
    Older,
    Torn,
    /// Whole, and of another place or a later write.
    Foreign,
}

/// Looks for every acknowledged write of `test` in the files of its folder.
pub(super) fn find(
    folder: &Folder,
    shapes: &[RawFileShape],
    test: TestId,
    acks: &[PowerAck],
) -> FoundWrites {
    let mut found = FoundWrites::default();
    let open = |shape: &RawFileShape| {
        let bytes = u64::from(shape.write_bytes).checked_mul(shape.slots)?;
        FileSet::open_read_only_at(folder.directory(), &[&shape.name], bytes).ok()
    };
    let files: Vec<Option<FileSet>> = shapes.iter().map(open).collect();
    for (shape, file) in shapes.iter().zip(&files) {
        if file.is_none() {
            let name = measure::words::sanitize::line(&shape.name);
            found
                .notes
                .push(format!("The file {name} is missing, or has another size."));
        }
    }
    for ack in acks {
        let at = ack.stream as usize;
        let place = match (shapes.get(at), files.get(at)) {
            (Some(shape), Some(Some(file))) => in_place(file, shape, test, ack),
            _ => PlaceFound::Missing,
        };
        found.writes.push(CheckedWrite {
            stream: ack.stream,
            at: ack.at,
            // Writers number what they acknowledge, whichever order it is sent in.
            number: ack.sequence,
            after: ack.after,
            found: place,
        });
    }
    let is_lossy = found.writes.iter().any(|w| w.found != PlaceFound::Kept);
    if is_lossy {
        for ((number, shape), file) in (0..).zip(shapes).zip(&files) {
            let last = file
                .as_ref()
                .and_then(|file| last_whole(file, shape, (test, number)));
            found.later.extend(last.map(|last| (number, last)));
        }
    }
    found
}

/// What is in the place of a write.
fn in_place(file: &FileSet, shape: &RawFileShape, test: TestId, ack: &PowerAck) -> PlaceFound {
    let size = shape.write_bytes as usize;
    let (mut there, mut expected) = (vec![0; size], vec![0; size]);
    let slot = ack.at % shape.slots.max(1);
    if ack.length != shape.write_bytes || file.read(slot * size as u64, &mut there).is_err() {
        return PlaceFound::Missing;
    }
    content(&mut expected, test, (ack.stream, ack.at), shape.slots);
    let pairs = there
        .as_chunks::<SECTOR>()
        .0
        .iter()
        .zip(expected.as_chunks::<SECTOR>().0);
    let sectors: Vec<SectorFound> = pairs
        .map(|(there, wanted)| compare(there, wanted))
        .collect();
    let count = |wanted| sectors.iter().filter(|found| **found == wanted).count();
    let whole = count(SectorFound::Whole);
    if whole == sectors.len() {
        PlaceFound::Kept
    } else if count(SectorFound::Foreign) > 0 {
        PlaceFound::Foreign
    } else if whole > 0 || count(SectorFound::Torn) > 0 {
        PlaceFound::Torn
    } else {
        PlaceFound::Missing
    }
}

fn compare(there: &[u8; SECTOR], wanted: &[u8; SECTOR]) -> SectorFound {
    if there == wanted {
        return SectorFound::Whole;
    }
    let Some(name) = SectorName::read(wanted) else {
        return SectorFound::Foreign;
    };
    match SectorName::read(there) {
        Some(found) if found.test != name.test => SectorFound::Older,
        Some(found) => {
            let same_place =
                (found.file, found.slot, found.index) == (name.file, name.slot, name.index);
            match same_place && found.write < name.write {
                true => SectorFound::Older,
                false => SectorFound::Foreign,
            }
        }
        None if common_pieces(wanted, there).0 > 0 => SectorFound::Torn,
        None => SectorFound::Older,
    }
}

/// Number of the last write that is whole in a file.
fn last_whole(file: &FileSet, shape: &RawFileShape, (test, number): (TestId, u32)) -> Option<u64> {
    let size = shape.write_bytes as usize;
    let mut there = vec![0; size];
    let mut expected = vec![0; size];
    let mut last = None;
    for slot in 0..shape.slots {
        if file.read(slot * size as u64, &mut there).is_err() {
            continue;
        }
        let head = there.first_chunk::<SECTOR>().and_then(SectorName::read);
        let Some(head) = head.filter(|h| (h.test, h.file, h.slot) == (test, number, slot)) else {
            continue;
        };
        content(&mut expected, test, (number, head.write), shape.slots);
        if there == expected {
            last = last.max(Some(head.write));
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    const TEST: TestId = TestId([5; 16]);
    const SIZE: usize = 4096;

    /// A file of eight slots with writes 0 to 9, the first two overwritten.
    fn written() -> (tempfile::TempDir, Folder, RawFileShape, Vec<PowerAck>) {
        let place = tempfile::tempdir().expect("a temporary directory");
        let shape = RawFileShape {
            name: "raw-4096-0.dat".to_owned(),
            write_bytes: SIZE as u32,
            slots: 8,
        };
        let file = std::fs::File::create(place.path().join(&shape.name)).expect("is made");
        file.write_all_at(&[0xAB; 8 * SIZE], 0).expect("writes");
        let mut buffer = vec![0; SIZE];
        for write in 0..10 {
            content(&mut buffer, TEST, (0, write), 8);
            file.write_all_at(&buffer, write % 8 * SIZE as u64)
                .expect("writes");
        }
        file.sync_all().expect("direct reads see it");
        let ack = |at: u64| PowerAck {
            at,
            sequence: at,
            length: SIZE as u32,
            ..PowerAck::default()
        };
        let folder = Folder::open_root(place.path()).expect("opens");
        (place, folder, shape, (2..10).map(ack).collect())
    }

    #[test]
    fn each_kind_of_damage_is_recognised() {
        let (place, folder, shape, acks) = written();
        let look = || find(&folder, std::slice::from_ref(&shape), TEST, &acks);
        assert!(look().writes.iter().all(|w| w.found == PlaceFound::Kept));
        let file = std::fs::File::options()
            .write(true)
            .open(place.path().join(&shape.name));
        let file = file.expect("opens");
        let mut other = vec![0; SIZE];
        // An earlier write of the place, one of another place, half a sector, and noise.
        content(&mut other, TEST, (0, 1), 8);
        file.write_all_at(&other, SIZE as u64).expect("writes");
        content(&mut other, TEST, (0, 3), 8);
        file.write_all_at(&other, 2 * SIZE as u64).expect("writes");
        file.write_all_at(&[0xAB; 256], 3 * SIZE as u64 + 512)
            .expect("writes");
        file.write_all_at(&[0xAB; SIZE], 4 * SIZE as u64)
            .expect("writes");
        file.sync_all().expect("direct reads see it");
        let found = look();
        let of = |at: u64| {
            let write = found.writes.iter().find(|w| w.at == at);
            write.map(|w| w.found)
        };
        assert_eq!(of(9), Some(PlaceFound::Missing), "an older one");
        assert_eq!(of(2), Some(PlaceFound::Foreign));
        assert_eq!(of(3), Some(PlaceFound::Torn));
        assert_eq!(of(4), Some(PlaceFound::Missing));
        assert_eq!(of(5), Some(PlaceFound::Kept));
        assert_eq!(found.later, [(0, 8)]);
        std::fs::remove_file(place.path().join(&shape.name)).expect("removes");
        let gone = find(&folder, &[shape], TEST, &acks);
        assert!(gone.writes.iter().all(|w| w.found == PlaceFound::Missing));
        assert_eq!(gone.notes.len(), 1);
    }
}
