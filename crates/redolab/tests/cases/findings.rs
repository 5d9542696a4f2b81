//! What the import of a case has to conclude, and what it must not.

use crate::harness::Place;
use crate::{import, inputs, json};
use serde_json::Value;

/// Claims of the findings of an id, each with its weight before it.
fn claims(run: &Value, id: &str) -> Vec<String> {
    let all = run["findings"].as_array().expect("findings").iter();
    all.filter(|finding| finding["id"] == id)
        .map(|finding| {
            let text = |key: &str| finding[key].as_str().expect("text").to_owned();
            format!("{}: {}", text("weight"), text("claim"))
        })
        .collect()
}

/// A case, a finding that it has to have, and words of its claim; no words: it must not be there.
const EXPECTED: &[(&str, &str, &[&str])] = &[
    (
        "20-histogram-without-a-word.txt",
        "diagnosis.tail",
        &[
            "caution: log file parallel write: 5 of 10,005 waits",
            "8.19 s to 16.4 s",
            "60.02",
            "88.24 %",
        ],
    ),
    (
        "22-pgbench-falls-to-a-level.txt",
        "diagnosis.levels",
        &[
            "caution",
            "4,647",
            "1,924",
            "150 s",
            "the mean of the whole run describes none",
        ],
    ),
    (
        "16-redo-write-time-contains-the-standby.txt",
        "diagnosis.log_writer_cpu",
        &[],
    ),
    (
        "16-redo-write-time-contains-the-standby.txt",
        "diagnosis.remote_write",
        &["up to 1.90 ms", "2.00 ms for the standby"],
    ),
    (
        "a02-system-event.txt",
        "latency.write_mean",
        &["bad: log file parallel write takes 96.83 ms", "9,826 waits"],
    ),
    (
        "a02-system-event.txt",
        "diagnosis.log_buffer",
        &[
            "2,967 times",
            "972.6 s",
            "327.8 ms each",
            "the size of the log buffer is not the cause",
        ],
    ),
    (
        "a11-awr-lfs-lfpw.txt",
        "diagnosis.commit_wait",
        &["4.1 times", "group commit explains 13.60 ms", "14.06 ms"],
    ),
    (
        "a11-awr-lfs-lfpw.txt",
        "diagnosis.group_commit",
        &["1.12 waits"],
    ),
    (
        "a15-pg-test-fsync.txt",
        "diagnosis.sync_tests",
        &[
            "two writes cannot be faster than one",
            "fsync takes 1,643 us for one write and 800.0 us for two",
        ],
    ),
    (
        "a18-fio-sync-percentiles.txt",
        "diagnosis.slow_syncs",
        &["fio's syncs", "a mean of 6.44 ms"],
    ),
    ("01-sysbench-threads.txt", "diagnosis.slow_syncs", &[]),
    (
        "a09-load-profile-without-title.txt",
        "diagnosis.means_alone",
        &["hides rare waits of a second"],
    ),
    (
        "a24-iostat-with-svctm.txt",
        "diagnosis.log_device",
        &["98", "12.1"],
    ),
    (
        "a26-iostat-am-pm.txt",
        "diagnosis.log_device",
        &["5,444 reads/s keep it busy", "2.00 writes/s say little"],
    ),
    (
        "14-prose-below-a-wait-table.txt",
        "latency.write_mean",
        &["16.00 ms", "100,000 waits"],
    ),
];

#[test]
fn each_case_concludes_what_is_right_and_nothing_else() {
    for (file, id, words) in EXPECTED {
        let run = json(&[file]);
        let claims = claims(&run, id).join("\n");
        for word in *words {
            assert!(
                claims.contains(word),
                "{file}: {id}: {word} in `{claims}`: {}",
                run["findings"]
            );
        }
        assert!(!words.is_empty() || claims.is_empty(), "{file}: {claims}");
    }
}

/// A histogram of quick waits, and a rate that does not change, get no word.
#[test]
fn what_is_in_order_is_not_called_sick() {
    let place = Place::new();
    let write = |name: &str, text: String| {
        let path = place.path().join(name);
        std::fs::write(&path, text).expect("writable");
        path.display().to_string()
    };
    let sick = std::fs::read_to_string(inputs().join("20-histogram-without-a-word.txt"));
    let quick: String = sick
        .expect("a case")
        .lines()
        .map(|line| match line.contains("16384") {
            true => String::new(),
            false => format!(
                "{}\n",
                line.replace("  32 ", "   4 ").replace("  64 ", "   8 ")
            ),
        })
        .collect();
    let level = std::fs::read_to_string(inputs().join("22-pgbench-falls-to-a-level.txt"));
    let even: String = level
        .expect("a case")
        .lines()
        .filter(|line| !(line.starts_with("progress: 1") && line.contains("180.0")))
        .filter(|line| !line.starts_with("progress: 2") && !line.starts_with("progress: 300"))
        .map(|line| format!("{line}\n"))
        .collect();
    for (file, id) in [
        (write("quick.txt", quick), "diagnosis.tail"),
        (write("even.txt", even), "diagnosis.levels"),
    ] {
        let done = place.run(&["import", &file, "--format", "json", "-q"]);
        let run = done.expect(0, &[]).json();
        assert_eq!(claims(&run, id), Vec::<String>::new(), "{file}");
        // Silence would look the same.
        let said = claims(&run, "latency.source");
        assert!(!said.is_empty(), "{file}: {}", run["findings"]);
        assert!(
            said.iter().all(|claim| !claim.starts_with("caution")),
            "{said:?}"
        );
    }
}

