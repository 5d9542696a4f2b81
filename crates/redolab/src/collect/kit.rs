//! Scripts for Oracle and for Linux, as texts in `texts/` with the times put in.
//!
//! Invariant: nothing of the command line gets into a script but whole seconds and names of devices
//! that consist of harmless characters.

use measure::Nanos;

/// The longest trace of the log writer: a busy one writes some thousand lines per second.
const TRACE_MAX_SECONDS: u64 = 60;
/// Characters of a device's name, at most.
const DEVICE_MAX: usize = 64;

/// A file of the kit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KitFile {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: String,
}

/// The names of Oracle's files, in the order in which they are printed.
pub const ORACLE_FILES: [&str; 8] = [
    "README.txt",
    "redo-views.sql",
    "statspack.sql",
    "awr.sql",
    "trace-lgwr.sql",
    "trace-lgwr-off.sql",
    "trace-lgwr.sh",
    IOSTAT_FILE,
];

/// The name of the script that runs `iostat`.
const IOSTAT_FILE: &str = "iostat.sh";

/// All files for an Oracle server, with that time between their two readings.
#[must_use]
pub fn oracle(interval: Nanos) -> Vec<KitFile> {
    let templates = [
        include_str!("texts/README.txt"),
        include_str!("texts/redo-views.sql"),
        include_str!("texts/statspack.sql"),
        include_str!("texts/awr.sql"),
        include_str!("texts/trace-lgwr.sql"),
        include_str!("texts/trace-lgwr-off.sql"),
        include_str!("texts/trace-lgwr.sh"),
        include_str!("texts/iostat.sh"),
    ];
    let files = ORACLE_FILES.into_iter().zip(templates);
    let of = |(name, template)| KitFile {
        name,
        text: filled(template, interval, &[]),
    };
    files.map(of).collect()
}

/// The script that runs `iostat` for that time, on those devices or on all.
#[must_use]
pub fn iostat(time: Nanos, devices: &[String]) -> KitFile {
    KitFile {
        name: IOSTAT_FILE,
        text: filled(include_str!("texts/iostat.sh"), time, devices),
    }
}

/// The name of a device as the kernel lists it: `sda` of `/dev/sda`.
///
/// # Errors
/// A name that no device has.
pub fn device_name(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("/dev/").unwrap_or(text);
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._!/-".contains(c);
    let is_name = (1..=DEVICE_MAX).contains(&name.len())
        && !name.starts_with(['-', '/', '.'])
        && name.chars().all(is_known);
    let refused = || format!("`{text}` is not the name of a device, such as sda or nvme0n1");
    is_name.then(|| name.to_owned()).ok_or_else(refused)
}

/// A template with its times and devices.
fn filled(template: &str, interval: Nanos, devices: &[String]) -> String {
    let seconds = interval.as_secs().round() as u64;
    let snapshot = include_str!("texts/snapshot.sql");
    let devices: String = devices.iter().map(|name| format!(" {name}")).collect();
    let of_time = if seconds.is_multiple_of(60) {
        format!("{} min", seconds / 60)
    } else {
        format!("{seconds} s")
    };
    let with_parts = template
        .replace("@SLEEP@", include_str!("texts/sleep.sql"))
        .replace("@BEGIN@", &snapshot.replace("@MOMENT@", "begin"))
        .replace("@END@", &snapshot.replace("@MOMENT@", "end"));
    with_parts
        .replace("@INTERVAL@", &of_time)
        .replace("@SECONDS@", &seconds.to_string())
        .replace("@REPORTS@", &(seconds + 1).to_string())
        .replace("@MINUTES@", &(seconds / 60).to_string())
        .replace("@REST@", &(seconds % 60).to_string())
        .replace("@TRACE@", &seconds.min(TRACE_MAX_SECONDS).to_string())
        .replace("@DEVICES@", &devices)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(files: &[KitFile], name: &str) -> String {
        let file = files.iter().find(|file| file.name == name);
        file.expect("it is in the kit").text.clone()
    }

    #[test]
    fn every_place_of_a_template_is_filled() {
        for interval in [10, 59, 60, 600, 86_400] {
            let mut files = oracle(Nanos::from_secs(interval));
            assert_eq!(files.len(), ORACLE_FILES.len());
            files.push(iostat(Nanos::from_secs(interval), &["sda".to_owned()]));
            for file in &files {
                let mut marks = file.text.split('@').skip(1);
                let is_mark =
                    |part: &str| part.len() > 2 && part.bytes().all(|b| b.is_ascii_uppercase());
                assert!(!marks.any(is_mark), "{}: {}", file.name, file.text);
                assert!(file.text.lines().all(|line| line.len() <= 100));
            }
        }
    }

    #[test]
    fn the_two_readings_are_apart_by_the_interval() {
        let files = oracle(Nanos::from_secs(90));
        for name in ["redo-views.sql", "statspack.sql", "awr.sql"] {
            let text = text_of(&files, name);
            assert!(text.contains("IN 1 .. 1 LOOP"), "{name}");
            assert!(text.contains("DBMS_SESSION.SLEEP(30)"), "{name}");
            assert!(text.contains("DBMS_LOCK.SLEEP(30)"), "{name}");
        }
        let views = text_of(&files, "redo-views.sql");
        for listing in [
            "histogram",
            "histogram-micro",
            "outliers",
            "statistics",
            "others",
        ] {
            for moment in ["begin", "end"] {
                let spool = format!("SPOOL redo-{moment}-{listing}.lst\n");
                assert_eq!(views.matches(&spool).count(), 1, "{spool}");
            }
        }
    }

    #[test]
    fn awr_does_nothing_before_the_answer() {
        let text = text_of(&oracle(Nanos::from_secs(60)), "awr.sql");
        let answer = text.find("<> 'yes'").expect("it asks");
        for word in ["CREATE_SNAPSHOT\n", "AWR_REPORT_TEXT("] {
            assert!(text.find(word).is_some_and(|at| at > answer), "{word}");
        }
        let stops = text.find("WHENEVER SQLERROR EXIT").expect("it stops");
        assert!(stops < answer);
    }

    #[test]
    fn names_of_devices_are_harmless() {
        for (text, name) in [
            ("/dev/sda", "sda"),
            ("nvme0n1", "nvme0n1"),
            ("/dev/mapper/vg-redo", "mapper/vg-redo"),
        ] {
            assert_eq!(device_name(text).as_deref(), Ok(name));
        }
        for bad in ["", "-x", "sda; rm", "$(x)", "a b", "/dev/", "../x", "sda\n"] {
            assert!(device_name(bad).is_err(), "{bad}");
        }
    }
}
