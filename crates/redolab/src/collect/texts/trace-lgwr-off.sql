-- trace-lgwr-off.sql: switches the trace of LGWR and its workers off. It may be run at any time and
-- more than once.
--
-- Run:        sqlplus / as sysdba @trace-lgwr-off.sql
-- Privileges: SYSDBA. On RAC, run it on each instance.
-- It also ends a trace with event 10046 of these processes that somebody else began.
-- Not verified against an Oracle server.

WHENEVER SQLERROR EXIT FAILURE
SET DEFINE OFF
SET FEEDBACK OFF
DECLARE
  last_error VARCHAR2(4000);
BEGIN
  FOR process IN (
    SELECT s.sid, s.serial# AS serial
      FROM v$process p JOIN v$session s ON s.paddr = p.addr
     WHERE REGEXP_LIKE(p.program, '\((LGWR|LG[0-9]+)\)')
  ) LOOP
    BEGIN
      SYS.DBMS_SYSTEM.SET_EV(process.sid, process.serial, 10046, 0, '');
    EXCEPTION
      WHEN OTHERS THEN last_error := SQLERRM;
    END;
  END LOOP;
  IF last_error IS NOT NULL THEN
    RAISE_APPLICATION_ERROR(-20000, last_error);
  END IF;
END;
/
PROMPT The trace is off.
EXIT SUCCESS
