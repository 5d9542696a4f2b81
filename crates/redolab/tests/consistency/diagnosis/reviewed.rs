//! Cases of a reviewer who had not seen the rules.

use super::cases::Case;

/// All of them.
pub const REVIEWED: &[Case] = &[
    // Write 264 s / 1.2 M = 0.22 ms; sync 3168 s / 4.8 M = 0.66 ms: three times the write, but far
    // under 1 ms, never a caution. Overhead 0.02 ms and 13 s of extra write time (0.01 ms a write)
    // are small; 4 log switch waits of 0.12 s in all are harmless.
    Case {
        name: "healthy system with 8000 commits a second",
        write: (1_200_000, 264.0),
        sync: (4_800_000, 3168.0),
        foreground: &[
            ("db file sequential read", 910_000, 410.0),
            ("SQL*Net message to client", 14_600_000, 14.0),
            ("buffer busy waits", 62_000, 9.5),
            ("log file switch completion", 4, 0.12),
        ],
        background: &[
            ("db file parallel write", 118_000, 71.0),
            ("control file parallel write", 260, 0.2),
            ("LGWR wait for redo copy", 31_000, 0.6),
        ],
        statistics: &[
            ("redo size", 2_892_000_000),
            ("redo wastage", 300_000_000),
            ("redo writes", 1_200_400),
            ("redo blocks written", 6_435_484),
            ("redo write time", 27_700),
            ("user commits", 4_820_000),
            ("user rollbacks", 1_900),
            ("redo synch writes", 4_805_000),
            ("redo synch time (usec)", 3_168_000_000),
            ("redo synch time overhead (usec)", 96_100_000),
        ],
        idle_pct: 38.0,
        key: &[],
    },
    // Write 0.6 ms, sync 4800 s / 240 k = 20 ms, excess 20 - 1.2 = 18.8 ms; remote write 372 s / 60
    // k = 6.2 ms, a third of it. Even counted twice (12.4 ms) it leaves 6.4 ms, 34 %, unexplained;
    // scn ack 0.03 ms, log buffer space 0.09 s: harmless.
    Case {
        name: "synchronous standby explains a third of the commit time",
        write: (60_000, 36.0),
        sync: (240_000, 4800.0),
        foreground: &[
            ("db file sequential read", 330_000, 231.0),
            ("gc current block 2-way", 145_000, 38.0),
            ("enq: TX - row lock contention", 420, 29.0),
            ("log buffer space", 12, 0.09),
        ],
        background: &[
            ("SYNC Remote Write", 60_000, 372.0),
            ("Redo Writer Remote Sync Notify", 60_000, 1.1),
            ("wait for scn ack", 57_500, 1.7),
            ("db file parallel write", 24_000, 13.0),
            ("control file parallel write", 610, 0.7),
        ],
        statistics: &[
            ("redo size", 960_000_000),
            ("redo wastage", 15_000_000),
            ("redo writes", 60_050),
            ("redo blocks written", 1_965_726),
            ("redo write time", 3_900),
            ("user commits", 241_300),
            ("user rollbacks", 850),
            ("redo synch writes", 240_400),
            ("redo synch time (usec)", 4_800_000_000),
            ("redo synch time overhead (usec)", 10_800_000),
        ],
        idle_pct: 71.0,
        key: &["diagnosis.commit_wait", "diagnosis.remote_write"],
    },
    // Write 1 ms, sync 1350 s / 150 k = 9 ms, excess 9 - 2 = 7 ms; overhead 540 s / 150 k = 3.6 ms
    // (51 %) is the wake-up. Redo write time 176 s - 40 s = 136 s / 40 k = 3.4 ms (49 %) is LGWR
    // waiting for CPU; nothing remains; host 97 % busy.
    Case {
        name: "starved host delays both the log writer and the woken sessions",
        write: (40_000, 40.0),
        sync: (150_000, 1350.0),
        foreground: &[
            ("resmgr:cpu quantum", 52_000, 3900.0),
            ("latch: cache buffers chains", 18_400, 210.0),
            ("db file sequential read", 96_000, 175.0),
            ("cursor: pin S", 7_300, 88.0),
        ],
        background: &[
            ("db file parallel write", 21_000, 34.0),
            ("LGWR wait for redo copy", 2_100, 0.9),
            ("control file parallel write", 240, 0.6),
            ("latch free", 310, 2.2),
        ],
        statistics: &[
            ("redo size", 520_000_000),
            ("redo wastage", 10_200_000),
            ("redo writes", 40_020),
            ("redo blocks written", 1_068_952),
            ("redo write time", 17_600),
            ("user commits", 152_000),
            ("user rollbacks", 1_100),
            ("redo synch writes", 150_200),
            ("redo synch time (usec)", 1_350_000_000),
            ("redo synch time overhead (usec)", 540_720_000),
        ],
        idle_pct: 3.0,
        key: &[
            "diagnosis.log_writer_cpu",
            "diagnosis.processors",
            "diagnosis.wake_up",
        ],
    },
    // Write 450 s / 15 k = 30 ms of 1 MB each: bad. Sync 1200 s / 30 k = 40 ms, 1.33 times the
    // write: no excess, no commit_wait. Log buffer space 1900 s against 1200 s of sync: reported;
    // extra redo write time 5 s (0.3 ms) and overhead 0.06 ms are not.
    Case {
        name: "bulk load on a slow device fills the log buffer",
        write: (15_000, 450.0),
        sync: (30_000, 1200.0),
        foreground: &[
            ("log buffer space", 9_000, 1900.0),
            ("db file sequential read", 410_000, 1640.0),
            ("direct path read", 22_000, 190.0),
            ("enq: HW - contention", 640, 14.0),
        ],
        background: &[
            ("db file parallel write", 36_000, 520.0),
            ("Log archiver I/O", 15_200, 230.0),
            ("log file sequential read", 15_400, 160.0),
            ("control file parallel write", 330, 8.0),
        ],
        statistics: &[
            ("redo size", 15_300_000_000),
            ("redo wastage", 3_800_000),
            ("redo writes", 15_010),
            ("redo blocks written", 30_854_435),
            ("redo write time", 45_500),
            ("redo buffer allocation retries", 9_050),
            ("redo log space requests", 0),
            ("user commits", 30_400),
            ("user rollbacks", 35),
            ("redo synch writes", 30_050),
            ("redo synch time (usec)", 1_200_000_000),
            ("redo synch time overhead (usec)", 1_800_000),
        ],
        idle_pct: 57.0,
        key: &["diagnosis.log_buffer", "latency.write_mean"],
    },
    // Write 2 ms, sync 2200 s / 110 k = 20 ms, excess 20 - 4 = 16 ms; ordering 320 s / 40 k = 8 ms,
    // scn ack 300 s / 40 k = 7.5 ms. The two explain 15.5 of 16 ms, so no commit_wait; 2700 log
    // file switch waits cost the sessions 805 s more.
    Case {
        name: "RAC with worker groups, broadcast and small log files",
        write: (40_000, 80.0),
        sync: (110_000, 2200.0),
        foreground: &[
            ("log file switch (checkpoint incomplete)", 2_400, 760.0),
            ("log file switch completion", 300, 45.0),
            ("gc cr block busy", 28_000, 140.0),
            ("gc current block 2-way", 190_000, 76.0),
            ("db file sequential read", 205_000, 310.0),
        ],
        background: &[
            ("LGWR worker group ordering", 38_800, 320.0),
            ("wait for scn ack", 39_500, 300.0),
            ("LGWR any worker group", 1_400, 0.8),
            ("db file parallel write", 44_000, 132.0),
            ("control file parallel write", 1_250, 3.1),
        ],
        statistics: &[
            ("redo size", 1_650_000_000),
            ("redo wastage", 10_100_000),
            ("redo writes", 40_030),
            ("redo blocks written", 3_346_976),
            ("redo write time", 8_400),
            ("redo log space requests", 2_690),
            ("user commits", 111_000),
            ("user rollbacks", 600),
            ("redo synch writes", 110_300),
            ("redo synch time (usec)", 2_200_000_000),
            ("redo synch time overhead (usec)", 6_600_000),
        ],
        idle_pct: 52.0,
        key: &[
            "diagnosis.broadcast",
            "diagnosis.log_switches",
            "diagnosis.worker_ordering",
        ],
    },
];
