//! What imported evidence shows of the log writer.

use super::CatalogueEntry;
use crate::thresholds::RuleBasis::{Opinion, Standard};
use measure::judgement::Confidence::{High, Medium};

/// The rule of two log writes.
const GROUP: &str = "a commit waits for the rest of the log write in flight and then for its own: up to 2 log writes";
const REFERENCE: &str = "Oracle Database Reference, wait events and statistics of these names";

entries! {
    DIAGNOSIS_DB_TIME = CatalogueEntry::new("diagnosis.db_time", High,
        "What commits have of DB time, which is the most that a faster log can give back.")
        .limit("share of DB time", &["db_time_small_pct"])
        .advice("Look at the events that lead the report before the log.");
    DIAGNOSIS_STORAGE = CatalogueEntry::new("diagnosis.storage", Medium,
        "Log writes, or devices, are slow: whether storage as a whole is, or one device alone.")
        .limit("mean of log writes and of other waits for files; mean write or flush of each device, all within a factor of 2", &["write_mean_fair_ms"])
        .advice("Look at what the slow files share, and what the quick ones do not.");
    DIAGNOSIS_INSTANCES = CatalogueEntry::new("diagnosis.instances", Medium,
        "Instances of one database whose log writes or commits are slow while those of others are quick.")
        .limit("mean of log writes or of commits", &["write_mean_fair_ms"])
        .rule("three times the mean of the quickest instance", "storage that all share is slow for all")
        .rests_on(Opinion)
        .advice("Compare the instances: run queue and log writer of the node, its paths to the redo logs, and where its own redo logs are; then trace the log writer of the slow one.");
    DIAGNOSIS_STANDBY = CatalogueEntry::new("diagnosis.standby", High,
        "What a synchronous standby adds to each log write: bounds, and a value where both have histograms.")
        .rule("max(0, R - L) to R for means R of the standby and L of the log write; E[max(L, R)] - E[L] if they are independent", "the log writer waits for both at the same time")
        .advice("Compare what it adds with what the standby protects from; stalls that both share make the value of independent times too high.");
    DIAGNOSIS_COMMIT_WAIT = CatalogueEntry::new("diagnosis.commit_wait", Medium,
        "What log file sync consists of: group commit, named causes, and what is unexplained.")
        .rule("log file sync up to 2.2 times log file parallel write is group commit by itself", GROUP)
        .rests_on(Opinion)
        .advice("Look at run queues and at the log writer's priority at that time, and trace the log writer and one session.");
    DIAGNOSIS_GROUP_COMMIT = CatalogueEntry::new("diagnosis.group_commit", High,
        "Commits per log write.")
        .rule("user commits / redo writes", "group-commit factor: commits per log write");
    DIAGNOSIS_REMOTE_WRITE = CatalogueEntry::new("diagnosis.remote_write", Medium,
        "Commits wait for a standby.")
        .rule("20 % of what group commit does not explain", REFERENCE)
        .rests_on(Opinion)
        .advice("Check the network and the standby's redo device; ASYNC or FASTSYNC transport shortens commits and changes what they survive.");
    DIAGNOSIS_WORKER_ORDERING = CatalogueEntry::new("diagnosis.worker_ordering", Medium,
        "Log writer workers wait for each other.")
        .rule("20 % of what group commit does not explain", REFERENCE)
        .rests_on(Opinion)
        .advice("Compare with one log writer (_use_single_log_writer), with Oracle's support.");
    DIAGNOSIS_BROADCAST = CatalogueEntry::new("diagnosis.broadcast", Medium,
        "The log writer waits for the other instances of the cluster at each commit.")
        .rule("20 % of what group commit does not explain", REFERENCE)
        .rests_on(Opinion)
        .advice("Check the interconnect and the priority of LMS on the other instances.");
    DIAGNOSIS_LOG_WRITER_CPU = CatalogueEntry::new("diagnosis.log_writer_cpu", Medium,
        "The log writer needs much time of its own beside its waits for I/O.")
        .rule("redo write time minus log file parallel write, 20 % of what group commit does not explain", REFERENCE)
        .rests_on(Opinion)
        .advice("Check run queues, the log writer's priority, and the number of redo strands.");
    DIAGNOSIS_WAKE_UP = CatalogueEntry::new("diagnosis.wake_up", Medium,
        "Sessions notice late that their commit is done.")
        .rule("redo synch time overhead, 20 % of what group commit does not explain", REFERENCE)
        .rests_on(Opinion)
        .advice("Check run queues and adaptive log file sync (_use_adaptive_log_file_sync): polling sessions wake up late.");
    DIAGNOSIS_PROCESSORS = CatalogueEntry::new("diagnosis.processors", High,
        "The processors were so busy that waits include the wait for a processor.")
        .limit("processors busy", &["cpu_busy_pct"])
        .advice("Relieve the processors before judging the device: a log writer without one looks like slow I/O.");
    DIAGNOSIS_LOG_SWITCHES = CatalogueEntry::new("diagnosis.log_switches", High,
        "Sessions waited for log switches.")
        .rule("2 % of the time of log file sync", REFERENCE)
        .rests_on(Opinion)
        .advice("Checkpoint incomplete: larger log files or a faster database writer. Archiving needed: a faster archive destination or more log groups.");
    DIAGNOSIS_LOG_BUFFER = CatalogueEntry::new("diagnosis.log_buffer", High,
        "Sessions waited for room in the log buffer.")
        .rule("2 % of the time of log file sync", REFERENCE)
        .rests_on(Opinion)
        .advice("The log writer does not keep up. Where log file parallel write is slow, look at the device; where it is quick, look at processors and at bursts, and enlarge the log buffer.");
    DIAGNOSIS_OUTLIERS = CatalogueEntry::new("diagnosis.outliers", High,
        "Single log writes that were reported because they took long: number, sum, longest.")
        .rule("any", "Oracle V$LGWRIO_OUTLIER and warnings of the log writer, over 500 ms")
        .rests_on(Standard)
        .advice("Compare their times with what else used the device then.");
    DIAGNOSIS_TAIL = CatalogueEntry::new("diagnosis.tail", High,
        "Slow waits for the log in a histogram, which a mean hides: the share over 16 ms, and single waits over 500 ms.")
        .limit("share over 16 ms", &["slow_share_pct"])
        .advice("Look for what used the device or stopped the log writer at those moments: redolab watch on a running database, or a trace of the log writer.");
    DIAGNOSIS_SLOW_SYNCS = CatalogueEntry::new("diagnosis.slow_syncs", High,
        "Syncs of a log are slow: fio, PostgreSQL, SQL Server, etcd and others, by mean, 99th percentile and the longest.")
        .limit("mean; 99th percentile; etcd's own", &["write_mean_fair_ms", "tail_p999_ms", "etcd_wal_p99_ms", "etcd_commit_p99_ms"])
        .advice("Measure the device with redolab check, then find what else uses it.");
    DIAGNOSIS_MEANS_ALONE = CatalogueEntry::new("diagnosis.means_alone", High,
        "The evidence contains means of waits for the log and no histogram of them.")
        .rule("a mean hides rare long waits", REFERENCE)
        .advice("Add V$EVENT_HISTOGRAM_MICRO of log file sync and log file parallel write (redolab collect oracle), or a trace of the log writer.");
    DIAGNOSIS_SYNC_TESTS = CatalogueEntry::new("diagnosis.sync_tests", High,
        "A comparison of sync methods contradicts itself: two writes take less time than one.")
        .rule("two writes take at least 90 % of the time of one", "arithmetic of the figures themselves")
        .rests_on(Opinion)
        .advice("Choose no method from these figures: repeat the test for longer (pg_test_fsync -s 30) on a quiet machine, or run redolab probe.");
    DIAGNOSIS_NO_FLUSH = CatalogueEntry::new("diagnosis.no_flush", Medium,
        "Syncs that reach no medium: one method hundreds of times as fast as another, syncs faster than any device, or a log that was written and never synchronised.")
        .rule("a method 100 times as fast as another; a sync under flush_floor_us; writes without a sync", "arithmetic of the figures themselves")
        .rests_on(Opinion)
        .advice("Look at fsync, wal_sync_method and the mount options; redolab check shows whether the device's flushes are real.");
    DIAGNOSIS_LEVELS = CatalogueEntry::new("diagnosis.levels", Medium,
        "The rate of a run changed its level, so that its mean describes none of the levels.")
        .limit("levels apart", &["step_pct"])
        .advice("Look for burst credits, a full fast cache, a checkpoint or a throttle that began then; judge the last level as the sustained one.");
    DIAGNOSIS_STALLS = CatalogueEntry::new("diagnosis.stalls", High,
        "Intervals in which hardly anything ended, between others at the usual rate.")
        .rule("an interval with at most 5 % of the middle rate, of at least 6", "arithmetic of the figures themselves")
        .rests_on(Opinion)
        .advice("Find what stops everything at those moments: the log's device (redolab watch), a checkpoint, a lock.");
    DIAGNOSIS_WAL_BUFFERS = CatalogueEntry::new("diagnosis.wal_buffers", High,
        "Many writes of PostgreSQL's log were made because its buffers were full.")
        .rule("10 % of the writes", "PostgreSQL documentation, pg_stat_wal.wal_buffers_full")
        .rests_on(Opinion)
        .advice("Raise wal_buffers, such as to 64MB, and look at the time of the writes.");
    DIAGNOSIS_CHECKPOINT_AGE = CatalogueEntry::new("diagnosis.checkpoint_age", High,
        "How full InnoDB's redo log is: the age of its last checkpoint against the size of its files.")
        .limit("age in percent of the files", &["checkpoint_async_pct", "checkpoint_sync_pct"])
        .advice("Enlarge the redo log (innodb_redo_log_capacity, to MySQL 8.0.29 and in MariaDB innodb_log_file_size), so that it holds an hour of redo; then look at innodb_io_capacity.");
    DIAGNOSIS_PEAK_HOUR = CatalogueEntry::new("diagnosis.peak_hour", Medium,
        "Log writes, or commits, are slow at one or several hours of the day.")
        .rule("in a series: twice the middle on at least 3 days and half of the days of that hour; half of at least 10 slow writes in one hour on 2 days, or in hours with an eighth each on 3 days; or reports with 3 times the middle mean, at most a quarter of at least 6", "a mean over the whole time hides a job of one hour")
        .rests_on(Opinion)
        .advice("Find what runs at that hour on the device (backup, batch, archiving, snapshots), and move it or the redo.");
    DIAGNOSIS_CHANGE = CatalogueEntry::new("diagnosis.change", Medium,
        "A series of reports of one instance changed its level of log file sync or of log writes, and what changed with it; or it did not.")
        .rule("at least 3 reports on each side, levels at least 20 % apart, an interval of the difference (Hodges-Lehmann, 95 %) without zero", "redolab: changes of a level by penalised least squares (PELT)")
        .rests_on(Opinion)
        .advice("Ask what was changed at that time: a release, a volume, a snapshot schedule, a standby; and compare the reports around it.");
    DIAGNOSIS_LOG_DEVICE = CatalogueEntry::new("diagnosis.log_device", Medium,
        "How busy iostat shows the log's device: utilisation, queue, waits of writes.")
        .rule("the bands of log file parallel write", "iostat(1): %util is time with requests in flight; on SSDs 100 % is not saturation")
        .rests_on(Opinion)
        .advice("A slow device with a long queue is busy with something else; with a short queue it is slow itself.");
    DIAGNOSIS_CAP = CatalogueEntry::new("diagnosis.cap", Medium,
        "The rate of the log's device stays at a ceiling while writes wait longer.")
        .rule("30 % of at least 10 intervals within 2 % of the highest rate, and writes wait twice as long there", "a provisioned limit of IOPS or bandwidth cuts the rate and lengthens the queue")
        .rests_on(Opinion)
        .advice("Compare the rate with the provisioned limit of the volume and of the machine.");
    DIAGNOSIS_REDO = CatalogueEntry::new("diagnosis.redo", High,
        "Redo per commit, its rate, and the share of padding.")
        .rule("redo size, user commits, redo wastage", REFERENCE);
}
