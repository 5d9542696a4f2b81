//! The studies' own files through the binary: what their figures say against each other is in every
//! output; generated files of every kind, plain and packed; what is not Oracle's or not sysstat's
//! is named; nothing of a file reaches a terminal, a page or a spreadsheet as it is.

use crate::harness::Place;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

#[path = "../../../../xtask/src/generate/evidence/mod.rs"]
mod generate;

fn study(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../studies")
        .join(file)
}

/// What a study gets wrong: its files, the finding, words of the claim, a number and how near.
struct Wrong {
    files: &'static [&'static str],
    finding: &'static str,
    claim: &'static [&'static str],
    number: (&'static str, f64, f64),
}

const WRONG: &[Wrong] = &[
    Wrong {
        files: &["000/outliers-320-351.txt", "000/outliers-355-384.txt"],
        finding: "evidence.clock",
        claim: &["IO_LATENCY is a clock", "0.100 ms"],
        number: ("slope_per_s", 9999.99, 0.01),
    },
    Wrong {
        files: &["000/functions-252-271.txt"],
        finding: "evidence.window",
        claim: &["342.071M", "4.7", "4.00 h", "3.82 h", "3.00 h"],
        number: ("implied_decimal_s", 13_740.0, 700.0),
    },
    Wrong {
        files: &["000/event-histograms.txt"],
        finding: "evidence.not_alike",
        claim: &["0.437 %", "0.495 %"],
        number: ("second_pct", 0.495, 0.0005),
    },
    Wrong {
        files: &["001/top-events-33-43.txt"],
        finding: "evidence.rounding",
        claim: &["0.606 ms", "2.368 ms", "3.9"],
        number: ("ratio", 3.9, 0.05),
    },
    Wrong {
        files: &["003/tables.tsv"],
        finding: "evidence.response_time",
        claim: &["all 97 lines", "response time"],
        number: ("lines", 97.0, 0.0),
    },
    Wrong {
        files: &["003/tables.tsv"],
        finding: "evidence.commit_mode",
        claim: &["NOWAIT BATCH", "17.6"],
        number: ("log_file_sync_max_ms", 17.607, 1e-9),
    },
    Wrong {
        files: &["003/tables.tsv"],
        finding: "evidence.columns",
        claim: &["21 names for 20 values"],
        number: ("failing_after", 0.0, 0.0),
    },
    Wrong {
        files: &["003/tables.tsv"],
        finding: "evidence.claim",
        claim: &["8.25", "cut to its digits: 6.77 in log file sync"],
        number: ("claimed", 6.0, 0.0),
    },
    Wrong {
        files: &["003/tables.tsv"],
        finding: "evidence.claim_holds",
        claim: &["47"],
        number: ("found", 1.47, 0.005),
    },
    Wrong {
        files: &["003/tables.tsv"],
        finding: "evidence.claim_exception",
        claim: &["2 jobs", "180", "201"],
        number: ("lines", 1.0, 0.0),
    },
    Wrong {
        files: &["003/tables.tsv"],
        finding: "evidence.knee",
        claim: &["X5-2", "48 jobs"],
        number: ("jobs", 48.0, 0.0),
    },
    Wrong {
        files: &["003/tables.tsv"],
        finding: "evidence.sweep_changed",
        claim: &["LGWR-LAT1", "from 24 to 32 jobs (+33 %)", "grows by 37 %"],
        number: ("jobs", 32.0, 0.0),
    },
    Wrong {
        files: &["003/tables.tsv"],
        finding: "evidence.tests_left_out",
        claim: &["without 193, 195"],
        number: ("left_out", 4.0, 0.0),
    },
    Wrong {
        files: &["003/tables.tsv"],
        finding: "evidence.wastage",
        claim: &["50 to 54 %"],
        number: ("wastage_high_pct", 54.0, 0.5),
    },
    Wrong {
        files: &["004/flash-logging-21-58.txt"],
        finding: "evidence.percentage",
        claim: &["3.8 % is 3.48 %"],
        number: ("computed_pct", 3.48, 0.005),
    },
    Wrong {
        files: &["004/flash-logging-21-58.txt"],
        finding: "evidence.other_load",
        claim: &["18.3 %"],
        number: ("flash_first_life_pct", 18.3, 0.05),
    },
    Wrong {
        files: &["004/flash-logging-21-58.txt"],
        finding: "evidence.small_effect",
        claim: &["+6.6 %", "at most 0.19", "3,988,962"],
        number: ("cohens_d_at_most", 0.1864, 0.0001),
    },
    Wrong {
        files: &["004/flash-logging-21-58.txt"],
        finding: "evidence.ceiling",
        claim: &["3999", "3998", "4000"],
        number: ("ceiling", 4000.0, 0.0),
    },
];

