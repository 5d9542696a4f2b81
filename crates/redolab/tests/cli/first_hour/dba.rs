//! The DBA: has an AWR report of the production system and a new device, and a ticket to answer.

use super::{Terminal, expect_log_file_sync, expect_plain_markdown, markdown_tables};
use crate::harness::Done;
use std::path::Path;

/// The verdict's word at the top of what was printed, and the exit code that belongs to it.
fn verdict(done: &Done) -> (String, i32) {
    let first = done.out.lines().next().expect("the verdict is first");
    let rest = first
        .strip_prefix("Verdict: ")
        .expect("the verdict is first");
    let word = rest.split_whitespace().next().expect("a word").to_owned();
    let code = match word.as_str() {
        // No power test was run, so that it is never yes.
        "CONDITIONAL" => 0,
        "NO" => 3,
        "UNDETERMINED" => 4,
        _ => panic!("{first}"),
    };
    (word, code)
}

#[test]
fn checks_a_device_against_production_and_answers_a_ticket() {
    let dba = Terminal::new();
    let awr = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/awr-text/whole.txt");
    std::fs::copy(awr, dba.place.path().join("awr.txt")).expect("a copy");

    let version = format!("redolab {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(dba.types("redolab --version").out, version);
    dba.types("redolab --help")
        .expect(0, &["Start here:", "redolab check /u02 --quick"]);
    dba.types("redolab devices target")
        .expect(0, &["file system "]);

    // What production needs.
    dba.types("redolab import awr.txt --label production")
        .expect(
            0,
            &[
                "awr.txt: awr-text",
                "log file sync",
                "What the figures show",
            ],
        );
    let check = "redolab check target --quick --need-from production --p99 20ms --label new-device \
                 --tag owner=@dba --tag ticket=<b>#12|13</b> --jobs 1,8 --time 200ms --warmup 50ms";
    let done = dba.types(&format!("{check} {}", super::SMALL));
    let (answer, code) = verdict(&done);
    done.expect(
        code,
        &[
            "The need, from production:",
            "128 commits/s (awr.txt, instance",
            "1.00 MB/s of redo (awr.txt, instance",
            "stated: 20.0 ms of log file sync (p99)",
            "Will make log files of ",
            "durability: unverified",
            "new-device  origin: measured",
            "Findings",
            "What to do: ",
            "Not judged",
            "power loss: no power test was run",
            "redolab runs show ",
            "Report: redolab-",
        ],
    );
    // A row of a moment without a commit makes the run invalid: its figures are not summed up.
    assert!(done.out.contains("  Measured") || code == 4, "{}", done.out);
    expect_log_file_sync(&done.out);
    dba.place.expect_clean(&dba.place.target);

    // The ticket.
    let ticket = dba.types("redolab report new-device --format markdown");
    let target = dba.place.target.canonicalize().expect("a directory");
    let question = format!("Should a redo log live on {}?", target.display());
    expect_ticket(&ticket.out, &format!("### {question} {answer}\n"));
    dba.types("redolab report last -o ticket.md")
        .expect(0, &["Report: ticket.md"]);
    assert_eq!(dba.file("ticket.md"), ticket.out);
    let table = dba.types("redolab runs show last --format markdown");
    expect_plain_markdown(&table.out);
    for line in [
        "- Need: 128 commits/s, ",
        "- Host: ",
        "- Label: new-device (",
    ] {
        assert!(table.out.contains(line), "{line}\n{}", table.out);
    }
    dba.types("redolab runs")
        .expect(0, &["production", "new-device", "Verdict"]);
}

fn expect_ticket(text: &str, title: &str) {
    expect_plain_markdown(text);
    assert!(text.starts_with(title), "{title}\n{text}");
    for line in [
        "\n- Durability: unverified\n",
        "\n- Performance: ",
        "\n- Need: 128 commits/s, 1.00 MB/s of redo, 20.0 ms of log file sync (p99), log file sync: ",
        "\n- commits per second: awr.txt, instance activity: user commits",
        "\n- Host: ",
        "\n- Volume: ",
        "\n- Log: 2 groups of 8 MiB",
        "\n- Label: new-device (owner=&#64;dba, ticket=\\<b\\>&#35;12\\|13\\</b\\>)\n",
        "\n**Findings**\n",
        " What to do: ",
        "\n**Not judged**\n",
    ] {
        assert!(text.contains(line), "{line:?}\n{text}");
    }
    // A sentence ends before the advice begins.
    assert!(
        !text.replace(". What to", "").contains(" What to"),
        "{text}"
    );
    let tables = markdown_tables(text);
    let table = tables.first().expect("the rows");
    let headings: Vec<&str> = table[0].iter().map(String::as_str).collect();
    for heading in ["Workload", "Jobs", "Commits/s"] {
        assert!(headings.contains(&heading), "{heading}: {headings:?}");
    }
    for (workload, jobs) in [("LGWR-LAT1", "1"), ("LGWR-LAT1", "8"), ("LGWR-THR", "8")] {
        let found = |line: &&Vec<String>| line[0] == workload && line[1] == jobs;
        let line = table.iter().find(found);
        let line = line.unwrap_or_else(|| panic!("{workload} {jobs}\n{text}"));
        // Commits that nobody waits for share no log write.
        let per_write = headings.iter().position(|h| *h == "Commits/write");
        let per_write = per_write.map(|at| line[at].as_str());
        // A device that is busy with other work may let none through in so short a time.
        if line[2] == "0" {
            continue;
        }
        assert_eq!(per_write == Some("–"), workload == "LGWR-THR", "{line:?}");
    }
}
