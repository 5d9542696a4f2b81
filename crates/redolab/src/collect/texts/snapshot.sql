-- The reading "@MOMENT@". SNAP_ID is its time: redolab import subtracts the two readings.
SPOOL redo-@MOMENT@-histogram.lst
SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS') AS snap_id,
       inst_id, event, wait_time_milli, wait_count
  FROM gv$event_histogram
 WHERE event IN ('log file sync', 'log file parallel write', 'log file single write',
                 'log file switch completion', 'log file switch (checkpoint incomplete)',
                 'log file switch (archiving needed)',
                 'log file switch (private strand flush incomplete)', 'log buffer space',
                 'LGWR worker group idle', 'LGWR worker group ordering',
                 'LGWR any worker group', 'LGWR all worker groups', 'LGWR intra group sync',
                 'LGWR intra group IO completion', 'LGWR-LNS wait on channel',
                 'LNS wait on SENDREQ', 'SYNC Remote Write', 'Redo Transport Attach',
                 'target log write size', 'db file parallel write', 'control file parallel write',
                 'control file sequential read', 'Log archive I/O', 'log file sequential read')
 ORDER BY inst_id, event, wait_time_milli;
SPOOL OFF
-- From 12.1.0.2 on.
SPOOL redo-@MOMENT@-histogram-micro.lst
SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS') AS snap_id,
       inst_id, event, wait_time_micro, wait_count
  FROM gv$event_histogram_micro
 WHERE event IN ('log file sync', 'log file parallel write', 'log file single write',
                 'log buffer space', 'LGWR worker group ordering', 'LGWR any worker group',
                 'LGWR all worker groups', 'LGWR intra group sync', 'SYNC Remote Write',
                 'target log write size', 'db file parallel write', 'control file parallel write')
 ORDER BY inst_id, event, wait_time_micro;
SPOOL OFF
-- From 12.1 on: log writes of over 500 ms.
SPOOL redo-@MOMENT@-outliers.lst
SELECT inst_id, io_size, io_latency, wait_event, file_name FROM gv$lgwrio_outlier;
SPOOL OFF
SPOOL redo-@MOMENT@-statistics.lst
SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS') AS snap_id, inst_id, event, wait_class,
       total_waits, total_timeouts, time_waited_micro
  FROM gv$system_event
 WHERE wait_class IN ('Commit', 'System I/O', 'Configuration')
    OR event LIKE 'log %' OR event LIKE 'LGWR%' OR event LIKE 'target log%'
    OR event LIKE '%Remote Write'
 ORDER BY inst_id, event;
SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS') AS snap_id, inst_id, name, value
  FROM gv$sysstat
 WHERE name LIKE 'redo%' OR name LIKE 'messages %'
    OR name IN ('user commits', 'user rollbacks', 'user calls', 'transaction rollbacks',
                'commit wait performed', 'commit wait/nowait performed',
                'physical write total IO requests', 'physical write total bytes',
                'background checkpoints started', 'background checkpoints completed')
 ORDER BY inst_id, name;
SPOOL OFF
-- For people.
SPOOL redo-@MOMENT@-others.lst
SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS') AS snap_id, inst_id, name, gets, misses, sleeps,
       immediate_gets, immediate_misses, wait_time
  FROM gv$latch WHERE name LIKE 'redo%' ORDER BY inst_id, name;
SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS') AS snap_id, inst_id, stat_name, value AS total
  FROM gv$osstat ORDER BY inst_id, stat_name;
SPOOL OFF