fn findings(json: &Value) -> &[Value] {
    json["findings"].as_array().map_or(&[], Vec::as_slice)
}

/// The number of that name in the findings of that id, in JSON.
fn in_json(json: &Value, wrong: &Wrong) -> Vec<f64> {
    let of = findings(json).iter().filter(|f| f["id"] == wrong.finding);
    let numbers = of.flat_map(|f| f["numbers"].as_array().cloned().unwrap_or_default());
    let named = numbers.filter(|n| n[0] == wrong.number.0);
    named.filter_map(|n| n[1].as_f64()).collect()
}

/// The same in CSV.
fn in_csv(text: &str, wrong: &Wrong) -> Vec<f64> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .has_headers(false)
        .from_reader(text.as_bytes());
    let records = reader.records().map(|r| r.expect("CSV"));
    let lines = records.filter(|r| {
        r.get(0) == Some("findings")
            && r.get(1) == Some(wrong.finding)
            && r.get(4) == Some(wrong.number.0)
    });
    lines
        .filter_map(|r| r.get(5).and_then(|v| v.parse().ok()))
        .collect()
}

#[test]
fn what_the_studies_get_wrong_is_in_every_output() {
    let place = Place::new();
    for wrong in WRONG {
        let files: Vec<String> = (wrong.files.iter())
            .map(|f| study(f).display().to_string())
            .collect();
        let run = |format: &[&str]| {
            let mut words = vec!["import".to_owned(), "-q".to_owned()];
            words.extend(files.iter().cloned());
            words.extend(format.iter().map(|w| (*w).to_owned()));
            let done = place.run(&words);
            done.expect(0, &[]);
            done
        };
        let (what, (name, value, near)) = (wrong.finding, wrong.number);
        let fits = |found: &[f64]| found.iter().any(|x| (x - value).abs() <= near);
        let json = run(&["--format", "json"]).json();
        let found = in_json(&json, wrong);
        assert!(fits(&found), "{what} {name}: {found:?} in {files:?}");
        let text = run(&["--format", "table"]).out;
        // A claim may be broken into lines; its id ends it.
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let tag = format!("[{what}]");
        let mut claims = joined.match_indices(&tag).map(|(at, _)| {
            let claim = joined[..at].rsplit(']').next();
            claim.unwrap_or_default()
        });
        let line = claims.find(|claim| wrong.claim.iter().all(|word| claim.contains(word)));
        assert!(line.is_some(), "{what} {:?}\n{text}", wrong.claim);
        let csv = run(&["--format", "csv"]).out;
        let found = in_csv(&csv, wrong);
        assert!(fits(&found), "{what} {name} in CSV: {found:?}\n{csv}");
    }
}

/// The sentence stands in the document's line 153, two above the table.
/// What a document was written to answer: its files, the question, the answer, the figure of its
/// page's first screen, and the source.
const ANSWERS: [(&[&str], [&str; 4]); 4] = [
    (
        &[
            "000/event-histograms.txt",
            "000/lg03-lines.trc",
            "000/outliers-320-351.txt",
        ],
        [
            "Are log writes slow at their peaks?",
            "0.49 % of 51,777,861 log writes took 1 ms or more, all under 16.0 ms",
            "<figure id=\"bh1\"",
            "event histogram, snapshot 2",
        ],
    ),
    (
        &["001/top-events-33-43.txt"],
        [
            "What differs between SSD and HDD?",
            "Log file sync takes 606 µs on SSD and 2.37 ms on HDD, 3.91 times as long",
            "<figure id=\"answer\"",
            "top timed events, top-events-33-43.txt",
        ],
    ),
    (
        &["003/tables.tsv"],
        [
            "Which platform commits faster?",
            "commits up to 367,848/s",
            "<figure id=\"sp0-0\"",
            "sweeps of jobs, tables.tsv",
        ],
    ),
    (
        &["004/flash-logging-21-58.txt"],
        [
            "Do the samples differ?",
            "Smart flash logging ON is longer than OFF: median 500 µs against 481 µs, mean +6.6 % (Cohen's d 0.19)",
            "<figure id=\"answer\"",
            "R's summaries, flash-logging-21-58.txt",
        ],
    ),
];

