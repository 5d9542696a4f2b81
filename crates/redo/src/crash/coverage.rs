//! What a history reached. A simulation that finds nothing proves something only where these
//! counts show that it was there.

use super::plan::Plan;
use crate::control::MemberTable;
use crate::recovery::DamageScan;
use device::sim_disk::CrashCoverage;
use std::ops::AddAssign;

macro_rules! counters {
    ($(#[$of:meta])* $type:ident: $($(#[$doc:meta])* $name:ident,)*) => {
        $(#[$of])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $type {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl $type {
            /// Every count with its name.
            #[must_use]
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }

        impl AddAssign<&$type> for $type {
            fn add_assign(&mut self, other: &$type) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counters! {
    /// How often each state and each fault was reached.
    Coverage:
    /// Lives that began with a recovery that returned.
    lives,
    /// Commits acknowledged.
    acknowledged,
    /// Commits whose waiters were refused, because the log was poisoned.
    refused,
    /// Tickets reported durable, and reported as failed with the log.
    tickets_durable,
    /// See `tickets_durable`.
    tickets_refused,
    /// Power cuts with tickets outstanding.
    cut_with_tickets,
    /// Tasks that were woken for a durable commit, and for one that failed with the log.
    tasks_durable,
    /// See `tasks_durable`.
    tasks_refused,
    /// Futures that were dropped before they were decided.
    cancelled,
    /// Log switches.
    log_switches,
    /// Lives with a dropped future and a log switch.
    lives_cancelled_and_switched,
    /// Histories of several lives with both in each.
    all_lives_cancelled_and_switched,
    /// Records that were appended and, not being acknowledged, not recovered.
    unacknowledged_lost,
    /// Records that span blocks.
    spanning_records,
    /// Power cuts.
    power_cuts,
    /// Killed processes: memory lost, caches kept.
    kills,
    /// Kills with completed writes that no flush had covered.
    kills_with_dirty_cache,
    /// Clean closes.
    closes,
    /// Power cuts with a write in flight.
    cut_with_write_in_flight,
    /// Power cuts with a flush in flight.
    cut_with_flush_in_flight,
    /// Power cuts while a batch that lies in two logs was being written.
    cut_mid_switch,
    /// Power cuts while a sealed batch was still being filled.
    cut_before_filled,
    /// Power cuts while the writer waited for the checkpoint.
    cut_awaiting_checkpoint,
    /// Power cuts or kills while the first copy of a checkpoint was written.
    cut_checkpoint_write_1,
    /// While it was flushed.
    cut_checkpoint_flush_1,
    /// While the second copy was written.
    cut_checkpoint_write_2,
    /// While it was flushed.
    cut_checkpoint_flush_2,
    /// Power cuts or kills while recovery flushed the tail.
    cut_recovery_tail_flush,
    /// While recovery flushed the control file.
    cut_recovery_control_flush,
    /// While recovery wrote the first control copy.
    cut_recovery_write_1,
    /// While it flushed it.
    cut_recovery_flush_1,
    /// While it wrote the second.
    cut_recovery_write_2,
    /// While it flushed it.
    cut_recovery_flush_2,
    /// Recoveries that were cut, again after a recovery that had been cut.
    cut_recovery_again,
    /// Power cuts or kills while a close was recorded.
    cut_closing,
    /// Sectors of which a cut kept only parts of several contents.
    torn_mixed,
    /// Sectors that a cut left as garbage.
    torn_garbage,
    /// Sectors of which a cut lost what had been written.
    dropped_sectors,
    /// Sectors that a cut left at a content older than the newest.
    outdated_sectors,
    /// Cuts that kept a later write and lost an earlier one.
    reordered,
    /// Log writes that failed.
    failed_writes,
    /// Log writes that were cut short.
    short_writes,
    /// Flushes of the log that failed.
    failed_flushes,
    /// Writes or flushes of control information that failed.
    failed_control,
    /// Operations of recovery that failed.
    failed_recovery,
    /// Operations that ended well after the log had been poisoned.
    completions_after_failure,
    /// Writes into a log that had been used before.
    reused_log_writes,
    /// Writes from the log buffer's end and its beginning.
    ring_wraps,
    /// Batches that lie in two logs.
    batches_across_logs,
    /// Writes that ended while an older one was in flight.
    out_of_order,
    /// Writes that ended while a flush was in flight.
    written_during_flush,
    /// Several batches in flight.
    deep,
    /// As many batches sealed and not durable as there can be.
    deepest,
    /// Flushes that made several batches durable.
    published_together,
    /// Times that a flush was deferred because nobody waited.
    deferred,
    /// Deferred flushes because somebody began to wait.
    flushed_for_waiter,
    /// Deferred flushes because it was time.
    flushed_overdue,
    /// Deferred flushes because enough was written, or somebody waited for a later batch.
    flushed_deferred,
    /// Power cuts while a flush was deferred.
    cut_with_deferred,
    /// Lives whose writer defers flushes.
    lives_deferring,
    /// Adaptive writers that went over to several batches in flight.
    switched_to_workers,
    /// Adaptive writers that went back to one.
    switched_to_alone,
    /// Power cuts while a writer let go of several batches in flight.
    cut_before_alone,
    /// Batches that were filled while an older one was not.
    filled_out_of_order,
    /// Gatherings that ended because enough commits came.
    gathered,
    /// Gatherings that ended because time was up.
    gathered_in_vain,
    /// Waits for the checkpoint.
    awaited_checkpoint,
    /// Waits for room in the log buffer.
    buffer_full,
    /// Checkpoints that were recorded.
    checkpoints,
    /// Recoveries that found a torn tail.
    recovered_torn,
    /// Recoveries that found a clean end.
    recovered_clean,
    /// Recoveries that crossed the end of an earlier incarnation within a seal unit.
    crossed_incarnation_gap,
    /// Commits that did not wait.
    commits_nowait,
    /// Commits that waited and posted nobody.
    commits_wait_batch,
    /// Lives with at most one batch in flight.
    lives_depth_1,
    /// Two.
    lives_depth_2,
    /// Three.
    lives_depth_3,
    /// Four.
    lives_depth_4,
    /// Five.
    lives_depth_5,
    /// Six.
    lives_depth_6,
    /// Seven.
    lives_depth_7,
    /// Eight.
    lives_depth_8,
    /// Lives with blocks of 512 bytes.
    lives_block_512,
    /// Lives with blocks of 1024 bytes.
    lives_block_1024,
    /// Lives with blocks of 4096 bytes.
    lives_block_4096,
    /// Lives in which several blocks are sealed together.
    lives_sealing_several,
    /// Lives with sectors of 4096 bytes.
    lives_sector_4096,
    /// Lives whose writer gathers.
    lives_gathering,
    /// Lives whose writer does not.
    lives_not_gathering,
    /// Lives on a disk whose writes are durable.
    lives_durable_writes,
    /// Lives on a disk that has to be flushed.
    lives_flushing,
    /// Lives whose log buffer is smaller than a log.
    lives_ring_below_log,
    /// Lives whose log buffer is as large as a log.
    lives_ring_of_log,
    /// Lives whose opening searched the whole log for damage.
    lives_whole_scan,
    /// Lives whose opening searched little of it.
    lives_bounded_scan,
    /// Lives that began before the wrap of a batch number's lower half.
    lives_before_batch_wrap,
    /// Batch numbers that outgrew their lower half.
    batch_number_wraps,
    /// Times that redo was archived and freed.
    archived,
    /// Power cuts or kills while it was recorded what is archived.
    cut_archiving,
    /// Lives in archive mode.
    lives_archiving,
    /// Recoveries of a log whose checkpoint was ahead of what was archived.
    recovered_before_archived,
    /// Files of several moments or of two copies, put together: refused.
    restores_refused,
    /// The same, read with nothing missing.
    restores_whole,
    /// Recoveries that were repeated after one more power cut and gave the same.
    recovered_twice,
}

counters! {
    /// What a history of a log with members reached beside what all reach.
    MemberCoverage:
    /// Lives of a mirror.
    lives_mirror,
    /// Lives of a race.
    lives_race,
    /// Lives of a mirror of races.
    lives_mirror_of_races,
    /// Lives that began with a member that is stale.
    lives_with_a_stale_member,
    /// Members that somebody asked to be given up.
    condemned,
    /// Times that members were marked stale while the log was in use.
    given_up,
    /// Power cuts or kills while the mark was made durable.
    cut_marking,
    /// Marks that failed.
    failed_marking,
    /// Checkpoints in which a member failed and was marked stale.
    marked_by_checkpoint,
    /// Openings without a member in sync.
    opened_without,
    /// Members that returned.
    returned,
    /// Openings that ended before the members were equal and marked.
    cut_assembling,
    /// Members that began to be copied while the log was in use.
    resilvered,
    /// Attempts to copy a member that came to nothing.
    resilvered_in_vain,
    /// Members that returned while the log was in use.
    returned_in_life,
    /// Of those, the ones that were given up again in the same life.
    given_up_again,
    /// Members that were condemned while operations of theirs take very long.
    stuck,
    /// Members that were to return while an operation of theirs had not returned.
    waited_for_own,
    /// Operations on control information that hung.
    hung,
    /// Of those, the ones without which the log went on.
    gone_without,
    /// Operations of copying that failed.
    failed_resilvering,
    /// Operations that made it durable that a member is in sync, and failed.
    failed_returning,
    /// Power cuts or kills while a piece was copied.
    cut_resilvering,
    /// Power cuts or kills while it was made durable that a member is in sync.
    cut_returning,
    /// Power cuts while a member was copied in part, or wholly and not in sync.
    cut_between_pieces,
    /// Power cuts after a member had returned in the same life.
    cut_after_return,
    /// Lives with a member whose operations take long.
    lives_with_a_slow_member,
    /// Power cuts while a member lacked what was acknowledged.
    cut_with_a_member_behind,
}

counters! {
    /// What a history of a log with a ring reached beside what all reach.
    RingCoverage:
    /// Lives in which everything is written to the ring.
    lives_ring,
    /// Lives in which the ring is written when the disk is late.
    lives_failover,
    /// Lives without the ring, of which nothing counts.
    lives_without_ring,
    /// Openings with the ring after one without.
    returned,
    /// Flushes that the ring completed before the disk did.
    acknowledged_by_ring,
    /// Log writes that went to the ring because the disk was late.
    hedged,
    /// Log writes for which the ring had no room.
    skipped_busy,
    /// Log writes that are larger than the ring.
    skipped_large,
    /// Lives with a disk whose operations take long.
    lives_with_a_slow_disk,
    /// Lives with a ring whose operations take long.
    lives_with_a_slow_ring,
    /// Rings that somebody asked to be given up.
    condemned,
    /// Lives whose ring failed, or was given up.
    lives_whose_ring_failed,
    /// Lives whose disk failed.
    lives_whose_disk_failed,
    /// Checkpoints that gave up a ring that had failed.
    spared,
    /// Openings that gave the disk something.
    openings_that_copied,
    /// Openings that ended before the log was open.
    cut_opening,
    /// Ends of a life whose disk lacked what was acknowledged.
    cut_with_the_disk_behind,
    /// Power cuts of disk and ring.
    cut_both,
    /// Power cuts of the disk alone.
    cut_disk_alone,
    /// Power cuts of the ring alone.
    cut_ring_alone,
}

impl AddAssign<CrashCoverage> for Coverage {
    fn add_assign(&mut self, cut: CrashCoverage) {
        self.power_cuts += cut.crashes;
        self.cut_with_write_in_flight += cut.with_write_in_flight;
        self.cut_with_flush_in_flight += cut.with_flush_in_flight;
        self.count_sectors(&cut);
    }
}

impl Coverage {
    /// Counts the shape of a life that begins.
    pub(super) fn count_plan(&mut self, plan: &Plan) {
        let depths = [
            &mut self.lives_depth_1,
            &mut self.lives_depth_2,
            &mut self.lives_depth_3,
            &mut self.lives_depth_4,
            &mut self.lives_depth_5,
            &mut self.lives_depth_6,
            &mut self.lives_depth_7,
            &mut self.lives_depth_8,
        ];
        let counter = depths.into_iter().nth(plan.policy.depth as usize - 1);
        *counter.expect("depths are 1 to 8") += 1;
        let g = &plan.geometry;
        let whole_scan = plan.damage_scan == DamageScan::Whole;
        for (counter, holds) in [
            (&mut self.lives_block_512, g.block_bytes == 512),
            (&mut self.lives_block_1024, g.block_bytes == 1024),
            (&mut self.lives_block_4096, g.block_bytes == 4096),
            (&mut self.lives_sealing_several, g.seal_blocks > 1),
            (&mut self.lives_sector_4096, plan.sector_bytes == 4096),
            (&mut self.lives_archiving, plan.archive),
            (&mut self.lives_whole_scan, whole_scan),
            (&mut self.lives_bounded_scan, !whole_scan),
            (&mut self.lives_gathering, plan.policy.gather),
            (&mut self.lives_not_gathering, !plan.policy.gather),
            (
                &mut self.lives_deferring,
                plan.policy.defer_bytes > 0 && !plan.durable_writes,
            ),
            (&mut self.lives_durable_writes, plan.durable_writes),
            (&mut self.lives_flushing, !plan.durable_writes),
            (
                &mut self.lives_ring_below_log,
                plan.ring_blocks < g.blocks_per_group,
            ),
            (
                &mut self.lives_ring_of_log,
                plan.ring_blocks == g.blocks_per_group,
            ),
        ] {
            *counter += u64::from(holds);
        }
    }

    /// Counts what a cut did to the sectors of one more disk.
    pub(super) fn count_sectors(&mut self, cut: &CrashCoverage) {
        self.torn_mixed += cut.torn_mixed;
        self.torn_garbage += cut.torn_garbage;
        self.dropped_sectors += cut.dropped;
        self.outdated_sectors += cut.outdated;
        self.reordered += cut.reordered;
    }
}

impl MemberCoverage {
    /// Counts the shape of a life that begins.
    pub(super) fn count_life(&mut self, table: MemberTable) {
        let counter = match (table.count / table.cell, table.cell) {
            (_, 1) => &mut self.lives_mirror,
            (1, _) => &mut self.lives_race,
            _ => &mut self.lives_mirror_of_races,
        };
        *counter += 1;
        self.lives_with_a_stale_member += u64::from(table.stale != 0);
    }
}
