//! One sync method and one I/O engine for all targets of a comparison, chosen by the probes of all
//! of them: a probe for each target may choose differently on equal devices, and then the targets
//! differ in more than the user asked.
//!
//! Invariants: a method is only chosen that was measured on every target; what a user names is
//! never changed. What it must not know: how a log is made.

use super::super::Failure;
use crate::cleanup::WorkFolder;
use device::probe::{self, ProbePlan, ProbedWay};
use device::{IoEngine, SyncMethod, UringOptions};

/// Rings are chosen where they need at most this share of the time of calls that block.
const RING_GAIN: f64 = 0.9;

/// What was probed on one target.
#[derive(Clone, Debug)]
pub(super) struct ProbedTarget {
    pub(super) name: String,
    /// The engine that was asked for; [`IoEngine::Auto`] where it is to be chosen.
    pub(super) io: IoEngine,
    pub(super) found: Vec<ProbedWay>,
}

impl ProbedTarget {
    /// Probes in `folder`, for a log of blocks of so many bytes.
    pub(super) fn of(
        name: &str,
        io: IoEngine,
        folder: &WorkFolder,
        block_bytes: u32,
    ) -> Result<ProbedTarget, Failure> {
        folder
            .register_all(&[probe::FILE_NAME])
            .map_err(Failure::system("registering the probe's file"))?;
        let plan = ProbePlan::for_log(block_bytes, IoEngine::Auto, UringOptions::default());
        Ok(ProbedTarget {
            name: name.to_owned(),
            io,
            found: probe::probe(folder.directory(), plan)?.found,
        })
    }

    /// Bytes that the probe has written.
    pub(super) fn bytes(&self) -> u64 {
        let of = |way: &ProbedWay| way.writes.saturating_mul(way.bytes);
        self.found.iter().map(of).sum()
    }

    /// The engine that this target has where `common` is the one of all.
    fn engine(&self, common: IoEngine) -> IoEngine {
        match self.io {
            IoEngine::Auto => common,
            asked => asked,
        }
    }

    /// The sum of the logarithms of the typical times of a way over all sizes; `None` where it was
    /// not measured at every size.
    fn score(&self, method: SyncMethod, io: IoEngine) -> Option<f64> {
        let of = |way: &&ProbedWay| way.way.method == method && way.way.io == io;
        let gain = match io {
            IoEngine::IoUring => RING_GAIN,
            _ => 1.0,
        };
        let scores = self.found.iter().filter(of);
        let scores: Option<Vec<f64>> = scores
            .map(|way| Some((way.p50_ns? as f64 / gain).ln()))
            .collect();
        scores.filter(|s| !s.is_empty()).map(|s| s.iter().sum())
    }
}

/// What all targets are written with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CommonBackEnd {
    pub(super) method: SyncMethod,
    /// For targets for which no engine was asked for.
    pub(super) io: IoEngine,
    /// The choice in words.
    pub(super) sentence: String,
}

impl CommonBackEnd {
    /// Where one of the targets is a raw device, on which nothing can be probed beside its log.
    pub(super) fn of_raw_devices() -> CommonBackEnd {
        CommonBackEnd {
            method: SyncMethod::Direct,
            io: IoEngine::Threads,
            sentence:
                "Sync method: direct with threads on every target, since a raw device has no \
                       room for a probe in addition to its log."
                    .to_owned(),
        }
    }
}

