//! The consistency conditions of TPROC-C: what must hold between the tables when no transaction is
//! running.
//!
//! Source: TPC-C 3.3.2.1 to 3.3.2.4. Invariant: a condition holds only if it was checked and no
//! warehouse or district violates it.
//!
//! What it must not know: servers and statements. Money is in hundredths.

use measure::run::ConsistencyCondition;

/// What the tables contain for a warehouse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WarehouseState {
    /// Its number.
    pub warehouse: u32,
    /// `w_ytd`.
    pub ytd: i128,
    /// The sum of `d_ytd` of its districts.
    pub districts_ytd: i128,
}

/// What the tables contain for a district.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DistrictState {
    /// Its warehouse.
    pub warehouse: u32,
    /// Its number.
    pub district: u32,
    /// `d_next_o_id`.
    pub next_order: i64,
    /// The largest `o_id`; `None` where it has no orders.
    pub last_order: Option<i64>,
    /// The smallest and the largest `no_o_id`; `None` where it has no new orders.
    pub new_orders: Option<(i64, i64)>,
    /// Rows of `new_order`.
    pub new_order_count: i64,
    /// The sum of `o_ol_cnt`.
    pub lines_of_orders: i64,
    /// Rows of `order_line`.
    pub order_lines: i64,
}

/// The names of the conditions, in their order.
const CONDITIONS: [&str; 4] = [
    "w_ytd = sum(d_ytd)",
    "d_next_o_id - 1 = max(o_id) = max(no_o_id)",
    "max(no_o_id) - min(no_o_id) + 1 = count(new_order)",
    "sum(o_ol_cnt) = count(order_line)",
];

/// The conditions, while warehouse after warehouse is checked.
#[derive(Clone, Debug)]
pub struct ConditionCheck {
    found: [ConsistencyCondition; 4],
}

impl Default for ConditionCheck {
    fn default() -> ConditionCheck {
        ConditionCheck {
            found: CONDITIONS.map(|name| ConsistencyCondition {
                name: name.to_owned(),
                ..ConsistencyCondition::default()
            }),
        }
    }
}

impl ConditionCheck {
    /// Checks a warehouse.
    pub fn warehouse(&mut self, state: &WarehouseState) {
        let (own, sum) = (state.ytd, state.districts_ytd);
        self.note(0, own == sum, || {
            format!(
                "warehouse {}: w_ytd is {}, sum(d_ytd) is {}",
                state.warehouse,
                money(own),
                money(sum)
            )
        });
    }

    /// Checks a district.
    pub fn district(&mut self, state: &DistrictState) {
        let place = || format!("warehouse {}, district {}", state.warehouse, state.district);
        let last = state.next_order - 1;
        let last_new = state.new_orders.map(|(_, last)| last);
        let agree = state.last_order == Some(last) && last_new.is_none_or(|new| new == last);
        self.note(1, agree, || {
            format!(
                "{}: d_next_o_id is {}, max(o_id) is {}, max(no_o_id) is {}",
                place(),
                state.next_order,
                or_none(state.last_order),
                or_none(last_new)
            )
        });
        let span = state.new_orders.map_or(0, |(first, last)| last - first + 1);
        self.note(2, span == state.new_order_count, || {
            format!(
                "{}: new_order has {} rows, from {} to {}",
                place(),
                state.new_order_count,
                or_none(state.new_orders.map(|(first, _)| first)),
                or_none(last_new)
            )
        });
        self.note(3, state.lines_of_orders == state.order_lines, || {
            format!(
                "{}: sum(o_ol_cnt) is {}, order_line has {} rows",
                place(),
                state.lines_of_orders,
                state.order_lines
            )
        });
    }

    /// The conditions with what was found.
    #[must_use]
    pub fn conditions(self) -> Vec<ConsistencyCondition> {
        self.found.into()
    }

    fn note(&mut self, condition: usize, holds: bool, figures: impl FnOnce() -> String) {
        let found = &mut self.found[condition];
        found.checked += 1;
        if !holds {
            found.violated += 1;
            found.first_violation.get_or_insert_with(figures);
        }
    }
}

fn money(hundredths: i128) -> String {
    let sign = if hundredths < 0 { "-" } else { "" };
    let size = hundredths.unsigned_abs();
    format!("{sign}{}.{:02}", size / 100, size % 100)
}

fn or_none(value: Option<i64>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOADED: DistrictState = DistrictState {
        warehouse: 1,
        district: 2,
        next_order: 3001,
        last_order: Some(3000),
        new_orders: Some((2101, 3000)),
        new_order_count: 900,
        lines_of_orders: 30_011,
        order_lines: 30_011,
    };

    /// The indexes of the conditions that a district violates.
    fn violated(change: impl FnOnce(&mut DistrictState)) -> Vec<usize> {
        let mut state = LOADED;
        change(&mut state);
        let mut check = ConditionCheck::default();
        check.district(&state);
        let found = check.conditions();
        (0..4).filter(|i| found[*i].violated > 0).collect()
    }

    #[test]
    fn each_figure_that_is_wrong_violates_its_condition() {
        assert_eq!(violated(|_| {}), [0; 0]);
        assert_eq!(violated(|s| s.next_order += 1), [1]);
        assert_eq!(violated(|s| s.last_order = Some(2999)), [1]);
        assert_eq!(violated(|s| s.last_order = None), [1]);
        assert_eq!(violated(|s| s.new_orders = Some((2100, 2999))), [1]);
        assert_eq!(violated(|s| s.new_order_count -= 1), [2]);
        assert_eq!(violated(|s| s.order_lines -= 1), [3]);
        // A district of which everything is delivered.
        assert_eq!(
            violated(|s| (s.new_orders, s.new_order_count) = (None, 0)),
            [0; 0]
        );
        assert_eq!(violated(|s| s.new_orders = None), [2]);
    }

    #[test]
    fn a_violation_is_reported_with_its_figures() {
        let mut check = ConditionCheck::default();
        for (warehouse, ytd) in [(1, 30_000_000), (2, -5), (3, 0)] {
            check.warehouse(&WarehouseState {
                warehouse,
                ytd,
                districts_ytd: 30_000_000,
            });
        }
        let found = check.conditions();
        assert_eq!((found[0].checked, found[0].violated), (3, 2));
        let first = found[0].first_violation.as_deref();
        assert_eq!(
            first,
            Some("warehouse 2: w_ytd is -0.05, sum(d_ytd) is 300000.00")
        );
        assert!(found[0].is_checked() && !found[0].holds());
        assert!(!found[1].is_checked() && !found[1].holds());
    }
}
