//! Caps and decay: what looks like a limit that somebody set, and what lasts only for a while.
//!
//! A **plateau** over depth: from some depth on throughput stays within a few percent while latency
//! grows as the depth does. Any saturated server shows it; a provisioned cap shows it flatter than
//! noise, also in time (`spread` shows it). **Decay** in time: the level of the throughput falls at
//! a change point and stays down (burst credits, a fast cache that is full), or step by step.

use super::{StatsRefusal, change, checked, mean};

/// Largest spread of throughput on a plateau, share of its mean.
const PLATEAU_SPREAD: f64 = 0.05;
/// Largest depth over smallest on a plateau.
const PLATEAU_SPAN: f64 = 4.0;
/// How far latency may grow less or more than depth.
const GROWTH: std::ops::RangeInclusive<f64> = 0.7..=1.4;

/// Throughput that stays while latency grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plateau {
    /// Place of its first point.
    pub from: usize,
    /// Mean throughput on it.
    pub level: f64,
    /// Largest less smallest throughput on it, share of the mean.
    pub spread: f64,
    /// Latency at its last point over that at its first.
    pub latency_growth: f64,
    /// Depth at its last point over that at its first.
    pub depth_growth: f64,
}

/// The plateau at the end of a sweep over depth; `None` where there is none. Points are in the
/// order of their depths.
///
/// # Errors
/// Fewer than three points, lengths that differ, figures that are not positive, depths that do not
/// rise.
pub fn plateau(
    depths: &[f64],
    throughput: &[f64],
    latency: &[f64],
) -> Result<Option<Plateau>, StatsRefusal> {
    for values in [depths, throughput, latency] {
        checked(values, 3)?;
        if values.len() != depths.len() {
            return Err(StatsRefusal::Parameter(
                "as many figures as depths are needed",
            ));
        }
        if values.iter().any(|v| *v <= 0.0) {
            return Err(StatsRefusal::Unsuitable("depths and figures are positive"));
        }
    }
    if !depths.is_sorted_by(|a, b| a < b) {
        return Err(StatsRefusal::Unsuitable("depths have to rise"));
    }
    let last = depths.len() - 1;
    // The longest stretch to the end that is flat.
    let found = (0..last - 1).find_map(|from| {
        let flat = throughput.get(from..)?;
        let low = flat.iter().copied().fold(f64::INFINITY, f64::min);
        let high = flat.iter().copied().fold(0.0, f64::max);
        let level = mean(flat);
        let plateau = Plateau {
            from,
            level,
            spread: (high - low) / level,
            latency_growth: latency[last] / latency[from],
            depth_growth: depths[last] / depths[from],
        };
        let grows = plateau.latency_growth / plateau.depth_growth;
        let fits = plateau.spread <= PLATEAU_SPREAD
            && plateau.depth_growth >= PLATEAU_SPAN
            && GROWTH.contains(&grows);
        fits.then_some(plateau)
    });
    Ok(found)
}

/// Throughput that fell and stayed down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decay {
    /// The interval with the largest fall.
    pub at: usize,
    /// Level of the first segment.
    pub before: f64,
    /// Level of the last segment.
    pub after: f64,
    /// Segments of different levels; two is one step, more is a slide.
    pub segments: usize,
}

/// Whether the level at the end is below that at the beginning by at least `least` (a share).
/// `None` where it is not. Segments hold three intervals at least.
///
/// # Errors
/// Fewer than eight intervals, a value that is negative or not finite.
pub fn decay(intervals: &[f64], least: f64) -> Result<Option<Decay>, StatsRefusal> {
    checked(intervals, 8)?;
    if intervals.iter().any(|v| *v < 0.0) {
        return Err(StatsRefusal::Unsuitable("throughput is not negative"));
    }
    let segments = change::segments(intervals, 3)?;
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else {
        return Ok(None);
    };
    if segments.len() < 2 || last.level > first.level * (1.0 - least) {
        return Ok(None);
    }
    let fall = segments
        .windows(2)
        .max_by(|a, b| (a[0].level - a[1].level).total_cmp(&(b[0].level - b[1].level)));
    Ok(fall.map(|pair| Decay {
        at: pair[1].start,
        before: first.level,
        after: last.level,
        segments: segments.len(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    #[test]
    fn a_cap_is_flat_while_latency_grows_with_depth() {
        let depth = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let capped = [900.0, 1800.0, 3000.0, 3001.0, 2999.0, 3000.0];
        let latency: Vec<f64> = depth.iter().zip(capped).map(|(d, x)| d / x * 1e6).collect();
        let p = plateau(&depth, &capped, &latency)
            .expect("points")
            .expect("a plateau");
        assert_eq!(p.from, 2);
        assert!(p.spread < 0.001 && (p.level - 3000.0).abs() < 1.0, "{p:?}");
        let rising = [900.0, 1700.0, 3000.0, 5000.0, 8000.0, 12_000.0];
        assert_eq!(plateau(&depth, &rising, &latency).expect("points"), None);
        // An open loop: flat because no more is asked.
        assert_eq!(
            plateau(&depth, &[50.0; 6], &[3.0; 6]).expect("points"),
            None
        );
        assert!(plateau(&[1.0, 1.0, 2.0], &[1.0; 3], &[1.0; 3]).is_err());
        assert!(plateau(&[1.0, 2.0, 3.0], &[1.0; 3], &[0.0; 3]).is_err());
        assert!(plateau(&[], &[], &[]).is_err());
    }

    #[test]
    fn spent_credits_show_and_noise_does_not() {
        let mut r = Random::new(4);
        let mut noise = |level: f64| level * (1.0 + 0.03 * r.normal());
        let spent: Vec<f64> = (0..300)
            .map(|i| noise(if i < 180 { 3000.0 } else { 1000.0 }))
            .collect();
        let d = decay(&spent, 0.1).expect("intervals").expect("decay");
        assert!(d.at.abs_diff(180) <= 2 && d.segments == 2, "{d:?}");
        let steady: Vec<f64> = (0..300).map(|_| noise(3000.0)).collect();
        assert_eq!(decay(&steady, 0.1).expect("intervals"), None);
        let rising: Vec<f64> = (0..60).map(|i| if i < 30 { 1.0 } else { 2.0 }).collect();
        assert_eq!(decay(&rising, 0.1).expect("intervals"), None);
        assert!(decay(&[1.0; 3], 0.1).is_err() && decay(&[-1.0; 9], 0.1).is_err());
    }
}
