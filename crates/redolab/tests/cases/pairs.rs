//! Before and after: evidence that is compared without labels and with labels.

use crate::harness::{Done, Place};
use crate::hourly::{HEALTHY, Hour, report, words};

fn write(place: &Place, name: &str, text: &str) {
    let path = place.path().join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("written");
}

/// Two reports: commits are slower after, and log writes are not.
fn two_reports() -> Place {
    let place = Place::new();
    write(&place, "monday.txt", &report(1, 3, &HEALTHY));
    let slower = Hour {
        sync_ms: 2.2,
        ..HEALTHY
    };
    write(&place, "tuesday.out", &report(1, 27, &slower));
    place
}

const ANSWER: &str =
    "Log file sync 1.10 ms to 2.20 ms (+100 %); log file parallel write unchanged at";

#[test]
fn two_files_of_evidence_are_before_and_after_without_labels() {
    let place = two_reports();
    let done = place.run(&["compare", "monday.txt", "tuesday.out"]);
    done.expect(
        0,
        &[
            ANSWER,
            "it is not the device",
            "tuesday.out over monday.txt",
        ],
    );
    // A folder is a set.
    write(&place, "after/a.txt", &report(1, 27, &HEALTHY));
    place
        .run(&["compare", "monday.txt", "after"])
        .expect(0, &["Log file sync unchanged at 1.10 ms"]);
    let more = ["compare", "monday.txt", "tuesday.out", "after"];
    place.run(&more).expect(
        2,
        &[
            "3 of 3 names are evidence",
            "redolab compare --label before=DIR --label after=DIR",
        ],
    );
    place
        .run(&["compare", "monday.txt", "nothing.txt"])
        .expect(2, &["nothing.txt"]);
}

#[test]
fn sets_of_evidence_have_a_page_a_ticket_and_limits() {
    let place = two_reports();
    let compare = |more: &[&str]| -> Done {
        let labels = [
            "compare",
            "--label",
            "before=monday.txt",
            "--label",
            "after=tuesday.out",
        ];
        place.run(&[&labels[..], more].concat())
    };
    compare(&["--report", "both.html"]).expect(0, &["Report: both.html"]);
    let page = std::fs::read_to_string(place.path().join("both.html")).expect("a page");
    for part in [ANSWER, "it is not the device", "before or after"] {
        assert!(page.contains(part), "{part}");
    }
    let ticket = words(&compare(&["--format", "markdown"]).expect(0, &[]).out);
    assert!(ticket.contains(ANSWER), "{ticket}");
    let limit = |condition: &str| compare(&["--fail-if", condition]).code;
    assert_eq!(limit("log_file_sync.mean > 2ms"), Some(3));
    assert_eq!(limit("log_file_sync.mean > 3ms"), Some(0));
    // The page is kept off what is read.
    compare(&["--report", "monday.txt"]).expect(2, &["this command reads"]);
}
