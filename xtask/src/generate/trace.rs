//! Traces with known answers: every release's way of writing, one process or many, sound or with
//! defects, from a seed. What is written and what it says is one loop, so the answers are exact.
//!
//! Only `std` is used, so that tests of other crates can include this file as it is.

use std::io::{self, Write};

/// How a release writes.
#[allow(
    dead_code,
    reason = "not every test that includes this file uses all of it"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// 8i: centiseconds, `p1=`.
    V8,
    /// 9i: microseconds, `p1=`, no `tim` on waits.
    V9,
    /// 12.1: named parameters, `obj#=`, `tim=`.
    V12,
    /// 19c: the header of 18c and later, stamps with an offset.
    V19,
    /// As study 000 shows: no header, nothing behind `blocks=`.
    Bare,
}

impl Style {
    /// Every style by its name.
    #[allow(
        dead_code,
        reason = "not every test that includes this file uses all of it"
    )]
    pub const ALL: [(&'static str, Style); 5] = [
        ("8", Style::V8),
        ("9", Style::V9),
        ("12", Style::V12),
        ("19", Style::V19),
        ("bare", Style::Bare),
    ];
}

/// What may be wrong with a trace or stand in it besides, by name. It changes the answers of the
/// waits in nothing; `warnings` and `adaptive` have answers of their own.
#[allow(
    dead_code,
    reason = "not every test that includes this file uses all of it"
)]
pub const DEFECTS: &[&str] = &[
    "crlf",
    "glued",
    "cut",
    "negative",
    "huge_number",
    "nan",
    "nul",
    "invalid_utf8",
    "wait_in_statement",
    "wait_in_bind",
    "statement_without_end",
    "broken_stat",
    "web_quotes",
    "no_last_newline",
    "warnings",
    "adaptive",
];

/// What to write.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Everything follows from it.
    pub seed: u64,
    /// Waits for a log write or log file sync.
    pub waits: u64,
    /// Processes; more than one is a merged trace.
    pub processes: u64,
    /// How.
    pub style: Style,
    /// Log writer workers, else foregrounds that commit.
    pub writers: bool,
    /// Names of [`DEFECTS`].
    pub defects: Vec<String>,
}

/// What a reader has to find.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// By process, in order of number.
    pub processes: Vec<Answer>,
    /// Warnings of a slow log write.
    pub warnings: u64,
    /// The sum of their times in milliseconds.
    pub warned_ms: u64,
    /// Changes between post/wait and polling.
    pub switches: u64,
}

/// What a reader has to find of a process, of the redo event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Its number.
    pub pid: u64,
    /// Waits.
    pub waits: u64,
    /// Their sum in nanoseconds.
    pub total_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Over 1, 10, 20 ms.
    pub over: [u64; 3],
    /// Blocks written.
    pub blocks: u64,
    /// Commits, of foregrounds.
    pub commits: u64,
}

/// Pseudo-random words (splitmix64).
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.word() % n
    }
}

struct Writer<'a> {
    plan: &'a Plan,
    out: &'a mut dyn Write,
    random: Random,
    tim: u64,
    found: Answers,
}

/// Writes the trace, and says what is in it.
///
/// # Errors
/// An error of `out`.
pub fn write(plan: &Plan, out: &mut dyn Write) -> io::Result<Answers> {
    let mut writer = Writer {
        plan,
        out,
        random: Random(plan.seed),
        tim: 1_377_520_823_034_516,
        found: Answers::default(),
    };
    writer.all()
}

