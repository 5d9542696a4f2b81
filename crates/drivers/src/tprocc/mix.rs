//! The five transactions of TPROC-C, how often each comes, and how long a user keys and thinks.
//!
//! Sources: HammerDB 4.12 for the mix (a draw from 1 to 23); TPC-C 5.2.5.2 and 5.2.5.4 for keying
//! and thinking times, which HammerDB takes over as fixed times.

use measure::Nanos;

/// A kind of transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransactionKind {
    /// An order of 5 to 15 lines is placed.
    NewOrder,
    /// A customer pays.
    Payment,
    /// The oldest new order of each district of a warehouse is delivered.
    Delivery,
    /// Items of recent orders whose stock is low are counted.
    StockLevel,
    /// The last order of a customer is read.
    OrderStatus,
}

/// The last number of the draw that decides which transaction comes next.
pub const DRAW_MAX: u32 = 23;

impl TransactionKind {
    /// All kinds, in the order of [`TransactionKind::index`].
    pub const ALL: [TransactionKind; 5] = [
        TransactionKind::NewOrder,
        TransactionKind::Payment,
        TransactionKind::Delivery,
        TransactionKind::StockLevel,
        TransactionKind::OrderStatus,
    ];

    /// The kind that a draw from 1 to [`DRAW_MAX`] selects: 10 new order, 10 payment, and 1 of each
    /// other.
    #[must_use]
    pub const fn drawn(draw: u32) -> TransactionKind {
        match draw {
            0..=10 => TransactionKind::NewOrder,
            11..=20 => TransactionKind::Payment,
            21 => TransactionKind::Delivery,
            22 => TransactionKind::StockLevel,
            _ => TransactionKind::OrderStatus,
        }
    }

    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TransactionKind::NewOrder => "new-order",
            TransactionKind::Payment => "payment",
            TransactionKind::Delivery => "delivery",
            TransactionKind::StockLevel => "stock-level",
            TransactionKind::OrderStatus => "order-status",
        }
    }

    /// Its index in [`TransactionKind::ALL`].
    #[must_use]
    pub const fn index(self) -> u16 {
        match self {
            TransactionKind::NewOrder => 0,
            TransactionKind::Payment => 1,
            TransactionKind::Delivery => 2,
            TransactionKind::StockLevel => 3,
            TransactionKind::OrderStatus => 4,
        }
    }

    /// How long a user keys before the transaction.
    #[must_use]
    pub const fn keying(self) -> Nanos {
        Nanos::from_secs(match self {
            TransactionKind::NewOrder => 18,
            TransactionKind::Payment => 3,
            TransactionKind::Delivery
            | TransactionKind::StockLevel
            | TransactionKind::OrderStatus => 2,
        })
    }

    /// How long a user thinks after the transaction.
    #[must_use]
    pub const fn thinking(self) -> Nanos {
        Nanos::from_secs(match self {
            TransactionKind::NewOrder | TransactionKind::Payment => 12,
            TransactionKind::OrderStatus => 10,
            TransactionKind::Delivery | TransactionKind::StockLevel => 5,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_selects_10_10_1_1_1() {
        let counts = TransactionKind::ALL.map(|kind| {
            let drawn = (1..=DRAW_MAX).map(TransactionKind::drawn);
            drawn.filter(|drawn| *drawn == kind).count()
        });
        assert_eq!(counts, [10, 10, 1, 1, 1]);
    }

    #[test]
    fn times_and_indexes_are_those_of_the_definition() {
        let seconds = |time: fn(TransactionKind) -> Nanos| {
            TransactionKind::ALL.map(|kind| time(kind).as_secs() as u32)
        };
        // New order, payment, delivery, stock level, order status.
        assert_eq!(seconds(TransactionKind::keying), [18, 3, 2, 2, 2]);
        assert_eq!(seconds(TransactionKind::thinking), [12, 12, 5, 5, 10]);
        for (index, kind) in TransactionKind::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(kind.index()), index, "{}", kind.name());
        }
    }
}
