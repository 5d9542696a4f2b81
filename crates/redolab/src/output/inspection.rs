//! What is in a log, as text for people.

pub(crate) use members::members;

mod members;

use super::lines::{LINE_MAX, wrap};
use super::{drawing, table};
use crate::archived::ArchiveSurvey;
use crate::inspection::{InspectedControl, InspectedLog, InspectedSalvage};
use measure::words::{count as grouped, sanitize, size};

/// What was found in a log.
pub(crate) fn text(found: &InspectedLog, style: table::Style) -> String {
    let mut out = format!("Redo log {}\n", sanitize::line(&found.path));
    if let Some(pid) = found.open_by_pid {
        out.push_str(&format!(
            "  open by process {pid}: the log may change while it is read\n"
        ));
    }
    if let Some(control) = &found.control {
        out.push_str(&self::control(control, style));
    }
    out.push_str(&contents(found, style));
    if !found.groups.is_empty() {
        out.push('\n');
        out.push_str(&groups(found, style));
    }
    if !found.problems.is_empty() {
        out.push_str("\nProblems:\n");
        for problem in &found.problems {
            out.push_str(&format!("  {}\n", sanitize::line(&problem.detail)));
        }
    }
    if let Some(salvage) = &found.salvage {
        out.push('\n');
        out.push_str(&self::salvage(salvage));
    }
    if let Some(dump) = &found.dump {
        out.push_str("\nThe first bytes of each record:\n");
        for record in dump {
            let bytes = grouped(record.bytes);
            out.push_str(&format!("{}  {bytes} bytes\n", record.rba));
            out.push_str(&hex_dump(&record.head));
        }
        let more = found.records.saturating_sub(dump.len() as u64);
        if more > 0 {
            out.push_str(&format!(
                "({} more records; --limit 0 lists all)\n",
                grouped(more)
            ));
        }
    }
    out
}

/// Bytes in hexadecimal and in ASCII, as `hexdump -C` prints them. What is not printable is a dot.
fn hex_dump(bytes: &[u8]) -> String {
    const LINE: usize = 16;
    let line = |(at, line): (usize, &[u8])| {
        let hex = |part: &[u8]| part.iter().map(|b| format!(" {b:02x}")).collect::<String>();
        let (left, right) = line.split_at(line.len().min(LINE / 2));
        let text = line.iter().map(|b| match b {
            b' '..=b'~' => char::from(*b),
            _ => '.',
        });
        let text: String = text.collect();
        format!(
            "  {:08x} {:<24} {:<24}  |{text}|\n",
            at * LINE,
            hex(left),
            hex(right)
        )
    };
    bytes.chunks(LINE).enumerate().map(line).collect()
}

/// What an archive holds.
pub(crate) fn archive(found: &ArchiveSurvey) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    let mut out = format!(
        "Archive {}\n  log id        {}\n  files         {}\n  records       {} with {}\n  \
         begin, end    {}, {}\nThe archive is whole.\n",
        sanitize::line(&found.path),
        or_none(&found.log_id),
        grouped(found.files),
        grouped(found.records),
        size(found.record_bytes),
        or_none(&found.begin_rba),
        or_none(&found.end_rba),
    );
    for name in &found.unfinished {
        let name = sanitize::line(name);
        out.push_str(&format!(
            "{name} was not finished: the log still has its redo.\n"
        ));
    }
    out
}

