//! The machine that a run was made on.

use measure::run::Environment;
use std::fs::read_to_string;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// Reads the environment. `with_hostname` is false where the name is withheld (`--no-hostname`).
#[must_use]
pub fn environment(with_hostname: bool) -> Environment {
    let uname = rustix::system::uname();
    let word = |text: &std::ffi::CStr| measure::words::sanitize::line(&text.to_string_lossy());
    let read = |path: &str| read_to_string(path).ok();
    let machine = word(uname.machine());
    Environment {
        kernel: format!(
            "{} {} {machine}",
            word(uname.sysname()),
            word(uname.release())
        ),
        cpu_model: read("/proc/cpuinfo")
            .and_then(|text| parse_cpu_model(&text))
            .or_else(|| read("/sys/firmware/devicetree/base/model"))
            .map_or(machine, |model| measure::words::sanitize::line(&model)),
        cpus: read("/sys/devices/system/cpu/online")
            .and_then(|text| parse_cpu_list(&text))
            .unwrap_or_else(usable_cpus),
        memory_bytes: read("/proc/meminfo")
            .and_then(|text| parse_memory(&text))
            .unwrap_or(0),
        hostname: if with_hostname {
            word(uname.nodename())
        } else {
            String::new()
        },
        governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
            .map(|text| measure::words::sanitize::line(text.trim())),
    }
}

/// An id of this machine since it was started: the same for all processes on it, and another one on
/// every other machine. Where the system gives none, that of this process.
#[must_use]
pub fn boot_id() -> String {
    known_boot_id().unwrap_or_else(process_id)
}

/// The kernel's id of this machine's start; `None` where the system gives none.
#[must_use]
pub fn known_boot_id() -> Option<String> {
    let text = read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let id = text.trim();
    let is_id = !id.is_empty() && id.len() <= 64 && id.bytes().all(|b| b.is_ascii_graphic());
    is_id.then(|| id.to_owned())
}

/// An id of this process that no other process has had.
#[must_use]
pub fn process_id() -> String {
    static RANDOM: OnceLock<u64> = OnceLock::new();
    let random = RANDOM.get_or_init(|| RandomState::new().build_hasher().finish());
    format!("{}-{random:016x}", std::process::id())
}

/// Resident memory of this process in bytes, where it can be read.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    parse_resident(&read_to_string("/proc/self/statm").ok()?).map(|pages| {
        let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
        pages.saturating_mul(page)
    })
}

/// Resident pages in /proc/self/statm: its second number.
fn parse_resident(statm: &str) -> Option<u64> {
    statm.split_whitespace().nth(1)?.parse().ok()
}

/// Number of processors that this process may use.
#[must_use]
pub fn usable_cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

/// The model's name in /proc/cpuinfo, whatever the architecture calls it.
#[must_use]
fn parse_cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "Model", "cpu model", "cpu", "Processor"]
        .iter()
        .find_map(|key| {
            cpuinfo.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                let value = value.trim();
                (name.trim() == *key && !value.is_empty()).then(|| value.to_owned())
            })
        })
}

/// Number of processors in a list such as `0-3,8,10-11`.
#[must_use]
fn parse_cpu_list(list: &str) -> Option<u32> {
    list.trim().split(',').try_fold(0_u32, |sum, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

/// `MemTotal` of /proc/meminfo, bytes.
#[must_use]
fn parse_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_the_second_number() {
        assert_eq!(parse_resident("12345 678 90 1 0 2 0\n"), Some(678));
        for bad in ["", "1", "1 x"] {
            assert_eq!(parse_resident(bad), None);
        }
        assert!(resident_bytes().is_some_and(|b| b > 1 << 16));
    }

    #[test]
    fn models_of_several_architectures() {
        for (text, want) in [
            (
                "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Xeon(R) 8272CL\n",
                Some("Xeon(R) 8272CL"),
            ),
            (
                "processor\t: 0\nBogoMIPS\t: 50\nModel\t\t: Raspberry Pi 4\n",
                Some("Raspberry Pi 4"),
            ),
            (
                "processor\t: 0\ncpu\t\t: POWER9, altivec\n",
                Some("POWER9, altivec"),
            ),
            ("processor\t: 0\nCPU part\t: 0xd0c\n", None),
            ("", None),
        ] {
            assert_eq!(parse_cpu_model(text).as_deref(), want);
        }
    }

    #[test]
    fn lists_and_sizes() {
        for (text, want) in [
            ("0-3\n", Some(4)),
            ("0", Some(1)),
            ("0-3,8,10-11\n", Some(7)),
            ("3-0", None),
            ("", None),
            ("0-4294967295", None),
        ] {
            assert_eq!(parse_cpu_list(text), want, "{text}");
        }
        assert_eq!(parse_memory("MemFree: 1 kB\nMemTotal:  8 kB\n"), Some(8192));
        assert_eq!(parse_memory("MemTotal: 8 GB\n"), None);
    }

    #[test]
    fn this_machine_can_be_told() {
        let e = environment(false);
        assert!(e.kernel.starts_with("Linux ") && e.cpus >= 1 && e.memory_bytes > 1 << 20);
        assert!(e.hostname.is_empty() && !e.cpu_model.is_empty());
    }
}
