//! Files that only look like evidence: each is refused by its name, and says what to import
//! instead.

use crate::import_in;

const REFUSED: &[(&str, &str)] = &[
    (
        "Trace file x.trc\nYashanDB Server Enterprise Edition 23.2\nWAIT #1: nam='log file sync' ela= 5\n",
        "YashanDB",
    ),
    (
        "1\tentry DB2 UDB base sys utilities sqleParse fnc (1.3.5)\n\tpid 1 tid 1\n",
        "Db2",
    ),
    (
        "2024-03-14 10:00:00.1 CET,\"a\",\"b\",1,\"\",65f,1,\"COMMIT\",LOG,00000,\"duration: 12 ms\",,\n",
        "PostgreSQL",
    ),
    (
        "# Time: 2022-10-10\n# Query_time: 2.0  Lock_time: 0.0\nSELECT 1;\n",
        "MySQL",
    ),
    (
        "ASH Report For PAY/pay1\n\nTop User Events\nlog file sync  Commit  44.1\n",
        "an ASH report",
    ),
    (
        "          ADDM Report for Task 'TASK_44'\nlog file sync\n",
        "an ADDM report",
    ),
    (
        "WORKLOAD REPOSITORY SQL Report\n\nElapsed:  15.00 (mins)\nSQL Summary\n",
        "awrsqrpt",
    ),
    (
        "WORKLOAD REPOSITORY COMPARE PERIOD REPORT\n\nTop Timed Events\n",
        "awrddrpt",
    ),
    (
        "WORKLOAD REPOSITORY REPORT (RAC)\n\nDatabase Summary\n",
        "awrgrpt",
    ),
    (
        "<html><head><title>AWR SQL Report for DB: X</title></head><table></table></html>",
        "awrsqrpt",
    ),
    (
        "<html><head><title>ASH Report - From 1 To 2</title><table></table></html>",
        "an ASH report",
    ),
    (
        "\nTKPROF: Release 19.0.0.0.0\n\nlog file sync  100  0.01  0.20\n",
        "tkprof",
    ),
    (
        "Vdbench distribution: vdbench50407\n10:00:01.000 Starting RD=rd1; I/O rate: Uncontrolled MAX\n",
        "vdbench",
    ),
    (
        "ORION VERSION 11.2.0.4.0\n\nMaximum Large MBPS=612.00 @ Small=0 and Large=2\n",
        "Orion",
    ),
    (
        "Total time run:         30.1\nBandwidth (MB/sec):     88.1\nAverage Latency(s):     0.72\n",
        "rados bench",
    ),
    (
        "Command Line: diskspd -c1G -b4K -w100 -Sh -L test.dat\n\nInput parameters:\n",
        "DiskSpd",
    ),
    (
        "Version  1.98       ------Sequential Output------ --Sequential Input-\n db1 16G  --Random Create--\n",
        "bonnie++",
    ),
    (
        "# hostname;interval;timestamp;DEV;tps;rkB/s\ndb1;600;2024-03-14 10:10:01 UTC;sda;3.1;0.1\n",
        "sadf",
    ),
    (
        "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB) copied, 2 s, 537 MB/s\n",
        "dd",
    ),
    (
        "zzz ***Thu Mar 14 10:00:01 CET 2024\navg-cpu:  %user\n",
        "grep -v ^zzz",
    ),
    (
        "\"(PDH-CSV 4.0)\",\"\\\\db1\\PhysicalDisk(0)\\Avg. Disk sec/Write\"\n",
        "PDH-CSV",
    ),
    (
        "10:00:01 fsync(5) = 0 <0.004211>\n10:00:01 pwrite64(5, ..., 512, 0) = 512 <0.000021>\n",
        "redolab watch",
    ),
    (
        "procs -----------memory----------\n r  b   swpd   free\n 1  0      0 812345\n",
        "vmstat",
    ),
    (
        "Linux 5.4 (db)  03/14/24\n\n10:00:01          DEV       tps     rkB/s\n10:10:01  sda 3.1 0.1\n",
        "sar",
    ),
    (
        "Linux 5.4 (db)  03/14/24\n\n10:00:01        CPU     %user     %nice\n10:10:01 all 2.1 0.0\n",
        "sar",
    ),
    (
        "AAA,progname,nmon_x86_64\nZZZZ,T0001,10:00:01\nDISKBUSY,T0001,0.1\n",
        "nmon",
    ),
    (
        "--total-cpu-usage-- -dsk/total-\nusr sys idl wai stl| read  writ\n",
        "dstat",
    ),
    (
        "                    extended device statistics\n    r/s    w/s   kr/s   kw/s  device\n 0.1 5.3 1.1 2.0 c0\n",
        "Solaris",
    ),
    (
        "Disks:           % tm_act     Kbps      tps    Kb_read   Kb_wrtn\nhdisk0  1.0  16.0  4.0 0 16\n",
        "AIX",
    ),
    ("3;fio-3.36;redo;0;0;0;0\n", "--output-format=json"),
    (
        "  Detailed Percentile spectrum:\n       Value   Percentile   TotalCount 1/(1-Percentile)\n",
        ".hlog",
    ),
    (
        "2024-03-14T10:00:00+01:00\nThread 1 advanced to log sequence 1234 (LGWR switch)\n",
        "alert log",
    ),
    (
        "PyLatencyMap by L.C. v1.2\nLatency bucket (millisec)  Frequency Heatmap: events per sec\n",
        "PyLatencyMap",
    ),
    (
        "[OVERALL], RunTime(ms), 10110\n[OVERALL], Throughput(ops/sec), 989.1\n",
        "YCSB",
    ),
    (
        "Linux 6.1 (db)\t01/02/25\n\n10:00:01      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n10:00:02 54321 911 0.00 812.00 0.00 3 ora_lgwr_a\n",
        "pidstat",
    ),
    (
        "              capacity     operations     bandwidth\npool        alloc   free   read  write   read  write\ntank        1.2T   2.4T      3    812  24K  9.1M\n",
        "zpool iostat",
    ),
    (
        "  #ts device    rd_s rd_avkb rd_mb_s rd_mrg rd_cnc   rd_rt    wr_s wr_avkb wr_mb_s wr_mrg wr_cnc   wr_rt\n  1.0 sda 0.0 0.0 0.0 0% 0.0 0.0 812.0 8.0 6.3 0% 0.4 0.5\n",
        "pt-diskstats",
    ),
    (
        "----total-usage---- -dsk/total- -net/total-\nusr sys idl wai stl| read  writ| recv  send\n",
        "pcp-dstat",
    ),
    (
        "System configuration: lcpu=8 drives=4 paths=4 vdisks=0\n\nhdisk0        xfer:  %tm_act      bps      tps      bread      bwrtn\n                       12.0   81.2K    9.0      0.0     81.2K\n",
        "AIX",
    ),
    (
        "                 extended device statistics\n    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n 0.1 91.3 1.1 812.0 0.0 0.1 0.0 0.9 0 7 c1t0d0\n",
        "Solaris",
    ),
    (
        "{\"sysstat\": {\"hosts\": [{\"nodename\": \"db\", \"statistics\": [{\"timestamp\": \"10:00:01\", \"cpu-load\": [{\"cpu\": \"all\", \"usr\": 1.0}]}]}]}}\n",
        "mpstat",
    ),
    (
        "{\"sysstat\": {\"hosts\": [{\"nodename\": \"db\", \"statistics\": [{\"timestamp\": \"10:00:01\", \"cifs\": [{\"filesystem\": \"//nas/x\", \"rkB/s\": 1.0}]}]}]}}\n",
        "cifsiostat",
    ),
    (
        "{\"sysstat\": {\"sysdata-version\": 2.19, \"hosts\": [{\"statistics\": [{\"disk\": [{\"disk-device\": \"sda\", \"tps\": 9.1}]}]}]}}\n",
        "sadf",
    ),
];

