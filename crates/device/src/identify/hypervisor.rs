//! What surrounds the storage: a hypervisor below the machine, a library above the calls.
//!
//! Invariant: a hypervisor that shows itself in one place is reported, even when it cannot be
//! named; absence of evidence is `None`, and proves nothing.

use super::root::Root;

/// Said when something virtual is seen without a name.
pub(super) const UNNAMED: &str = "unknown hypervisor";

/// Needles in the vendor and product names of DMI, and what they mean. A vendor that also sells
/// real machines is not among them; its product name is.
const DMI_NAMES: [(&str, &str); 19] = [
    ("KVM", "KVM"),
    ("QEMU", "QEMU/KVM"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("innotek GmbH", "VirtualBox"),
    ("HVM domU", "Xen"),
    ("Xen", "Xen"),
    ("Bochs", "Bochs"),
    ("Parallels", "Parallels"),
    ("BHYVE", "bhyve"),
    ("Virtual Machine", "Hyper-V"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("Apple Virtualization", "Apple Virtualization"),
    ("OpenStack", "OpenStack"),
    ("RHEV", "oVirt"),
    ("oVirt", "oVirt"),
    ("Alibaba Cloud", "Alibaba Cloud"),
    ("DigitalOcean", "DigitalOcean"),
    ("Firecracker", "Firecracker"),
];

/// Clock sources that only a guest has.
const CLOCKS: [(&str, &str); 3] = [
    ("kvm-clock", "KVM"),
    ("hyperv_clocksource", "Hyper-V"),
    ("xen", "Xen"),
];

/// The hypervisor below this machine, as far as it shows itself.
pub(super) fn hypervisor(root: &Root) -> Option<String> {
    by_dmi(root)
        .or_else(|| by_kernel(root))
        .or_else(|| by_device_tree(root))
        .or_else(|| by_processor(root))
}

fn by_dmi(root: &Root) -> Option<String> {
    let read = |name: &str| {
        root.text(format!("/sys/class/dmi/id/{name}"))
            .unwrap_or_default()
    };
    let (vendor, product) = (read("sys_vendor"), read("product_name"));
    if vendor == "Amazon EC2" {
        // Bare-metal instances carry the same vendor.
        return (!product.contains(".metal")).then(|| "Amazon EC2 Nitro".to_owned());
    }
    let bios = read("bios_vendor");
    let named = DMI_NAMES.iter().find(|(needle, _)| {
        [&vendor, &product, &bios]
            .iter()
            .any(|s| s.contains(needle))
    });
    named.map(|(_, name)| (*name).to_owned())
}

fn by_kernel(root: &Root) -> Option<String> {
    if let Some(kind) = root.text("/sys/hypervisor/type") {
        return Some(if kind == "xen" {
            "Xen".to_owned()
        } else {
            kind
        });
    }
    let clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let clocks = root.text(clocks)?;
    CLOCKS
        .iter()
        .find(|(needle, _)| clocks.split_whitespace().any(|c| c.starts_with(needle)))
        .map(|(_, name)| (*name).to_owned())
}

fn by_device_tree(root: &Root) -> Option<String> {
    let base = "/proc/device-tree";
    if let Some(compatible) = root.text(format!("{base}/hypervisor/compatible")) {
        let named = if compatible.contains("kvm") {
            "KVM"
        } else if compatible.contains("xen") {
            "Xen"
        } else {
            UNNAMED
        };
        return Some(named.to_owned());
    }
    let machine = root.text(format!("{base}/compatible"))?;
    let virtual_machine = machine.contains("dummy-virt") || machine.contains("qemu");
    virtual_machine.then(|| UNNAMED.to_owned())
}

fn by_processor(root: &Root) -> Option<String> {
    let info = root.bytes("/proc/cpuinfo")?;
    let info = String::from_utf8_lossy(&info);
    if info.contains("emulated by qemu") {
        return Some("QEMU/KVM".to_owned());
    }
    info.lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(key, _)| key.trim() == "flags")
        .any(|(_, flags)| flags.split_whitespace().any(|flag| flag == "hypervisor"))
        .then(|| UNNAMED.to_owned())
}

/// Libraries that turn flushes into nothing.
const LIARS: [&str; 3] = ["libeatmydata", "libnosync", "nosync.so"];

/// A library in this process, or asked for by `LD_PRELOAD`, that makes flushes lie.
pub(super) fn preload(root: &Root, environment: Option<&str>) -> Option<String> {
    let lies = |path: &&str| LIARS.iter().any(|liar| path.contains(liar));
    let maps = root.bytes("/proc/self/maps").unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    let mapped = maps
        .lines()
        .filter_map(|line| line.find('/').and_then(|at| line.get(at..)))
        .find(lies);
    let asked = || environment?.split([':', ' ']).find(lies);
    mapped.or_else(asked).map(str::to_owned)
}
