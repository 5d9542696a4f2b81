//! The catalogue of findings, thresholds of the user's, and what is declared.

use crate::harness::{Place, schema_problems};

#[test]
fn the_catalogue_is_shown_in_short_in_full_and_as_json() {
    let place = Place::new();
    let all = place.run(&["findings"]);
    all.expect(
        0,
        &[
            "stack.volatile\n",
            "latency.peaks (peak_ratio = 10 times",
            "ID shows one",
        ],
    );
    let one = place.run(&["findings", "latency.write_mean"]);
    one.expect(
        0,
        &["1376916.1", "write_mean_problem_ms = 20 ms", "What to do:"],
    );
    let json = place.run(&["findings", "--format", "json"]).json();
    let problems = schema_problems("findings-1.schema.json", &json);
    assert_eq!(problems, Vec::<String>::new());
    let count = json["findings"].as_array().map_or(0, Vec::len);
    assert!(count > 90, "{count}");
    let by_part = place.run(&["findings", "latency"]);
    by_part.expect(0, &["latency.write_mean", "latency.peaks"]);
    let by_beginning = place.run(&["findings", "lat"]);
    assert_eq!(by_beginning.out, by_part.out);
    place.run(&["findings", "latency.peek"]).expect(
        2,
        &["no finding `latency.peek`, and none whose id begins so. Did you mean latency.peaks?"],
    );
}

#[test]
fn a_file_of_thresholds_is_applied_or_refused_by_file_line_and_key() {
    let place = Place::new();
    let file = place.path().join("ours.toml");
    let file_text = file.display().to_string();
    let with = |text: &str| {
        std::fs::write(&file, text).expect("writable");
        place.run(&["findings", "load.processors", "--thresholds", &file_text])
    };
    let good = with("cpu_busy_pct = { value = 80, source = \"our service level\" }\n");
    good.expect(0, &["cpu_busy_pct = 80 %: our service level"]);
    for (text, words) in [
        (
            "\ncpu_busy = 1\n",
            ["line 2", "`cpu_busy`", "did you mean `cpu_busy_pct`?"],
        ),
        (
            "cpu_busy_pct = \"x\"\n",
            ["line 1", "cpu_busy_pct", "a number"],
        ),
        (
            "# ours\ncpu_busy_pct = 120\n",
            ["line 2", "`cpu_busy_pct` is 120", "0 to 100"],
        ),
        (
            "cpu_busy_pct = [\n",
            ["line 1", "cpu_busy_pct", "ours.toml"],
        ),
    ] {
        let done = with(text);
        done.expect(2, &words);
        assert!(done.err.contains(&file_text), "{}", done.err);
        let target = place.target.display().to_string();
        place
            .run(&["check", &target, "--dry-run", "--thresholds", &file_text])
            .expect(2, &[&file_text, words[0]]);
    }
    std::fs::remove_file(&file).expect("it is there");
    place
        .run(&["findings", "--thresholds", &file_text])
        .expect(2, &[&file_text, "No such file"]);
}

#[test]
fn what_is_declared_and_rated_is_asked_for_in_words() {
    let place = Place::new();
    for (arguments, words) in [
        (
            &["--declare", "luck"][..],
            &["no `luck`; use plp or battery"][..],
        ),
        (&["--years", "5"], &["--tbw"]),
        (
            &["--tbw", "0"],
            &["--tbw: use the bytes that may be written", "600T"],
        ),
        (
            &["--tbw", "600T", "--years", "0"],
            &["--years: use a number of years over 0"],
        ),
        (
            &["--commit-rate", "nan"],
            &["--commit-rate", "`nan` is not a number"],
        ),
    ] {
        let arguments = [arguments, &["--dry-run"]].concat();
        place.check(&place.target, &arguments).expect(2, words);
    }
    let more = ["--tbw", "600T", "--declare", "plp=data sheet", "--dry-run"];
    place
        .check(&place.target, &more)
        .expect(0, &["that the drive is rated to take"]);
    place.expect_clean(&place.target);
}