#[test]
fn what_looks_like_evidence_is_named() {
    for (text, word) in REFUSED {
        for text in [(*text).to_owned(), text.replace('\n', "\r\n")] {
            let refused = import_in(&[text.as_bytes()], 7, None);
            let refused = refused.expect_err(word).to_string();
            assert!(refused.contains(word), "{word}: {refused}");
            assert!(refused.starts_with("f0: this is "), "{refused}");
        }
    }
}

/// Words of other products and reports inside of evidence do not make it theirs.
#[test]
fn evidence_that_speaks_of_others_is_read() {
    for text in [
        "Oracle Database 19c Release 19.0.0.0.0\nWAIT #1: nam='log file sync' ela= 5 tim=7\n\
         PARSING IN CURSOR #1 len=9\nYashanDB vmstat % tm_act\nEND OF STMT\n",
        "WORKLOAD REPOSITORY report for\n\nADDM Report for Task 'x'\n\n\
         Event                          Waits     Time(s)\n\
         ------------------------ ----------- -----------\nlog file sync              3           1\n",
        "2024-03-14 10:00\nThread 1 advanced to log sequence 7 (LGWR switch)\n\
         Warning: log write elapsed time 780ms, size 4KB\n",
    ] {
        let read = import_in(&[text.as_bytes()], usize::MAX, None);
        assert!(read.is_ok(), "{:?}\n{text}", read.err());
    }
}

#[test]
fn packed_files_that_are_not_unpacked_are_named() {
    for (bytes, word) in [
        (
            &b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0\x2b"[..],
            "lzma",
        ),
        (b"\x04\x22\x4d\x18\x64\x40", "lz4"),
        (b"\x1f\x9d\x90ab", "compress"),
    ] {
        let refused = import_in(&[bytes], usize::MAX, None)
            .expect_err(word)
            .to_string();
        assert!(
            refused.contains(word) && refused.contains("unpack it"),
            "{refused}"
        );
        assert!(
            refused.len() < 200,
            "the list of kinds is not part of it: {refused}"
        );
    }
}
