//! Results of statements in the layouts of the clients `psql` and `mariadb`, for files that people
//! and importers read as if the client had written them.

use drivers::collect::{ClientLayout, ServerListing};
use std::fmt::Write;

/// A listing as the client of its server prints it.
#[must_use]
pub fn text(listing: &ServerListing, layout: ClientLayout) -> String {
    match layout {
        ClientLayout::Psql => psql(listing),
        ClientLayout::Mariadb if is_long(listing) => vertical(listing),
        ClientLayout::Mariadb => boxed(listing),
    }
}

/// Whether a value has several lines.
fn is_long(listing: &ServerListing) -> bool {
    let mut values = listing.rows.iter().flatten().flatten();
    values.any(|value| value.contains('\n'))
}

/// The width of each column, headings included.
fn widths(listing: &ServerListing, null: &str) -> Vec<usize> {
    let width = |text: &str| text.chars().count();
    let of = |(at, column): (usize, &drivers::collect::ListingColumn)| {
        let cells = listing.rows.iter().filter_map(|row| row.get(at));
        let widest = cells
            .map(|cell| width(cell.as_deref().unwrap_or(null)))
            .max();
        width(&column.name).max(widest.unwrap_or(0))
    };
    listing.columns.iter().enumerate().map(of).collect()
}

fn psql(listing: &ServerListing) -> String {
    let widths = widths(listing, "");
    let heads: Vec<String> = listing
        .columns
        .iter()
        .zip(&widths)
        .map(|(column, width)| format!(" {:^width$} ", column.name))
        .collect();
    let rules: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
    let mut out = format!("{}\n{}\n", heads.join("|"), rules.join("+"));
    for row in &listing.rows {
        let cells = row.iter().zip(&listing.columns).zip(&widths);
        let cells: Vec<String> = cells
            .map(|((cell, column), width)| {
                let cell = cell.as_deref().unwrap_or("");
                match column.is_number {
                    true => format!(" {cell:>width$} "),
                    false => format!(" {cell:<width$} "),
                }
            })
            .collect();
        out.push_str(cells.join("|").trim_end());
        out.push('\n');
    }
    let count = listing.rows.len();
    // Writing into text does not fail.
    let _ = writeln!(out, "({count} row{})\n", if count == 1 { "" } else { "s" });
    out
}

fn boxed(listing: &ServerListing) -> String {
    const NULL: &str = "NULL";
    let widths = widths(listing, NULL);
    let rule: String = widths
        .iter()
        .map(|w| format!("+{}", "-".repeat(w + 2)))
        .collect();
    let rule = format!("{rule}+\n");
    let line = |cells: &mut dyn Iterator<Item = (&str, bool)>| {
        let cells = cells
            .zip(&widths)
            .map(|((cell, is_number), width)| match is_number {
                true => format!("| {cell:>width$} "),
                false => format!("| {cell:<width$} "),
            });
        format!("{}|\n", cells.collect::<String>())
    };
    let mut heads = listing
        .columns
        .iter()
        .map(|column| (column.name.as_str(), false));
    let mut out = format!("{rule}{}{rule}", line(&mut heads));
    for row in &listing.rows {
        let cells = row.iter().zip(&listing.columns);
        let mut cells =
            cells.map(|(cell, column)| (cell.as_deref().unwrap_or(NULL), column.is_number));
        out.push_str(&line(&mut cells));
    }
    out.push_str(&rule);
    let count = listing.rows.len();
    // Writing into text does not fail.
    let _ = writeln!(
        out,
        "{count} row{} in set\n",
        if count == 1 { "" } else { "s" }
    );
    out
}

/// As `\G` prints.
fn vertical(listing: &ServerListing) -> String {
    let widest = widths_of_names(listing);
    let stars = "*".repeat(27);
    let mut out = String::new();
    for (number, row) in listing.rows.iter().enumerate() {
        // Writing into text does not fail.
        let _ = writeln!(out, "{stars} {}. row {stars}", number + 1);
        for (cell, column) in row.iter().zip(&listing.columns) {
            let cell = cell.as_deref().unwrap_or("NULL");
            let _ = writeln!(out, "{:>widest$}: {cell}", column.name);
        }
    }
    let count = listing.rows.len();
    let _ = writeln!(
        out,
        "{count} row{} in set\n",
        if count == 1 { "" } else { "s" }
    );
    out
}

fn widths_of_names(listing: &ServerListing) -> usize {
    let widths = listing
        .columns
        .iter()
        .map(|column| column.name.chars().count());
    widths.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivers::collect::ListingColumn;

    fn listing(rows: Vec<Vec<Option<String>>>) -> ServerListing {
        let number = ListingColumn {
            name: "wal_records".to_owned(),
            is_number: true,
        };
        ServerListing {
            name: "pg_stat_wal",
            statement: "SELECT * FROM pg_stat_wal".to_owned(),
            columns: vec![number, ListingColumn::text("stats_reset")],
            rows,
        }
    }

    fn row(values: [Option<&str>; 2]) -> Vec<Option<String>> {
        values.map(|value| value.map(str::to_owned)).to_vec()
    }

    #[test]
    fn a_listing_looks_as_its_client_prints_it() {
        let one = listing(vec![row([Some("2697"), Some("2024-11-23 10:56:20+00")])]);
        let want = "\
\u{20}wal_records |      stats_reset       \n\
-------------+------------------------\n\
\u{20}       2697 | 2024-11-23 10:56:20+00\n\
(1 row)\n\n";
        assert_eq!(text(&one, ClientLayout::Psql), want);
        let two = listing(vec![row([Some("1"), None]), row([None, Some("x")])]);
        let want = "\
+-------------+-------------+
| wal_records | stats_reset |
+-------------+-------------+
|           1 | NULL        |
|        NULL | x           |
+-------------+-------------+
2 rows in set

";
        assert_eq!(text(&two, ClientLayout::Mariadb), want);
        let long = listing(vec![row([Some("1"), Some("\na\nb")])]);
        let want = "\
*************************** 1. row ***************************
wal_records: 1
stats_reset: \n\
a
b
1 row in set

";
        assert_eq!(text(&long, ClientLayout::Mariadb), want);
        assert!(text(&listing(Vec::new()), ClientLayout::Psql).ends_with("(0 rows)\n\n"));
    }
}
