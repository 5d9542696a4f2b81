//! Interrupts of disks on recorded machines.

use super::*;
use crate::identify::{DiskInterrupts, interrupts_since, numa_nodes};
use std::path::Path;

const MSI: &str = "           CPU0       CPU1\n \
    35:          0          1  PCI-MSIX-0000:00:02.0   0-edge      virtio1-config\n \
    36:          7         40  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n \
    90:        500        600  IR-PCI-MSI   1-edge      nvme0q1\n \
    91:          5          6  IR-PCI-MSI   2-edge      nvme0q2\n \
    16:          1          2  IO-APIC  16-fasteoi   ahci, uhci_hcd:usb1\n";

/// The interrupts of the only disk of a machine, of which `/` is made.
fn of_root(fixture: &Fixture) -> Option<DiskInterrupts> {
    let watched = fixture.probe().device_of(Path::new("/"));
    let watched = watched.expect("a recording has no paths to fail on");
    DiskInterrupts::of(&fixture.root(), &watched?)
}

fn machine(dev: &str, directory: &str) -> Fixture {
    let fixture = Fixture::with_mounts(&[&format!("20 1 {dev} / / rw - ext4 /dev/disk rw")]);
    fixture.block(dev, directory, &[("size", "1000")]);
    fixture.file("proc/interrupts", MSI);
    fixture
}

#[test]
fn a_virtio_disk_has_the_interrupts_of_its_device_and_not_of_the_bridge() {
    let fixture = machine("254:0", "pci0000:00/0000:00:02.0/virtio1/block/vda");
    for number in ["35", "36"] {
        fixture.file(
            &format!("sys/devices/pci0000:00/0000:00:02.0/msi_irqs/{number}"),
            "msix\n",
        );
    }
    fixture.file("sys/devices/pci0000:00/msi_irqs/90", "msi\n");
    let interrupts = of_root(&fixture).expect("two lines");
    let before = interrupts.read().expect("it is there");
    assert_eq!(before, [(0, 7), (1, 41)].into());
    let later = MSI.replace("         40 ", "        140 ");
    fixture.file("proc/interrupts", &later);
    let after = interrupts.read().expect("it is there");
    assert_eq!(interrupts_since(&before, &after), [(1, 100)].into());
}

#[test]
fn without_numbers_the_names_decide() {
    let fixture = machine("254:0", "platform/virtio-mmio.1/virtio1/block/vda");
    let interrupts = of_root(&fixture).expect("two lines");
    assert_eq!(interrupts.read(), Some([(0, 7), (1, 41)].into()));
}

#[test]
fn a_disk_of_an_nvme_subsystem_has_those_of_its_controllers() {
    let subsystem = "virtual/nvme-subsystem/nvme-subsys0";
    let fixture = machine("259:0", &format!("{subsystem}/nvme0n1"));
    let controller = "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0";
    fixture.file(&format!("{controller}/model"), "drive\n");
    fixture.file("sys/devices/pci0000:00/0000:01:00.0/msi_irqs/91", "msix\n");
    fixture.link(&format!("sys/devices/{subsystem}/nvme0"), controller);
    let interrupts = of_root(&fixture).expect("a line");
    assert_eq!(interrupts.read(), Some([(0, 5), (1, 6)].into()));
}

#[test]
fn an_old_controller_has_one_line() {
    let fixture = machine(
        "8:0",
        "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda",
    );
    fixture.file("sys/devices/pci0000:00/0000:00:1f.2/irq", "16\n");
    let interrupts = of_root(&fixture).expect("a line");
    assert_eq!(interrupts.read(), Some([(0, 1), (1, 2)].into()));
}

#[test]
fn what_has_no_line_has_no_count() {
    // A controller without an interrupt, a line that is not shown, no text, no disk.
    let directory = "pci0000:00/0000:00:1f.2/host0/block/sda";
    let fixture = machine("8:0", directory);
    assert!(of_root(&fixture).is_none());
    fixture.file("sys/devices/pci0000:00/0000:00:1f.2/irq", "0\n");
    assert!(of_root(&fixture).is_none());
    fixture.file("sys/devices/pci0000:00/0000:00:1f.2/irq", "17\n");
    assert!(of_root(&fixture).is_none());
    fixture.file("sys/devices/pci0000:00/0000:00:1f.2/irq", "16\n");
    assert!(of_root(&fixture).is_some());
    fixture.file("proc/interrupts", "");
    assert!(of_root(&fixture).is_none());
    let network = Fixture::with_mounts(&["20 1 0:40 / / rw - nfs4 server:/export rw"]);
    network.file("proc/interrupts", MSI);
    assert!(of_root(&network).is_none());
}

#[test]
fn nodes_are_listed_with_their_processors() {
    let fixture = Fixture::new();
    assert!(numa_nodes(&fixture.root()).is_empty());
    let directory = "sys/devices/system/node";
    fixture.file(&format!("{directory}/node0/cpulist"), "0-1,4\n");
    fixture.file(&format!("{directory}/node1/cpulist"), "2-3\n");
    fixture.file(&format!("{directory}/node2/cpulist"), "\n");
    fixture.file(&format!("{directory}/online"), "0-2\n");
    let nodes = numa_nodes(&fixture.root());
    assert_eq!(nodes, [(0, vec![0, 1, 4]), (1, vec![2, 3])].into());
}
