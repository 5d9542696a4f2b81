//! `redolab powertest`: does an acknowledged write survive a power cut on this device?

use super::common::ViewArgs;
use super::need::CutsBoundArgs;
use super::stored::StoreArgs;
use super::{CommandError, FAILED, INCOMPLETE, USAGE, VERDICT_NO, values};
use crate::output::lines;
use crate::output::powertest::{self, PowerTestListing, PrintedCut};
use crate::powertest::channel::PowerToken;
use crate::powertest::{
    PlantedWriterBug, PowerSwitch, PowerTestError, RawWrites, ServeOrder, VerifyOrder, WriteOrder,
    WrittenUntil, serve, verify, write,
};
use crate::signals;
use clap::{Args, Subcommand, ValueEnum};
use device::SyncMethod;
use measure::Nanos;
use measure::power_test::CutKind;
use measure::units::{parse_bytes, parse_duration};
use measure::words::sanitize;
use redo::Shape;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Options of `powertest`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
A second machine keeps the acknowledgements: start `serve` there. On the machine under test start \
`write`, cut the power while it runs, and run `verify` after the restart. docs/powertest.md shows \
how to automate this with a switchable outlet and systemd.

Exit codes of verify: 0 nothing lost, 3 acknowledged writes were lost, 4 cannot be judged (such as \
after the end of a process without a cut).")]
pub(crate) struct PowerTestArgs {
    #[command(subcommand)]
    command: PowerTestCommand,
}

#[derive(Debug, Subcommand)]
enum PowerTestCommand {
    /// Keep acknowledgements on a second machine, show cycles, switch the power
    Serve(ServeArgs),
    /// Commit unique records on the device under test until the power goes
    Write(Box<WriteArgs>),
    /// After the restart, compare everything acknowledged with what is on the disk
    Verify(VerifyArgs),
    /// List the judged cuts of the run store
    List(ListArgs),
}

/// Port of the server unless another one is named.
const LISTEN: &str = "127.0.0.1:7407";

#[derive(Debug, Args)]
struct ServeArgs {
    /// Directory of the server's own log; an empty or a new one, or that of an earlier server
    #[arg(long, value_name = "DIR")]
    keep: PathBuf,
    /// Address and port to listen on; 0.0.0.0:7407 accepts other machines
    #[arg(long, value_name = "ADDRESS", default_value = LISTEN)]
    listen: String,
    /// File with the secret that both machines share
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
    /// End after this many cuts that count, with exit code 3 if something was lost
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    cycles: Option<u64>,
    /// Size of each of the six files of the server's log when it is created
    #[arg(long, value_name = "SIZE", default_value = "32M", value_parser = parse_bytes)]
    keep_file_size: u64,
    /// Time from a test's first acknowledgement to --cut, drawn from this range
    #[arg(long, value_name = "TIME..TIME", default_value = "5s..60s", value_parser = time_range)]
    cut_after: (Duration, Duration),
    /// Number from which these times are drawn [default: drawn, and printed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Program that switches the power off and on again, or ends a guest, with its arguments; it is
    /// run without a shell. This option comes last
    #[arg(long, value_name = "CMD", num_args = 1.., allow_hyphen_values = true)]
    cut: Vec<String>,
}

/// Where a test is, and who keeps its acknowledgements.
#[derive(Debug, Args)]
struct TestPlaceArgs {
    /// Directory on the device under test: the test's files are in a folder of redolab's own below
    /// it, which stays there until `verify` has read it. Or a raw block device, which is
    /// overwritten and needs --destroy
    #[arg(long, value_name = "PATH")]
    on: PathBuf,
    /// The server
    #[arg(long, value_name = "HOST:PORT")]
    to: String,
    /// File with the secret that both machines share
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
}

#[derive(Debug, Args)]
#[command(override_usage = "\
redolab powertest write [OPTIONS] --on <PATH> --to <HOST:PORT>
           --token-file <FILE>")]
