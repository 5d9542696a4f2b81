//! Signatures of what block devices carry, as a table: where each stands, its bytes, and where
//! that is published.
//!
//! Invariant: data alone; [`signature`](super::signature) reads it. A place counted from the end
//! is counted from the end rounded down to a unit, as the formats do it.

use SignatureKind::{Database, FileSystem, Member, PartitionTable, Swap};

/// What a signature stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureKind {
    /// A file system, or a part of one.
    FileSystem,
    /// Swap, or a system that sleeps in it.
    Swap,
    /// A member of something that is put together: RAID, volume groups, pools, encryption.
    Member,
    /// A partition table.
    PartitionTable,
    /// A database's file or log, redolab's own among them.
    Database,
}

/// Where a signature stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// At this byte.
    Start(u64),
    /// `back` bytes before the end, which is rounded down to `unit`, and `plus` bytes on.
    End { unit: u64, back: u64, plus: u64 },
}

impl Spot {
    /// The byte on a device of `bytes`; `None` where it is smaller.
    pub(super) fn on(self, bytes: u64) -> Option<u64> {
        match self {
            Spot::Start(at) => Some(at),
            Spot::End { unit, back, plus } => {
                (bytes / unit * unit).checked_sub(back)?.checked_add(plus)
            }
        }
    }
}

/// One signature at one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Magic {
    pub(super) name: &'static str,
    pub(super) kind: SignatureKind,
    pub(super) spot: Spot,
    pub(super) bytes: &'static [u8],
    pub(super) source: &'static str,
}

const fn from_start(
    name: &'static str,
    kind: SignatureKind,
    at: u64,
    bytes: &'static [u8],
    source: &'static str,
) -> Magic {
    let spot = Spot::Start(at);
    Magic {
        name,
        kind,
        spot,
        bytes,
        source,
    }
}

const fn from_end(
    name: &'static str,
    kind: SignatureKind,
    [unit, back, plus]: [u64; 3],
    bytes: &'static [u8],
    source: &'static str,
) -> Magic {
    let spot = Spot::End { unit, back, plus };
    Magic {
        name,
        kind,
        spot,
        bytes,
        source,
    }
}

const KIB: u64 = 1 << 10;

