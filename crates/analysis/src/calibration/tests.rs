//! Errors with known answers.

use super::*;

fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut out = Histogram::new();
    values.into_iter().for_each(|value| out.record(value));
    out
}

#[test]
fn a_distribution_that_is_shifted_has_the_shift_over_the_mean_as_its_demerit() {
    let measured = histogram((0..10_000).map(|n| 100_000 + n * 10));
    let shifted = histogram((0..10_000).map(|n| 110_000 + n * 10));
    let found = demerit_pct(&shifted, &measured).expect("both have values");
    // 10 µs of a mean of 150 µs; buckets are a thousandth wide.
    assert!((found - 6.667).abs() < 0.2, "{found}");
    assert_eq!(demerit_pct(&measured, &measured), Some(0.0));
    assert_eq!(demerit_pct(&Histogram::new(), &measured), None);
}

#[test]
fn the_band_of_errors_still_to_come_is_not_the_mean() {
    let errors: Vec<f64> = (1..=19).map(|n| -f64::from(n)).collect();
    assert_eq!(held_error(&errors), Some(17.0));
    assert_eq!(held_error(&[3.0, -5.0]), Some(5.0));
    assert_eq!(held_error(&[]), None);
}

#[test]
fn baselines_find_the_laws_that_made_their_cells() {
    let rate =
        |n: u32, redo: u32| 1e4 * f64::from(n).powf(0.6) * (f64::from(redo) / 2000.0).powf(-0.5);
    let cells: Vec<(u32, u32, f64)> = [(1, 2000), (4, 2000), (16, 2000), (64, 2000), (1, 125_000)]
        .map(|(n, redo)| (n, redo, rate(n, redo)))
        .to_vec();
    let found = Baselines::of(&cells);
    let power = found.power_law(8, 26_000).expect("five cells");
    assert!((power / rate(8, 26_000) - 1.0).abs() < 1e-6, "{power}");
    let law = |n: u32| 1e4 * f64::from(n) / (1.0 + 0.1 * f64::from(n - 1));
    let cells = [1, 4, 16, 64].map(|n| (n, 2000, law(n)));
    let large = [(1, 125_000, law(1) / 4.0)];
    let found = Baselines::of(&[&cells[..], &large].concat());
    let usl = found.usl(8, 2000).expect("four numbers of jobs");
    assert!((usl / law(8) - 1.0).abs() < 1e-3, "{usl}");
    assert_eq!(Baselines::of(&[]).power_law(1, 1), None);
}

#[test]
fn cells_that_do_not_repeat_are_not_judged() {
    let figures = |per_s| CellFigures {
        per_s,
        mean_ns: 1e9 / per_s,
        p50_ns: 1e9 / per_s,
        p99_ns: 2e9 / per_s,
    };
    let cell = |runs: [f64; 2], model: f64| JudgedCell {
        predicted: CellPrediction {
            cell: CalibrationCell {
                log_writer: "inline".to_owned(),
                jobs: 8,
                redo_bytes: 2000,
            },
            beyond: false,
            model: figures(model),
            band_per_s: [model * 0.95, model * 1.05],
            power_law_per_s: Some(model),
            usl_per_s: None,
        },
        runs: runs.map(figures),
        demerit_pct: None,
        demerit_of_runs_pct: Some(1.0),
    };
    let cells = [
        cell([100.0, 100.0], 110.0),
        cell([100.0, 100.0], 98.0),
        cell([100.0, 126.0], 1000.0),
    ];
    let found = errors(&cells).expect("two are judged");
    assert_eq!((found.judged, found.drawn, found.held), (2, 3, 1));
    assert!((found.per_s_pct - 6.0).abs() < 1e-9, "{found:?}");
    assert_eq!(
        (found.usl_pct, found.demerit_of_runs_pct),
        (None, Some(1.0))
    );
    assert_eq!(errors(&cells[2..]), None);
}