impl Writer<'_> {
    fn has(&self, defect: &str) -> bool {
        self.plan.defects.iter().any(|d| d == defect)
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        let end: &[u8] = if self.has("crlf") { b"\r\n" } else { b"\n" };
        self.out.write_all(text.as_bytes())?;
        self.out.write_all(end)
    }

    fn all(&mut self) -> io::Result<Answers> {
        let count = self.plan.processes.max(1);
        let pid = |p: u64| 127_312 + 4 * p;
        let mut answers: Vec<Answer> = (0..count)
            .map(|p| Answer {
                pid: pid(p),
                ..Answer::default()
            })
            .collect();
        self.header(pid(0))?;
        let mut current = 0;
        for n in 0..self.plan.waits {
            let process = if count == 1 {
                0
            } else {
                self.random.below(count)
            };
            if process != current {
                current = process;
                self.line(&format!("*** [ Unix process pid: {} ]", pid(process)))?;
            }
            if n % 5000 == 0 && self.plan.style != Style::Bare {
                self.stamp(n / 5000)?;
            }
            if self.random.below(16) == 0 {
                self.damage()?;
            }
            self.wait(&mut answers[process as usize], n + 1 == self.plan.waits)?;
        }
        self.out.flush()?;
        Ok(Answers {
            processes: answers,
            ..std::mem::take(&mut self.found)
        })
    }

    fn header(&mut self, pid: u64) -> io::Result<()> {
        let image = if self.plan.writers { " (LG00)" } else { "" };
        let process = format!("Unix process pid: {pid}, image: oracle@host{image}");
        let lines: Vec<String> = match self.plan.style {
            Style::Bare if self.plan.processes > 1 => {
                vec![format!("*** [ Unix process pid: {pid} ]")]
            }
            Style::Bare => return Ok(()),
            Style::V8 => vec![
                "Dump file /u01/app/oracle/admin/t/bdump/lgwr_1.trc".to_owned(),
                "Oracle8i Enterprise Edition Release 8.1.7.4.0 - Production".to_owned(),
                process,
            ],
            Style::V9 => vec![
                "/u01/app/oracle/admin/t/bdump/t_lgwr_1.trc".to_owned(),
                "Oracle9i Enterprise Edition Release 9.2.0.8.0 - Production".to_owned(),
                process,
            ],
            Style::V12 => vec![
                "Trace file /u01/app/oracle/diag/rdbms/t/t/trace/t_lg00_1.trc".to_owned(),
                "Oracle Database 12c Enterprise Edition Release 12.1.0.1.0 - 64bit Production"
                    .to_owned(),
                "ORACLE_HOME = /u01/app/oracle/product/12".to_owned(),
                "Instance name: t".to_owned(),
                process,
            ],
            Style::V19 => vec![
                "Trace file /u01/app/oracle/diag/rdbms/t/t/trace/t_lg00_1.trc".to_owned(),
                "Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production".to_owned(),
                "Version 19.14.2.0.0".to_owned(),
                "Build label:    RDBMS_19.14.0.0.0DBRUR_LINUX.X64_220707".to_owned(),
                "ORACLE_HOME:    /u01/app/oracle/product/19".to_owned(),
                process,
            ],
        };
        for line in lines {
            self.line(&line)?;
        }
        self.line("")
    }

    fn stamp(&mut self, minute: u64) -> io::Result<()> {
        let (hour, minute) = (minute / 60 % 24, minute % 60);
        let text = match self.plan.style {
            Style::V19 => format!("*** 2023-05-19T{hour:02}:{minute:02}:00.339263+02:00 (PDB(3))"),
            _ => format!("*** 2013-08-26 {hour:02}:{minute:02}:23.035"),
        };
        self.line(&text)
    }

    /// The wait of the redo event, and what stands around it.
    fn wait(&mut self, answer: &mut Answer, last: bool) -> io::Result<()> {
        let us = 300 + self.random.below(500);
        let us = match self.random.below(1000) {
            0..6 => us + 1000 + self.random.below(9_000),
            6 => us + 10_000 + self.random.below(3_660),
            7 if self.random.below(100) == 0 => us + 20_000 + self.random.below(600_000),
            _ => us,
        };
        let unit_ns = if self.plan.style == Style::V8 {
            10_000_000
        } else {
            1000
        };
        let ela = us * 1000 / unit_ns;
        let ns = ela * unit_ns;
        let blocks = if self.plan.writers {
            1 + self.random.below(60)
        } else {
            0
        };
        self.tim += us + 40;
        answer.waits += 1;
        answer.total_ns += ns;
        answer.max_ns = answer.max_ns.max(ns);
        answer.blocks += blocks;
        for (n, ms) in answer.over.iter_mut().zip([1, 10, 20]) {
            *n += u64::from(ns > ms * 1_000_000);
        }
        let text = self.record(ela, blocks);
        if last && self.has("no_last_newline") {
            return self.out.write_all(text.as_bytes());
        }
        if self.has("glued") && self.random.below(8) == 0 {
            let first = self.idle();
            return self.line(&format!("{first}{text}"));
        }
        self.line(&text)?;
        if self.plan.writers {
            let idle = self.idle();
            self.line(&idle)
        } else {
            answer.commits += 1;
            let tim = self.tim;
            self.line(&format!("XCTEND rlbk=0, rd_only=0, tim={tim}"))?;
            self.line(&format!(
                "EXEC #3:c=30,e=44,p=0,cr=1,cu=3,mis=0,r=1,dep=0,og=1,plh=7,tim={tim}"
            ))
        }
    }

    fn record(&mut self, ela: u64, blocks: u64) -> String {
        let quote = if self.has("web_quotes") {
            ("\u{2018}", "\u{2019}")
        } else {
            ("'", "'")
        };
        let (open, close) = quote;
        let event = if self.plan.writers {
            "log file parallel write"
        } else {
            "log file sync"
        };
        let lead = format!("WAIT #0: nam={open}{event}{close} ela= {ela}");
        let tim = self.tim;
        let (old, named) = if self.plan.writers {
            (
                format!("p1=1 p2={blocks} p3=1"),
                format!("files=1 blocks={blocks}"),
            )
        } else {
            (
                "p1=777 p2=0 p3=0".to_owned(),
                "buffer#=777 sync scn=5 p3=0".to_owned(),
            )
        };
        match self.plan.style {
            Style::V8 | Style::V9 => format!("{lead} {old}"),
            Style::Bare => format!("{lead} {named}"),
            _ if self.plan.writers => format!("{lead} {named} requests=1 obj#=-1 tim={tim}"),
            _ => format!("{lead} {named} obj#=-1 tim={tim}"),
        }
    }

    fn idle(&mut self) -> String {
        let (us, tim) = (self.random.below(60), self.tim + 30);
        let event = if self.plan.writers {
            "LGWR worker group idle"
        } else {
            "SQL*Net message from client"
        };
        match self.plan.style {
            Style::V8 | Style::V9 => format!("WAIT #0: nam='{event}' ela= {us} p1=0 p2=0 p3=0"),
            Style::Bare => format!("WAIT #0: nam='{event}' ela= {us}"),
            _ => format!("WAIT #0: nam='{event}' ela= {us} p1=0 p2=0 p3=0 obj#=-1 tim={tim}"),
        }
    }

    /// A log writer's warning of a slow write; every third is of a broadcast, which is none.
    fn warning(&mut self) -> String {
        let ms = 500 + self.random.below(4000);
        if self.random.below(3) == 0 {
            return format!("Warning: log write broadcast wait time {ms}ms (SCN 0x0.5a{ms:x})");
        }
        self.found.warnings += 1;
        self.found.warned_ms += ms;
        let kb = self.random.below(900);
        format!("Warning: log write elapsed time {ms}ms, size {kb}KB")
    }

    /// A change of how foregrounds learn of their commits.
    fn switch(&mut self) -> String {
        self.found.switches += 1;
        match self.found.switches % 2 {
            1 => "kcrfw_alfs_update_mode: post->poll long#=2 sync#=5 sync=93 poll=8056".to_owned(),
            _ => "kcrfw_alfs_update_mode: poll->post long#=1 sync#=3 sync=80 poll=9000".to_owned(),
        }
    }

    /// One of the plan's defects that stands between records.
    fn damage(&mut self) -> io::Result<()> {
        let between: Vec<&str> = (self.plan.defects.iter().map(String::as_str))
            .filter(|d| !matches!(*d, "crlf" | "glued" | "web_quotes" | "no_last_newline"))
            .collect();
        if between.is_empty() {
            return Ok(());
        }
        let fake = "WAIT #1: nam='log file sync' ela= 9 p1=1 p2=2 p3=3 obj#=1 tim=1";
        let statement = format!("select '\n{fake}\n' from dual");
        let which = between[self.random.below(between.len() as u64) as usize];
        let text = match which {
            "cut" => "WAIT #0: nam='log file parallel wri".to_owned(),
            "negative" => "WAIT #0: nam='log file sync' ela= -12 p1=0 p2=0 p3=0".to_owned(),
            "huge_number" => format!("WAIT #0: nam='log file sync' ela= {}", "9".repeat(40)),
            "nan" => "WAIT #0: nam='log file sync' ela= NaN".to_owned(),
            "nul" => "\0\0\0\0".to_owned(),
            "warnings" => self.warning(),
            "adaptive" => self.switch(),
            "invalid_utf8" => return self.out.write_all(b"\xff\xfe\xc3\x28\n"),
            "wait_in_statement" => format!(
                "PARSING IN CURSOR #3 len={} dep=0 uid=1 oct=3 lid=1 tim=1 hv=1 ad='1'\n{statement}\nEND OF STMT",
                statement.len()
            ),
            "wait_in_bind" => format!("BINDS #3:\n Bind#0\n  value=\"{statement}\"\n Bind#1"),
            "statement_without_end" => {
                "PARSING IN CURSOR #3 len=9 dep=0 uid=1 oct=3 lid=1 tim=1 hv=1 ad='1'\nselect 1\n=====================".to_owned()
            }
            _ => "STAT #1 (cr=0 pr=0 pw=0 str=1 time=29 us)'".to_owned(),
        };
        self.line(&text)
    }
}
