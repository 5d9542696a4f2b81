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
        "2024-03-14T10:00:00+01:00\nARC0 (PID:4150): Archived Log entry 77120 added for T-1.S-88409\n",
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
    (
        "strace: Process 21877 attached\nstrace: Process 21877 detached\n% time     seconds  usecs/call     calls    errors syscall\n------ ----------- ----------- --------- --------- ----------------\n 83.46    4.212044        1312      3210           fdatasync\n 12.11    0.611208          92      6611           epoll_wait\n",
        "strace -c",
    ),
    (
        " Summary of events:\n\n postgres (2187), 1234 events\n\n   syscall            calls  errors  total       min       avg       max       stddev\n                                     (msec)    (msec)    (msec)    (msec)        (%)\n   --------------- --------  ------ -------- --------- --------- ---------     ------\n   fdatasync            321      0  1312.1     0.1  4.1 9.1 2.1\n",
        "perf trace",
    ),
    (
        "              kB  reclen    write  rewrite    read    reread\n         1048576       4   812311   912311  1823112  1899912\n",
        "IOzone",
    ),
    (
        "[Read]\n  SEQ    1MiB (Q=  8, T= 1):  3412.1 MB/s [   3254.0 IOPS] <  2456.00 us>\n  RND    4KiB (Q=  1, T= 1):    61.2 MB/s [  14941.4 IOPS] <    66.70 us>\n",
        "CrystalDiskMark",
    ),
    (
        " 2:14:11am up 12 days, CPU load average: 0.10\n\nDEVICE    PATH/WORLD DQLEN WQLEN ACTV QUED %USD LOAD CMDS/s READS/s WRITES/s DAVG/cmd KAVG/cmd GAVG/cmd\nnaa.600 - 64 - 0 0 0 0.0 812 1 811 9.1 0.0 9.1\n",
        "esxtop",
    ),
    (
        "    Total                                                           \n  Seconds     AAS %This   EVENT              FIRST_SEEN\n--------- ------- ------- ------- ----\n     8120    12.1   44% | log file sync  2024\n",
        "ashtop",
    ),
    (
        "call     count       cpu    elapsed       disk      query    current        rows\n------- ------  -------- ---------- ---------- ---------- ----------  ----------\nParse        1      0.00       0.00\n\nElapsed times include waiting on following events:\n  Event waited on                             Times   Max. Wait  Total Waited\n  ----------------------------------------   Waited  ----------  ------------\n  log file sync                                 812        0.12          4.11\n",
        "tkprof",
    ),
    (
        "waiting for 1 second sample...\n#<--------CPU--------><----------Disks----------->\n#cpu sys inter  ctxsw KBRead  Reads KBWrit Writes\n   1   0 1 2 3 4 5 6\n",
        "collectl",
    ),
    (
        "top - 02:14:11 up 12 days,  3:11,  2 users,  load average: 1.10, 1.20, 1.30\nTasks: 812 total\n%Cpu(s):  1.1 us\n",
        "top",
    ),
    (
        "               total        used        free      shared  buff/cache   available\nMem:        65536000    12310000     1231000      123100    51990000    52000000\n",
        "free",
    ),
    (
        "[    1.234567] Linux version 5.14.0\n[    2.234567] sd 0:0:0:0: [sda] Attached SCSI disk\n[ 812.1234567] blk_update_request: I/O error, dev sdb, sector 812\n",
        "dmesg",
    ),
    (
        "-- Logs begin at Mon 2024-03-04 02:14:11 CET. --\nMar 04 02:14:11 db07 systemd[1]: Started Session 812.\nMar 04 02:14:12 db07 kernel: x\n",
        "journalctl",
    ),
    (
        "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{\"instance\":\"x\"},\"values\":[[1709514851,\"0.0051\"]]}]}}\n",
        "Prometheus",
    ),
    (
        "\"Time\",\"p99 wal fsync\"\n2024-03-04 02:14:11,0.0051\n2024-03-04 02:14:26,0.0052\n",
        "Grafana",
    ),
    (
        "oratop: Release 15.0.0 Production on Mon Mar 4\nORCL 02:14:11 up 12d\nID %CPU LOAD %DCU   AAS  ASC  ASI  ASW\n 1 12.1 1.1 3.2 1.1 0 0 0\n",
        "oratop",
    ),
    (
        "Author  :\t Dominic Giles\nVersion :\t 2.7\n\nResults will be written to results.xml\nTime\tUsers\tTPM\tTPS\n02:14:11 [16/16] 81200 1350\n",
        "Swingbench",
    ),
    (
        "NOTIFY : 2024.03.04-02:14:11 :\nUPDATE_PCT: 25\nRUN_TIME: 300\nWORK_LOOP: 0\nSCALE: 80M (10240 blocks)\n",
        "SLOB",
    ),
    (
        "     http_req_duration..............: avg=12.1ms min=1ms med=9ms max=812ms p(90)=31ms p(95)=44ms\n",
        "k6",
    ),
    (
        "RocksDB:    version 8.1\nDate:       Mon Mar  4\nfillsync     :     812.123 micros/op 1231 ops/sec 8.1 seconds 10000 operations;    0.1 MB/s\n",
        "RocksDB",
    ),
    (
        "ALL STATS\n============\nType         Ops/sec     Hits/sec   Misses/sec    Avg. Latency     p50 Latency\nSets 812.1 --- --- 1.1 0.9\n",
        "memtier",
    ),
    (
        "# 340ms user time, 20ms system time\n# Overall: 1.2k total, 23 unique, 12.1 QPS, 0.1x concurrency\n# Profile\n# Rank Query ID           Response time Calls\n",
        "pt-query-digest",
    ),
    (
        "# Percona Toolkit System Summary Report ######################\n        Date | 2024-03-04 02:14:11 UTC\n",
        "Percona",
    ),
    (
        "4 KiB <<< /data (xfs /dev/sdb1 100 GiB): request=1 time=812.1 us (warmup)\n4 KiB <<< /data (xfs /dev/sdb1 100 GiB): request=2 time=798.2 us\n",
        "ioping",
    ),
    (
        "[2026-08-02 05:12:14,881] INFO [LocalLog partition=a-4, dir=/d] Rolled new log segment at offset 9 in 4120 ms. (kafka.log.LocalLog)\n",
        "Kafka",
    ),
    (
        "kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs:Count=4\n",
        "Kafka",
    ),
    (
        "2026/03/19-12:00:00.118204 7f21 [db/db_impl/db_impl.cc:1204] ------- DUMPING STATS -------\n** DB Stats **\n",
        "RocksDB",
    ),
    (
        "2026/03/19-12:00:00.118204 7f21 Level-0 table #7: started\n2026/03/19-12:00:00.118300 7f21 Level-0 table #7: 812 bytes OK\n",
        "LevelDB",
    ),
    (
        "timestamp fdatasync\nstart\n02:14:11 fdatasync(5) = 0 <0.004211>\n02:14:12 fdatasync(5) = 0 <0.004011>\n",
        "count,elapsed",
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
