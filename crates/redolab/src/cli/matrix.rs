//! Options of the log that take several values, such as `--log-writer inline,lgwr`: every
//! combination is a log of its own, and `compare` measures them beside each other.

use super::CommandError;
use super::log_options::LogArgs;
use super::values::LogChoice;
use crate::experiment::plan::LogPlan;
use redo::LogFileSync;

/// Logs of one command at most.
const COMBINATIONS_MAX: usize = 24;

impl LogArgs {
    /// Every combination with the name that it has in results: the values of the options that have
    /// several.
    fn choices(&self) -> Vec<(String, LogChoice)> {
        let syncs: Vec<Option<LogFileSync>> = match self.log_file_sync.as_slice() {
            [] => vec![None],
            named => named.iter().copied().map(Some).collect(),
        };
        let mut all = Vec::new();
        for writer in &self.log_writer {
            for io in &self.io {
                for method in &self.sync_method {
                    for sync in &syncs {
                        let method_name = method.0.map_or("auto", device::SyncMethod::name);
                        let parts = [
                            (self.log_writer.len(), writer.to_string()),
                            (self.io.len(), io.name().to_owned()),
                            (self.sync_method.len(), method_name.to_owned()),
                            (syncs.len(), sync.map_or("", LogFileSync::name).to_owned()),
                        ];
                        let varied = parts.into_iter().filter(|(count, _)| *count > 1);
                        let name: Vec<String> = varied.map(|(_, value)| value).collect();
                        let choice = LogChoice {
                            writer: *writer,
                            io: *io,
                            method: *method,
                            sync: *sync,
                        };
                        all.push((name.join("+"), choice));
                    }
                }
            }
        }
        all
    }

    /// The options with several values, as a comparison names what differs.
    pub(super) fn varied(&self) -> Vec<String> {
        let all = [
            (self.log_writer.len(), "log writer"),
            (self.io.len(), "I/O engine"),
            (self.sync_method.len(), "sync method"),
            (self.log_file_sync.len(), "log file sync mode"),
        ];
        let varied = all.into_iter().filter(|(count, _)| *count > 1);
        varied.map(|(_, name)| name.to_owned()).collect()
    }

    /// How the log is made and written, of a command that makes one kind of log.
    ///
    /// # Errors
    /// Several values of an option; options that do not go together, and what does.
    pub(crate) fn plan(&self) -> Result<LogPlan, CommandError> {
        match self.choices().as_slice() {
            [(_, one)] => self.plan_with(one),
            several => Err(CommandError::usage(format!(
                "the options of the log name {} combinations ({}); name one, or measure all of them \
                 with redolab compare --on NAME=PATH",
                several.len(),
                several
                    .iter()
                    .map(|(name, _)| name.as_str())
                    .collect::<Vec<_>>()
                    .join(", ")
            ))),
        }
    }

    /// The logs of all combinations with their names; the name of a single one is empty.
    ///
    /// # Errors
    /// Too many of them, or the same one twice; options that do not go together, and what does.
    pub(crate) fn plans(&self) -> Result<Vec<(String, LogPlan)>, CommandError> {
        let choices = self.choices();
        if choices.len() > COMBINATIONS_MAX {
            return Err(CommandError::usage(format!(
                "the options of the log name {} combinations; use at most {COMBINATIONS_MAX}",
                choices.len()
            )));
        }
        let mut plans: Vec<(String, LogPlan)> = Vec::new();
        for (name, choice) in choices {
            if plans.iter().any(|(known, _)| *known == name) {
                return Err(CommandError::usage(format!(
                    "the options of the log name {name} twice; name each value once"
                )));
            }
            plans.push((name, self.plan_with(&choice)?));
        }
        Ok(plans)
    }
}