struct WriteArgs {
    #[command(flatten)]
    place: TestPlaceArgs,
    /// Confirm that everything on this raw block device may be overwritten: the path of --on again
    #[arg(long, value_name = "DEVICE")]
    destroy: Option<PathBuf>,
    /// Number of sessions that commit
    #[arg(long, value_name = "N", default_value = "8", value_parser = small(1024))]
    jobs: u32,
    /// End after this time [default: write until the power goes]
    #[arg(long, value_name = "TIME", value_parser = values::time_over_zero)]
    time: Option<Nanos>,
    /// End after so many commits of all sessions together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    commits: Option<u64>,
    /// Size of each log file, or of each file of raw writes; small files make log switches frequent
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = parse_bytes)]
    log_file_size: u64,
    /// Number of log groups
    #[arg(long, value_name = "N", default_value = "3")]
    log_groups: u32,
    /// How writes are made durable: buffered, dsync, direct or direct-dsync. The result holds for
    /// this method alone
    #[arg(
        long,
        value_name = "METHOD",
        default_value = "direct",
        value_parser = str::parse::<SyncMethod>
    )]
    sync_method: SyncMethod,
    /// Bytes of each record [default: those of LGWR-LAT1]
    #[arg(long, value_name = "SIZE", default_value = "1997B", value_parser = payload)]
    payload: u32,
    /// Write without a log: writes of these sizes, such as 4K,64K, each to files of its own
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = raw_size)]
    raw: Vec<u32>,
    /// Files of each size of --raw
    #[arg(long, value_name = "N", default_value = "2", value_parser = small(16))]
    files: u32,
    /// Keep the page cache busy with unflushed writes to a file of this size
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pressure: Option<u64>,
    /// Give up an earlier test of this path that was not verified
    #[arg(long)]
    abandon: bool,
}

#[derive(Debug, Args)]
#[command(override_usage = "\
redolab powertest verify [OPTIONS] --on <PATH> --to <HOST:PORT>
           --token-file <FILE>")]
struct VerifyArgs {
    #[command(flatten)]
    place: TestPlaceArgs,
    /// The test, or the first digits of its identity, where the path has several
    #[arg(long, value_name = "ID")]
    test: Option<String>,
    /// What took the power. The result holds for this kind of cut alone, and counts as tested only
    /// if evidence shows such a cut: counters of the drive, the switch of `serve`, or a device that
    /// stopped answering. Without evidence it is by the operator's word, or cannot be judged
    #[arg(
        long,
        value_enum,
        value_name = "KIND",
        required_unless_present = "abandon"
    )]
    cut_kind: Option<CutChoice>,
    /// Give the test up instead of judging it
    #[arg(long)]
    abandon: bool,
    /// Leave the test's files where they are. Otherwise they are removed, except those of the first
    /// loss
    #[arg(long)]
    keep_files: bool,
    #[command(flatten)]
    bound: CutsBoundArgs,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
struct ListArgs {
    #[command(flatten)]
    bound: CutsBoundArgs,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CutChoice {
    /// The whole machine lost power; of a virtual machine: its host
    HostPower,
    /// A reset of a virtual machine; its host kept its caches. It never makes durability tested
    GuestReset,
    /// Only the device lost power; the machine went on
    DevicePower,
    /// A shutdown of the file system; the device kept its cache. It never makes durability tested
    FileSystemShutdown,
}

impl CutChoice {
    fn kind(self) -> CutKind {
        match self {
            CutChoice::HostPower => CutKind::HostPower,
            CutChoice::GuestReset => CutKind::GuestReset,
            CutChoice::DevicePower => CutKind::DevicePower,
            CutChoice::FileSystemShutdown => CutKind::FileSystemShutdown,
        }
    }
}

/// A number from 1 to `most`.
fn small(most: i64) -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=most)
}

/// Smallest and largest record.
const PAYLOAD: std::ops::RangeInclusive<u64> = 32..=1 << 20;

