//! Where a disk's interrupts arrive: the lines of `/proc/interrupts` that belong to the disks below
//! a path, counted by processor, and the processors of each NUMA node.
//!
//! Invariants: a number is never guessed. Where no line can be attributed to a disk (network file
//! systems, file systems in memory, hosts that count no interrupts per device) there is no count
//! at all, which is not a count of zero. No text, however damaged, makes it panic.

use super::root::{Root, is_numbered};
use super::walk::Watched;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Interrupts by the number of the processor that took them.
pub type InterruptCounts = BTreeMap<usize, u64>;

/// The lines of `/proc/interrupts` that belong to the disks below a path.
#[derive(Clone, Debug)]
pub struct DiskInterrupts {
    root: Root,
    lines: BTreeSet<InterruptLine>,
}

/// How a line of `/proc/interrupts` is recognised.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum InterruptLine {
    /// By its number, which the device's directory names.
    Number(u32),
    /// By the name of the device in the line's last column, where no number is known.
    Device(String),
}

impl DiskInterrupts {
    /// Those of the disks of a path on this machine; `None` where no disk or no line is known.
    #[must_use]
    pub fn live(watched: &Watched) -> Option<DiskInterrupts> {
        DiskInterrupts::of(&Root::live(), watched)
    }

    /// Those of the disks of a path; `None` where no disk is known, or one of them has no line.
    #[must_use]
    pub fn of(root: &Root, watched: &Watched) -> Option<DiskInterrupts> {
        let mut lines = BTreeSet::new();
        for disk in &watched.disks {
            let directory = root.resolve(format!("/sys/dev/block/{}", disk.dev))?;
            let found = lines_of(root, &directory);
            if found.is_empty() {
                return None;
            }
            lines.extend(found);
        }
        let found = DiskInterrupts {
            root: root.clone(),
            lines,
        };
        // Lines that the kernel does not show are no counts of zero.
        (!found.lines.is_empty() && found.read().is_some()).then_some(found)
    }

    /// What they count now, by processor; `None` where `/proc/interrupts` shows none of them.
    #[must_use]
    pub fn read(&self) -> Option<InterruptCounts> {
        let bytes = self.root.bytes("/proc/interrupts")?;
        counted(&String::from_utf8_lossy(&bytes), &self.lines)
    }
}

/// What `after` counts more than `before`; processors without an interrupt are left out.
#[must_use]
pub fn interrupts_since(before: &InterruptCounts, after: &InterruptCounts) -> InterruptCounts {
    let more = |(cpu, count): (&usize, &u64)| {
        let more = count.saturating_sub(before.get(cpu).copied().unwrap_or(0));
        (more > 0).then_some((*cpu, more))
    };
    after.iter().filter_map(more).collect()
}

/// The lines of a disk whose directory below `/sys/devices` is `directory`.
fn lines_of(root: &Root, directory: &Path) -> BTreeSet<InterruptLine> {
    for start in controllers(root, directory) {
        let numbers = numbers_of(root, &start);
        if !numbers.is_empty() {
            return numbers.into_iter().map(InterruptLine::Number).collect();
        }
    }
    let parts = directory.iter().rev().filter_map(|part| part.to_str());
    let mut named = parts.filter(|part| is_numbered(part, "virtio") || is_numbered(part, "nvme"));
    let named = named.next().map(str::to_owned);
    named.into_iter().map(InterruptLine::Device).collect()
}

/// Where the search for a disk's controller begins: at the disk, or at each controller of an NVMe
/// subsystem, whose disks are not below one of them.
fn controllers(root: &Root, directory: &Path) -> Vec<PathBuf> {
    let mut starts = vec![directory.to_owned()];
    if let Some(subsystem) = directory.parent() {
        let names = root.list(subsystem);
        let controllers = names.iter().filter(|name| is_numbered(name, "nvme"));
        starts.extend(controllers.filter_map(|name| root.resolve(subsystem.join(name))));
    }
    starts
}

/// The interrupts of the nearest directory above `directory` that has any: the device's own, and
/// not those of the bridges above it.
fn numbers_of(root: &Root, directory: &Path) -> Vec<u32> {
    for above in directory
        .ancestors()
        .take_while(|path| path.starts_with("/sys/devices/"))
    {
        let names = root.list(above.join("msi_irqs"));
        let numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        if !numbers.is_empty() {
            return numbers;
        }
        if let Some(number) = root.number(above.join("irq")) {
            return u32::try_from(number)
                .ok()
                .filter(|n| *n > 0)
                .into_iter()
                .collect();
        }
    }
    Vec::new()
}

