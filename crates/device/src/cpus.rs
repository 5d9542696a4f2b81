//! CPU placement: keeping a thread on processors that were named.
//!
//! What it must not know: which threads, and why.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Processors that this thread may run on, in ascending order.
///
/// # Errors
/// When the system does not say.
pub fn allowed() -> std::io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|c| set.is_set(*c)).collect())
}

/// Keeps the calling thread on `cpus`; an empty list leaves it where it is.
///
/// # Errors
/// When one of them does not exist or is not allowed here; the message names it.
pub fn pin(cpus: &[usize]) -> std::io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    check(cpus, &allowed()?)?;
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Refuses what is not among the `allowed`.
///
/// # Errors
/// The first CPU that is not.
pub fn check(cpus: &[usize], allowed: &[usize]) -> std::io::Result<()> {
    let Some(missing) = cpus.iter().find(|cpu| !allowed.contains(cpu)) else {
        return Ok(());
    };
    let named: Vec<String> = allowed.iter().map(ToString::to_string).collect();
    Err(std::io::Error::new(
        std::io::ErrorKind::InvalidInput,
        format!(
            "CPU {missing} does not exist or is not allowed to this process; use some of {}",
            named.join(",")
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_where_it_is_put() {
        let before = allowed().expect("the system says");
        let last = *before.last().expect("at least the one that runs this");
        let pinned = std::thread::spawn(move || {
            pin(&[last]).expect("it is allowed");
            allowed().expect("the system says")
        });
        assert_eq!(pinned.join().expect("no panic"), [last]);
        assert_eq!(allowed().expect("the system says"), before);
    }

    #[test]
    fn what_does_not_exist_is_named() {
        let refused = check(&[0, 900], &[0, 1]).expect_err("no such CPU");
        let said = refused.to_string();
        assert!(said.contains("CPU 900") && said.contains("0,1"), "{said}");
        let far = pin(&[1_000_000]).expect_err("beyond every set");
        assert!(far.to_string().contains("CPU 1000000"), "{far}");
    }

    #[test]
    fn every_processor_that_the_system_allows_is_listed() {
        let status = std::fs::read_to_string("/proc/thread-self/status").expect("procfs");
        let list = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let number = |text: &str| text.parse::<usize>().expect("a number");
        let ranges = list.expect("it is listed").trim().split(',');
        let listed = ranges.flat_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            number(first)..=number(last)
        });
        let own = allowed().expect("the system says");
        assert_eq!(own, listed.collect::<Vec<_>>());
    }
}
