//! A disk, physical or virtual: how it is attached, what it calls itself, and what it says of
//! its write cache.
//!
//! Invariant: [`measure::stack::Layer::drive_write_cache`] is set only from what an administrator
//! cannot write:
//! - NVMe: the driver sets forced unit access exactly when the controller's VWC field says that
//!   there is a volatile cache (Linux 4.7 and later), and `queue/fua` is read-only.
//! - virtio: `cache_type` is read from the device each time.
//! - SCSI and SATA: `cache_type` can be overwritten (`temporary write through`). A cache that is
//!   admitted is believed; one that is denied stays unknown.

use super::root::{Root, file_name, is_numbered};
use measure::stack::Layer;
use std::path::{Path, PathBuf};

/// Fills what is known of a disk, and adds what is not known of it.
pub(super) fn facts(root: &Root, directory: &Path, layer: &mut Layer, unknown: &mut Vec<String>) {
    let transport = transport(root, directory, &layer.name);
    identity(root, directory, layer);
    layer.controller = host_adapter(directory).and_then(|host| {
        root.text(
            host.join("scsi_host")
                .join(file_name(&host))
                .join("proc_name"),
        )
    });
    layer.cache_type = cache_type(root, directory);
    layer.drive_write_cache = drive_write_cache(transport.as_deref(), layer);
    let name = layer.name.clone();
    if let Some(transport) = transport.as_deref()
        && let Some(hidden) = hidden_below(transport)
    {
        unknown.push(format!("{name}: {hidden}"));
    }
    // Memory that a firmware table or the boot option `memmap` gives out as persistent.
    if directory
        .components()
        .any(|part| part.as_os_str() == "e820_pmem")
    {
        layer.options.push("provider=e820".to_owned());
    }
    if layer.drive_write_cache.is_none() {
        unknown.push(format!(
            "{name}: the drive's own report of its write cache could not be read"
        ));
    }
    layer.detail = transport;
}

/// How a disk is attached; the name decides first, then the devices above it in sysfs.
fn transport(root: &Root, directory: &Path, name: &str) -> Option<String> {
    let is = |prefix: &str| name.starts_with(prefix);
    if is("nvme") {
        return Some(nvme_transport(root, directory));
    }
    for (prefix, transport) in [
        ("vd", "virtio"),
        ("xvd", "xen"),
        ("pmem", "pmem"),
        ("mmcblk", "mmc"),
        ("nbd", "nbd"),
        ("rbd", "rbd"),
        ("zd", "zvol"),
        ("dasd", "dasd"),
        ("ublkb", "ublk"),
    ] {
        if is(prefix) {
            return Some(transport.to_owned());
        }
    }
    let parts: Vec<String> = directory
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    let any = |prefix: &str| parts.iter().any(|part| part.starts_with(prefix));
    let numbered = |prefix: &str| parts.iter().any(|part| is_numbered(part, prefix));
    let transport = if numbered("usb") {
        "usb"
    } else if numbered("ata") {
        "sata"
    } else if any("rport-") {
        "fc"
    } else if numbered("session") {
        "iscsi"
    } else if any("end_device-") {
        "sas"
    } else if numbered("virtio") {
        "virtio-scsi"
    } else if any("VMBUS:") || any("vmbus_") {
        "hyperv"
    } else if numbered("host") {
        "scsi"
    } else {
        return None;
    };
    Some(transport.to_owned())
}

/// `nvme` on PCIe, `nvme-tcp` and the like over a network. With multipath the disk hangs below
/// its subsystem, which lists its controllers.
fn nvme_transport(root: &Root, directory: &Path) -> String {
    let device = directory.join("device");
    let controllers = root
        .list(&device)
        .into_iter()
        .filter(|n| is_numbered(n, "nvme"));
    let transport = root.text(device.join("transport")).or_else(|| {
        let mut files = controllers.map(|name| device.join(name).join("transport"));
        files.find_map(|file| root.text(file))
    });
    match transport.as_deref() {
        None | Some("pcie") => "nvme".to_owned(),
        Some(fabric) => format!("nvme-{fabric}"),
    }
}

fn identity(root: &Root, directory: &Path, layer: &mut Layer) {
    let device = directory.join("device");
    let first = |names: &[&str]| names.iter().find_map(|name| root.text(device.join(name)));
    // Of virtio disks `vendor` is a PCI number, of MMC `name` is the model.
    layer.model = first(&["model", "name"]);
    layer.vendor = first(&["vendor"]).filter(|vendor| !vendor.starts_with("0x"));
    layer.firmware = first(&["firmware_rev", "rev"]);
    // Of virtio disks it lies beside the queue, of SCSI disks in a page of vital product data.
    layer.serial = first(&["serial"])
        .or_else(|| root.text(directory.join("serial")))
        .or_else(|| unit_serial(&root.bytes(device.join("vpd_pg80"))?));
    layer.wwid = root
        .text(directory.join("wwid"))
        .or_else(|| first(&["wwid"]));
}