/// What real programs printed is judged, or said to show nothing of a commit: silence would look
/// like health.
#[test]
fn every_source_has_a_word() {
    let real = inputs().join("../../../../evidence/tests/listings/real");
    let mut files = 0;
    for entry in std::fs::read_dir(real).expect("the listings") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|kind| kind == "md") {
            continue;
        }
        files += 1;
        let name = path.display().to_string();
        let place = Place::new();
        let done = place.run(&["import", &name, "--format", "json", "-q"]);
        let run = done.expect(0, &[]).json();
        let all = run["findings"].as_array().expect("findings").iter();
        let mut ids = all.filter_map(|finding| finding["id"].as_str());
        let is_said = ids.any(|id| id.starts_with("latency.") || id.starts_with("diagnosis."));
        assert!(is_said, "{name}: {}", run["findings"]);
    }
    assert!(files > 15, "{files} listings");
}

/// Syncs that reach no medium, and the same figures of ones that do.
#[test]
fn flushes_that_are_none_are_named() {
    let real = inputs().join("../../../../evidence/tests/listings/real/psql-wal.txt");
    let real = std::fs::read_to_string(real).expect("a listing");
    // Its 201 syncs between both readings take 414 ms.
    let quick = real.replace("17688.273", "17274.657");
    assert_ne!(quick, real);
    let fsync = std::fs::read_to_string(inputs().join("a15-pg-test-fsync.txt")).expect("a case");
    let none = fsync
        .replacen("1940.579", "401940.579", 1)
        .replacen("515 us", "2 us", 1);
    assert_ne!(none, fsync);
    for (text, is_named) in [(real, false), (quick, true), (fsync, false), (none, true)] {
        let place = Place::new();
        std::fs::write(place.path().join("of.txt"), &text).expect("writable");
        let run = place.run(&["import", "of.txt", "--format", "json", "-q"]);
        let run = run.expect(0, &[]).json();
        let said = claims(&run, "diagnosis.no_flush");
        assert_eq!(!said.is_empty(), is_named, "{text}: {}", run["findings"]);
    }
}

/// Figures of different hours are not compared with each other: twelve reports of one instance,
/// each right, whose waits differ from hour to hour, with averages in whole milliseconds.
#[test]
fn twelve_correct_reports_contradict_nothing() {
    let case = inputs().join("14-prose-below-a-wait-table.txt");
    let text = std::fs::read_to_string(case).expect("a case");
    let table = text.split("```").nth(1).expect("a report in a fence");
    let place = Place::new();
    let mut arguments = vec!["import".to_owned()];
    for hour in 0..12_u32 {
        // 1.49 ms are printed as 1, 2.51 ms as 3, and so on.
        let time_s = 100 * (hour + 1) + if hour % 2 == 0 { 49 } else { 51 };
        let mean = (f64::from(time_s) / 100.0).round();
        let share = f64::from(time_s) / 4838.7 * 100.0;
        let line =
            "log file parallel write         100,000     0      1,600      16      0.4   32.0";
        assert!(table.contains(line), "{table}");
        let other = format!(
            "log file parallel write         100,000     0 {time_s:>10} {mean:>7}      0.4 {share:>6.1}"
        );
        let path = place.path().join(format!("awr-{hour:02}.txt"));
        std::fs::write(&path, table.replace(line, &other)).expect("writable");
        arguments.push(path.display().to_string());
    }
    let json = ["--format", "json", "-q"].map(str::to_owned);
    let done = place.run(&[&arguments[..], &json].concat());
    let run = done.expect(0, &[]).json();
    let findings = run["findings"].as_array().expect("findings").iter();
    let against: Vec<String> = findings
        .filter(|finding| {
            finding["id"]
                .as_str()
                .expect("an id")
                .starts_with("evidence.")
        })
        .map(|finding| finding["claim"].to_string())
        .collect();
    assert_eq!(against, Vec::<String>::new());
    let reports = run["imported"]["sources"].as_array().expect("sources");
    assert_eq!(reports.len(), 12);
}

/// Two traces of one log writer, whose number changed with a restart.
#[test]
fn traces_of_another_process_number_are_compared() {
    let place = Place::new();
    let side = |name: &str, file: &str| format!("{name}={}", inputs().join(file).display());
    let before = side("before", "26a-before-lgwr-with-header.txt");
    let after = side("after", "26b-after-lgwr-with-header.txt");
    let arguments = [
        "compare", "--label", &before, "--label", &after, "--format", "json",
    ];
    let answer = "Log file parallel write 1.02 ms to 1.98 ms (+95.1 %)";
    place.run(&arguments[..5]).expect(0, &[answer]);
    let comparison = place.run(&arguments).expect(0, &[]).json();
    let differences = comparison["differences"].as_array().expect("differences");
    let mean = differences
        .iter()
        .find(|d| d["metric"] == "log_file_parallel_write.mean")
        .unwrap_or_else(|| panic!("no mean in {differences:?}"));
    let near = |key: &str, wanted: f64| {
        let value = mean[key]
            .as_f64()
            .unwrap_or_else(|| panic!("{key}: {mean}"));
        assert!(
            (value - wanted).abs() < 0.002,
            "{key}: {value}, not {wanted}"
        );
    };
    near("ratio", 1.951);
    near("ci_low", 1.864);
    near("ci_high", 2.043);
    let done = import(&["26a-before-lgwr-with-header.txt"], &[]);
    done.expect(0, &["LGWR (100)"]);
}
