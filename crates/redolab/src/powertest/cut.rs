//! The power switch: a program that the server runs at a random moment of each test.
//!
//! Invariants: the program is run without a shell, with its arguments as they were given; it is
//! ended when it takes longer than its time limit; nothing else is ended.

use measure::workload::split_mix;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A switch that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(20);

/// How the power is switched, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerSwitch {
    /// Program and arguments.
    pub command: Vec<String>,
    /// The shortest and the longest time of acknowledgements before it is run.
    pub after: (Duration, Duration),
    /// What the times are drawn from.
    pub seed: u64,
}

impl PowerSwitch {
    /// The time of acknowledgements before the cut number `cycle`.
    pub(super) fn time_of(&self, cycle: u64) -> Duration {
        let mut state = self.seed ^ cycle.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (least, most) = self.after;
        let span = most.saturating_sub(least).as_millis() as u64 + 1;
        least + Duration::from_millis(split_mix(&mut state) % span)
    }

    /// The program, for people.
    pub(super) fn shown(&self) -> String {
        let program = self.command.first().map(String::as_str);
        measure::words::sanitize::line(program.unwrap_or_default())
    }

    /// Runs the program; what became of it, in words.
    ///
    /// # Errors
    /// It cannot be started, fails, or does not end.
    pub(super) fn run(&self) -> Result<String, String> {
        let (program, arguments) = self.command.split_first().ok_or("no program is named")?;
        let shown = self.shown();
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|e| format!("{shown}: {e}"))?;
        let begun = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => {
                    return Ok(format!(
                        "{shown} ended after {:.1} s",
                        begun.elapsed().as_secs_f64()
                    ));
                }
                Ok(Some(status)) => return Err(format!("{shown} failed: {status}")),
                Ok(None) if begun.elapsed() >= PATIENCE => {
                    // It is reaped when it ends; that it did not is what matters.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!(
                        "{shown} did not end within {} s",
                        PATIENCE.as_secs()
                    ));
                }
                Ok(None) => std::thread::sleep(LOOK),
                Err(e) => return Err(format!("{shown}: {e}")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(command: &[&str]) -> PowerSwitch {
        PowerSwitch {
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            after: (Duration::from_secs(2), Duration::from_secs(5)),
            seed: 7,
        }
    }

    #[test]
    fn times_are_drawn_from_the_seed_and_stay_within_their_limits() {
        let one = switch(&["true"]);
        let times: Vec<Duration> = (0..200).map(|cycle| one.time_of(cycle)).collect();
        assert!(
            times
                .iter()
                .all(|t| (one.after.0..=one.after.1).contains(t))
        );
        assert!(times.windows(2).any(|pair| pair[0] != pair[1]));
        assert_eq!(times[3], one.time_of(3));
        let other = PowerSwitch {
            seed: 8,
            ..one.clone()
        };
        assert!((0..20).any(|cycle| other.time_of(cycle) != one.time_of(cycle)));
        let fixed = PowerSwitch {
            after: (one.after.0, one.after.0),
            ..one
        };
        assert_eq!(fixed.time_of(1), Duration::from_secs(2));
    }

    #[test]
    fn a_switch_gets_its_arguments_as_they_are_and_reports_how_it_ended() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let file = folder.path().join("a b; $(c)");
        let shown = file.display().to_string();
        switch(&["touch", &shown]).run().expect("touch ends");
        assert!(file.exists(), "no shell divides it");
        let failed = switch(&["false"]).run().expect_err("it fails");
        assert!(failed.contains("failed"), "{failed}");
        let missing = switch(&["no-such-program-of-any-system"]).run();
        assert!(missing.expect_err("missing").contains("no-such-program"));
        assert!(switch(&[]).run().is_err());
    }
}
