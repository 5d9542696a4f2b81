-- statspack.sql: two snapshots of Statspack with an interval, and the report between them.
--
-- Run:        sqlplus perfstat @statspack.sql       (it ends by itself, after @INTERVAL@)
-- Licence:    none. Statspack has to be installed (?/rdbms/admin/spcreate.sql).
-- Privileges: those of PERFSTAT; on RAC, run it on each instance.
-- Load:       a snapshot takes seconds. Its rows stay in PERFSTAT's tables; nothing else changes.
-- Writes:     statspack.lst into the current directory.
-- Import:     redolab import statspack.lst
-- Not verified against an Oracle server.

WHENEVER SQLERROR EXIT FAILURE
WHENEVER OSERROR EXIT FAILURE
SET ECHO OFF
SET VERIFY OFF
SET FEEDBACK OFF
SET TAB OFF
VARIABLE first_snap NUMBER
VARIABLE last_snap NUMBER
EXECUTE :first_snap := statspack.snap

PROMPT The second snapshot follows in @INTERVAL@.
@SLEEP@EXECUTE :last_snap := statspack.snap

COLUMN first_id NEW_VALUE begin_snap NOPRINT
COLUMN last_id NEW_VALUE end_snap NOPRINT
SELECT :first_snap AS first_id, :last_snap AS last_id FROM dual;
DEFINE report_name = statspack.lst
@?/rdbms/admin/spreport
EXIT SUCCESS
