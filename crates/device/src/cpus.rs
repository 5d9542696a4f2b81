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

/// Whether this thread has more than one processor to itself, as far as the system says: by its
/// affinity and by the quota of its control groups. What is not known is no limit.
#[must_use]
pub fn several() -> bool {
    let allowed = allowed().map_or(usize::MAX, |cpus| cpus.len());
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let read = |path: &str| std::fs::read_to_string(path).ok();
    allowed > 1 && quota(&groups, read).is_none_or(|quota| quota >= allowed as f64)
}

/// Processors that control groups allow, the least of all levels, from the text of
/// /proc/self/cgroup (cgroups(7)); `None` without a limit.
fn quota(groups: &str, read: impl Fn(&str) -> Option<String>) -> Option<f64> {
    let mut least: Option<f64> = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let unified = controllers.is_empty();
        if !unified && !controllers.split(',').any(|c| c == "cpu") {
            continue;
        }
        let mut path = path.trim_end_matches('/');
        loop {
            let found = if unified {
                max_of(&read, path)
            } else {
                quota_of(&read, controllers, path)
            };
            least = match (least, found) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            match path.rfind('/') {
                Some(at) => path = &path[..at],
                None => break,
            }
        }
    }
    least
}

/// Version 2: `cpu.max` has microseconds, or `max`, of each period.
fn max_of(read: &impl Fn(&str) -> Option<String>, path: &str) -> Option<f64> {
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
    let text = roots
        .iter()
        .find_map(|root| read(&format!("{root}{path}/cpu.max")))?;
    let mut words = text.split_whitespace().map(str::parse::<f64>);
    let (quota, period) = (words.next()?.ok()?, words.next()?.ok()?);
    (period > 0.0).then_some(quota / period)
}

/// Version 1: a quota of -1 is none.
fn quota_of(read: &impl Fn(&str) -> Option<String>, of: &str, path: &str) -> Option<f64> {
    let number = |file: &str| {
        let text = ["cpu", of]
            .iter()
            .find_map(|root| read(&format!("/sys/fs/cgroup/{root}{path}/{file}")))?;
        text.trim().parse::<f64>().ok()
    };
    let (quota, period) = (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_quota_of_all_levels_counts() {
        let files = |path: &str| {
            let text = match path {
                "/sys/fs/cgroup/a/b/cpu.max" => "max 100000",
                "/sys/fs/cgroup/a/cpu.max" => "150000 100000",
                "/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us" => "50000",
                "/sys/fs/cgroup/cpu/c/cpu.cfs_period_us" => "100000",
                "/sys/fs/cgroup/cpu/d/cpu.cfs_quota_us" => "-1",
                "/sys/fs/cgroup/cpu/d/cpu.cfs_period_us" => "100000",
                _ => return None,
            };
            Some(format!("{text}\n"))
        };
        for (groups, quota_there) in [
            ("", None),
            ("0::/", None),
            ("0::/a/b", Some(1.5)),
            ("4:cpu,cpuacct:/c\n3:memory:/c\n0::/a/b\n", Some(0.5)),
            ("4:cpu:/d\n", None),
            ("4:cpu\nnonsense\n::\n", None),
        ] {
            assert_eq!(quota(groups, files), quota_there, "{groups:?}");
        }
    }

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
