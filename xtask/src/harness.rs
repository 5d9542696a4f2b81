//! Reads what `cargo test … -- --show-output` prints: counts, and the reasons of tests that
//! skipped themselves.
//!
//! A test that lacks what it needs prints a line beginning `skipped: ` with the reason and
//! returns. It is counted as skipped, not as passed: passed, failed and skipped add up to the
//! tests that there are. Output of tests that passed is otherwise kept back.

use std::collections::BTreeMap;

/// How tests ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Ran and passed.
    pub passed: usize,
    /// Ran and failed.
    pub failed: usize,
    /// Did not run, or said that they skipped.
    pub skipped: usize,
    /// Why, one line a reason: `test: reason`.
    pub reasons: Vec<String>,
    /// Names of those that failed, each with the beginning of what it panicked with.
    pub failures: Vec<String>,
}

impl Tally {
    /// Adds another tally to this one.
    pub fn add(&mut self, other: &Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.reasons.extend_from_slice(&other.reasons);
        self.failures.extend_from_slice(&other.failures);
    }
}

/// Lines of a panic that the summary has, and how much of each.
const PANIC_LINES: usize = 4;
const PANIC_COLUMNS: usize = 300;

/// How a reason begins.
pub const SKIPPED: &str = "skipped: ";

/// Whether a line says that something was skipped, in a form that would not be counted.
fn is_misspelt(line: &str) -> bool {
    let start: String = line.trim_start().chars().take(7).collect();
    start.eq_ignore_ascii_case("skipped") || start.eq_ignore_ascii_case("skippin")
}

/// Follows the output line by line.
#[derive(Debug, Default)]
pub struct Reader {
    tally: Tally,
    /// Whether the lines are output of tests that passed.
    kept_back: bool,
    /// The test whose output the lines are.
    test: String,
    /// Tests of this binary that skipped themselves.
    skipped_here: usize,
    /// Whether `test` is counted in it.
    counted: bool,
    /// Tests of this binary that spelled a reason otherwise.
    misspelt: Vec<String>,
    /// Names in the last list of failures of this binary.
    failures_here: Vec<String>,
    /// Whether the lines are of such a list.
    is_listing: bool,
    /// What the tests of this binary panicked with, by their names.
    panics: BTreeMap<String, String>,
    /// So many more lines belong to the last of them.
    of_panic: usize,
}

impl Reader {
    /// Takes a line. Whether it is to be shown.
    pub fn line(&mut self, line: &str) -> bool {
        if let Some(result) = line.strip_prefix("test result: ") {
            let of = |what| count(result, what);
            let skipped = std::mem::take(&mut self.skipped_here);
            let misspelt = std::mem::take(&mut self.misspelt);
            self.tally.passed += of("passed").saturating_sub(skipped + misspelt.len());
            self.tally.failed += of("failed") + misspelt.len();
            let panics = std::mem::take(&mut self.panics);
            let failures = self.failures_here.drain(..).map(|name| {
                let why = panics.get(&name).map_or("", String::as_str);
                format!("{name}{why}")
            });
            self.tally.failures.extend(failures);
            self.tally.failures.extend(misspelt);
            self.tally.skipped += of("ignored") + skipped;
            self.kept_back = false;
            return true;
        }
        if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            // A binary that was killed left no result.
            (self.kept_back, self.skipped_here) = (false, 0);
            self.misspelt.clear();
            self.failures_here.clear();
            self.panics.clear();
        }
        match line {
            "successes:" => (self.kept_back, self.is_listing) = (true, false),
            // The first of them is followed by output, the last by names.
            "failures:" => {
                (self.kept_back, self.is_listing, self.of_panic) = (false, true, 0);
                self.failures_here.clear();
                return true;
            }
            _ => {}
        }
        if self.is_listing {
            let name = line.strip_prefix("    ");
            self.is_listing = name.is_some();
            self.failures_here.extend(name.map(str::to_owned));
        }
        let heading = line
            .strip_prefix("---- ")
            .and_then(|l| l.strip_suffix(" stdout ----"));
        if !self.kept_back {
            if let Some(test) = heading {
                (self.test, self.of_panic) = (test.to_string(), 0);
            }
            self.panic_line(line);
            return true;
        }
        if let Some(test) = heading {
            self.test = test.to_string();
            self.counted = false;
        } else if let Some(reason) = line.strip_prefix(SKIPPED) {
            self.tally.reasons.push(format!("{}: {reason}", self.test));
            self.skipped_here += usize::from(!self.counted);
            self.counted = true;
            return true;
        } else if is_misspelt(line) {
            let problem = format!(
                "{}: FAILED: begin the line with `{SKIPPED}`: {line}",
                self.test
            );
            self.tally.reasons.push(problem);
            if !self.counted {
                self.misspelt.push(self.test.clone());
            }
            self.counted = true;
            return true;
        }
        false
    }

    /// Keeps the first lines of a panic, so that the summary says why a test failed.
    fn panic_line(&mut self, line: &str) {
        let at = line.split_once(" panicked at ").map(|(_, at)| at);
        if at.is_some() && !self.panics.contains_key(&self.test) {
            self.of_panic = PANIC_LINES;
        }
        if self.of_panic > 0 {
            self.of_panic -= 1;
            let why = self.panics.entry(self.test.clone()).or_default();
            let part: String = at.unwrap_or(line).chars().take(PANIC_COLUMNS).collect();
            why.push_str(if at.is_some() { ": " } else { " | " });
            why.push_str(part.trim());
        }
    }

    /// What was counted.
    pub fn finish(self) -> Tally {
        self.tally
    }
}