const EXT: &str = "Linux Documentation/filesystems/ext4/super.rst, s_magic";
const XFS: &str = "Linux fs/xfs/libxfs/xfs_format.h, XFS_SB_MAGIC";
const XFS_LOG: &str = "Linux fs/xfs/libxfs/xfs_log_format.h, XLOG_HEADER_MAGIC_NUM";
const BTRFS: &str = "btrfs documentation, on-disk format, superblock and its mirrors";
const F2FS: &str = "Linux include/linux/f2fs_fs.h";
const BCACHE: &str = "Linux drivers/md/bcache/bcache_ondisk.h, struct cache_sb";
const BCACHEFS: &str = "bcachefs: Principles of Operation, superblock";
const JFS: &str = "Linux fs/jfs/jfs_superblock.h";
const REISER: &str = "Linux 6.12 fs/reiserfs/reiserfs.h";
const FAT: &str = "Microsoft FAT32 File System Specification, BS_FilSysType";
const NTFS: &str = "Linux fs/ntfs3/ntfs.h, struct NTFS_BOOT";
const EXFAT: &str = "Microsoft exFAT File System Specification, FileSystemName";
const REFS: &str = "libyal libfsrefs, volume header";
const ISO: &str = "ECMA-119, volume descriptor";
const UDF: &str = "ECMA-167, volume recognition sequence";
const HFS: &str = "Apple Technical Note TN1150, volume header";
const APFS: &str = "Apple File System Reference, nx_superblock_t";
const SQUASHFS: &str = "Linux Documentation/filesystems/squashfs.rst";
const EROFS: &str = "Linux fs/erofs/erofs_fs.h";
const CRAMFS: &str = "Linux include/uapi/linux/cramfs_fs.h";
const ROMFS: &str = "Linux include/uapi/linux/romfs_fs.h";
const NILFS: &str = "Linux include/uapi/linux/nilfs2_ondisk.h, s_magic and the second super block";
const OCFS2: &str = "Linux fs/ocfs2/ocfs2_fs.h, OCFS2_SUPER_BLOCK_SIGNATURE";
const GFS2: &str = "Linux include/uapi/linux/gfs2_ondisk.h, GFS2_MAGIC";
const VMFS: &str = "util-linux libblkid, superblocks/vmfs.c";
const MINIX: &str = "Linux include/uapi/linux/magic.h";
const UFS: &str = "Linux fs/ufs/ufs_fs.h";
const ZONEFS: &str = "Linux fs/zonefs/zonefs.h";
const SWAP: &str = "Linux include/linux/swap.h, union swap_header (the last 10 bytes of a page)";
const SUSPEND: &str = "Linux kernel/power/swap.c, HIBERNATE_SIG; util-linux libblkid, swap.c";
const LUKS: &str = "LUKS On-Disk Format Specification, version 1";
const LUKS2: &str = "LUKS2 On-Disk Format Specification, binary header and its second copy";
const BITLOCKER: &str = "libyal libbde, volume header";
const LVM2: &str = "LVM2 lib/label/label.h, LABEL_ID in one of the first four sectors";
const LVM1: &str = "util-linux libblkid, superblocks/lvm.c";
const MD: &str = "Linux include/uapi/linux/raid/md_p.h, MD_SB_MAGIC";
const DDF: &str = "SNIA Common RAID Disk Data Format, DDF_Header_Signature";
const IMSM: &str = "mdadm super-intel.c, MPB_SIGNATURE";
const DRBD: &str = "Linux drivers/block/drbd/drbd_main.c, struct meta_data_on_disk";
const VDO: &str = "Linux drivers/md/dm-vdo/encodings.c, geometry magic number";
const INTEGRITY: &str = "Linux drivers/md/dm-integrity.c, SB_MAGIC";
const VERITY: &str = "cryptsetup lib/verity/verity.c, VERITY_SIGNATURE";
const SNAPSHOT: &str = "Linux drivers/md/dm-snap-persistent.c, SNAP_MAGIC";
const THIN: &str = "Linux drivers/md/dm-thin-metadata.c, THIN_SUPERBLOCK_MAGIC";
const STRATIS: &str = "Stratis Software Design, static header";
const BLUESTORE: &str = "Ceph src/os/bluestore/bluestore_types.h, bdev label";
const ASM: &str = "util-linux libblkid, superblocks/oracle.c (provision string of a disk header)";
const ORACLE: &str = "published dumps of Oracle file headers; not verified here";
const MBR: &str = "UEFI Specification, legacy master boot record";
const GPT: &str = "UEFI Specification, GPT header in the second and in the last logical block";
const APPLE: &str = "Apple, Inside Macintosh: Devices, driver descriptor and partition map";
const BSD: &str = "util-linux libblkid, partitions/bsd.c, BSD_DISKMAGIC";
const SGI: &str = "Linux block/partitions/sgi.c";
const SUN: &str = "Linux block/partitions/sun.c";
const SOLARIS: &str = "util-linux libblkid, partitions/solaris_x86.c";
const REDOLAB: &str = "docs/format.md";

const MD_MAGIC: &[u8] = &0xa92b_4efc_u32.to_le_bytes();
const MD_MAGIC_BIG: &[u8] = &0xa92b_4efc_u32.to_be_bytes();
const REISER_AT: u64 = 64 * KIB + 52;

