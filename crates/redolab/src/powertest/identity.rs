//! What is known about the machine and the device of a power test: its identities, its clocks, and
//! the stack below the path.

use super::PowerTestError;
use super::messages::ClockReading;
use crate::observe::{machine, tools};
use measure::stack::{LayerKind, Stack};
use rustix::time::ClockId;
use std::path::Path;

/// A wall clock that goes otherwise than the machine's other clock by more than this has jumped.
const JUMP_NS: i64 = 1_000_000_000;

/// The machine and the device below a path.
#[derive(Clone, Debug)]
pub struct TestedPlace {
    /// Identity of the machine's installation.
    pub machine_id: String,
    /// Identity of the machine's start.
    pub boot_id: String,
    /// The stack below the path.
    pub stack: Stack,
    /// Where its file system is mounted.
    pub mount_point: String,
}

impl TestedPlace {
    /// Looks at a directory.
    ///
    /// # Errors
    /// A path that does not exist.
    pub fn of(path: &Path) -> Result<TestedPlace, PowerTestError> {
        let mut stack = device::identify::stack_of(path)?;
        tools::complete(&mut stack);
        let first = stack.layers.first();
        let mount_point = first.and_then(|layer| layer.mount_point.clone());
        Ok(TestedPlace {
            machine_id: machine_id(),
            boot_id: machine::boot_id(),
            mount_point: mount_point.unwrap_or_default(),
            stack,
        })
    }
}

/// Identity of this installation (machine-id(5)); where there is none, the host's name.
#[must_use]
pub fn machine_id() -> String {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let id = read("/etc/machine-id").or_else(|| read("/var/lib/dbus/machine-id"));
    let id = id.map(|text| text.trim().to_owned());
    let is_id = |id: &String| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit());
    id.filter(is_id)
        .unwrap_or_else(|| machine::environment(true).hostname)
}

/// The clocks now.
#[must_use]
pub fn read_clocks() -> ClockReading {
    let ns = |clock| {
        let time = rustix::time::clock_gettime(clock);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        seconds.saturating_mul(1_000_000_000) + u64::try_from(time.tv_nsec).unwrap_or(0)
    };
    ClockReading {
        boot_ns: ns(ClockId::Boottime),
        wall_ns: ns(ClockId::Realtime),
    }
}

/// By how many nanoseconds the wall clock jumped between two readings of one start of a machine;
/// `None` where it did not.
#[must_use]
pub fn jump(before: ClockReading, after: ClockReading) -> Option<i64> {
    let passed = |a: u64, b: u64| i128::from(b) - i128::from(a);
    let wall = passed(before.wall_ns, after.wall_ns);
    let real = passed(before.boot_ns, after.boot_ns);
    let jump = i64::try_from(wall - real).unwrap_or(i64::MAX);
    (jump.saturating_abs() > JUMP_NS).then_some(jump)
}

/// A jump in a sentence.
#[must_use]
pub fn jump_in_words(jump_ns: i64) -> String {
    format!(
        "The machine's wall clock jumped by {:+.1} s while the writer was running; times within the \
         test are those of the clock that counts since the start.",
        jump_ns as f64 / 1e9
    )
}

/// What makes a directory another place after the restart than it was before: another device, other
/// layers, another file system. Settings that changed are no such thing.
#[must_use]
pub fn other_place(before: &Stack, after: &Stack, points: (&str, &str)) -> Option<String> {
    let identity = |stack| measure::power_test::DeviceIdentity::of(stack);
    let (was, is) = (identity(before), identity(after));
    if was != is {
        return Some(format!(
            "the device was {}, it is {}",
            was.in_words(),
            is.in_words()
        ));
    }
    let kinds = |stack: &Stack| {
        let word = |layer: &measure::stack::Layer| match layer.kind {
            LayerKind::FileSystem => layer.name.clone(),
            kind => format!("{kind:?}"),
        };
        stack
            .layers
            .iter()
            .map(word)
            .collect::<Vec<String>>()
            .join(" on ")
    };
    let (was, is) = (kinds(before), kinds(after));
    if was != is {
        return Some(format!("the layers were {was}, they are {is}"));
    }
    let (was, is) = (Extent::of(before), Extent::of(after));
    if was != is {
        return Some(format!("it was {was}, it is {is}"));
    }
    let (was, is) = points;
    (was != is).then(|| format!("its file system was mounted at {was}, it is mounted at {is}"))
}

/// What distinguishes partitions and volumes of one disk; nothing of a file system.
#[derive(Debug, Default, PartialEq)]
struct Extent {
    start_bytes: Option<u64>,
    size_bytes: Option<u64>,
    volume: Option<String>,
}

