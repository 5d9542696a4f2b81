//! Where the published formats put their magic numbers, as plain numbers of bytes.

use super::*;
use std::collections::BTreeMap;

/// Bytes of the device: 300 GiB and three sectors of 512 bytes, so that its last block of 4096
/// bytes is not a whole one.
const BYTES: u64 = 322_122_548_736;

/// Each format with every place on that device.
const PLACES: &[(&str, &[u64])] = &[
    ("redolab redo log", &[0, 16_384, 1_048_576]),
    ("redolab log file", &[0]),
    ("ext2, ext3 or ext4", &[1080]),
    ("xfs", &[0]),
    ("xfs external log", &[0]),
    ("btrfs", &[65_600, 67_108_928, 274_877_907_008]),
    ("f2fs", &[1024, 5120]),
    ("bcachefs", &[4120]),
    ("jfs", &[32_768]),
    ("reiserfs", &[8244, 65_588]),
    ("reiser4", &[65_536]),
    ("FAT", &[54]),
    ("FAT32", &[82]),
    ("NTFS", &[3]),
    ("exFAT", &[3]),
    ("ReFS", &[3]),
    ("ISO 9660", &[32_769]),
    ("UDF", &[32_769]),
    ("HFS", &[1024]),
    ("HFS+", &[1024]),
    ("HFSX", &[1024]),
    ("APFS", &[32]),
    ("squashfs", &[0]),
    ("erofs", &[1024]),
    ("cramfs", &[0]),
    ("romfs", &[0]),
    // The second superblock: the last whole block of 4096 bytes.
    ("nilfs2", &[1030, 322_122_543_110]),
    ("ocfs2", &[1024, 2048, 4096, 8192]),
    ("gfs2", &[65_536]),
    ("VMFS", &[2_097_152]),
    ("VMFS volume", &[1_048_576]),
    ("minix", &[1040, 1048]),
    ("ufs", &[9564]),
    ("ufs2", &[66_908]),
    ("zonefs", &[0]),
    // The last ten bytes of a page of 4, 8, 16, 32 and 64 KiB.
    ("swap", &[4086, 8182, 16_374, 32_758, 65_526]),
    ("suspended system", &[4086]),
    ("LUKS", &[0]),
    (
        "LUKS2",
        &[
            16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576, 2_097_152, 4_194_304,
        ],
    ),
    ("BitLocker", &[3]),
    ("LVM physical volume", &[0, 512, 1024, 1536]),
    ("LVM1 physical volume", &[0]),
    // The last 64 KiB that are aligned to 64 KiB.
    ("md RAID member (0.90)", &[322_122_481_664]),
    // Aligned to 4 KiB, at least 8 KiB before the end.
    ("md RAID member (1.0)", &[322_122_539_008]),
    ("md RAID member (1.1)", &[0]),
    ("md RAID member (1.2)", &[4096]),
    ("DDF RAID member", &[322_122_543_104, 322_122_548_224]),
    ("Intel RAID member", &[322_122_539_008, 322_122_547_712]),
    ("DRBD", &[322_122_543_164]),
    ("bcache", &[4120]),
    ("VDO", &[0]),
    ("dm-integrity", &[0]),
    ("dm-verity", &[0]),
    ("dm-snapshot", &[0]),
    ("dm-thin metadata", &[32]),
    ("Stratis", &[516]),
    ("Ceph BlueStore", &[0]),
    ("Oracle ASM disk", &[32]),
    ("Oracle file", &[28]),
    ("MBR partition table or boot sector", &[510]),
    ("GPT partition table", &[512, 4096]),
    (
        "backup GPT partition table",
        &[322_122_543_104, 322_122_548_224],
    ),
    ("Apple partition map", &[512]),
    ("BSD disk label", &[0, 64, 512]),
    ("SGI disk label", &[0]),
    ("Sun disk label", &[508]),
    ("Solaris disk label", &[524]),
];

#[test]
fn each_format_is_looked_for_at_its_published_places() {
    let mut looked: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for magic in TABLE {
        let at = magic.spot.on(BYTES).expect("the device is large enough");
        looked.entry(magic.name).or_default().push(at);
    }
    for places in looked.values_mut() {
        places.sort_unstable();
        places.dedup();
    }
    for (name, places) in PLACES {
        assert_eq!(looked.remove(name).as_deref(), Some(*places), "{name}");
    }
    assert!(looked.is_empty(), "without a published place: {looked:?}");
}

#[test]
fn zfs_labels_are_two_at_each_end() {
    let at = ZFS_LABELS.map(|label| label.on(BYTES));
    let expected = [0, 262_144, 322_122_022_912, 322_122_285_056];
    assert_eq!(at, expected.map(Some));
    // Each label has its ring of uberblocks in its second half.
    assert_eq!((ZFS_LABEL_BYTES, ZFS_RING_AT), (262_144, 131_072));
}