/// Each document's answer is one line, with its source, in the terminal, the page and Markdown, and
/// ends in the line of the verdict.
#[test]
fn each_document_answers_its_own_question_first() {
    for (files, [question, answer, figure, source]) in ANSWERS {
        let place = Place::new();
        let files: Vec<PathBuf> = files.iter().map(|file| study(file)).collect();
        let arguments = |more: &[&str]| {
            let files = files.iter().map(|file| file.display().to_string());
            let fixed = ["import"].iter().chain(more).map(|of| (*of).to_owned());
            fixed.chain(files).collect::<Vec<String>>()
        };
        let text = place.run(&arguments(&[])).out;
        let line = text.lines().nth(1).expect("an answer");
        assert!(
            line.contains(answer) && line.chars().count() <= 120,
            "{text}"
        );
        let head = text.split("\n\n").next().expect("first lines");
        let head: Vec<&str> = head.split_whitespace().collect();
        let (head, axes) = (
            head.join(" "),
            "Durability: not in this evidence Performance: ",
        );
        assert!(head.contains(axes) && head.contains(source), "{text}");
        let headline = text.split("\n\n").nth(1).expect("figures");
        assert!(headline.chars().count() <= 121, "{headline}");
        let markdown = place.run(&arguments(&["--format", "markdown"]));
        markdown.expect(
            0,
            &[question, answer, "Durability: not in this evidence", source],
        );
        place
            .run(&["report", "last", "-o", "page.html"])
            .expect(0, &[]);
        let page = std::fs::read_to_string(place.path().join("page.html")).expect("a page");
        let first = page.split("<main").next().expect("a first screen");
        for part in [question, answer, figure, "not in this evidence", source] {
            assert!(
                first.contains(part),
                "{part} is not on the first screen:\n{first}"
            );
        }
        let drawn = first.matches("<figure").count();
        assert_eq!(drawn, 1, "one chart answers");
    }
}

/// A sweep has a page of its own, and what is wrong in a document is apart from what it shows.
#[test]
fn a_sweep_has_its_platforms_and_misprints_are_apart() {
    let place = Place::new();
    let file = study("003/tables.tsv").display().to_string();
    let text = place.run(&["import", &file]).out;
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    let order = [
        "Platforms by workload",
        "What the figures show",
        "About the document",
    ]
    .map(at);
    assert!(order.is_sorted(), "{order:?}");
    assert!(at("[evidence.claim_exception]") < order[2] && at("[evidence.columns]") > order[2]);
    place
        .run(&["report", "last", "-o", "page.html"])
        .expect(0, &[]);
    let page = std::fs::read_to_string(place.path().join("page.html")).expect("a page");
    let parts = [
        "id=\"platforms\"",
        "id=\"sweep\"",
        "id=\"watch\"",
        "id=\"document\"",
        "id=\"appendix\"",
    ];
    let places = parts.map(|part| page.find(part).unwrap_or_else(|| panic!("{part}")));
    assert!(places.is_sorted(), "{places:?}");
    for heading in ["Sync %", "Commits/write", "Bytes/write", "Times"] {
        assert!(page[places[0]..places[1]].contains(heading), "{heading}");
    }
    assert!(
        !page.contains("id=\"decide\""),
        "nothing of a document decides"
    );
    assert_eq!(
        page.matches("<figure id=\"sp").count(),
        8,
        "two for each of four workloads"
    );
}

#[test]
fn a_load_average_is_no_share_of_the_processors() {
    let place = Place::new();
    let table = std::fs::read_to_string(study("000/host-cpu-155-171.txt")).expect("the table");
    let text = format!("The AWR report shows a load average around 75%\n\n{table}");
    std::fs::write(place.path().join("page.txt"), text).expect("a fresh file");
    let done = place.run(&["import", "page.txt", "-q"]);
    done.expect(
        0,
        &[
            "75.13 is a number of runnable processes, not 75 %",
            "78.8 % busy",
        ],
    );
}

