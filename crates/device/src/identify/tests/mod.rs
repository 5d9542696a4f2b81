//! Recorded machines and this one, walked.
//!
//! What lives here: the disks that the recordings are made of, and how their stacks are compared.

mod disks;
mod fixture;
mod interrupts;
mod live;
mod machine;
mod mounts;
mod usage;

use super::{BlockDevice, Dev, Place, Watched};
use fixture::Fixture;
use measure::stack::{Layer, LayerKind, Stack};

const ROOT: &str = "20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw";
const NVME: &str = "pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme0";

fn layer(stack: &Stack, kind: LayerKind) -> &Layer {
    let found = stack.layers.iter().find(|layer| layer.kind == kind);
    found.unwrap_or_else(|| panic!("no {kind:?} in {:?}", outline(stack)))
}

fn names(devices: &[BlockDevice]) -> Vec<&str> {
    devices.iter().map(|device| device.name.as_str()).collect()
}

/// `/dev/nvme<n>n1` with one partition, and its controller.
fn nvme(fixture: &Fixture, n: u32, fua: &str) -> String {
    let home = NVME.replace("nvme0", &format!("nvme{n}"));
    let disk = format!("{home}/nvme{n}n1");
    fixture.file(
        &format!("sys/devices/{home}/model"),
        "SAMSUNG MZQL2960HCJR-00A07   \n",
    );
    fixture.file(&format!("sys/devices/{home}/firmware_rev"), "GDC5602Q\n");
    fixture.file(&format!("sys/devices/{home}/transport"), "pcie\n");
    let attributes = [
        ("size", "1875385008"),
        ("queue/logical_block_size", "512"),
        ("queue/physical_block_size", "4096"),
        ("queue/atomic_write_unit_max_bytes", "131072"),
        ("queue/rotational", "0"),
        ("queue/fua", fua),
        (
            "queue/write_cache",
            if fua == "1" {
                "write back"
            } else {
                "write through"
            },
        ),
        ("integrity/format", "nop"),
    ];
    fixture.block(&format!("259:{}", n * 2), &disk, &attributes);
    fixture.link(
        &format!("sys/devices/{disk}/device"),
        &format!("sys/devices/{home}"),
    );
    let part = format!("{disk}/nvme{n}n1p1");
    let attributes = [
        ("partition", "1"),
        ("start", "2048"),
        ("size", "1875382272"),
    ];
    fixture.block(&format!("259:{}", n * 2 + 1), &part, &attributes);
    part
}

const SDA: &str = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";

/// A SATA disk with one partition behind an AHCI adapter.
fn sata(fixture: &Fixture) {
    let attributes = [
        ("size", "1000"),
        ("queue/rotational", "1"),
        ("queue/fua", "0"),
        ("queue/write_cache", "write through"),
        ("device/model", "ST4000NM0035"),
        ("device/vendor", "ATA"),
        ("device/rev", "TN05"),
        ("device/scsi_disk/0:0:0:0/cache_type", "write back"),
    ];
    fixture.block("8:0", SDA, &attributes);
    fixture.block(
        "8:1",
        &format!("{SDA}/sda1"),
        &[("partition", "1"), ("start", "63")],
    );
    let host = "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/scsi_host/host0/proc_name";
    fixture.file(host, "ahci\n");
}

/// `depth kind name` of each layer, for comparing whole stacks at once.
fn outline(stack: &Stack) -> Vec<String> {
    assert_eq!(stack.layers.len(), stack.depths.len());
    let layers = stack.layers.iter().zip(&stack.depths);
    layers
        .map(|(layer, depth)| format!("{depth} {:?} {}", layer.kind, layer.name))
        .collect()
}

/// Some of what is unknown says this.
fn says(stack: &Stack, what: &str) -> bool {
    stack.unknown.iter().any(|line| line.contains(what))
}
