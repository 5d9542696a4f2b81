//! Options of what runs beside the sessions of redolab's own log: the archiver, the database
//! writer.

use crate::experiment::background::{
    ArchivePlan, DatabaseWriterPlan, LogBackgroundPlan, NeighbourPlan,
};
use clap::Args;
use drivers::embedded::WRITTEN_PER_REDO;
use measure::Nanos;
use measure::units::parse_duration;
use std::path::PathBuf;

/// What runs beside the sessions.
#[derive(Debug, Args)]
#[command(next_help_heading = "Beside the log")]
pub(crate) struct BackgroundArgs {
    /// Run the log in archive mode: an archiver copies each full log file to a folder in DIR before
    /// it is reused, and the rest at the end. The archive stays there; `redolab inspect --archive`
    /// verifies it
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,
    /// Keep the newest N files of the archive and remove older ones [default: keep all]
    #[arg(
        long,
        value_name = "N",
        requires = "archive",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    archive_keep: Option<u32>,
    /// Run a database writer: it writes 8 kB blocks of a data file in DIR before the checkpoint
    /// passes the redo that dirtied them. RATIO is the bytes that are dirtied for each byte of
    /// redo, from 0.001 to 100 [default of RATIO: 0.324, as in study 000]. The file is 1 to 8 times
    /// as large as the log, depending on RATIO, and is removed at the end
    #[arg(long, value_name = "DIR[,RATIO]", value_parser = database_writer)]
    dbwr: Option<DatabaseWriterPlan>,
    /// Run a neighbour of the log: it appends 4 KiB to a file in DIR and calls fsync every EVERY,
    /// from 10ms to 1m [default of EVERY: 100ms]. On the log's file system an fsync may flush more
    /// than its own file: ext4 flushes the whole transaction of its journal. The columns
    /// neighbour_fsync_* are the neighbour's times; its cost for the log is the difference from a
    /// run without it
    #[arg(long, value_name = "DIR[,EVERY]", value_parser = neighbour)]
    neighbour: Option<NeighbourPlan>,
}

impl BackgroundArgs {
    /// What runs beside the sessions.
    pub(crate) fn plan(&self) -> LogBackgroundPlan {
        LogBackgroundPlan {
            archive: self.archive.as_ref().map(|directory| ArchivePlan {
                directory: directory.clone(),
                keep: self.archive_keep,
            }),
            database_writer: self.dbwr.clone(),
            neighbour: self.neighbour.clone(),
        }
    }
}

/// `DIR`, or `DIR,RATIO`. A directory whose name ends in a comma and a number is not meant.
fn database_writer(text: &str) -> Result<DatabaseWriterPlan, String> {
    let (directory, rate) = match text.rsplit_once(',') {
        Some((directory, rate)) => {
            let rate: f64 = rate
                .parse()
                .map_err(|_| format!("`{rate}` is not a ratio; use DIR,RATIO such as /u02,0.5"))?;
            (directory, rate)
        }
        None => (text, WRITTEN_PER_REDO),
    };
    if directory.is_empty() {
        return Err("name a directory, such as /u02 or /u02,0.5".to_owned());
    }
    if !(0.001..=100.0).contains(&rate) {
        return Err(format!(
            "{rate} bytes for each byte of redo; use 0.001 to 100"
        ));
    }
    Ok(DatabaseWriterPlan {
        directory: PathBuf::from(directory),
        written_per_redo: rate,
    })
}

/// `DIR`, or `DIR,EVERY`. A directory whose name ends in a comma and a time is not meant.
fn neighbour(text: &str) -> Result<NeighbourPlan, String> {
    let (directory, every) = match text.rsplit_once(',') {
        Some((directory, every)) => (directory, parse_duration(every)?),
        None => (text, Nanos::from_millis(100)),
    };
    if directory.is_empty() {
        return Err("name a directory, such as /u02 or /u02,100ms".to_owned());
    }
    if !(Nanos::from_millis(10)..=Nanos::from_millis(60_000)).contains(&every) {
        return Err(format!(
            "EVERY in `{text}` is outside its range; use 10ms to 1m"
        ));
    }
    Ok(NeighbourPlan {
        directory: PathBuf::from(directory),
        every,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::CommandError;

    #[test]
    fn a_rate_follows_the_directory() -> Result<(), CommandError> {
        let plan = |text| database_writer(text).map_err(CommandError::usage);
        let found = plan("/u02")?;
        assert_eq!(found.written_per_redo, WRITTEN_PER_REDO);
        let found = plan("/a,b/c,2.5")?;
        assert_eq!(found.directory, PathBuf::from("/a,b/c"));
        assert_eq!(found.written_per_redo, 2.5);
        for bad in [
            "", ",1", "/u02,", "/u02,x", "/u02,0", "/u02,101", "/u02,NaN",
        ] {
            assert!(database_writer(bad).is_err(), "{bad}");
        }
        let found = neighbour("/a,b/c,20ms").map_err(CommandError::usage)?;
        assert_eq!(found.directory, PathBuf::from("/a,b/c"));
        assert_eq!(found.every, Nanos::from_millis(20));
        for bad in ["", ",1s", "/u02,", "/u02,x", "/u02,9ms", "/u02,61s"] {
            assert!(neighbour(bad).is_err(), "{bad}");
        }
        Ok(())
    }
}
