//! Figures that others published, quoted with their source: log file sync of study 003.
//!
//! Invariant: only log file sync is taken. Commit latency there is that of a whole SQL
//! transaction, which an embedded log does not run, so it is never shown with ours.

/// The table, with the columns of `measure::run::Row`: a link to the file in `studies/`, so that
/// the package of this crate contains it.
const PEAKMARKS: &str = include_str!("peakmarks-2021.csv");

/// Where it comes from, for captions.
pub const SOURCE: &str =
    "peakmarks Performance Study on Exadata PMEM for Log Writer, December 2021 (study 003)";

/// A platform's log file sync for one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// Label for a plot.
    pub label: &'static str,
    /// `(jobs, mean log file sync in ns)`, jobs ascending.
    pub points: Vec<(u32, f64)>,
}

/// Platforms of the study in its order, as key in the table and label.
const PLATFORMS: [(&str, &str); 3] = [
    ("exadata-x5-2", "Exadata X5-2"),
    ("exadata-x9m-2-pmem", "X9M-2 PMEM"),
    ("x86-afa", "x86 + array"),
];

/// Mean log file sync of each published platform for `workload`; empty for unknown workloads.
#[must_use]
pub fn log_file_sync(workload: &str) -> Vec<Platform> {
    let mut lines = PEAKMARKS.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| header.iter().position(|h| *h == name);
    let (Some(platform), Some(name), Some(jobs), Some(sync)) = (
        column("platform"),
        column("workload"),
        column("jobs"),
        column("log_file_sync_ms"),
    ) else {
        return Vec::new();
    };
    let rows: Vec<(&str, u32, f64)> = lines
        .filter_map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let at = |i: usize| cells.get(i).copied();
            if cells.len() != header.len() || at(name)? != workload {
                return None;
            }
            let ms: f64 = at(sync)?.parse().ok()?;
            Some((at(platform)?, at(jobs)?.parse().ok()?, ms * 1e6))
        })
        .collect();
    PLATFORMS
        .iter()
        .map(|(key, label)| {
            let mut points: Vec<(u32, f64)> = rows
                .iter()
                .filter(|(p, ..)| p == key)
                .map(|(_, jobs, ns)| (*jobs, *ns))
                .collect();
            points.sort_by_key(|(jobs, _)| *jobs);
            Platform { label, points }
        })
        .filter(|p| !p.points.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_study_is_read() {
        let names = ["LGWR-LAT1", "LGWR-LAT25", "LGWR-LAT125", "LGWR-THR"];
        let rows: usize = names
            .iter()
            .flat_map(|n| log_file_sync(n))
            .map(|p| p.points.len())
            .sum();
        assert_eq!(rows, 97);
        assert!(log_file_sync("LGWR-LAT2").is_empty());
    }

    #[test]
    fn figures_are_the_printed_ones() {
        let lat1 = log_file_sync("LGWR-LAT1");
        let x5 = lat1
            .iter()
            .find(|p| p.label == "Exadata X5-2")
            .expect("X5-2");
        assert_eq!(x5.points.first(), Some(&(2, 363_000.0)));
        let x9 = lat1
            .iter()
            .find(|p| p.label == "X9M-2 PMEM")
            .expect("X9M-2");
        assert_eq!(x9.points.last(), Some(&(80, 120_000.0)));
    }
}
