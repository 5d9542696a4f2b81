//! A folder of hourly reports of one instance: the hour of a planted change and its cause are on
//! the first screen; a day without a change has no word of one.

use crate::hourly::{self, Hour, first_screen};

const HOURS: u64 = 30;

fn import(seed: u64, of: impl Fn(u64) -> Hour) -> String {
    hourly::import(seed, HOURS, of)
}

#[test]
fn a_change_of_one_hour_is_found_with_its_cause() {
    for seed in 0..10 {
        let (at, is_device) = (6 + seed * 2, seed % 2 == 0);
        let words = import(seed, |hour| {
            let times = if hour < at { 1.0 } else { 3.0 };
            Hour {
                sync_ms: 1.1 * times,
                write_ms: if is_device { 0.6 * times } else { 0.6 },
                commits_per_s: 200,
            }
        });
        let first = first_screen(&words);
        let when = format!(
            "Log file sync changed at 2025-03-{:02} {:02}:00:00",
            3 + at / 24,
            at % 24
        );
        assert!(first.contains(&when), "seed {seed}: {when}: {first}");
        let cause = match is_device {
            true => "the log writes changed too, so look at the device",
            false => "the log writes do not explain it: it is not the device",
        };
        assert!(first.contains(cause), "seed {seed}: {first}");
    }
}

/// A job of the night is slow for some hours, and over then.
#[test]
fn a_change_that_goes_back_is_said_to_end() {
    let words = import(3, |hour| Hour {
        sync_ms: if (10..15).contains(&hour) { 4.0 } else { 1.1 },
        write_ms: 0.6,
        commits_per_s: 200,
    });
    let first = first_screen(&words);
    for part in [
        "changed at 2025-03-03 10:00:00: 1.1",
        "until 2025-03-03 15:00:00",
        "it is not the device",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
}

#[test]
fn a_day_without_a_change_has_no_word_of_one() {
    for seed in 0..10 {
        let words = import(seed, |_| Hour {
            sync_ms: 0.9,
            write_ms: 0.6,
            commits_per_s: 200 + seed * 100,
        });
        assert!(
            words.contains("30 reports by time show no lasting change"),
            "{words}"
        );
        assert!(!words.contains("changed at"), "seed {seed}: {words}");
    }
}
