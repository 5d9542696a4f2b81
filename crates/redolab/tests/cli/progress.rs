//! What is printed on standard error while an experiment runs and nobody asked for more: a line for
//! each row, with its figures.

use crate::harness::Place;

const RUN: [&str; 8] = [
    "run", "--null", "--jobs", "1,2", "--time", "200ms", "--warmup", "0",
];

#[test]
fn each_row_has_a_line_where_no_terminal_is() {
    let place = Place::new();
    let done = place.run(&RUN);
    done.expect(0, &[]);
    let rows: Vec<&str> = done
        .err
        .lines()
        .filter(|l| l.starts_with("LGWR-LAT1 "))
        .collect();
    assert_eq!(rows.len(), 2, "{}", done.err);
    for (row, word) in rows.iter().zip(["1 job (1/2): ", "2 jobs (2/2): "]) {
        for must in [word, " commits/s, ", " MB/s ("] {
            assert!(row.contains(must), "{must}: {row}");
        }
        // A busy machine makes too few commits for a percentile.
        assert!(row.contains(", p99 ") || row.contains(", mean "), "{row}");
        assert!(row.chars().count() <= 80, "{row}");
    }
    let quiet = place.run(&[&RUN[..], &["-q"]].concat());
    assert_eq!(quiet.err, "");
}

#[test]
fn the_floor_is_a_figure_before_the_first_row() {
    let place = Place::new();
    let done = place.check(&place.target, &["--no-report"]);
    let lines: Vec<&str> = done.err.lines().collect();
    let at = |word: &str| lines.iter().position(|line| line.starts_with(word));
    let floor = at("the device's floor: durable write of 4.0 KiB in ");
    assert!(floor.is_some(), "{}", done.err);
    assert!(floor < at("LGWR-LAT1 "), "{}", done.err);
}
