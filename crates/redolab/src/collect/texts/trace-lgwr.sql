-- trace-lgwr.sql: traces the waits of LGWR and its workers (LG00, LG01, ...) for @TRACE@ s,
-- and switches the trace off again, also if the script is interrupted.
--
-- Run:        sqlplus / as sysdba @trace-lgwr.sql   (or sh trace-lgwr.sh, which is safer)
-- Licence:    none.
-- Privileges: SYSDBA (DBMS_SYSTEM belongs to SYS). On RAC, run it on each instance.
-- Load:       event 10046 at level 8 writes a line per wait: some 200 bytes per log write and idle
--             wait. Look at the free space of the trace directory and at max_dump_file_size first.
-- Writes:     trace files of the server; their names are printed. Copy them with their names.
-- Import:     redolab import *_lgwr_*.trc *_lg*.trc
-- If it was killed: run trace-lgwr-off.sql, and look at the end of the trace files.
-- Not verified against an Oracle server. The same by hand, for each process:
--   oradebug setospid SPID
--   oradebug event 10046 trace name context forever, level 8
--   oradebug tracefile_name
--   oradebug event 10046 trace name context off

WHENEVER SQLERROR EXIT FAILURE
WHENEVER OSERROR EXIT FAILURE
SET DEFINE OFF
SET ECHO OFF
SET FEEDBACK OFF
SET LINESIZE 400
SET PAGESIZE 50000
SET TAB OFF
COLUMN program FORMAT A48
COLUMN tracefile FORMAT A200

PROMPT Processes that are traced, and their trace files:
SELECT p.spid, s.sid, s.serial# AS serial, p.program, p.tracefile
  FROM v$process p JOIN v$session s ON s.paddr = p.addr
 WHERE REGEXP_LIKE(p.program, '\((LGWR|LG[0-9]+)\)');

DECLARE
  PROCEDURE set_level(wanted PLS_INTEGER) IS
    last_error VARCHAR2(4000);
  BEGIN
    FOR process IN (
      SELECT s.sid, s.serial# AS serial
        FROM v$process p JOIN v$session s ON s.paddr = p.addr
       WHERE REGEXP_LIKE(p.program, '\((LGWR|LG[0-9]+)\)')
    ) LOOP
      BEGIN
        SYS.DBMS_SYSTEM.SET_EV(process.sid, process.serial, 10046, wanted, '');
      EXCEPTION
        -- One that fails must not keep the others from being switched off.
        WHEN OTHERS THEN last_error := SQLERRM;
      END;
    END LOOP;
    IF last_error IS NOT NULL THEN
      RAISE_APPLICATION_ERROR(-20000, last_error);
    END IF;
  END;
BEGIN
  set_level(8);
  $IF DBMS_DB_VERSION.VERSION >= 18 $THEN
    DBMS_SESSION.SLEEP(@TRACE@);
  $ELSE
    DBMS_LOCK.SLEEP(@TRACE@);
  $END
  set_level(0);
EXCEPTION
  WHEN OTHERS THEN
    set_level(0);
    RAISE;
END;
/
PROMPT The trace is off.
EXIT SUCCESS