/// 125.03 and 94.05 % of background time overlap, and the interval of study 004 is of rounding.
#[test]
fn what_the_studies_get_right_is_not_contradicted() {
    let place = Place::new();
    for (file, finding) in [
        ("000/background-212-239.txt", "evidence."),
        ("004/flash-logging-21-58.txt", "evidence.interval"),
        ("000/workers-130-134.txt", "evidence."),
    ] {
        let path = study(file).display().to_string();
        let done = place.run(&["import", &path, "-q", "--format", "json"]);
        let json = done.expect(0, &[]).json();
        let ids: Vec<&str> = findings(&json)
            .iter()
            .filter_map(|f| f["id"].as_str())
            .collect();
        assert!(
            ids.iter().all(|id| !id.starts_with(finding)),
            "{file}: {ids:?}"
        );
    }
}

fn pack(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).expect("memory");
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(text).expect("memory");
    let fast = ruzstd::encoding::CompressionLevel::Fastest;
    // As pzstd writes: frames with a frame that holds no data before each.
    let mut frames = Vec::new();
    let (first, second) = text.split_at(text.len() / 2);
    for piece in [first, second] {
        frames.extend(b"\x50\x2a\x4d\x18\x04\0\0\0size");
        frames.extend(ruzstd::encoding::compress_to_vec(piece, fast));
    }
    vec![
        ("gzip", gzip.finish().expect("memory")),
        ("bzip2", bzip2.finish().expect("memory")),
        ("zstd", ruzstd::encoding::compress_to_vec(text, fast)),
        ("xz", stored_xz(text)),
        ("zstd", frames),
    ]
}

/// An xz file of one block with uncompressed LZMA2 chunks, as no encoder is at hand. The layout is
/// that of "The .xz File Format", version 1.1.
fn stored_xz(text: &[u8]) -> Vec<u8> {
    let crc = |bytes: &[u8]| crc32(bytes).to_le_bytes();
    let mut out = vec![0xfd, b'7', b'z', b'X', b'Z', 0];
    let flags = [0, 1];
    out.extend(flags);
    out.extend(crc(&flags));
    // Header of the block: 12 bytes, one filter, LZMA2 with a dictionary of 1 MiB.
    let head = [2, 0, 0x21, 1, 16, 0, 0, 0];
    out.extend(head);
    out.extend(crc(&head));
    let mut data = Vec::new();
    for (i, piece) in text.chunks(1 << 16).enumerate() {
        data.push(if i == 0 { 1 } else { 2 });
        data.extend(((piece.len() - 1) as u16).to_be_bytes());
        data.extend(piece);
    }
    data.push(0);
    let unpadded = head.len() + 4 + data.len() + 4;
    out.extend(&data);
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend(crc(text));
    let mut index = vec![0, 1];
    for number in [unpadded as u64, text.len() as u64] {
        let mut rest = number;
        while rest >= 0x80 {
            index.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        index.push(rest as u8);
    }
    index.resize(index.len().next_multiple_of(4), 0);
    out.extend(&index);
    out.extend(crc(&index));
    let mut footer = ((index.len() / 4) as u32).to_le_bytes().to_vec();
    footer.extend(flags);
    out.extend(crc(&footer));
    out.extend(footer);
    out.extend(b"YZ");
    out
}

/// CRC-32 of IEEE 802.3, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |mut crc: u32, byte: &u8| {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1));
        }
        crc
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[test]
fn generated_files_of_every_kind_are_the_same_packed() {
    let place = Place::new();
    for (n, made) in generate::all(11, 40).into_iter().enumerate() {
        let what = format!("{} {}", made.kind, made.layout);
        let name = format!("f{n}");
        std::fs::write(place.path().join(&name), &made.text).expect("a fresh file");
        let json = |name: &str| {
            let done = place.run(&["import", name, "-q", "--format", "json"]);
            done.expect(0, &[]).json()
        };
        let plain = json(&name);
        assert_eq!(plain["imported"]["sources"][0]["kind"], made.kind, "{what}");
        // All packings of one, one of each other: each is a process.
        let all = pack(made.text.as_bytes());
        let some: Vec<_> = match n {
            0 => all,
            n => all.into_iter().skip(n % 5).take(1).collect(),
        };
        for (packing, bytes) in some {
            std::fs::write(place.path().join(&name), bytes).expect("the same file");
            let packed = json(&name);
            assert_eq!(
                packed["imported"]["sources"][0]["packing"], packing,
                "{what}"
            );
            assert_eq!(packed["rows"], plain["rows"], "{what} {packing}");
            let figures = |json: &Value| json["imported"]["tables"].clone();
            assert_eq!(figures(&packed), figures(&plain), "{what} {packing}");
        }
    }
}

