//! Names of series: row and event, such as `03-LGWR-LAT1-64/log_file_sync`.

/// Row (from 0) and event of a series; `None` for a name that is not of a row.
#[must_use]
pub fn row_and_event(name: &str) -> Option<(usize, &str)> {
    let (row, event) = name.split_once('/')?;
    let number: usize = row.split_once('-')?.0.parse().ok()?;
    Some((number.checked_sub(1)?, event))
}

#[cfg(test)]
mod tests {
    use super::row_and_event;

    #[test]
    fn series_name_their_row() {
        let series = "03-LGWR-LAT1-64/log_file_sync";
        assert_eq!(row_and_event(series), Some((2, "log_file_sync")));
        assert_eq!(
            row_and_event("103-X-1/commit_latency"),
            Some((102, "commit_latency"))
        );
        for bad in ["", "x/y", "00-X/y", "-1-X/y", "03-X"] {
            assert_eq!(row_and_event(bad), None, "{bad}");
        }
    }
}
