//! What was counted of a row of TPROC-C, and its figures.

use super::Foreground;
use crate::run::{ConsistencyCondition, TprocCDetail, TprocCFigures};
use crate::workload::TprocC;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Nanoseconds of a minute.
const MINUTE_NS: f64 = 60e9;

/// What was counted of a row of TPROC-C.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TprocCRecord {
    /// What the plan decided.
    pub load: TprocC,
    /// Warehouses of the schema.
    pub warehouses: u32,
    /// Nanoseconds between the two readings.
    pub counted_ns: u64,
    /// Growth of the sum of `d_next_o_id`; `None` where it could not be read.
    pub new_orders: Option<u64>,
    /// Growth of the server's commits and rollbacks; `None` where it does not report them.
    pub transactions: Option<u64>,
    /// New orders that were rolled back as TPROC-C demands.
    pub rolled_back: u64,
    /// Transactions that were run again.
    pub retries: u64,
    /// The consistency conditions after the last round.
    pub conditions: Vec<ConsistencyCondition>,
}

impl TprocCRecord {
    /// Adds another round; `is_last` where it was the later one.
    pub(super) fn merge(&mut self, other: &TprocCRecord, is_last: bool) {
        self.counted_ns = self.counted_ns.saturating_add(other.counted_ns);
        let sum = |(a, b): (u64, u64)| a.saturating_add(b);
        self.new_orders = self.new_orders.zip(other.new_orders).map(sum);
        self.transactions = self.transactions.zip(other.transactions).map(sum);
        self.rolled_back = self.rolled_back.saturating_add(other.rolled_back);
        self.retries = self.retries.saturating_add(other.retries);
        if is_last {
            self.conditions.clone_from(&other.conditions);
        }
    }

    /// The figures, with the latencies of `foregrounds`.
    pub(super) fn figures(&self, foregrounds: &BTreeMap<String, Foreground>) -> TprocCFigures {
        let per_minute = |count: u64| {
            (self.counted_ns > 0).then(|| count as f64 * MINUTE_NS / self.counted_ns as f64)
        };
        let latencies = foregrounds
            .iter()
            .map(|(kind, fg)| (kind.clone(), fg.latency.stats()));
        TprocCFigures {
            nopm: self.new_orders.and_then(per_minute),
            tpm: self.transactions.and_then(per_minute),
            detail: Some(TprocCDetail {
                warehouses: self.warehouses,
                think: self.load.think,
                counted_ns: self.counted_ns,
                new_orders: self.new_orders,
                transactions: self.transactions,
                rolled_back: self.rolled_back,
                retries: self.retries,
                latencies: latencies.collect(),
                conditions: self.conditions.clone(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seconds: u64, new_orders: u64, transactions: Option<u64>) -> TprocCRecord {
        TprocCRecord {
            counted_ns: seconds * 1_000_000_000,
            new_orders: Some(new_orders),
            transactions,
            conditions: vec![ConsistencyCondition {
                checked: new_orders,
                ..ConsistencyCondition::default()
            }],
            ..TprocCRecord::default()
        }
    }

    #[test]
    fn nopm_and_tpm_are_growth_per_minute() {
        let foregrounds = BTreeMap::from([("payment".to_owned(), Foreground::default())]);
        let figures = record(30, 1000, Some(2300)).figures(&foregrounds);
        assert_eq!((figures.nopm, figures.tpm), (Some(2000.0), Some(4600.0)));
        let detail = figures.detail.expect("a detail");
        assert!(detail.latencies.contains_key("payment"));
        let unknown = record(0, 1000, None).figures(&foregrounds);
        assert_eq!((unknown.nopm, unknown.tpm), (None, None));
    }

    #[test]
    fn rounds_add_and_the_last_ones_conditions_stay() {
        for is_last in [true, false] {
            let mut both = record(30, 1000, Some(2300));
            both.merge(&record(60, 500, Some(700)), is_last);
            assert_eq!(both.counted_ns, 90_000_000_000);
            assert_eq!(both.new_orders, Some(1500));
            assert_eq!(both.transactions, Some(3000));
            assert_eq!(both.conditions[0].checked, if is_last { 500 } else { 1000 });
            both.merge(&record(1, 1, None), is_last);
            assert_eq!(both.transactions, None);
        }
    }
}