impl Extent {
    fn of(stack: &Stack) -> Extent {
        let top = stack.layers.first();
        let Some(top) = top.filter(|top| top.kind != LayerKind::FileSystem) else {
            return Extent::default();
        };
        // Other names may change from start to start: those of disks, and of paths to them.
        let is_volume = top.detail.as_deref().is_some_and(|d| d.starts_with("lvm"));
        Extent {
            start_bytes: top.start_bytes,
            size_bytes: top.size_bytes,
            volume: top.source.clone().filter(|_| is_volume),
        }
    }
}

impl std::fmt::Display for Extent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.size_bytes {
            Some(size) => write!(f, "{size} bytes")?,
            None => f.write_str("of unknown size")?,
        }
        let start = self.start_bytes.map(|start| format!(" from byte {start}"));
        let volume = self.volume.as_ref().map(|volume| format!(" of {volume}"));
        let mut parts = [start, volume].into_iter().flatten();
        parts.try_for_each(|part| f.write_str(&part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::stack::Layer;

    const fn reading(boot_s: u64, wall_s: u64) -> ClockReading {
        ClockReading {
            boot_ns: boot_s * 1_000_000_000,
            wall_ns: wall_s * 1_000_000_000,
        }
    }

    #[test]
    fn a_clock_that_jumps_is_noticed() {
        let before = reading(100, 1_000_000);
        assert_eq!(jump(before, reading(160, 1_000_060)), None);
        assert_eq!(
            jump(before, reading(160, 1_000_061)),
            None,
            "a second is a correction"
        );
        assert_eq!(
            jump(before, reading(160, 1_003_660)),
            Some(3_600_000_000_000)
        );
        assert_eq!(
            jump(before, reading(160, 996_460)),
            Some(-3_600_000_000_000)
        );
        assert!(jump_in_words(-3_600_000_000_000).contains("-3600.0 s"));
        let both = (read_clocks(), read_clocks());
        assert_eq!(jump(both.0, both.1), None);
    }

    #[test]
    fn another_device_file_system_or_mount_is_another_place() {
        let stack = |serial: &str, fs: &str| Stack {
            layers: vec![
                Layer::new(LayerKind::FileSystem, fs),
                Layer {
                    serial: Some(serial.to_owned()),
                    ..Layer::new(LayerKind::Disk, "sda")
                },
            ],
            depths: vec![0, 1],
            ..Stack::default()
        };
        let (here, at) = (stack("A", "xfs"), "/u01");
        let mut renamed = stack("A", "xfs");
        renamed.layers[1].name = "sdb".to_owned();
        renamed.layers[1].write_cache = Some("write through".to_owned());
        assert_eq!(other_place(&here, &renamed, (at, at)), None);
        // Partitions and volumes of one disk.
        let part = |kind, start, size, volume: &str| {
            let mut part = stack("A", "xfs");
            part.layers[0] = Layer {
                start_bytes: start,
                size_bytes: Some(size),
                source: Some(volume.to_owned()),
                detail: volume.contains("vg").then(|| "lvm".to_owned()),
                ..Layer::new(kind, "sda1")
            };
            part
        };
        let volume = |size, name| part(LayerKind::DeviceMapper, None, size, name);
        let partition = |start, name| part(LayerKind::Partition, Some(start), 9, name);
        // Names of paths to one disk.
        let paths = (
            volume(9, "/dev/mapper/mpatha"),
            volume(9, "/dev/mapper/mpathb"),
        );
        assert_eq!(other_place(&paths.0, &paths.1, ("", "")), None);
        assert_eq!(
            other_place(
                &partition(1, "/dev/sda1"),
                &partition(1, "/dev/sdb1"),
                ("", "")
            ),
            None
        );
        for (was, is, word) in [
            (partition(1, ""), partition(2, ""), "from byte 2"),
            (
                volume(9, "/dev/mapper/a"),
                volume(8, "/dev/mapper/a"),
                "8 bytes",
            ),
            (
                volume(9, "/dev/mapper/vg-a"),
                volume(9, "/dev/mapper/vg-b"),
                "of /dev/mapper/vg-b",
            ),
        ] {
            let found = other_place(&was, &is, ("", "")).expect("another place");
            assert!(found.contains(word), "{found}");
        }
        for (other, point, word) in [
            (stack("B", "xfs"), at, "serial B"),
            (stack("A", "ext4"), at, "ext4"),
            (stack("A", "xfs"), "/", "mounted at /"),
        ] {
            let found = other_place(&here, &other, (at, point)).expect("another place");
            assert!(found.contains(word), "{found}");
        }
    }
}