/// The number before `what` in `ok. 5 passed; 0 failed; …`.
fn count(result: &str, what: &str) -> usize {
    result
        .split([';', '.'])
        .filter_map(|part| part.trim().strip_suffix(what))
        .find_map(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Tally, Vec<&str>) {
        let mut reader = Reader::default();
        let shown = text.lines().filter(|line| reader.line(line)).collect();
        (reader.finish(), shown)
    }

    #[test]
    fn a_skipped_test_is_not_a_passed_one() {
        let text = "running 3 tests\ntest a ... ok\ntest b ... ok\ntest c ... ignored\n\n\
            successes:\n\n---- a stdout ----\nseed 1\n\n---- b stdout ----\n\
            skipped: no loop device\nskipped: not root\n\n\nsuccesses:\n    a\n    b\n\n\
            test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; \
            finished in 0.05s\n";
        let (tally, shown) = read(text);
        let expected = Tally {
            passed: 1,
            failed: 0,
            skipped: 2,
            reasons: vec!["b: no loop device".to_string(), "b: not root".to_string()],
            failures: Vec::new(),
        };
        assert_eq!(tally, expected);
        assert!(!shown.contains(&"seed 1"));
        assert!(shown.contains(&"skipped: no loop device"));
    }

    #[test]
    fn a_reason_that_would_not_be_counted_fails() {
        for line in [
            "skipped the overlay: needs root",
            "Skipped: it",
            "skipping it",
            " skipped: x",
        ] {
            let text = format!(
                "running 1 test\ntest a ... ok\n\nsuccesses:\n\n---- a stdout ----\n{line}\n\n\n\
                 successes:\n    a\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n"
            );
            let (tally, shown) = read(&text);
            assert_eq!(
                (tally.passed, tally.failed, tally.skipped),
                (0, 1, 0),
                "{line}"
            );
            assert_eq!(tally.failures, ["a"]);
            assert!(shown.contains(&line), "{line}");
        }
    }

    #[test]
    fn failures_are_shown_and_binaries_add_up() {
        let binary = "test a ... FAILED\n\nsuccesses:\n\n---- b stdout ----\nquiet\n\n\
            failures:\n\n---- a stdout ----\nskipped: not a reason here\nfailures:\n    why\n\n\
            thread 'a' (1) panicked at x.rs:3:5:\n7 of 8 seen\n\
            failures:\n    a\n    m::c\n\n    not a name\n\
            test result: FAILED. 7 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let twice = format!("{binary}{binary}");
        let (tally, shown) = read(&twice);
        assert_eq!((tally.passed, tally.failed, tally.skipped), (14, 4, 0));
        let why = "a: x.rs:3:5: | 7 of 8 seen";
        assert_eq!(tally.failures, [why, "m::c", why, "m::c"]);
        assert!(shown.contains(&"    why") && !shown.contains(&"quiet"));
    }

    #[test]
    fn a_killed_binary_does_not_count_against_the_next() {
        let text = "running 2 tests\nsuccesses:\n\n---- a stdout ----\nskipped: b\n\n\
            failures:\n    d\n\n\
            running 1 test\ntest c ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
        let (tally, _) = read(text);
        assert_eq!((tally.passed, tally.skipped), (1, 0));
        assert_eq!(tally.failures, [""; 0]);
    }

    #[test]
    fn tallies_add() {
        let one = Tally {
            passed: 1,
            failed: 2,
            skipped: 3,
            reasons: vec!["a: b".to_string()],
            failures: vec!["c".to_string(), "d".to_string()],
        };
        let mut sum = one.clone();
        sum.add(&one);
        assert_eq!(
            (sum.passed, sum.failed, sum.skipped, sum.reasons.len()),
            (2, 4, 6, 2)
        );
        assert_eq!(sum.failures, ["c", "d", "c", "d"]);
    }
}
