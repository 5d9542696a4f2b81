//! Headers of files and blocks, and control information: any bytes are decoded or refused, and what
//! is decoded encodes to what says the same. The same with the checksum that they should have.

use redo::control::{COPY_BYTES, ControlInfo};
use redo::format::{
    BLOCK_HEADER_BYTES, BlockHeader, FILE_HEADER_BYTES, FileHeader, LifeMark, LogId, Summer,
    decode_record_header, encode_record_header,
};

/// Puts the checksum of the other bytes, seeded with the identity at `id_at`, at the end.
fn sum(bytes: &mut [u8], id_at: usize) {
    let Some(body) = bytes.len().checked_sub(4) else {
        return;
    };
    let Some(id) = bytes.get(id_at..id_at + 16).and_then(|b| b.try_into().ok()) else {
        return;
    };
    let crc = Summer::new(LogId(id)).sum(&bytes[..body], &[]);
    bytes[body..].copy_from_slice(&crc.to_le_bytes());
}

fn file(bytes: &[u8]) {
    if let Ok(header) = FileHeader::decode(bytes) {
        assert_eq!(FileHeader::decode(&header.encode()), Ok(header));
    }
}

fn control(bytes: &[u8]) {
    if let Ok(info) = ControlInfo::decode(bytes) {
        assert_eq!(ControlInfo::decode(&info.encode()), Ok(info.clone()));
        let geometry = info.geometry;
        let limit = geometry.reuse_limit(info.checkpoint.block);
        assert!(limit > info.checkpoint.block);
        assert!(geometry.address(limit) < u64::from(geometry.groups) * geometry.file_bytes);
        let current = info.current();
        let _ = info.incarnation_of(current.first);
    }
}

fn block(summer: &Summer, bytes: &[u8]) {
    let Some(header) = BlockHeader::decode(summer, bytes) else {
        return;
    };
    let end = BLOCK_HEADER_BYTES + usize::from(header.used);
    let body = &bytes[BLOCK_HEADER_BYTES..end];
    assert_eq!(header.encode(summer, body)[..], bytes[..BLOCK_HEADER_BYTES]);
}

/// Bears `bytes`, or panics.
pub fn bear(bytes: &[u8]) {
    let Some((which, bytes)) = bytes.split_first() else {
        return;
    };
    match which % 3 {
        0 => {
            file(bytes);
            let mut whole = bytes.to_vec();
            whole.resize(FILE_HEADER_BYTES, 0);
            sum(&mut whole, 12);
            file(&whole);
        }
        1 => {
            control(bytes);
            let mut copy = bytes.to_vec();
            copy.resize(COPY_BYTES, 0);
            sum(&mut copy, 12);
            control(&copy);
        }
        _ => {
            let summer = Summer::new(LogId([7; 16]));
            block(&summer, bytes);
            let mut whole = bytes.to_vec();
            whole.resize(512, 0);
            let used = usize::from(u16::from_le_bytes([whole[6], whole[7]]));
            let end = (BLOCK_HEADER_BYTES + used).min(whole.len());
            whole[36..40].fill(0);
            let mark = [30, 31, 32, 33, 34, 35].map(|at: usize| whole[at]);
            let crc = summer.sum_of(
                LifeMark::of(mark),
                &whole[..BLOCK_HEADER_BYTES],
                &whole[BLOCK_HEADER_BYTES..end],
            );
            whole[36..40].copy_from_slice(&crc.to_le_bytes());
            block(&summer, &whole);
        }
    }
    if let Some(head) = bytes.first_chunk()
        && let Some(len) = decode_record_header(head)
    {
        assert_eq!(encode_record_header(len), *head);
    }
}
