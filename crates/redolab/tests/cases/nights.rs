//! A week of hourly reports: hours of the day that are slow again and again are found with the days
//! on which they are, instance by instance; a healthy week has no word of one.

use crate::harness::Place;
use crate::hourly::{HEALTHY, Hour, claims, first_screen, printed, write};

const WEEK: u64 = 7 * 24;

/// An hour whose log writes, and with them commits, are slow.
const SLOW: Hour = Hour {
    sync_ms: 23.0,
    write_ms: 21.0,
    commits_per_s: 200,
};

/// Slow at two o'clock on all days but the third, and at two in the afternoon.
fn two_hours(at: u64) -> Hour {
    match (at / 24, at % 24) {
        (day, 2) if day != 2 => SLOW,
        (_, 14) => SLOW,
        _ => HEALTHY,
    }
}

/// The folder `day` with a week of the first instance.
fn week(seed: u64, of: impl Fn(u64) -> Hour) -> Place {
    let place = Place::new();
    write(&place.path().join("day"), 1, WEEK, seed, of);
    place
}

/// Every part is in one of the claims.
fn expect(claims: &[String], parts: &[&str]) {
    for part in parts {
        assert!(
            claims.iter().any(|claim| claim.contains(part)),
            "{part}: {claims:#?}"
        );
    }
}

#[test]
fn two_hours_that_are_slow_again_and_again_are_found() {
    let place = week(1, two_hours);
    let found = printed(&place);
    let first = first_screen(&found);
    for part in [
        "Log file parallel write is slow at 02:00 on 6 of 7 days and at 14:00 on 7 of 7 days: 2",
        "Log file sync 2",
        "the log writes changed too, so look at the device",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    let all = claims(&place);
    expect(&all, &["no lasting change"]);
    let again = all
        .iter()
        .filter(|claim| claim.contains("a peak of that hour"));
    assert_eq!(again.count(), 0, "once: {all:#?}");
}

#[test]
fn commits_that_are_slow_at_night_without_their_log_writes_are_not_the_device() {
    let place = week(2, |at| match at % 24 {
        1..=4 => Hour {
            sync_ms: 9.0,
            ..HEALTHY
        },
        _ => HEALTHY,
    });
    let found = printed(&place);
    let first = first_screen(&found);
    for part in [
        "Log file sync is slow at 01:00, 02:00, 03:00, 04:00 on 7 of 7 days: ",
        "it is not the device",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    expect(&claims(&place), &["no lasting change"]);
}

#[test]
fn a_change_beside_hours_that_recur_is_found_too() {
    let place = week(3, |at| match (at, at % 24) {
        (_, 2) => SLOW,
        (80.., _) => Hour {
            sync_ms: 4.0,
            ..HEALTHY
        },
        _ => HEALTHY,
    });
    let wanted = [
        "is slow at 02:00 on 7 of 7 days",
        "log file sync changed at 2025-03-06 08:00:00",
    ];
    expect(&claims(&place), &wanted);
}

/// Healthy, and with hours that are slow once or twice: nothing recurs.
#[test]
fn a_healthy_week_has_no_word_of_hours() {
    for seed in 0..5 {
        let place = week(seed, |at| match (seed, at) {
            (0, 30 | 78 | 100) => SLOW,
            (1, 26 | 50) => SLOW,
            _ => HEALTHY,
        });
        let all = claims(&place);
        expect(&all, &["no lasting change"]);
        let slow = all.iter().filter(|claim| claim.contains("is slow at"));
        assert_eq!(slow.count(), 0, "seed {seed}: {all:#?}");
    }
}

#[test]
fn each_instance_of_a_cluster_has_hours_of_its_own() {
    let place = week(1, |_| HEALTHY);
    write(&place.path().join("day"), 2, WEEK, 2, two_hours);
    let all = claims(&place);
    let slow: Vec<&String> = all
        .iter()
        .filter(|claim| claim.contains("is slow at"))
        .collect();
    let [slow] = slow.as_slice() else {
        panic!("{all:#?}");
    };
    assert!(
        slow.contains("at 02:00 on 6 of 7 days") && slow.ends_with("(pay2)"),
        "{slow}"
    );
    expect(&all, &["no lasting change"]);
}

/// Warnings of a log writer: on each of five nights at two hours, and one at noon.
#[test]
fn slow_writes_of_two_hours_recur() {
    let place = Place::new();
    let warning = |day: u64, hour: u64, minute: u64| {
        format!(
            "*** 2014-03-{day:02} {hour:02}:{minute:02}:00.000\n\
             Warning: log write elapsed time 640ms, size 4KB\n"
        )
    };
    let nights = (10..15).flat_map(|day| [(day, 2, 10), (day, 22, 30), (day, 22, 40)]);
    let all = nights.chain([(12, 12, 0)]);
    let text: String = all
        .map(|(day, hour, minute)| warning(day, hour, minute))
        .collect();
    std::fs::create_dir(place.path().join("day")).expect("a folder");
    std::fs::write(place.path().join("day/db1_lgwr_7.trc"), text).expect("written");
    let wanted = "15 of 16 slow log writes (warnings of the log writer) were between 02:00 and 03:00, \
                  on 5 days, or between 22:00 and 23:00, on 5 days: something recurs at those hours";
    expect(&claims(&place), &[wanted]);
}