/// Counts the wanted lines of a text of `/proc/interrupts`: a heading with the processors that are
/// online, then lines of a number or name, a count for each of these processors, and the rest.
fn counted(text: &str, wanted: &BTreeSet<InterruptLine>) -> Option<InterruptCounts> {
    let mut lines = text.lines();
    let heading = lines.next()?.split_whitespace();
    let cpus: Option<Vec<usize>> = heading
        .map(|cpu| cpu.strip_prefix("CPU")?.parse().ok())
        .collect();
    let cpus = cpus.filter(|cpus| !cpus.is_empty())?;
    let mut counts: Option<InterruptCounts> = None;
    for line in lines {
        let Some((label, rest)) = line.split_once(':') else {
            continue;
        };
        let mut words = rest.split_whitespace();
        let own: Vec<u64> = (&mut words)
            .take(cpus.len())
            .map_while(|word| word.parse().ok())
            .collect();
        // A line that is cut or has fewer counts than processors cannot be attributed to them.
        if own.len() != cpus.len() || !is_wanted(label, words, wanted) {
            continue;
        }
        let sum = counts.get_or_insert_default();
        for (cpu, count) in cpus.iter().zip(own) {
            let entry = sum.entry(*cpu).or_default();
            *entry = entry.saturating_add(count);
        }
    }
    counts
}

fn is_wanted<'a>(
    label: &str,
    rest: impl Iterator<Item = &'a str>,
    wanted: &BTreeSet<InterruptLine>,
) -> bool {
    let number = label.trim().parse().ok();
    // Devices that share an interrupt are separated by commas.
    let names: Vec<&str> = rest.map(|word| word.trim_end_matches(',')).collect();
    wanted.iter().any(|line| match line {
        InterruptLine::Number(wanted) => number == Some(*wanted),
        InterruptLine::Device(device) => {
            number.is_some() && names.iter().any(|name| is_of(name, device))
        }
    })
}

/// `virtio1` has the lines `virtio1`, `virtio1-req.0` and so on; `nvme0` has `nvme0q1`.
fn is_of(name: &str, device: &str) -> bool {
    let behind = name.strip_prefix(device);
    behind.is_some_and(|rest| rest.is_empty() || rest.starts_with('-') || is_numbered(rest, "q"))
}

/// The processors of each NUMA node, by the node's number; empty where the kernel shows no nodes.
#[must_use]
pub fn numa_nodes(root: &Root) -> BTreeMap<u32, Vec<usize>> {
    let directory = "/sys/devices/system/node";
    let names = root.list(directory);
    let node = |name: &String| {
        let number = name.strip_prefix("node")?.parse().ok()?;
        let cpus = cpu_list(&root.text(format!("{directory}/{name}/cpulist"))?)?;
        Some((number, cpus))
    };
    names.iter().filter_map(node).collect()
}

/// The most processors of a list: more than Linux can have.
const MOST_CPUS: usize = 1 << 16;