fn control(control: &InspectedControl, style: table::Style) -> String {
    let closed = control.closed_at_rba.as_deref();
    let mut out = format!(
        "  log id        {}\n  shape         {} groups of {}, {} blocks of {} bytes in each; \
         writes padded to {} bytes\n  checkpoint    {}\n  closed at     {}\n  \
         proved up to  {}\n",
        control.log_id,
        control.log_groups,
        size(control.log_file_bytes),
        grouped(control.blocks_per_log),
        control.redo_block_bytes,
        control.seal_bytes,
        control.checkpoint_rba,
        closed.unwrap_or("not closed: it is open, or its owner crashed"),
        control.durable_rba,
    );
    if control.format_version != redo::format::FORMAT_VERSION {
        out.push_str(&format!(
            "  format        version {}; the next opening for writing makes it version {}\n",
            control.format_version,
            redo::format::FORMAT_VERSION
        ));
    }
    match control.ring {
        Some("spare") => out.push_str("  ring          spare: the log opens without it too\n"),
        Some(_) => out.push_str(
            "  ring          needed: the disk may lack what was acknowledged last; look at both with\n                \
             redolab inspect --members ring:DISK,RING\n",
        ),
        None => {}
    }
    if control.incarnations.len() > 1 {
        let lines = control.incarnations.iter().map(|i| {
            vec![
                i.number.to_string(),
                i.previous_end_rba.clone(),
                i.first_rba.clone(),
                i.life_id.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        });
        let headings = ["Incarnation", "After", "First block", "Life"];
        let (headings, lines) = drawing::fit(&headings, lines.collect(), &["First block"], style);
        out.push_str(&drawing::draw(&headings, lines, 4, style));
    } else if let Some(only) = control.incarnations.first() {
        let life = only.life_id.as_deref().unwrap_or("none");
        out.push_str(&format!("  incarnation   {}, life {life}\n", only.number));
    }
    out
}

fn contents(found: &InspectedLog, style: table::Style) -> String {
    let rba = |rba: &Option<String>| rba.clone().unwrap_or_else(|| "-".to_owned());
    let end = match found.end {
        "clean" => "clean: nothing was written after the last whole batch",
        "torn" => "torn: the last write was never finished, and never acknowledged",
        _ => "DAMAGED: acknowledged redo may be missing; the log cannot be opened in this state",
    };
    let mut out = format!(
        "  records       {} with {} since the checkpoint\n  first, last   {}, {}\n  \
         end           {}\n  {end}\n",
        grouped(found.records),
        size(found.record_bytes),
        rba(&found.first_rba),
        rba(&found.last_rba),
        rba(&found.end_rba),
    );
    if let (true, Some(control)) = (found.beyond_proof, &found.control) {
        let proved = format!(
            "Control information proves redo durable up to {}. Redo behind it could be lost without \
             notice if a whole log file were replaced by an older copy.",
            control.durable_rba
        );
        wrap(&mut out, "  ", &proved, style.width.min(LINE_MAX));
    }
    out
}

fn salvage(salvage: &InspectedSalvage) -> String {
    let unknown = salvage.lost_blocks - salvage.readable_blocks;
    let last = salvage.last_kept_rba.as_deref();
    let last = last.map_or(String::new(), |rba| format!(", the last at RBA {rba}"));
    let (head, kept, lost) = if salvage.done {
        ("The redo behind the damage was given up", "kept", "lost")
    } else {
        ("Giving up the redo behind the damage would", "keep", "lose")
    };
    let mut out = format!(
        "{head}:\n  {kept}  {} records{last}\n  {lost}  {} blocks from RBA {} up to RBA {}\n        \
         {} of them can be read and contain {} whole records\n        {} of them cannot be read; \
         what they contained is not known\n",
        grouped(salvage.kept_records),
        grouped(salvage.lost_blocks),
        salvage.at_rba,
        salvage.lost_upto_rba,
        grouped(salvage.readable_blocks),
        grouped(salvage.lost_records),
        grouped(unknown),
    );
    if salvage.lost_blocks == 0 {
        out.push_str("  If redo followed the checkpoint, nothing of it is left.\n");
    }
    if !salvage.done {
        out.push_str(&format!(
            "Nothing was changed. Restore the log from a copy where there is one. Acknowledged commits \
             are lost\nfor good otherwise; to accept that, copy the log and add:\n  --accept-loss {}\n",
            salvage.at_rba
        ));
    }
    out
}

fn groups(found: &InspectedLog, style: table::Style) -> String {
    let lines = found.groups.iter().map(|group| {
        vec![
            group.group.to_string(),
            group.status.to_owned(),
            sanitize::line(&group.file),
            group.log_seq.map_or("-".to_owned(), grouped),
            grouped(group.blocks),
            grouped(group.older_blocks),
            grouped(group.unsound_blocks),
        ]
    });
    let headings = [
        "Group",
        "Status",
        "File",
        "Log_seq",
        "Blocks",
        "Older blocks",
        "Wrong checksum",
    ];
    drawing::draw(&headings, lines.collect(), 3, style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_dumped_as_hexdump_does() {
        let bytes = b"debit 100\0\x7f\xffcredit~";
        let expected = "  00000000  64 65 62 69 74 20 31 30  30 00 7f ff 63 72 65 64  \
                        |debit 100...cred|\n  00000010  69 74 7e";
        let dumped = hex_dump(bytes);
        assert!(dumped.starts_with(expected), "{dumped}");
        assert!(dumped.ends_with("  |it~|\n"), "{dumped}");
        let columns = |line: &str| line.find('|');
        let mut lines = dumped.lines();
        assert_eq!(
            lines.next().map(columns),
            lines.next().map(columns),
            "{dumped}"
        );
        assert_eq!(hex_dump(b""), "");
    }
}