/// Every signature that is looked for, but for ZFS, whose place varies.
#[rustfmt::skip]
pub(super) const TABLE: &[Magic] = &[
    from_start("redolab redo log", Database, 0, b"REDOCTL\0", REDOLAB),
    from_start("redolab redo log", Database, 16 * KIB, b"REDOCTL\0", REDOLAB),
    from_start("redolab log file", Database, 0, b"REDOLAB\0", REDOLAB),
    from_start("redolab redo log", Database, 1024 * KIB, b"REDOLAB\0", REDOLAB),

    from_start("ext2, ext3 or ext4", FileSystem, 1080, b"\x53\xef", EXT),
    from_start("xfs", FileSystem, 0, b"XFSB", XFS),
    from_start("xfs external log", FileSystem, 0, b"\xfe\xed\xba\xbe", XFS_LOG),
    from_start("btrfs", FileSystem, 64 * KIB + 64, b"_BHRfS_M", BTRFS),
    from_start("btrfs", FileSystem, (64 << 20) + 64, b"_BHRfS_M", BTRFS),
    from_start("btrfs", FileSystem, (256 << 30) + 64, b"_BHRfS_M", BTRFS),
    from_start("f2fs", FileSystem, KIB, &0xf2f5_2010_u32.to_le_bytes(), F2FS),
    from_start("f2fs", FileSystem, 5 * KIB, &0xf2f5_2010_u32.to_le_bytes(), F2FS),
    from_start("bcachefs", FileSystem, 4 * KIB + 24,
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef", BCACHEFS),
    from_start("jfs", FileSystem, 32 * KIB, b"JFS1", JFS),
    from_start("reiserfs", FileSystem, REISER_AT, b"ReIsEr", REISER),
    from_start("reiserfs", FileSystem, 8 * KIB + 52, b"ReIsEr", REISER),
    from_start("reiser4", FileSystem, 64 * KIB, b"ReIsEr4", REISER),
    from_start("FAT", FileSystem, 54, b"FAT1", FAT),
    from_start("FAT32", FileSystem, 82, b"FAT32", FAT),
    from_start("NTFS", FileSystem, 3, b"NTFS    ", NTFS),
    from_start("exFAT", FileSystem, 3, b"EXFAT   ", EXFAT),
    from_start("ReFS", FileSystem, 3, b"ReFS\0\0\0\0", REFS),
    from_start("ISO 9660", FileSystem, 32 * KIB + 1, b"CD001", ISO),
    from_start("UDF", FileSystem, 32 * KIB + 1, b"BEA01", UDF),
    from_start("HFS", FileSystem, KIB, b"BD", HFS),
    from_start("HFS+", FileSystem, KIB, b"H+", HFS),
    from_start("HFSX", FileSystem, KIB, b"HX", HFS),
    from_start("APFS", FileSystem, 32, b"NXSB", APFS),
    from_start("squashfs", FileSystem, 0, b"hsqs", SQUASHFS),
    from_start("erofs", FileSystem, KIB, &0xe0f5_e1e2_u32.to_le_bytes(), EROFS),
    from_start("cramfs", FileSystem, 0, &0x28cd_3d45_u32.to_le_bytes(), CRAMFS),
    from_start("romfs", FileSystem, 0, b"-rom1fs-", ROMFS),
    from_start("nilfs2", FileSystem, KIB + 6, &0x3434_u16.to_le_bytes(), NILFS),
    from_end("nilfs2", FileSystem, [4 * KIB, 4 * KIB, 6], &0x3434_u16.to_le_bytes(), NILFS),
    from_start("ocfs2", FileSystem, KIB, b"OCFSV2", OCFS2),
    from_start("ocfs2", FileSystem, 2 * KIB, b"OCFSV2", OCFS2),
    from_start("ocfs2", FileSystem, 4 * KIB, b"OCFSV2", OCFS2),
    from_start("ocfs2", FileSystem, 8 * KIB, b"OCFSV2", OCFS2),
    from_start("gfs2", FileSystem, 64 * KIB, &0x0116_1970_u32.to_be_bytes(), GFS2),
    from_start("VMFS", FileSystem, 2048 * KIB, b"\x5e\xf1\xab\x2f", VMFS),
    from_start("VMFS volume", Member, 1024 * KIB, b"\x0d\xd0\x01\xc0", VMFS),
    from_start("minix", FileSystem, KIB + 16, &0x137f_u16.to_le_bytes(), MINIX),
    from_start("minix", FileSystem, KIB + 16, &0x138f_u16.to_le_bytes(), MINIX),
    from_start("minix", FileSystem, KIB + 16, &0x2468_u16.to_le_bytes(), MINIX),
    from_start("minix", FileSystem, KIB + 16, &0x2478_u16.to_le_bytes(), MINIX),
    from_start("minix", FileSystem, KIB + 24, &0x4d5a_u16.to_le_bytes(), MINIX),
    from_start("ufs", FileSystem, 8 * KIB + 1372, &0x0001_1954_u32.to_le_bytes(), UFS),
    from_start("ufs", FileSystem, 8 * KIB + 1372, &0x0001_1954_u32.to_be_bytes(), UFS),
    from_start("ufs2", FileSystem, 64 * KIB + 1372, &0x1954_0119_u32.to_le_bytes(), UFS),
    from_start("ufs2", FileSystem, 64 * KIB + 1372, &0x1954_0119_u32.to_be_bytes(), UFS),
    from_start("zonefs", FileSystem, 0, &0x5a4f_4653_u32.to_le_bytes(), ZONEFS),

    from_start("swap", Swap, 4 * KIB - 10, b"SWAPSPACE2", SWAP),
    from_start("swap", Swap, 8 * KIB - 10, b"SWAPSPACE2", SWAP),
    from_start("swap", Swap, 16 * KIB - 10, b"SWAPSPACE2", SWAP),
    from_start("swap", Swap, 32 * KIB - 10, b"SWAPSPACE2", SWAP),
    from_start("swap", Swap, 64 * KIB - 10, b"SWAPSPACE2", SWAP),
    from_start("swap", Swap, 4 * KIB - 10, b"SWAP-SPACE", SWAP),
    from_start("suspended system", Swap, 4 * KIB - 10, b"S1SUSPEND", SUSPEND),
    from_start("suspended system", Swap, 4 * KIB - 10, b"S2SUSPEND", SUSPEND),
    from_start("suspended system", Swap, 4 * KIB - 10, b"ULSUSPEND", SUSPEND),
    from_start("suspended system", Swap, 4 * KIB - 10, b"LINHIB0001", SUSPEND),

    from_start("LUKS", Member, 0, b"LUKS\xba\xbe", LUKS),
    from_start("LUKS2", Member, 16 * KIB, b"SKUL\xba\xbe", LUKS2),
    from_start("LUKS2", Member, 32 * KIB, b"SKUL\xba\xbe", LUKS2),
    from_start("LUKS2", Member, 64 * KIB, b"SKUL\xba\xbe", LUKS2),
    from_start("LUKS2", Member, 128 * KIB, b"SKUL\xba\xbe", LUKS2),
    from_start("LUKS2", Member, 256 * KIB, b"SKUL\xba\xbe", LUKS2),
    from_start("LUKS2", Member, 512 * KIB, b"SKUL\xba\xbe", LUKS2),
    from_start("LUKS2", Member, 1024 * KIB, b"SKUL\xba\xbe", LUKS2),
    from_start("LUKS2", Member, 2048 * KIB, b"SKUL\xba\xbe", LUKS2),
    from_start("LUKS2", Member, 4096 * KIB, b"SKUL\xba\xbe", LUKS2),
    from_start("BitLocker", Member, 3, b"-FVE-FS-", BITLOCKER),
    from_start("LVM physical volume", Member, 0, b"LABELONE", LVM2),
    from_start("LVM physical volume", Member, 512, b"LABELONE", LVM2),
    from_start("LVM physical volume", Member, 1024, b"LABELONE", LVM2),
    from_start("LVM physical volume", Member, 1536, b"LABELONE", LVM2),
    from_start("LVM1 physical volume", Member, 0, b"HM\x01\x00", LVM1),
    from_start("LVM1 physical volume", Member, 0, b"HM\x02\x00", LVM1),
    from_end("md RAID member (0.90)", Member, [64 * KIB, 64 * KIB, 0], MD_MAGIC, MD),
    from_end("md RAID member (0.90)", Member, [64 * KIB, 64 * KIB, 0], MD_MAGIC_BIG, MD),
    from_end("md RAID member (1.0)", Member, [4 * KIB, 8 * KIB, 0], MD_MAGIC, MD),
    from_start("md RAID member (1.1)", Member, 0, MD_MAGIC, MD),
    from_start("md RAID member (1.2)", Member, 4 * KIB, MD_MAGIC, MD),
    from_end("DDF RAID member", Member, [512, 512, 0], b"\xde\x11\xde\x11", DDF),
    from_end("DDF RAID member", Member, [4 * KIB, 4 * KIB, 0], b"\xde\x11\xde\x11", DDF),
    from_end("Intel RAID member", Member, [512, 1024, 0], b"Intel Raid ISM Cfg Sig. ", IMSM),
    from_end("Intel RAID member", Member, [4096, 8192, 0], b"Intel Raid ISM Cfg Sig. ", IMSM),
    from_end("DRBD", Member, [4 * KIB, 4 * KIB, 60], b"\x83\x74\x02\x6b", DRBD),
    from_end("DRBD", Member, [4 * KIB, 4 * KIB, 60], b"\x83\x74\x02\x6d", DRBD),
    from_start("bcache", Member, 4 * KIB + 24,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81", BCACHE),
    from_start("VDO", Member, 0, b"dmvdo001", VDO),
    from_start("dm-integrity", Member, 0, b"integrt\0", INTEGRITY),
    from_start("dm-verity", Member, 0, b"verity\0\0", VERITY),
    from_start("dm-snapshot", Member, 0, b"SnAp", SNAPSHOT),
    from_start("dm-thin metadata", Member, 32, &27_022_010_u64.to_le_bytes(), THIN),
    from_start("Stratis", Member, 516, b"!Stra0tis\x86\xff\x02^\x41rh", STRATIS),
    from_start("Ceph BlueStore", Member, 0, b"bluestore block device", BLUESTORE),

    from_start("Oracle ASM disk", Database, 32, b"ORCLDISK", ASM),
    from_start("Oracle ASM disk", Database, 32, b"ORCLCLRD", ASM),
    from_start("Oracle file", Database, 28, b"}|{z", ORACLE),
    from_start("Oracle file", Database, 28, b"z{|}", ORACLE),

    from_start("MBR partition table or boot sector", PartitionTable, 510, b"\x55\xaa", MBR),
    from_start("GPT partition table", PartitionTable, 512, b"EFI PART", GPT),
    from_start("GPT partition table", PartitionTable, 4 * KIB, b"EFI PART", GPT),
    from_end("backup GPT partition table", PartitionTable, [512, 512, 0], b"EFI PART", GPT),
    from_end("backup GPT partition table", PartitionTable, [4096, 4096, 0], b"EFI PART", GPT),
    from_start("Apple partition map", PartitionTable, 512, b"PM\0\0", APPLE),
    from_start("BSD disk label", PartitionTable, 0, &0x8256_4557_u32.to_le_bytes(), BSD),
    from_start("BSD disk label", PartitionTable, 64, &0x8256_4557_u32.to_le_bytes(), BSD),
    from_start("BSD disk label", PartitionTable, 512, &0x8256_4557_u32.to_le_bytes(), BSD),
    from_start("SGI disk label", PartitionTable, 0, &0x0be5_a941_u32.to_be_bytes(), SGI),
    from_start("Sun disk label", PartitionTable, 508, &0xdabe_u16.to_be_bytes(), SUN),
    from_start("Solaris disk label", PartitionTable, 524, &0x600d_deee_u32.to_le_bytes(), SOLARIS),
];

/// ZFS keeps four labels of 256 KiB, two at each end; the second half of each is a ring of
/// uberblocks, which begin with a magic number in the byte order of their writer.
pub(super) const ZFS: &str = "ZFS On-Disk Specification, vdev labels and uberblocks";
/// Bytes of a label.
pub(super) const ZFS_LABEL_BYTES: u64 = 256 * KIB;
/// Where the ring begins in it.
pub(super) const ZFS_RING_AT: u64 = 128 * KIB;
/// The smallest distance of two uberblocks.
pub(super) const ZFS_SLOT_BYTES: u64 = KIB;
/// What an uberblock begins with.
pub(super) const ZFS_MAGIC: u64 = 0x00ba_b10c;
/// The beginnings of the four labels.
pub(super) const ZFS_LABELS: [Spot; 4] = [
    Spot::Start(0),
    Spot::Start(ZFS_LABEL_BYTES),
    Spot::End {
        unit: ZFS_LABEL_BYTES,
        back: 2 * ZFS_LABEL_BYTES,
        plus: 0,
    },
    Spot::End {
        unit: ZFS_LABEL_BYTES,
        back: ZFS_LABEL_BYTES,
        plus: 0,
    },
];

#[cfg(test)]
mod tests;