fn payload(text: &str) -> Result<u32, String> {
    let bytes = parse_bytes(text)?;
    match PAYLOAD.contains(&bytes) {
        true => Ok(bytes as u32),
        false => Err(format!(
            "{text}: use a size from {}B to 1M",
            PAYLOAD.start()
        )),
    }
}

fn raw_size(text: &str) -> Result<u32, String> {
    let bytes = parse_bytes(text)?;
    match bytes.is_multiple_of(4096) && (4096..=1 << 20).contains(&bytes) {
        true => Ok(bytes as u32),
        false => Err(format!(
            "{text}: use multiples of 4K from 4K to 1M, such as 4K,16K,64K"
        )),
    }
}

fn time_range(text: &str) -> Result<(Duration, Duration), String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let read = |text: &str| parse_duration(text).map(|time| Duration::from_nanos(time.0));
    let range = (read(from)?, read(to)?);
    match range.0 <= range.1 {
        true => Ok(range),
        false => Err(format!(
            "{text}: the first time is longer than the second one"
        )),
    }
}

impl From<PowerTestError> for CommandError {
    fn from(error: PowerTestError) -> CommandError {
        use crate::powertest::channel::ChannelError;
        let code = match &error {
            PowerTestError::Refused(_) | PowerTestError::Channel(ChannelError::Refused { .. }) => {
                USAGE
            }
            PowerTestError::Unjudged(_) => INCOMPLETE,
            PowerTestError::Interrupted => signals::INTERRUPTED as u8,
            _ => FAILED,
        };
        CommandError {
            code,
            message: error.to_string(),
        }
    }
}

pub(crate) fn main(args: &PowerTestArgs) -> Result<ExitCode, CommandError> {
    match &args.command {
        PowerTestCommand::Serve(args) => serve_main(args),
        PowerTestCommand::Write(args) => write_main(args),
        PowerTestCommand::Verify(args) => verify_main(args),
        PowerTestCommand::List(args) => list_main(args),
    }
}

fn token(path: &std::path::Path) -> Result<PowerToken, CommandError> {
    PowerToken::read(path).map_err(CommandError::usage)
}

fn interrupt() -> Result<signals::Interrupt, CommandError> {
    let failed = |e| CommandError::failed(format!("signal handlers: {e}"));
    signals::install().map_err(failed)
}

