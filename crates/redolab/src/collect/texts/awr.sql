-- awr.sql: two snapshots of AWR with an interval, and the report between them as text.
--
-- Run:        sqlplus / as sysdba @awr.sql          (not with < awr.sql: it asks a question)
-- Licence:    Oracle Diagnostics Pack. The script asks first, and does nothing without `yes`.
-- Privileges: EXECUTE on DBMS_WORKLOAD_REPOSITORY, SELECT_CATALOG_ROLE; on RAC, on each instance.
-- Load:       a snapshot takes seconds. It stays in AWR as long as others; nothing else changes.
-- Writes:     awr.txt into the current directory.
-- Import:     redolab import awr.txt
-- Not verified against an Oracle server.

WHENEVER SQLERROR EXIT FAILURE
WHENEVER OSERROR EXIT FAILURE
SET ECHO OFF
SET VERIFY OFF
SET FEEDBACK OFF
SET TAB OFF
SET DEFINE '&'
PROMPT AWR needs the licence of the Oracle Diagnostics Pack, even to read what is there already.
ACCEPT licence CHAR PROMPT 'Is this database licensed for it? Type yes to go on: '

BEGIN
  IF q'[&licence]' <> 'yes' OR q'[&licence]' IS NULL THEN
    RAISE_APPLICATION_ERROR(-20000, 'the answer is not yes: nothing was done');
  END IF;
END;
/
DECLARE
  granted VARCHAR2(100);
BEGIN
  SELECT UPPER(value) INTO granted FROM v$parameter WHERE name = 'control_management_pack_access';
  IF granted NOT LIKE 'DIAGNOSTIC%' THEN
    RAISE_APPLICATION_ERROR(-20000,
      'control_management_pack_access does not allow the Diagnostics Pack: nothing was done');
  END IF;
END;
/
VARIABLE first_snap NUMBER
VARIABLE last_snap NUMBER
EXECUTE :first_snap := DBMS_WORKLOAD_REPOSITORY.CREATE_SNAPSHOT

PROMPT The second snapshot follows in @INTERVAL@.
@SLEEP@EXECUTE :last_snap := DBMS_WORKLOAD_REPOSITORY.CREATE_SNAPSHOT

SET HEADING OFF
SET PAGESIZE 0
SET LINESIZE 320
SET TRIMSPOOL ON
SPOOL awr.txt
SELECT report.output
  FROM v$database d, v$instance i,
       TABLE(DBMS_WORKLOAD_REPOSITORY.AWR_REPORT_TEXT(
         d.dbid, i.instance_number, :first_snap, :last_snap)) report;
SPOOL OFF
EXIT SUCCESS
