//! The members of a log beside each other, or a disk and its ring, as text for people.

use crate::inspection::{InspectedMembers, InspectedRing};
use crate::output::drawing::draw;
use crate::output::table::Style;
use measure::words::{count as grouped, sanitize, size};

/// The members of a log.
pub(crate) fn members(found: &InspectedMembers, style: Style) -> String {
    let kind = found.kind.as_deref().unwrap_or("none found");
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let lines = found.members.iter().enumerate().map(|(at, member)| {
        vec![
            (at + 1).to_string(),
            or_dash(member.member.map(|n| n.to_string())),
            or_dash(member.cell.map(|n| n.to_string())),
            member.state.replace('_', " "),
            or_dash(member.generation.map(grouped)),
            or_dash(member.end_rba.clone()),
            or_dash(member.lacking_bytes.map(grouped)),
        ]
    });
    let headings = [
        "Place",
        "Member",
        "Cell",
        "State",
        "Generation",
        "Redo up to RBA",
        "Lacks bytes",
    ];
    let lines = draw(&headings, lines.collect(), 4, style);
    let mut out = format!("Members: {kind}\n{lines}");
    for (at, member) in found.members.iter().enumerate() {
        out.push_str(&format!("  {}: {}\n", at + 1, sanitize::line(&member.path)));
        if let Some(pid) = member.open_by_pid {
            out.push_str(&format!(
                "     open by process {pid}: it may change while it is read\n"
            ));
        }
        if let Some(why) = &member.why {
            out.push_str(&format!("     {}\n", sanitize::line(why)));
        }
    }
    match &found.ring {
        Some(ring) => out.push_str(&self::ring(ring, found)),
        None => out.push_str(match found.equal {
            true => "All members are there, in sync and equal.\n",
            false => "The members are not equal. An opening makes those that it believes equal.\n",
        }),
    }
    if let Some(refused) = &found.refused {
        let refused = sanitize::line(refused);
        out.push_str(&format!("An opening with them is refused:\n  {refused}\n"));
    }
    if let Some(salvage) = &found.salvage {
        out.push('\n');
        out.push_str(&super::salvage(salvage));
    }
    out
}

/// The ring of a log, and what an opening takes from it.
fn ring(ring: &InspectedRing, found: &InspectedMembers) -> String {
    let mut out = format!("Ring {}\n", sanitize::line(&ring.path));
    if let Some(bytes) = ring.ring_bytes {
        out.push_str(&format!(
            "  size          {}\n  batches       {} of the log's current life, with {} of redo\n  \
             redo up to    {} on disk and ring together\n",
            size(bytes),
            grouped(ring.batches),
            size(ring.batch_bytes),
            ring.end_rba.as_deref().unwrap_or("-"),
        ));
    }
    let lacking = found.members.first().and_then(|disk| disk.lacking_bytes);
    out.push_str(&match ring.state {
        "spare" => "The ring is spare: the disk has everything that was acknowledged, and the log opens \
                    without\nits ring too. What the ring holds does not count.\n"
            .to_owned(),
        "needed" => format!(
            "The ring is needed: the disk may lack what was acknowledged last. The disk lacks {} bytes \
             that\nthe ring has; an opening gives them to the disk. Without its ring the log is not \
             opened.\n",
            grouped(lacking.unwrap_or(0))
        ),
        _ => "The ring cannot be used.\n".to_owned(),
    });
    if let Some(why) = &ring.why {
        let why = sanitize::line(why);
        out.push_str(&format!("An opening goes on without the ring:\n  {why}\n"));
    }
    out
}
