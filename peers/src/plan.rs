//! What is to be measured: the plan of a whole run, and one cell of it as its child receives it.
//!
//! Invariant: a cell's arguments are those that the Go program reads too (pebble/main.go).

use crate::{AnyError, peer};
use std::path::PathBuf;
use std::time::Duration;

/// A whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub on: PathBuf,
    pub peers: Vec<String>,
    pub threads: Vec<u32>,
    pub seconds: f64,
    pub warm_up: f64,
    pub rounds: u32,
    pub max_bytes: u64,
    pub csv: Option<PathBuf>,
    pub pebble: Option<PathBuf>,
}

impl Plan {
    /// Reads the options of `run`.
    pub fn parse(options: &[&str]) -> Result<Plan, AnyError> {
        let mut plan = Plan {
            on: PathBuf::new(),
            peers: peer::all().iter().map(|p| p.name.to_owned()).collect(),
            threads: vec![1, 8, 64, 256],
            seconds: 5.0,
            warm_up: 1.0,
            rounds: 5,
            max_bytes: 6 << 30,
            csv: None,
            pebble: None,
        };
        for (name, value) in pairs(options)? {
            match name {
                "--on" => plan.on = value.into(),
                "--peers" => plan.peers = list(value),
                "--threads" => {
                    let threads: Result<_, std::num::ParseIntError> =
                        list(value).iter().map(|n| n.parse()).collect();
                    plan.threads = threads.map_err(|e| format!("--threads {value}: {e}"))?;
                }
                "--seconds" => plan.seconds = number(name, value)?,
                "--warm-up" => plan.warm_up = number(name, value)?,
                "--rounds" => plan.rounds = number(name, value)?,
                "--max-gib" => plan.max_bytes = number::<u64>(name, value)?.saturating_mul(1 << 30),
                "--csv" => plan.csv = Some(value.into()),
                "--pebble" => plan.pebble = Some(value.into()),
                _ => return Err(format!("no option {name} of run").into()),
            }
        }
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), AnyError> {
        if self.on.as_os_str().is_empty() {
            return Err("say where: --on DIRECTORY".into());
        }
        if self.threads.is_empty() || self.threads.iter().any(|n| !(1..=1024).contains(n)) {
            return Err("--threads takes numbers from 1 to 1024".into());
        }
        if !(0.1..=3600.0).contains(&self.seconds) || !(0.0..=600.0).contains(&self.warm_up) {
            return Err("--seconds takes 0.1 to 3600, --warm-up 0 to 600".into());
        }
        if !(1..=1000).contains(&self.rounds) || self.max_bytes == 0 {
            return Err("--rounds takes 1 to 1000, --max-gib at least 1".into());
        }
        for name in &self.peers {
            peer::find(name)?;
        }
        Ok(())
    }

    /// The cells of one round, in the order in which they are played: all peers at one number of
    /// threads, then the next; the peers begin with another one in each round.
    pub fn round(&self, round: u32) -> Vec<(String, u32)> {
        let mut cells = Vec::new();
        for (step, threads) in self.threads.iter().enumerate() {
            let first = (round as usize + step) % self.peers.len().max(1);
            let turned = self.peers[first..].iter().chain(&self.peers[..first]);
            cells.extend(turned.map(|name| (name.clone(), *threads)));
        }
        cells
    }
}

/// One peer at one number of threads, once.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub peer: String,
    pub directory: PathBuf,
    pub threads: u32,
    pub seconds: f64,
    pub warm_up: f64,
    /// The device's counters, `/sys/…/stat`.
    pub stat: PathBuf,
}

impl Cell {
    /// Reads what [`Cell::arguments`] wrote.
    pub fn parse(options: &[&str]) -> Result<Cell, AnyError> {
        let mut cell = Cell {
            peer: String::new(),
            directory: PathBuf::new(),
            threads: 1,
            seconds: 1.0,
            warm_up: 0.0,
            stat: PathBuf::new(),
        };
        for (name, value) in pairs(options)? {
            match name {
                "--peer" => cell.peer = value.to_owned(),
                "--directory" => cell.directory = value.into(),
                "--threads" => cell.threads = number(name, value)?,
                "--seconds" => cell.seconds = number(name, value)?,
                "--warm-up" => cell.warm_up = number(name, value)?,
                "--stat" => cell.stat = value.into(),
                _ => return Err(format!("no option {name} of child").into()),
            }
        }
        Ok(cell)
    }

    /// The arguments of its child.
    pub fn arguments(&self) -> Vec<String> {
        let path = |path: &PathBuf| path.display().to_string();
        let pairs = [
            ("--peer", self.peer.clone()),
            ("--directory", path(&self.directory)),
            ("--threads", self.threads.to_string()),
            ("--seconds", self.seconds.to_string()),
            ("--warm-up", self.warm_up.to_string()),
            ("--stat", path(&self.stat)),
        ];
        let words = pairs
            .into_iter()
            .flat_map(|(name, value)| [name.to_owned(), value]);
        words.collect()
    }

    /// The longest that the child may take: making and filling its files, the load, closing.
    pub fn time_limit(&self) -> Duration {
        Duration::from_secs_f64(120.0 + self.warm_up + 2.0 * self.seconds)
    }
}

fn pairs<'a>(options: &[&'a str]) -> Result<Vec<(&'a str, &'a str)>, AnyError> {
    let (pairs, rest) = options.as_chunks::<2>();
    match rest {
        [] => Ok(pairs.iter().map(|[name, value]| (*name, *value)).collect()),
        rest => Err(format!("{} needs a value", rest.join(" ")).into()),
    }
}

fn list(value: &str) -> Vec<String> {
    let words = value.split(',').map(str::trim);
    words.filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

fn number<N: std::str::FromStr>(name: &str, value: &str) -> Result<N, AnyError> {
    let number = value.parse().ok();
    number.ok_or_else(|| format!("{name} {value}: not a number that it takes").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_told_and_read_alike() {
        let cell = Cell {
            peer: "redolab:lgwr".to_owned(),
            directory: "/a b/c".into(),
            threads: 64,
            seconds: 0.5,
            warm_up: 1.0,
            stat: "/sys/x/stat".into(),
        };
        let arguments = cell.arguments();
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        assert_eq!(Cell::parse(&words).expect("its own words"), cell);
    }

    #[test]
    fn rounds_hold_the_same_cells_and_begin_with_another_peer() {
        let plan = Plan::parse(&[
            "--on",
            "x",
            "--peers",
            "redb,sqlite,fsys",
            "--threads",
            "1,8",
        ]);
        let plan = plan.expect("known peers");
        let mut firsts = Vec::new();
        for round in 0..3 {
            let mut cells = plan.round(round);
            firsts.push(cells[0].0.clone());
            cells.sort();
            assert_eq!(cells.len(), 6);
            cells.dedup();
            assert_eq!(cells.len(), 6, "no cell twice");
        }
        firsts.sort();
        assert_eq!(firsts, ["fsys", "redb", "sqlite"]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for options in [
            &["--threads", "1"][..],
            &["--on", "x", "--threads", "0"],
            &["--on", "x", "--threads", "many"],
            &["--on", "x", "--peers", "nobody"],
            &["--on", "x", "--peers", "redolab:nothing"],
            &["--on", "x", "--seconds", "-1"],
            &["--on", "x", "--rounds", "0"],
            &["--on", "x", "--fast", "1"],
            &["--on"],
        ] {
            assert!(Plan::parse(options).is_err(), "{options:?}");
        }
    }
}
