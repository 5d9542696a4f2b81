//! Options of commands that keep runs or read them, and how a run of the store is printed.

use super::CommandError;
use super::common::{Format, OutputArgs, audience};
use crate::interchange;
use crate::output::table;
use crate::store::Store;
use clap::Args;
use measure::run::Run;
use std::path::PathBuf;

/// What is stored of a run beside its histograms.
#[derive(Debug, Args)]
pub(crate) struct EventArgs {
    /// Also store each single log file sync and log file parallel write, as Parquet files
    #[arg(long, help_heading = "Run store")]
    pub(crate) events: bool,
}

/// Where runs are stored.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Directory of the run store [default: $REDOLAB_STORE, else the XDG data directory]
    #[arg(long, value_name = "DIR", global = true, help_heading = "Run store")]
    pub(crate) store: Option<PathBuf>,
}

impl StoreArgs {
    pub(crate) fn open(&self) -> Result<Store, CommandError> {
        Ok(Store::open(&self.path()?)?)
    }

    /// Opens the store of a command that measures: what is measured can be stored there.
    pub(crate) fn open_to_store(&self) -> Result<Store, CommandError> {
        let store = self.open()?;
        store.check_writable()?;
        Ok(store)
    }

    /// Where the store is, whether or not it exists.
    pub(crate) fn path(&self) -> Result<PathBuf, CommandError> {
        let env = |name: &str| std::env::var_os(name);
        Ok(Store::locate(self.store.as_deref(), env)?)
    }
}

impl OutputArgs {
    /// Prints a run that is in the store, whose histograms some formats need.
    pub(crate) fn emit_stored(
        &self,
        store: &Store,
        run: &Run,
        text: impl FnOnce(table::Style) -> String,
    ) -> Result<(), CommandError> {
        self.spares(store);
        if !matches!(self.format, Format::FioJson | Format::Openmetrics) || run.imported.is_some() {
            return self.emit_run(run, text);
        }
        let histograms = &store.load_histograms(&run.run_id)?;
        let source = interchange::ExportSource { run, histograms };
        let bytes = match self.format {
            Format::FioJson => interchange::fio_pretty(&interchange::fio_document(&source)),
            _ => interchange::openmetrics_text(&source).into_bytes(),
        };
        self.emit(&bytes, audience(run))
    }
}
