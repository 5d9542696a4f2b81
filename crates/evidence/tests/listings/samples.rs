//! Reports and listings in full, of figures that fit each other. The tests of the consistency rules
//! (`crates/redolab/tests/consistency`) include this file.

/// AWR of 11.2 as text.
pub const AWR_TEXT: &str = "\
WORKLOAD REPOSITORY report for

DB Name         DB Id    Instance     Inst Num Startup Time    Release     RAC
------------ ----------- ------------ -------- --------------- ----------- ---
ORCL           123456789 orcl                1 01-Jan-13 10:00 11.2.0.3.0  NO

              Snap Id      Snap Time      Sessions Curs/Sess
            --------- ------------------- -------- ---------
Begin Snap:       100 01-Jan-13 11:00:00        65       1.7
  End Snap:       101 01-Jan-13 11:10:00        74       1.8
   Elapsed:               10.00 (mins)
   DB Time:                5.89 (mins)

Load Profile              Per Second    Per Transaction   Per Exec   Per Call
~~~~~~~~~~~~         ---------------    --------------- ---------- ----------
      DB Time(s):                0.6                0.1       0.00       0.03
       DB CPU(s):                0.3                0.1       0.00       0.02
       Redo size:        1,048,576.0            8,192.0
    Transactions:              128.0

Top 5 Timed Foreground Events
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                                           Avg
                                                          wait   % DB
Event                                 Waits     Time(s)   (ms)   time Wait Class
------------------------------ ------------ ----------- ------ ------ ----------
DB CPU                                              180          51.0
log file sync                        76,800         154      2   43.6 Commit
db file sequential read               1,412           2      2     .7 User I/O

Host CPU (CPUs:    8 Cores:    8 Sockets:    8)
~~~~~~~~         Load Average
               Begin       End     %User   %System      %WIO     %Idle
           --------- --------- --------- --------- --------- ---------
                0.24      0.20       2.6       0.9       0.2      96.5

Background Wait Events               DB/Inst: ORCL/orcl  Snaps: 100-101
-> ordered by wait time desc, waits desc (idle events last)

                                        %Time Total Wait    Avg   Waits   % bg
Event                             Waits -outs   Time (s)   wait    /txn   time
-------------------------- ------------ ----- ---------- ------ -------- ------
log file parallel write          70,001     0         63    .90ms     .9   61.2
a very long name of a background event
                                     17     0          0    .10ms     .0     .1

Wait Event Histogram                 DB/Inst: ORCL/orcl  Snaps: 100-101
                                                    % of Waits
                                 -----------------------------------------------
                           Total
Event                      Waits  <1ms  <2ms  <4ms  <8ms <16ms <32ms  <=1s   >1s
-------------------------- ----- ----- ----- ----- ----- ----- ----- ----- -----
log file parallel write    70.0K  95.0   3.0   1.0    .6    .3    .1
log file sync              76.8K  10.0  60.0  20.0   8.0   2.0    .0

IOStat by Function summary           DB/Inst: ORCL/orcl  Snaps: 100-101

                Reads:  Reqs   Data    Writes:  Reqs   Data    Waits:    Avg
Function Name   Data    per sec per sec Data    per sec per sec Count    Tm(ms)
--------------- ------- ------- ------- ------- ------- ------- ------- -------
LGWR                 0M     0.0      0M    615M   116.7  1.025M   70.0K     0.9
DBWR                 0M     0.0      0M    120M    20.1     .2M       0     N/A
          -------------------------------------------------------------

Instance Activity Stats              DB/Inst: ORCL/orcl  Snaps: 100-101

Statistic                                     Total     per Second     per Trans
-------------------------------- ------------------ -------------- -------------
redo size                               629,145,600    1,048,576.0       8,192.0
redo wastage                             14,000,000       23,333.3         182.3
redo writes                                  70,000          116.7           0.9
redo blocks written                       1,300,000        2,166.7          16.9
redo synch writes                            76,800          128.0           1.0
user commits                                 76,800          128.0           1.0
          -------------------------------------------------------------
End of Report
";

/// fio's JSON+ of one job with syncs.
pub const FIO: &str = "fio: a warning\n{\n \"fio version\" : \"fio-3.33\",\n \"jobs\" : [ {\n\
    \"jobname\" : \"log\", \"job options\" : { \"rw\" : \"write\", \"bs\" : \"4k\", \"fdatasync\" : \"1\" },\n\
    \"read\" : { \"total_ios\" : 0, \"clat_ns\" : { \"max\" : 0, \"N\" : 0 } },\n\
    \"write\" : { \"iops\" : 500.0, \"bw_bytes\" : 2097152, \"total_ios\" : 1000, \"runtime\" : 2000,\n\
      \"clat_ns\" : { \"min\" : 1000, \"max\" : 25000000, \"mean\" : 60000.5, \"stddev\" : 5.0, \"N\" : 1000,\n\
        \"percentile\" : { \"50.000000\" : 2000, \"99.900000\" : 21000000 },\n\
        \"bins\" : { \"2000\" : 990, \"2000000\" : 8, \"21000000\" : 2 } } },\n\
    \"sync\" : { \"total_ios\" : 1000, \"lat_ns\" : { \"min\" : 100000, \"max\" : 900000, \"mean\" : 400000.0,\n\
       \"stddev\" : 1.0, \"N\" : 1000, \"percentile\" : { \"99.000000\" : 800000 } } }\n } ] }\n";

/// Two slow log writes with every column.
pub const OUTLIERS: &str = "SQL> select * from v$lgwrio_outlier;\n\n\
    FUNCTION_NAME      IO_SIZE WAIT_EVENT                IO_LATENCY DISK1_NAME\n\
    --------------- ---------- ------------------------- ---------- ----------\n\
    LGWR                    16 log file parallel write          612 +DATA\n\
    LGWR                     4 log file parallel write          744 +DATA\n\n\
    2 rows selected.\n";
