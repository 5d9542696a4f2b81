//! Monitors and logs of a machine or a database that are not read.

use super::{IOSTAT, LOG, Tool};

const BESIDE: &str = "keep it beside the evidence, and import `iostat -x` of the same time";

pub(super) const MONITORS: &[Tool] = &[
    (
        "a summary of system calls (strace -c), whose times are of the processor and not elapsed, unless -w was given",
        "time each call with `strace -f -T -e trace=fdatasync,fsync`, or with `redolab watch`",
        &[
            &["% time", "usecs/call", "syscall"],
            &["% time", "usecs/call", "calls"],
        ],
    ),
    (
        "a summary of system calls (perf trace -s), which has no single times",
        "time each call with `strace -f -T -e trace=fdatasync,fsync`, or with `redolab watch`",
        &[
            &["Summary of events:", "syscall", "stddev"],
            &["syscall", "calls", "stddev", "(msec)"],
        ],
    ),
    (
        "system calls as perf trace prints them",
        "watch the same writes with `redolab watch`, which counts and times them in the kernel",
        &[&[" ms): ", "sync(fd"], &[" ms): ", "write64(fd"]],
    ),
    (
        "a part of a profile of tkprof, which has sums only",
        "import the trace that it was made of",
        &[
            &["Event waited on", "Max. Wait"],
            &["call     count       cpu", "elapsed"],
        ],
    ),
    (
        "a profile of samples of ASH (ashtop, Snapper), which contain no latency",
        "make an AWR report of the same time with awrrpt.sql",
        &[
            &["AAS", "%This"],
            &["ActSes", "%Thread"],
            &["SAMPLE_TIME", "TIME_WAITED"],
        ],
    ),
    (
        "output of oratop",
        LOG,
        &[&["oratop: Release"], &["%CPU", "%DCU", "AAS"]],
    ),
    (
        "output of pt-query-digest",
        LOG,
        &[
            &["# Overall: ", " unique"],
            &["# Profile", "# Rank Query ID"],
        ],
    ),
    (
        "output of the Percona Toolkit",
        LOG,
        &[&["# Percona Toolkit"], &["pt-ioprofile"]],
    ),
    ("output of pgBadger", LOG, &[&["pgBadger"]]),
    (
        "a plan of EXPLAIN ANALYZE",
        LOG,
        &[&["Planning Time:", "Execution Time:"]],
    ),
    (
        "output of mongostat",
        LOG,
        &[&["insert query update delete getmore"]],
    ),
    (
        "output of top",
        IOSTAT,
        &[&["top - ", "load average"], &["Tasks:", "Cpu(s)"]],
    ),
    (
        "output of iotop",
        IOSTAT,
        &[&["Total DISK READ"], &["DISK READ", "DISK WRITE", "SWAPIN"]],
    ),
    (
        "output of free",
        IOSTAT,
        &[&["used        free", "Mem:"], &["used       free", "Mem:"]],
    ),
    (
        "output of vmstat",
        IOSTAT,
        &[
            &["disk- ---"],
            &["kthr ", " page "],
            &["swpd", "buff", "cache"],
        ],
    ),
    (
        "output of nmon",
        IOSTAT,
        &[&["ZZZZ,T0"], &["DISKBUSY,"], &["DISKWRITE,"]],
    ),
    (
        "output of atop",
        IOSTAT,
        &[&["DSK |", "avio"], &["DSK|", "avio"]],
    ),
    (
        "output of collectl",
        IOSTAT,
        &[&["waiting for 1 second sample"], &["[DSK:"]],
    ),
    (
        "output of esxtop, whose latencies are of the host's adapters and volumes",
        "import `iostat -x` of the guest of the same time",
        &[&["DAVG/"], &["GAVG/"]],
    ),
    (
        "output of btt (blktrace), in seconds",
        "D2C is the time of the device and its path, Q2C the whole: where D2C has nearly all of it, the device or \
         the path is slow and not the queue of the host; import `iostat -x` of the same time",
        &[&["Q2C", "D2C"], &["Q2Q", "D2C"]],
    ),
    (
        "output of df, lsblk or mount",
        BESIDE,
        &[
            &["Filesystem", "1K-blocks"],
            &["Mounted on", "Use%"],
            &["MAJ:MIN"],
        ],
    ),
    (
        "messages of the kernel (dmesg)",
        BESIDE,
        &[
            &["I/O error, dev "],
            &["blk_update_request"],
            &["EXT4-fs ("],
            &["XFS ("],
            &["nvme nvme"],
            &["Attached SCSI disk"],
            &["] Linux version "],
        ],
    ),
    (
        "a journal of the system (journalctl, syslog)",
        BESIDE,
        &[
            &["-- Logs begin at"],
            &["-- Journal begins at"],
            &["-- Boot "],
            &[" systemd[1]: "],
            &[" kernel: "],
        ],
    ),
    (
        "an answer of Prometheus as JSON",
        "import the text of the exporter (`curl .../metrics`) twice: the difference is what happened between",
        &[&["\"resultType\""], &["\"status\":\"success\"", "\"data\""]],
    ),
    (
        "a table of Grafana as CSV, whose figures are of queries that are not in it",
        "import the text of the exporter (`curl .../metrics`) twice: the difference is what happened between",
        &[
            &["Series;Time;Value"],
            &["\"Series\";\"Time\""],
            &["\"Time\",\""],
            &["\"Series\",\"Time\""],
        ],
    ),
    (
        "a log of ZooKeeper, which has only the syncs over its threshold",
        "measure the disk of its log with redolab check, or import `iostat -x` of the same time",
        &[&["fsync-ing the write ahead log"]],
    ),
    (
        "a log or a flush metric of a Kafka broker, which holds no log of a database",
        "import `iostat -x` of the disk of its log.dirs at the same time, and compare it with when segments rolled \
         slowly; a percentile of few flushes (Count) is no more than the longest of them",
        &[
            &["kafka.log:type=LogFlushStats"],
            &["kafka_log_logflushstats"],
            &["(kafka.log."],
            &["(kafka.server."],
        ],
    ),
    (
        "a LOG of RocksDB",
        "its `rocksdb.wal.file.sync.micros` are the syncs of its log, and `Cumulative stall` with `level-0 files` is \
         compaction and no disk of the log: import `iostat -x` of that disk at the same time",
        &[
            &["rocksdb.wal."],
            &["** DB Stats **"],
            &["[db/db_impl/"],
            &["RocksDB version:"],
        ],
    ),
    (
        "a LOG of LevelDB, which has compactions and no times of its log",
        "import `iostat -x` of its disk at the same time",
        &[
            &["Level-0 table #", "Compact"],
            &["Level-0 table #", ": started"],
        ],
    ),
    (
        "a log of Redis, which has only what took too long",
        "measure the disk of its file with redolab check, or import `iostat -x` of the same time",
        &[&["AOF fsync is taking too long"]],
    ),
    (
        "Ceph's perf dump",
        "run fio with --ioengine=rbd --fdatasync=1 --output-format=json+",
        &[&["kv_sync_lat"], &["kv_flush_lat"], &["\"bluefs\": {"]],
    ),
    (
        "a summary by file of performance_schema, in picoseconds since the server's start",
        "see redolab watch, or import SHOW ENGINE INNODB STATUS with SHOW GLOBAL STATUS",
        &[
            &["SUM_TIMER_WAIT"],
            &["SUM_TIMER_MISC"],
            &["sum_timer_wait"],
        ],
    ),
    (
        "a log of MongoDB",
        "measure the disk of its journal with redolab check, or import `iostat -x` of the same time",
        &[&["{\"t\":{\"$date\"", "\"ctx\":"]],
    ),
    (
        "a log of Cassandra",
        "its lines `Out of N commit log syncs ... average duration` are means of five minutes, and those that exceeded \
         the commit interval are stalls of the disk of the commit log: put it on a device apart from data and \
         compaction, and import `iostat -x` of that disk at the same time",
        &[&["commit log syncs over", "average duration of"]],
    ),
    (
        "a log of etcd without a slow sync of its own",
        "`apply request took too long` is of requests, most of them large reads: their size and number are in the line; \
         import its metrics for the disk (etcd_disk_wal_fsync_duration_seconds)",
        &[
            &["apply request took too long"],
            &["took too long (", "to execute"],
        ],
    ),
    (
        "a run of pgbench that failed",
        "it has no figure of its own (not 0 tps): repeat it; where it says `too many clients`, raise max_connections",
        &[&["pgbench: error: "], &["pgbench: fatal: "]],
    ),
    (
        "a snapshot of Db2",
        "its log write time over its number of log write I/Os is the mean of one write (LOG_WRITE_TIME is in ms, \
         `Log write time (sec.ns)` in s): judge that, and measure the disk of its logs with redolab check, or import \
         `iostat -x` of the same time",
        &[
            &["Number write log IOs"],
            &["Log write time (sec.ns)"],
            &["NUM_LOG_WRITE_IO"],
        ],
    ),
];
