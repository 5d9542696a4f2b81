//! The finding on a bucket: what it is, in numbers and in words, and how long a peak may last.

use super::{CreditBucket, TokenUnit, Traffic};
use crate::findings::note::Note;
use crate::findings::{Caution, catalogue};
use crate::format;
use crate::rows::{name_of, sync_of};
use crate::thresholds::Thresholds;
use measure::run::Run;
use measure::units::MB_BYTES;

impl CreditBucket<'_> {
    /// The finding.
    pub(in crate::findings) fn note(&self, run: &Run, t: &Thresholds) -> Note {
        let rule = format!(
            "a fall of at least {} % to a level within {} %, and what is counted within {} % while sessions grow",
            t.step_pct.value, t.cap_flat_pct.value, t.bucket_depth_pct.value
        );
        let advice = format!(
            "{} {}",
            catalogue::STEADY_BUCKET.advice,
            self.peak(run).unwrap_or_default()
        );
        let (redo, _) = self.redo();
        let (burst, sustained) = (&self.burst, &self.sustained);
        let mut note = Note::of(&catalogue::STEADY_BUCKET, Caution, self.claim())
            .number("emptied_at_s", self.emptied_at_s)
            .number("burst_tps", burst.commits)
            .number("sustained_tps", sustained.commits)
            .number("burst_log_writes_per_s", burst.log_writes)
            .number("sustained_log_writes_per_s", sustained.log_writes)
            .number("burst_written_mbps", burst.written_bytes / MB_BYTES)
            .number("sustained_written_mbps", sustained.written_bytes / MB_BYTES)
            .number("spread_pct", self.spread_pct);
        if self.counts_any(TokenUnit::Requests) {
            note = note
                .number("bucket_log_writes", self.drained.log_writes)
                .number("refill_log_writes_per_s", sustained.log_writes);
        }
        if self.counts_any(TokenUnit::Bytes) {
            note = note
                .number("bucket_mb", self.drained.written_bytes / MB_BYTES)
                .number("refill_mbps", sustained.written_bytes / MB_BYTES);
        }
        note.maybe("best_sustained_tps", self.best_commits(None).map(|b| b.0))
            .number("best_sustained_redo_mbps", redo / MB_BYTES)
            .limit(rule, &t.step_pct)
            .advice(advice.trim_end())
    }

    /// Whether it counts `unit`, or may.
    fn counts_any(&self, unit: TokenUnit) -> bool {
        self.counts.is_none_or(|(counted, _)| counted == unit)
    }

    fn claim(&self) -> String {
        let (burst, sustained) = (&self.burst, &self.sustained);
        let digits = format::digits;
        let mb = |bytes: f64| digits(bytes / MB_BYTES);
        let held = format!(
            "The burst of {} ended after {} s: from {} to {} commits/s, {} to {} log writes/s, {} to {} MB/s written, which then stayed within {}.",
            name_of(self.soak),
            digits(self.emptied_at_s),
            digits(burst.commits),
            digits(sustained.commits),
            digits(burst.log_writes),
            digits(sustained.log_writes),
            mb(burst.written_bytes),
            mb(sustained.written_bytes),
            format::percent(self.spread_pct),
        );
        let Some((unit, [few, many])) = self.counts else {
            let backlog = self.soak.open_loop().backlog_end.unwrap_or(0);
            return format!(
                "{held} It is a cap below the rate that was asked for ({} commits/s; {} transactions waited at the end). Its bucket held at least {} log writes or {}; an open loop does not show which of both it counts.",
                digits(self.soak.open_loop().offered_tps.unwrap_or(0.0)),
                format::count(backlog),
                format::count(self.drained.log_writes as u64),
                format::bytes(self.drained.written_bytes as u64),
            );
        };
        let jobs = format::jobs(many.jobs);
        match unit {
            TokenUnit::Requests => {
                let size = |t: Traffic| t.written_bytes / t.log_writes;
                let traffic = Traffic::of_row(few).zip(Traffic::of_row(many));
                let grew = traffic.map_or(1.0, |(few, many)| size(many) / size(few));
                format!(
                    "{held} With {jobs} log writes became {} times as large, but not more frequent: a token bucket that counts requests. It is refilled with {} log writes/s and held at least {}.",
                    digits(grew),
                    digits(sustained.log_writes),
                    format::count(self.drained.log_writes as u64),
                )
            }
            TokenUnit::Bytes => {
                let sync = |row| sync_of(row).map(|w| w.mean_ns);
                let grew = sync(many)
                    .zip(sync(few))
                    .map_or(1.0, |(many, few)| many / few);
                format!(
                    "{held} With {jobs} log file sync took {} times as long, and no more was written: a token bucket that counts bytes. It is refilled with {} MB/s and held at least {}.",
                    digits(grew),
                    mb(sustained.written_bytes),
                    format::bytes(self.drained.written_bytes as u64),
                )
            }
        }
    }

    /// How long a peak lasts until the bucket is empty, and how long the bucket takes to refill.
    fn peak(&self, run: &Run) -> Option<String> {
        let need = &run.need;
        let (burst, sustained) = (&self.burst, &self.sustained);
        let of = |traffic: &Traffic| match self.counts {
            Some((unit, _)) => traffic.of_unit(unit),
            // Of what is not known to be counted, transactions like these are a measure.
            None => traffic.commits,
        };
        let per_commit = need.commit_rate.map(|rate| rate / burst.commits);
        let per_redo = need.redo_bytes_per_s.map(|rate| rate / burst.redo_bytes);
        let is_needed = |share: &f64| share.is_finite() && *share > 0.0;
        let share = per_commit.into_iter().chain(per_redo).filter(is_needed);
        let share = share.max_by(f64::total_cmp);
        let load = share.unwrap_or(1.0) * of(burst);
        let grouped = match self.counts {
            Some((TokenUnit::Requests, _)) => format!(
                ", with {} commits per log write as in this burst,",
                format::digits(burst.commits / burst.log_writes)
            ),
            _ => String::new(),
        };
        let words = match share {
            Some(_) => format!("A peak of the stated need{grouped}"),
            None => format!(
                "A peak like this burst ({} commits/s)",
                format::digits(burst.commits)
            ),
        };
        let refill_s = of(&self.drained) / of(sustained);
        if !refill_s.is_finite() {
            return None;
        }
        let above = load - of(sustained);
        if above <= 0.0 {
            return Some(format!(
                "{words} is below the refill rate and never empties the bucket."
            ));
        }
        Some(format!(
            "{words} empties the bucket after {}. Without load it then takes {} to refill. Both are lower bounds: what ran before the soak had drained some of it.",
            duration(of(&self.drained) / above),
            duration(refill_s),
        ))
    }
}

/// `42 s`, `31 min`, `5.2 h`.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{} s", format::digits(s)),
        s if s < 7_200.0 => format!("{} min", format::digits(s / 60.0)),
        s => format!("{} h", format::digits(s / 3600.0)),
    }
}
