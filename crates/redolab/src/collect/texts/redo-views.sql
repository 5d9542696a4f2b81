-- redo-views.sql: redo, commits and log writes from v$ views, read twice with an interval.
--
-- Run:        sqlplus / as sysdba @redo-views.sql     (it ends by itself, after @INTERVAL@)
-- Licence:    none. It reads no view of AWR, ASH or ADDM (no Diagnostics Pack).
-- Privileges: SELECT_CATALOG_ROLE or SELECT ANY DICTIONARY. EXECUTE on DBMS_LOCK before 18c.
-- Load:       some 20 queries of memory, twice. It changes nothing in the database.
-- Writes:     redo-settings.lst, redo-begin-*.lst, redo-end-*.lst, into the current directory.
-- Import:     redolab import DIRECTORY
-- Not verified against an Oracle server. Views and columns that a version does not have give
-- ORA-00942 or ORA-00904 in the listing; the script continues.

WHENEVER SQLERROR CONTINUE
WHENEVER OSERROR EXIT FAILURE
SET DEFINE OFF
SET ECHO OFF
SET FEEDBACK OFF
SET VERIFY OFF
SET TIMING OFF
SET HEADING ON
SET HEADSEP OFF
SET UNDERLINE '-'
SET COLSEP ' '
SET RECSEP OFF
SET NEWPAGE 1
SET PAGESIZE 50000
SET LINESIZE 400
SET WRAP ON
SET TRIMSPOOL ON
SET TRIMOUT ON
SET TAB OFF
SET NUMWIDTH 20
SET NULL ''

ALTER SESSION SET NLS_NUMERIC_CHARACTERS = '.,';
ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD"T"HH24:MI:SS';

COLUMN snap_id FORMAT A19
COLUMN inst_id FORMAT 9999999
COLUMN event FORMAT A64
COLUMN wait_class FORMAT A20
COLUMN wait_event FORMAT A64
COLUMN name FORMAT A64
COLUMN db_name FORMAT A30
COLUMN value FORMAT A100
COLUMN statistic FORMAT A64
COLUMN stat_name FORMAT A64
COLUMN member FORMAT A120
COLUMN file_name FORMAT A120
COLUMN host_name FORMAT A64
COLUMN instance_name FORMAT A30
COLUMN platform_name FORMAT A60
COLUMN wait_time_milli FORMAT 99999999999999
COLUMN wait_time_micro FORMAT 99999999999999
COLUMN wait_count FORMAT 9999999999999999
COLUMN total FORMAT 99999999999999999999

-- What it is: once.
SPOOL redo-settings.lst
SELECT inst_id, instance_name, host_name, version, startup_time, status FROM gv$instance;
SELECT inst_id, name AS db_name, log_mode, force_logging, protection_mode, platform_name
  FROM gv$database;
SELECT inst_id, name, value, isdefault FROM gv$parameter
 WHERE name IN ('log_buffer', 'commit_wait', 'commit_logging', 'commit_write',
                'log_checkpoint_interval', 'log_checkpoint_timeout', 'fast_start_mttr_target',
                'archive_lag_target', 'log_archive_config', 'disk_asynch_io',
                'filesystemio_options', 'db_writer_processes', 'dbwr_io_slaves', 'cpu_count',
                'db_block_checksum', 'db_lost_write_protect', 'db_block_size',
                'resource_manager_plan', 'lock_sga', 'use_large_pages',
                'timed_statistics', 'statistics_level', 'max_dump_file_size',
                '_use_adaptive_log_file_sync', '_use_single_log_writer',
                '_max_outstanding_log_writes', '_log_parallelism_max')
    OR (name LIKE 'log_archive_dest_%' AND value IS NOT NULL)
 ORDER BY inst_id, name;
SELECT inst_id, thread#, group#, bytes, blocksize, members, archived, status, first_time
  FROM gv$log ORDER BY inst_id, thread#, group#;
SELECT inst_id, group#, type, member FROM gv$logfile ORDER BY inst_id, group#, member;
SELECT thread#, TRUNC(first_time, 'HH24') AS hour, COUNT(*) AS switches
  FROM v$log_history WHERE first_time > SYSDATE - 7
 GROUP BY thread#, TRUNC(first_time, 'HH24') ORDER BY 1, 2;
SPOOL OFF
COLUMN value CLEAR

@BEGIN@PROMPT The second reading follows in @INTERVAL@.
@SLEEP@
@END@EXIT SUCCESS