/// The way with the least product of its typical times over all targets and sizes; where none was
/// measured on all of them, the method that works everywhere.
pub(super) fn choose(targets: &[ProbedTarget]) -> CommonBackEnd {
    let best = |of: &[ProbedTarget]| {
        let engines = [IoEngine::Threads, IoEngine::IoUring];
        let all = engines
            .into_iter()
            .flat_map(|io| SyncMethod::ALL.map(|method| (method, io)));
        let score = |(method, io): (SyncMethod, IoEngine)| -> Option<f64> {
            of.iter().map(|t| t.score(method, t.engine(io))).sum()
        };
        let scored = all.filter_map(|way| Some((way, score(way)?)));
        scored
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(way, _)| way)
    };
    let said = |(method, io): (SyncMethod, IoEngine)| format!("{method} with {}", io.name());
    let Some((method, io)) = best(targets) else {
        return CommonBackEnd {
            method: SyncMethod::Buffered,
            io: IoEngine::Threads,
            sentence: "Sync method: buffered with threads on every target, since the probes \
                       measured no way of writing on all of them."
                .to_owned(),
        };
    };
    let own = targets.iter().map(|target| {
        let own = best(std::slice::from_ref(target));
        format!(
            "{} alone {}",
            target.name,
            own.map_or("none".to_owned(), said)
        )
    });
    let own: Vec<String> = own.collect();
    let asked = targets.iter().any(|t| t.io != IoEngine::Auto);
    let chosen = match asked {
        true => format!("{method} on every target, each with the I/O engine that was asked for"),
        false => format!("{} on every target", said((method, io))),
    };
    CommonBackEnd {
        method,
        io,
        sentence: format!(
            "Sync method: {chosen}, chosen once by the probes of all ({}); --own-back-ends lets each \
             target use its own.",
            own.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::probe::WriteMethod;

    /// Times of direct and dsync with threads, then with rings, in microseconds; 0 for refused.
    fn target(name: &str, io: IoEngine, us: [u64; 4]) -> ProbedTarget {
        let ways = [
            (SyncMethod::Direct, IoEngine::Threads),
            (SyncMethod::Dsync, IoEngine::Threads),
            (SyncMethod::Direct, IoEngine::IoUring),
            (SyncMethod::Dsync, IoEngine::IoUring),
        ];
        let found = ways.into_iter().zip(us).flat_map(|((method, io), us)| {
            [4096, probe::GROUP_BYTES].map(|bytes| ProbedWay {
                way: WriteMethod { method, io },
                bytes,
                writes: 10,
                p50_ns: (us > 0).then_some(us * 1000),
                mean_ns: None,
                refused: None,
            })
        });
        ProbedTarget {
            name: name.to_owned(),
            io,
            found: found.collect(),
        }
    }

    #[test]
    fn one_way_is_chosen_for_all() {
        use IoEngine::{Auto, IoUring, Threads};
        let way = |targets: &[ProbedTarget]| {
            let found = choose(targets);
            (found.method, found.io)
        };
        // Each alone would choose another one.
        let a = target("a", Auto, [100, 104, 100, 104]);
        let b = target("b", Auto, [130, 100, 130, 100]);
        assert_eq!(way(std::slice::from_ref(&a)), (SyncMethod::Direct, Threads));
        assert_eq!(way(std::slice::from_ref(&b)), (SyncMethod::Dsync, Threads));
        let both = choose(&[a.clone(), b]);
        assert_eq!((both.method, both.io), (SyncMethod::Dsync, Threads));
        assert!(
            both.sentence.contains("a alone direct with threads"),
            "{}",
            both.sentence
        );
        // What one target refuses is chosen for none.
        let refuses = target("c", Auto, [0, 500, 0, 0]);
        assert_eq!(way(&[a.clone(), refuses]), (SyncMethod::Dsync, Threads));
        // Rings have to be faster by a tenth.
        let rings = target("d", Auto, [100, 104, 85, 104]);
        assert_eq!(way(&[rings]), (SyncMethod::Direct, IoUring));
        // An engine that was asked for stays, and one method fits both.
        let asked = [
            target("t", Threads, [100, 90, 10, 200]),
            target("u", IoUring, [10, 10, 100, 90]),
        ];
        assert_eq!(choose(&asked).method, SyncMethod::Dsync);
        let none = target("n", Auto, [0, 0, 0, 0]);
        assert_eq!(way(&[a, none]), (SyncMethod::Buffered, Threads));
    }
}
