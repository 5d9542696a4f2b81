//! The numbers of jobs that a workload is run with: `1,8,32`, `2..64` (doubling), `2..64+2`
//! (steps), ends included.

/// Jobs at most where each is a thread.
pub const MAX_JOBS: u32 = 4096;
/// Jobs at most where many share a thread.
pub const MAX_ASYNC_JOBS: u32 = 65_536;
/// Rows at most: a longer ladder is a typing error.
const MAX_ROWS: usize = 256;

/// Parses a ladder of at most `most` jobs.
///
/// # Errors
/// What part is wrong and what is accepted.
pub fn parse(text: &str, most: u32) -> Result<Vec<u32>, String> {
    let mut jobs = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once("..") {
            None => jobs.push(number(part, text, most)?),
            Some((first, rest)) => {
                let (last, step) = match rest.split_once('+') {
                    None => (rest, None),
                    Some((last, step)) => (last, Some(number(step, text, most)?)),
                };
                let (first, last) = (number(first, text, most)?, number(last, text, most)?);
                if first > last {
                    return Err(format!("jobs `{text}`: {first} is more than {last}"));
                }
                range(first, last, step, &mut jobs);
            }
        }
    }
    if jobs.len() > MAX_ROWS {
        return Err(format!(
            "jobs `{text}`: {} rows; at most {MAX_ROWS}",
            jobs.len()
        ));
    }
    Ok(jobs)
}

fn number(part: &str, whole: &str, most: u32) -> Result<u32, String> {
    let accepted = format!("write 1 to {most}, as 1,8,32 or 2..64 (doubling) or 2..64+2");
    match part.trim().parse::<u64>() {
        Ok(n) if (1..=u64::from(most)).contains(&n) => Ok(n as u32),
        Ok(n) => Err(format!("jobs `{whole}`: {n} is out of range; {accepted}")),
        Err(_) => Err(format!(
            "jobs `{whole}`: `{part}` is not a number of jobs; {accepted}"
        )),
    }
}

fn range(first: u32, last: u32, step: Option<u32>, jobs: &mut Vec<u32>) {
    let mut n = first;
    while n <= last && jobs.len() <= MAX_ROWS {
        jobs.push(n);
        n = match step {
            Some(step) => n + step,
            None => n * 2,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_ASYNC_JOBS, MAX_JOBS, parse};

    #[test]
    fn ladders_read_as_they_are_written() {
        for (text, jobs) in [
            ("1,8,32", vec![1, 8, 32]),
            ("2..64", vec![2, 4, 8, 16, 32, 64]),
            ("3..20", vec![3, 6, 12]),
            ("2..10+2", vec![2, 4, 6, 8, 10]),
            ("1,4..8,100", vec![1, 4, 8, 100]),
            (" 7 ", vec![7]),
        ] {
            assert_eq!(parse(text, MAX_JOBS), Ok(jobs), "{text}");
        }
    }

    #[test]
    fn threads_bound_the_jobs_unless_many_share_one() {
        let told = parse("1024..16384", MAX_JOBS).expect_err("too many threads");
        assert!(told.contains("write 1 to 4096"), "{told}");
        let jobs = parse("1024..16384", MAX_ASYNC_JOBS);
        assert_eq!(jobs, Ok(vec![1024, 2048, 4096, 8192, 16384]));
    }

    #[test]
    fn what_is_no_ladder_is_refused_with_the_reason() {
        for bad in [
            "",
            "0",
            "1000000",
            "8..2",
            "1,,2",
            "2..",
            "..4",
            "2..8+0",
            "-1",
            "two",
            "1..4096+1",
        ] {
            let error = parse(bad, MAX_JOBS).expect_err(bad);
            assert!(error.contains("jobs"), "{error}");
        }
    }
}
