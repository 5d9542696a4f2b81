//! Problems as they are shown: one that several rows have is reported once, with these rows.
//!
//! Invariants: nothing is left out but figures of further rows; a problem that invalidates is
//! merged with none whose words differ. A problem of a row begins with its name:
//! `LGWR-LAT1 with 8 jobs: `.

use super::Problem;
use crate::words::plural;

/// Further rows that are named.
const ROWS_NAMED: usize = 8;

/// Each of `problems` once, in their order: the first of its kind, with the further rows that have
/// it.
#[must_use]
pub fn each_once(problems: &[Problem]) -> Vec<Problem> {
    let mut kinds: Vec<(String, &Problem, Vec<&str>)> = Vec::new();
    for problem in problems {
        let (row, key) = (row_of(&problem.detail).0, kind(problem));
        let found = kinds.iter_mut().find(|(known, _, _)| *known == key);
        match (found, row) {
            (None, _) => kinds.push((key, problem, Vec::new())),
            (Some((_, first, rows)), Some(row)) => {
                if row_of(&first.detail).0 != Some(row) && !rows.contains(&row) {
                    rows.push(row);
                }
            }
            (Some(_), None) => {}
        }
    }
    kinds
        .into_iter()
        .map(|(_, first, rows)| with_rows(first, &rows))
        .collect()
}

/// The row that a problem is about, and what it is; `None` of a problem of the whole run.
#[must_use]
pub fn row_of(detail: &str) -> (Option<&str>, &str) {
    let Some((row, rest)) = detail.split_once(": ") else {
        return (None, detail);
    };
    let jobs = row.rsplit_once(" with ").map(|(_, jobs)| jobs);
    let is_row = jobs
        .and_then(|jobs| jobs.split_once(" job"))
        .is_some_and(|(count, _)| {
            !count.is_empty() && count.chars().all(|c| c.is_ascii_digit() || c == ',')
        });
    match is_row {
        true => (Some(row), rest),
        false => (None, detail),
    }
}

/// What makes two problems one: of a doubt about a row its words, else its words and figures.
#[must_use]
pub fn kind(problem: &Problem) -> String {
    let (row, rest) = row_of(&problem.detail);
    let is_exact = problem.invalidates || row.is_none();
    let is_figure = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    let words = rest.chars().filter(|c| is_exact || !is_figure(*c));
    let words: String = words.collect();
    format!("{} {} {words}", problem.id, problem.invalidates)
}

fn with_rows(first: &Problem, rows: &[&str]) -> Problem {
    let mut problem = first.clone();
    if rows.is_empty() {
        return problem;
    }
    let named: Vec<&str> = rows.iter().take(ROWS_NAMED).copied().collect();
    let more = match rows.len().saturating_sub(ROWS_NAMED) {
        0 => String::new(),
        more => format!(" and {}", plural(more as u64, "more row")),
    };
    problem.detail = format!(
        "{} (this also applies to {}{more})",
        problem.detail.trim_end_matches('.'),
        named.join("; ")
    );
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(all: &[(&str, bool, &str)]) -> Vec<String> {
        let all: Vec<Problem> = all
            .iter()
            .map(|(id, invalidates, detail)| Problem {
                id: (*id).to_owned(),
                invalidates: *invalidates,
                detail: (*detail).to_owned(),
            })
            .collect();
        each_once(&all).into_iter().map(|p| p.detail).collect()
    }

    #[test]
    fn a_doubt_of_several_rows_is_one() {
        let few = |row: &str, n: u32| format!("{row}: {n} commits, too few");
        let (a, b) = (
            few("LGWR-LAT1 with 1 job", 3),
            few("LGWR-THR with 1,024 jobs", 17),
        );
        let c = few("LGWR-LAT1 with 8 jobs (polling, round 2)", 9);
        assert_eq!(
            problems(&[
                ("few_commits", false, &a),
                ("busy_device", false, "others used it: jbd2"),
                ("few_commits", false, &b),
                ("few_commits", false, &c),
                ("few_commits", false, &b),
            ]),
            [
                "LGWR-LAT1 with 1 job: 3 commits, too few (this also applies to LGWR-THR with \
                 1,024 jobs; LGWR-LAT1 with 8 jobs (polling, round 2))",
                "others used it: jbd2",
            ]
        );
    }

    #[test]
    fn different_problems_stay_apart() {
        let all = [
            ("busy_device", false, "2 processes"),
            ("busy_device", false, "3 processes"),
            (
                "commits_missing",
                true,
                "A with 1 job: 3 commits of 4 were made",
            ),
            (
                "commits_missing",
                true,
                "B with 1 job: 2 commits of 4 were made",
            ),
            ("backlog", false, "A with 1 job: one thing"),
            ("backlog", false, "A with 2 jobs: another"),
            ("backlog", false, "A with patience: one thing"),
        ];
        assert_eq!(problems(&all).len(), all.len());
        let same = [("io_error", true, "EIO."); 2];
        assert_eq!(problems(&same), ["EIO."]);
        let many: Vec<String> = (0..30).map(|n| format!("A with {n} jobs: slow")).collect();
        let many: Vec<_> = many.iter().map(|m| ("x", false, m.as_str())).collect();
        let shown = problems(&many);
        assert!(
            shown[0].ends_with("A with 8 jobs and 21 more rows)"),
            "{shown:?}"
        );
    }
}