/// A list of processors as the kernel writes it: `0-3,8,10-11`.
fn cpu_list(text: &str) -> Option<Vec<usize>> {
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if last >= MOST_CPUS || cpus.len() >= MOST_CPUS {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a small virtual machine.
    const VIRTIO: &str = "           CPU0       CPU1\n \
        24:          1          0  IO-APIC   5-edge      ACPI:Ged\n \
        35:          0          1  PCI-MSIX-0000:00:02.0   0-edge      virtio1-config\n \
        36:          7         40  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n \
        41:        900          0  PCI-MSIX-0000:00:03.0   1-edge      virtio10-req.0\n\
        NMI:          0          0   Non-maskable interrupts\n\
        ERR:          0\n";

    fn devices(names: &[&str]) -> BTreeSet<InterruptLine> {
        let device = |name: &&str| InterruptLine::Device((*name).to_owned());
        names.iter().map(device).collect()
    }

    fn numbers(numbers: &[u32]) -> BTreeSet<InterruptLine> {
        numbers.iter().copied().map(InterruptLine::Number).collect()
    }

    #[test]
    fn lines_are_counted_by_processor() {
        let by_number = counted(VIRTIO, &numbers(&[35, 36])).expect("two lines");
        assert_eq!(by_number, [(0, 7), (1, 41)].into());
        // The name of another device that begins alike is not meant.
        assert_eq!(counted(VIRTIO, &devices(&["virtio1"])), Some(by_number));
        assert_eq!(counted(VIRTIO, &devices(&["virtio2"])), None);
        assert_eq!(counted(VIRTIO, &numbers(&[99])), None);
    }

    #[test]
    fn many_queues_on_processors_with_gaps() {
        // Processors 2 and 3 are off line; each queue has its interrupt on another processor.
        let mut text = "      CPU0   CPU1   CPU4   CPU5\n".to_owned();
        for (queue, counts) in ["3 0 0 0", "50 0 0 0", "0 60 0 0", "0 0 70 0", "0 0 0 80"]
            .iter()
            .enumerate()
        {
            let number = 120 + queue;
            text += &format!("{number}: {counts} IR-PCI-MSI 524288-edge nvme0q{queue}\n");
        }
        text += "130: 9 9 9 9 IR-PCI-MSI 1-edge nvme0n1, nvme1q1\n";
        let found = counted(&text, &devices(&["nvme0"])).expect("five lines");
        assert_eq!(found, [(0, 53), (1, 60), (4, 70), (5, 80)].into());
        let shared = counted(&text, &devices(&["nvme1"])).expect("a shared line");
        assert_eq!(shared.values().sum::<u64>(), 36);
        assert_eq!(
            counted(&text, &numbers(&[122])),
            Some([(0, 0), (1, 60), (4, 0), (5, 0)].into())
        );
    }

    #[test]
    fn hundreds_of_processors() {
        let heading: String = (0..512).map(|cpu| format!(" CPU{cpu}")).collect();
        let counts: String = (0..512).map(|cpu| format!(" {}", cpu * 3)).collect();
        let text = format!("{heading}\n 77:{counts} PCI-MSI 3-edge nvme3q4\n");
        let found = counted(&text, &numbers(&[77])).expect("a line");
        assert_eq!((found.len(), found.get(&511)), (512, Some(&1533)));
    }

    #[test]
    fn damaged_texts_give_no_counts_and_no_panic() {
        let wanted: BTreeSet<_> = numbers(&[36])
            .into_iter()
            .chain(devices(&["virtio1"]))
            .collect();
        for text in [
            "",
            "\n\n",
            "no heading\n 36: 1 2 x virtio1-req.0\n",
            "CPU0 CPU1\n 36: 1\n",
            "CPU0 CPU1\n 36: 1 two virtio1-req.0\n",
            "CPU0 CPU1\n 36 1 2 virtio1-req.0\n",
            "CPU99999999999999999999999 CPU1\n 36: 1 2 virtio1-req.0\n",
            "CPU0 CPU1\n 36: 99999999999999999999999 2 virtio1-req.0\n",
        ] {
            assert_eq!(counted(text, &wanted), None, "{text}");
        }
        for end in (0..=VIRTIO.len()).filter(|end| VIRTIO.is_char_boundary(*end)) {
            let found = counted(&VIRTIO[..end], &numbers(&[36])).unwrap_or_default();
            assert!(found.values().sum::<u64>() <= 47, "cut at {end}: {found:?}");
        }
        let most = u64::MAX.to_string();
        let text = format!("CPU0\n 36: {most} virtio1-req.0\n 37: 5 virtio1-req.1\n");
        let found = counted(&text, &devices(&["virtio1"]));
        assert_eq!(found, Some([(0, u64::MAX)].into()));
    }

    #[test]
    fn differences_have_only_processors_with_interrupts() {
        let before = [(0, 5), (1, 7), (2, 9)].into();
        let after = [(0, 5), (1, 17), (3, 2)].into();
        assert_eq!(interrupts_since(&before, &after), [(1, 10), (3, 2)].into());
    }

    #[test]
    fn lists_of_processors() {
        assert_eq!(cpu_list("0-3,8,10-11"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(cpu_list("5"), Some(vec![5]));
        for text in ["", "0-", "x", "3-1-2", "0-4294967295", "0,99999999"] {
            assert_eq!(cpu_list(text), None, "{text}");
        }
        assert_eq!(cpu_list("3-1"), Some(Vec::new()));
    }
}
