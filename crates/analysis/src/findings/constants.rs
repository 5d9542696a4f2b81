//! Long times that gather at one or two constants: time-outs, which no medium has.

/// The one or two times at which most of `times_ms` gather, and how many do: a medium has no such
/// constants, the time-outs of a path have.
fn constants(times_ms: &[f64]) -> Option<(Vec<f64>, usize)> {
    /// Times from which they gather, and the part of them that has to.
    const TIMES_MIN: usize = 6;
    /// Time-outs of `log file sync`, to 11.1 and later: fewer of them are no chance.
    const KNOWN_MS: [f64; 2] = [1000.0, 100.0];
    const KNOWN_MIN: usize = 3;
    const SHARE: f64 = 0.7;
    /// A single time is no constant.
    const GROUP_MIN: usize = 2;
    /// Part by which times at one constant differ.
    const WIDTH: f64 = 0.01;
    let mut left = times_ms.to_vec();
    left.sort_by(f64::total_cmp);
    let (mut at, mut gathered) = (Vec::new(), 0);
    while at.len() < 2 && (gathered as f64) < SHARE * times_ms.len() as f64 {
        let until = |from: usize| left.partition_point(|ms| *ms <= left[from] * (1.0 + WIDTH));
        let from = (0..left.len()).max_by_key(|from| until(*from) - from)?;
        let end = until(from);
        if end - from < GROUP_MIN {
            break;
        }
        let most: Vec<f64> = left.drain(from..end).collect();
        at.push(*most.get(most.len() / 2)?);
        gathered += most.len();
    }
    let is_enough = gathered as f64 >= SHARE * times_ms.len() as f64;
    let each = gathered / at.len().max(1);
    at.sort_by(f64::total_cmp);
    let is_known = |ms: &f64| KNOWN_MS.iter().any(|of| (ms / of - 1.0).abs() <= WIDTH);
    let times_min = match at.as_slice() {
        [only] if is_known(only) => KNOWN_MIN,
        _ => TIMES_MIN,
    };
    (times_ms.len() >= times_min && is_enough && each >= times_min / 2).then_some((at, gathered))
}

/// What times that gather at constants show.
pub(super) fn gathered(times_ms: &[f64]) -> Option<(String, &'static str)> {
    let (at, n) = constants(times_ms)?;
    let at: Vec<String> = at
        .iter()
        .map(|ms| crate::format::latency(ms * 1e6))
        .collect();
    let words = format!(
        "; {n} of them took {}, within 1 %: a time-out has such constants, a slow medium has none",
        at.join(" or ")
    );
    let advice = "Look at the paths: multipath time-outs and retries, errors of links and switches, aborted \
                  commands in the kernel's log; a faster medium does not help.";
    Some((words, advice))
}
