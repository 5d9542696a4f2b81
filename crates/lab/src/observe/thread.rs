//! A thread of this process, as the kernel sees it: how long it waited for a processor, and in
//! which function of the kernel it waits now. Both are readable without root for a thread of one's
//! own.
//!
//! Invariants: parsers take text; a name that comes from the kernel is plain ASCII and bounded.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Longest file that is read.
const MAX_BYTES: usize = 128;

/// The files of one thread, held open.
#[derive(Debug)]
pub struct ThreadFiles {
    schedstat: Option<File>,
    wchan: Option<File>,
}

impl ThreadFiles {
    /// Those of the calling thread.
    #[must_use]
    pub fn of_this_thread() -> ThreadFiles {
        let tid = rustix::thread::gettid().as_raw_nonzero();
        let open = |name: &str| File::open(format!("/proc/self/task/{tid}/{name}")).ok();
        ThreadFiles {
            schedstat: open("schedstat"),
            wchan: open("wchan"),
        }
    }

    /// Time for which it was ready to run and had no processor, nanoseconds; `None` on a kernel
    /// that does not count it.
    #[must_use]
    pub fn run_delay_ns(&self) -> Option<u64> {
        parse_run_delay(&read(self.schedstat.as_ref()?)?)
    }

    /// Whether the kernel has a file that reports where it waits.
    #[must_use]
    pub fn reports_waits(&self) -> bool {
        self.wchan.is_some()
    }

    /// The function of the kernel in which it waits at this moment; `None` if it runs or is ready
    /// to, or the kernel does not report it.
    #[must_use]
    pub fn waits_in(&self) -> Option<String> {
        parse_wchan(&read(self.wchan.as_ref()?)?)
    }
}

fn read(file: &File) -> Option<String> {
    let mut buffer = [0_u8; MAX_BYTES];
    let length = file.read_at(&mut buffer, 0).ok()?;
    Some(String::from_utf8_lossy(buffer.get(..length)?).into_owned())
}

/// The second number of /proc/PID/schedstat, nanoseconds. A kernel that does not count prints three
/// zeros.
#[must_use]
fn parse_run_delay(text: &str) -> Option<u64> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    let ran = numbers.next()?.ok()?;
    let waited = numbers.next()?.ok()?;
    let slices = numbers.next()?.ok()?;
    (ran > 0 || slices > 0).then_some(waited)
}

/// The name in /proc/PID/wchan without what the compiler added to it.
#[must_use]
fn parse_wchan(text: &str) -> Option<String> {
    let name = text.trim().split('.').next()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name != "0" && name.chars().all(is_plain)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_is_the_second_number() {
        assert_eq!(parse_run_delay("1000 1288067 17\n"), Some(1_288_067));
        assert_eq!(parse_run_delay("0 0 1\n"), Some(0));
        for bad in ["", "0 0 0\n", "1 x 1", "1 2"] {
            assert_eq!(parse_run_delay(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_thread_that_runs_waits_nowhere() {
        assert_eq!(parse_wchan("folio_wait_bit"), Some("folio_wait_bit".into()));
        assert_eq!(
            parse_wchan("balance_dirty_pages.isra.0\n"),
            Some("balance_dirty_pages".into())
        );
        for none in ["", "0", "0\n", "a b", "\u{1b}[31m"] {
            assert_eq!(parse_wchan(none), None, "{none:?}");
        }
    }
}