/// The example of study 000: five lines of one worker, and what its script made of them.
#[test]
fn csv_of_study_000s_lines_is_what_its_script_writes() {
    let place = Place::new();
    let path = study("000/lg03-lines.trc");
    let trace = std::fs::read_to_string(&path).expect("the study's lines");
    // The script: for each line of that wait, the number of the line so far, and its `ela`.
    let waits = trace
        .lines()
        .filter(|l| l.contains("nam='log file parallel write'"));
    let elapsed = waits.filter_map(|l| l.split("ela= ").nth(1)?.split(' ').next());
    let script: String = elapsed
        .enumerate()
        .map(|(n, us)| format!("{},{us}\n", n + 1))
        .collect();
    assert!(script.lines().count() >= 2, "{trace}");
    let path = path.display().to_string();
    let done = place.run(&["import", &path, "--csv", "-q"]);
    assert_eq!(done.expect(0, &[]).out, script);
}

#[test]
fn look_alikes_and_other_iostats_are_named() {
    let place = Place::new();
    for (text, name) in [
        (
            "Trace file /u/ob.trc\nOceanBase 4.2\nWAIT #1: nam='log file sync' ela= 5\n",
            "OceanBase",
        ),
        ("# Time: 2024\n# Query_time: 0.1  Lock_time: 0\n", "MySQL"),
        ("2024 LOG:  duration: 3 ms\n", "PostgreSQL"),
        (
            "                    extended device statistics              \n    r/s    w/s   kr/s   kw/s wait \
             actv wsvc_t asvc_t  %w  %b device\n    0.0   12.0    0.0   96.0  0.0  0.1    0.0    5.2   0   4 c0t0d0\n",
            "Solaris",
        ),
        (
            "                        extended device statistics  \ndevice       r/s     w/s     kr/s     kw/s  \
             ms/r  ms/w  ms/o  ms/t qlen  %b  \nada0           0      12      0.1     96.0     0     5     0     \
             5    0   4 \n",
            "BSD",
        ),
        (
            "              disk0       cpu    load average\n    KB/t  tps  MB/s  us sy id   1m   5m   15m\n   \
             21.03   48  0.98   5  3 92  1.52 1.61 1.60\n",
            "macOS",
        ),
    ] {
        std::fs::write(place.path().join("other"), text).expect("a fresh file");
        place.run(&["import", "other"]).expect(1, &[name]);
    }
}

/// An event, a process, a device and a file whose names are no names.
#[test]
fn nothing_of_a_file_is_obeyed() {
    let place = Place::new();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J<script>alert(1)</script>";
    let trace = format!(
        "Unix process pid: 7, image: oracle@host ({evil})\n\
         WAIT #1: nam='=cmd|/c calc!A1{evil}' ela= 700 p1=1 p2=2 p3=3\n\
         WAIT #1: nam='log file parallel write' ela= 700 files=1 blocks=2 requests=1\n"
    );
    let device = format!(
        "Device w/s wMB/s r/s w_await r_await aqu-sz %util\n=1+1{} 10.00 1.00 0.00 1.00 0.00 0.01 1.00\n",
        evil.replace(' ', "")
    );
    let name = "x\u{1b}[31m.trc";
    for (file, text) in [(name, trace), ("d.txt", device)] {
        std::fs::write(place.path().join(file), text).expect("a fresh file");
        for format in ["table", "json", "csv"] {
            let done = place.run(&["import", file, "--format", format]);
            let all = format!("{}{}", done.expect(0, &[]).out, done.err);
            assert!(
                !all.contains('\u{1b}') && !all.contains('\u{7}'),
                "{format}: {all:?}"
            );
            let runs = |field: &str| field.trim_matches('"').starts_with('=');
            let mut fields = done.out.lines().flat_map(|l| l.split(','));
            assert!(format != "csv" || !fields.any(runs), "{}", done.out);
        }
        let page = format!("{file}.html").replace('\u{1b}', "");
        place.run(&["report", "last", "-o", &page]).expect(0, &[]);
        let html = std::fs::read_to_string(place.path().join(&page)).expect("written");
        assert!(
            !html.contains("<script>alert") && !html.contains('\u{1b}'),
            "{file}"
        );
    }
}