/// The unit serial number of a SCSI disk: page 80h of its vital product data, four bytes of header
/// with the length, then characters (SPC-4, 7.8.14).
fn unit_serial(page: &[u8]) -> Option<String> {
    let (head, rest) = page.split_first_chunk::<4>()?;
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let characters = (head[1] == 0x80).then(|| rest.get(..length))??;
    let text = String::from_utf8_lossy(characters)
        .trim_matches(['\0', ' '])
        .to_owned();
    (!text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() || c == ' ')).then_some(text)
}

/// `…/hostN` above a SCSI disk.
fn host_adapter(directory: &Path) -> Option<PathBuf> {
    directory
        .ancestors()
        .find(|path| is_numbered(&file_name(path), "host"))
        .map(Path::to_owned)
}

fn cache_type(root: &Root, directory: &Path) -> Option<String> {
    if let Some(own) = root.text(directory.join("cache_type")) {
        return Some(own);
    }
    let disks = directory.join("device/scsi_disk");
    let address = root.list(&disks).into_iter().next()?;
    root.text(disks.join(address).join("cache_type"))
}

/// See the invariant at the top.
fn drive_write_cache(transport: Option<&str>, layer: &Layer) -> Option<bool> {
    let back = |text: &str| text.starts_with("write back");
    let cache_type = layer.cache_type.as_deref();
    match transport? {
        "virtio" => cache_type.map(back),
        nvme if nvme.starts_with("nvme") => match (layer.fua, layer.write_cache.as_deref()) {
            (Some(true), _) => Some(true),
            // Both, in case a driver hides forced unit access of a drive that has a cache.
            (Some(false), Some(cache)) if !back(cache) => Some(false),
            _ => None,
        },
        _ => cache_type.filter(|text| back(text)).map(|_| true),
    }
}

/// What stands behind a disk that is not one.
fn hidden_below(transport: &str) -> Option<&'static str> {
    match transport {
        "nbd" | "rbd" | "iscsi" | "fc" | "nvme-tcp" | "nvme-rdma" | "nvme-fc" => {
            Some("the storage behind the network cannot be seen from here")
        }
        "nvme-loop" | "ublk" => Some("what serves this disk cannot be seen"),
        "zvol" => Some("a ZFS volume; the devices of its pool and its sync property are not shown"),
        "virtio" | "virtio-scsi" | "xen" | "hyperv" => {
            Some("a virtual disk; the host's storage and cache mode cannot be seen from here")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::stack::LayerKind;

    #[test]
    fn a_unit_serial_is_read_from_its_page_and_from_nothing_else() {
        let page = b"\x00\x80\x00\x08S3Z8NB0K";
        assert_eq!(unit_serial(page).as_deref(), Some("S3Z8NB0K"));
        assert_eq!(unit_serial(b"\x00\x80\x00\x04 ab\0").as_deref(), Some("ab"));
        for wrong in [
            &b""[..],
            b"\x00\x80\x00",
            b"\x00\x80\x00\x09S3Z8NB0K",
            b"\x00\x83\x00\x08S3Z8NB0K",
            b"\x00\x80\x00\x04    ",
            b"\x00\x80\x00\x03a\x1bb",
        ] {
            assert_eq!(unit_serial(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn only_unforgeable_words_are_believed() {
        // transport, fua, queue/write_cache, cache_type, expected
        for (transport, fua, write_cache, cache_type, expected) in [
            ("nvme", Some(true), "write through", None, Some(true)), // a forged queue file
            ("nvme", Some(true), "write back", None, Some(true)),
            ("nvme", Some(false), "write through", None, Some(false)),
            ("nvme", Some(false), "write back", None, None),
            ("nvme-tcp", None, "write through", None, None),
            (
                "sata",
                Some(false),
                "write through",
                Some("write back"),
                Some(true),
            ),
            (
                "sata",
                Some(false),
                "write through",
                Some("write through"),
                None,
            ),
            (
                "sas",
                Some(true),
                "write back",
                Some("write back, no read (daft)"),
                Some(true),
            ),
            (
                "virtio",
                Some(false),
                "write through",
                Some("write back"),
                Some(true),
            ),
            (
                "virtio",
                Some(false),
                "write through",
                Some("write through"),
                Some(false),
            ),
            ("mmc", Some(true), "write through", None, None),
        ] {
            let mut layer = Layer::new(LayerKind::Disk, "x");
            layer.fua = fua;
            layer.write_cache = Some(write_cache.to_owned());
            layer.cache_type = cache_type.map(str::to_owned);
            let found = drive_write_cache(Some(transport), &layer);
            assert_eq!(
                found, expected,
                "{transport} {fua:?} {write_cache} {cache_type:?}"
            );
        }
    }
}
