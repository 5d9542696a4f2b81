//! Processor time: of the machine from /proc/stat, of this process from getrusage.

use super::pct;
use measure::record::ProcessorTicks;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::io;

/// The `cpu` line of /proc/stat, in clock ticks. Guest time is part of user time there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    user: u64,
    sys: u64,
    idle: u64,
    iowait: u64,
    steal: u64,
}

/// Shares of a window, in percent of all processors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuShares {
    /// All but idle and waiting for I/O; includes time stolen by a hypervisor.
    pub busy_pct: f64,
    /// User, nice and guests.
    pub user_pct: f64,
    /// Kernel and interrupts.
    pub sys_pct: f64,
    /// Idle.
    pub idle_pct: f64,
    /// Idle with an I/O outstanding.
    pub iowait_pct: f64,
}

impl CpuTimes {
    /// Parses /proc/stat. Kernels before 2.6 have four numbers, later ones up to ten; what is
    /// missing counts as zero, as those kernels counted it under the others.
    #[must_use]
    pub fn parse(stat: &str) -> Option<CpuTimes> {
        let line = stat.lines().find_map(|l| l.strip_prefix("cpu "))?;
        let numbers: Vec<u64> = line
            .split_ascii_whitespace()
            .map_while(|w| w.parse().ok())
            .collect();
        let at = |i: usize| numbers.get(i).copied().unwrap_or(0);
        (numbers.len() >= 4).then(|| CpuTimes {
            user: at(0).saturating_add(at(1)),
            sys: at(2).saturating_add(at(5)).saturating_add(at(6)),
            idle: at(3),
            iowait: at(4),
            steal: at(7),
        })
    }

    /// The ticks since `earlier`.
    #[must_use]
    pub fn ticks_since(&self, earlier: &CpuTimes) -> ProcessorTicks {
        // The kernel lets iowait go back; a negative difference is no time.
        ProcessorTicks {
            user: self.user.saturating_sub(earlier.user),
            sys: self.sys.saturating_sub(earlier.sys),
            idle: self.idle.saturating_sub(earlier.idle),
            iowait: self.iowait.saturating_sub(earlier.iowait),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }

    /// The shares since `earlier`; `None` when no tick has passed.
    #[must_use]
    pub fn since(&self, earlier: &CpuTimes) -> Option<CpuShares> {
        let ticks = self.ticks_since(earlier);
        let (busy, total) = (ticks.busy(), ticks.total());
        (total > 0).then(|| CpuShares {
            busy_pct: pct(busy, total),
            user_pct: pct(ticks.user, total),
            sys_pct: pct(ticks.sys, total),
            idle_pct: pct(ticks.idle, total),
            iowait_pct: pct(ticks.iowait, total),
        })
    }
}

/// What this process has used so far, all its threads, those that have ended included; children
/// not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnUsage {
    /// User time, microseconds.
    pub user_us: u64,
    /// System time, microseconds.
    pub sys_us: u64,
    /// Voluntary context switches.
    pub voluntary: u64,
    /// Involuntary context switches.
    pub involuntary: u64,
}

impl OwnUsage {
    /// Now.
    ///
    /// # Errors
    /// The system's.
    pub fn now() -> io::Result<OwnUsage> {
        let usage = getrusage(UsageWho::RUSAGE_SELF)?;
        let natural = |n: i64| u64::try_from(n).unwrap_or(0);
        Ok(OwnUsage {
            user_us: natural(usage.user_time().num_microseconds()),
            sys_us: natural(usage.system_time().num_microseconds()),
            voluntary: natural(usage.voluntary_context_switches()),
            involuntary: natural(usage.involuntary_context_switches()),
        })
    }

    /// What was used since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &OwnUsage) -> OwnUsage {
        OwnUsage {
            user_us: self.user_us.saturating_sub(earlier.user_us),
            sys_us: self.sys_us.saturating_sub(earlier.sys_us),
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
        }
    }

    /// User and system time, microseconds.
    #[must_use]
    pub fn cpu_us(&self) -> u64 {
        self.user_us + self.sys_us
    }

    /// All context switches.
    #[must_use]
    pub fn context_switches(&self) -> u64 {
        self.voluntary + self.involuntary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_every_kernels_line() {
        for (what, before, after, want) in [
            // user nice system idle iowait irq softirq steal guest guest_nice
            (
                "ten",
                "cpu  10 0 10 80 0 0 0 0 0 0\n",
                "cpu  30 10 20 130 10 5 5 0 30 0\n",
                (45.0 + 5.0 / 11.0, 27.0 + 3.0 / 11.0, 18.0 + 2.0 / 11.0),
            ),
            (
                "steal",
                "cpu  0 0 0 0 0 0 0 0\n",
                "cpu  25 0 25 25 0 0 0 25\n",
                (75.0, 25.0, 25.0),
            ),
            (
                "four",
                "cpu 0 0 0 0\ncpu0 9 9 9 9\n",
                "cpu 10 10 20 60\n",
                (40.0, 20.0, 20.0),
            ),
        ] {
            let parse = |t| CpuTimes::parse(t).expect("parses");
            let shares = parse(after).since(&parse(before)).expect("time passed");
            let got = (shares.busy_pct, shares.user_pct, shares.sys_pct);
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert!(
                near(got.0, want.0) && near(got.1, want.1) && near(got.2, want.2),
                "{what}: {got:?}"
            );
            let sum = shares.busy_pct + shares.idle_pct + shares.iowait_pct;
            assert!(near(sum, 100.0), "{what}: {sum}");
        }
        for bad in ["", "cpu", "cpu a b c d", "cpu0 1 2 3 4", "cpu 1 2 3"] {
            assert_eq!(CpuTimes::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_counter_that_goes_back_is_no_time() {
        let a = CpuTimes::parse("cpu 10 0 10 50 90 0 0 0").expect("parses");
        let b = CpuTimes::parse("cpu 20 0 10 60 80 0 0 0").expect("parses");
        assert_eq!(
            b.since(&a).map(|s| (s.busy_pct, s.iowait_pct)),
            Some((50.0, 0.0))
        );
        assert_eq!(a.since(&a), None);
    }

    #[test]
    fn own_time_is_counted() {
        let before = OwnUsage::now().expect("getrusage");
        let mut x = 1_u64;
        while OwnUsage::now().expect("getrusage").since(&before).cpu_us() < 10_000 {
            x = std::hint::black_box(measure::workload::split_mix(&mut x));
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
        let used = OwnUsage::now().expect("getrusage").since(&before);
        assert!(used.context_switches() >= 1, "{used:?}");
    }
}