/// A line of what happens, on standard output: it is the server's result.
fn show(line: &str) {
    // A closed pipe is no reason to stop keeping acknowledgements.
    let line = lines::fitted(&sanitize::line(line), std::io::stdout());
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// A line of what happens beside a result.
fn say(line: &str) {
    lines::tell(&sanitize::line(line));
}

fn serve_main(args: &ServeArgs) -> Result<ExitCode, CommandError> {
    let random = || {
        use std::hash::{BuildHasher, Hasher};
        std::hash::RandomState::new().build_hasher().finish()
    };
    let switch = (!args.cut.is_empty()).then(|| PowerSwitch {
        command: args.cut.clone(),
        after: args.cut_after,
        seed: args.seed.unwrap_or_else(random),
    });
    let passed = serve(&ServeOrder {
        keep: args.keep.clone(),
        keep_file_bytes: args.keep_file_size,
        listen: args.listen.clone(),
        token: token(&args.token_file)?,
        cycles: args.cycles,
        switch,
        say: &show,
        interrupt: interrupt()?,
    })?;
    Ok(ExitCode::from(if passed { 0 } else { VERDICT_NO }))
}

fn write_main(args: &WriteArgs) -> Result<ExitCode, CommandError> {
    let shape = Shape::new()
        .groups(args.log_groups)
        .file_bytes(args.log_file_size);
    shape
        .check()
        .map_err(|e| CommandError::usage(format!("--log-file-size, --log-groups: {e}")))?;
    let smallest = args
        .raw
        .iter()
        .max()
        .map_or(0, |size| u64::from(*size) * 16);
    if args.log_file_size < smallest {
        let text = format!(
            "--log-file-size: use at least {}K, 16 writes",
            smallest >> 10
        );
        return Err(CommandError::usage(text));
    }
    let written = write(&WriteOrder {
        path: args.place.on.clone(),
        destroy: args.destroy.clone(),
        server: args.place.to.clone(),
        token: token(&args.place.token_file)?,
        jobs: args.jobs,
        until: WrittenUntil {
            time: args.time.map(|time| Duration::from_nanos(time.0)),
            commits: args.commits,
        },
        shape,
        sync_method: args.sync_method,
        payload_bytes: args.payload,
        raw: (!args.raw.is_empty()).then(|| RawWrites {
            sizes: args.raw.clone(),
            files: args.files,
        }),
        pressure_bytes: args.pressure,
        abandon: args.abandon,
        planted: PlantedWriterBug::None,
        say: &say,
        interrupt: interrupt()?,
    })?;
    let seconds = written.elapsed.as_secs_f64();
    show(&format!(
        "Test {}: {} acknowledgements in {seconds:.1} s ({:.0} per second); the writer ended because {}. \
         A pass counts only if the power is cut while it runs.",
        written.test_id,
        measure::words::count(written.acknowledged),
        written.acknowledged as f64 / seconds.max(1e-9),
        written.why
    ));
    Ok(ExitCode::SUCCESS)
}

fn verify_main(args: &VerifyArgs) -> Result<ExitCode, CommandError> {
    let store = args.store.open_to_store()?;
    args.view.spares(&store);
    args.view.check()?;
    let judged = verify(&VerifyOrder {
        path: args.place.on.clone(),
        server: args.place.to.clone(),
        token: token(&args.place.token_file)?,
        test: args.test.clone(),
        // Without it there is nothing to judge: clap asks for one of both.
        cut: args
            .cut_kind
            .map_or(CutKind::FileSystemShutdown, CutChoice::kind),
        abandon: args.abandon,
        keep_files: args.keep_files,
        store: &store,
        say: &say,
    })?;
    let Some(judged) = judged else {
        return Ok(ExitCode::SUCCESS);
    };
    let (cycle, totals) = (&judged.cycle, judged.totals.as_ref());
    let bound = args.bound.percent();
    let printed = PrintedCut::new(cycle, totals, bound);
    args.view.emit(&printed, |style| {
        powertest::text(cycle, totals, bound, style)
    })?;
    Ok(ExitCode::from(match (cycle.is_loss(), cycle.counts()) {
        (true, _) => VERDICT_NO,
        (false, true) => 0,
        (false, false) => INCOMPLETE,
    }))
}

fn list_main(args: &ListArgs) -> Result<ExitCode, CommandError> {
    let store = args.store.open()?;
    args.view.spares(&store);
    let (cycles, problems) = store.power_cycles()?;
    let shown = store.path().display().to_string();
    let listing = PowerTestListing::new(shown, &cycles, problems, args.bound.percent());
    args.view
        .emit(&listing, |style| powertest::listing(&listing, style))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_wrong_ones_are_refused_with_what_to_do() {
        assert_eq!(payload("1997B"), Ok(1997));
        assert!(payload("2M").expect_err("too large").contains("1M"));
        assert_eq!(raw_size("64K"), Ok(65536));
        for wrong in ["512B", "5000B", "2M"] {
            assert!(
                raw_size(wrong)
                    .expect_err(wrong)
                    .contains("multiples of 4K"),
                "{wrong}"
            );
        }
        let seconds = |from, to| (Duration::from_secs(from), Duration::from_secs(to));
        assert_eq!(time_range("5s..60s"), Ok(seconds(5, 60)));
        assert_eq!(time_range("7s"), Ok(seconds(7, 7)));
        assert!(time_range("9s..7s").is_err() && time_range("9..7").is_err());
    }

    #[test]
    fn every_kind_of_cut_has_the_name_of_its_option() {
        for choice in CutChoice::value_variants() {
            let name = choice.to_possible_value().expect("none is hidden");
            assert_eq!(name.get_name(), choice.kind().option());
        }
        assert_eq!(CutChoice::value_variants().len(), CutKind::ALL.len());
    }
}
