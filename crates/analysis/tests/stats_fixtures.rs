//! Statistics against figures from R and SciPy (tests/fixtures/stats says how they were made).

use analysis::stats::{
    Counts, Moments, autocorrelation, effect, rank, scaling, shift, summary, tails, welch,
};
use serde_json::Value;
use std::collections::BTreeMap;

fn file(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/stats");
    let text = std::fs::read_to_string(format!("{folder}/{name}")).expect("a fixture");
    serde_json::from_str(&text).expect("JSON")
}

fn samples() -> BTreeMap<String, Vec<f64>> {
    serde_json::from_value(file("samples.json")).expect("samples")
}

fn numbers(value: &Value) -> Vec<f64> {
    let all = value.as_array().expect("numbers").iter();
    all.map(|v| v.as_f64().unwrap_or(f64::NAN)).collect()
}

/// Within 1e-9 of the larger of 1 and the figure.
fn close(found: f64, wanted: f64, what: &str) {
    // Means near 1e9 are known to 1e-7, their difference is about 0.5.
    let tolerance = if what == "offset" { 1e-6 } else { 1e-9 };
    near(found, wanted, tolerance, what);
}

fn near(found: f64, wanted: f64, tolerance: f64, what: &str) {
    let allowed = tolerance * wanted.abs().max(1.0);
    assert!(
        (found - wanted).abs() <= allowed,
        "{what}: {found}, not {wanted}"
    );
}

fn each_pair(mut check: impl FnMut(&str, &[f64], &[f64], &Value, &Value)) {
    let (samples, r, scipy) = (samples(), file("r.json"), file("scipy.json"));
    let mut seen = 0;
    for (name, a) in &samples {
        if let Some(stem) = name.strip_suffix("_a") {
            let b = &samples[&format!("{stem}_b")];
            check(stem, a, b, &r["pairs"][stem], &scipy["pairs"][stem]);
            seen += 1;
        }
    }
    assert_eq!(seen, 5);
}

#[test]
fn summaries_are_those_of_r() {
    let (samples, r, scipy) = (samples(), file("r.json"), file("scipy.json"));
    for (name, values) in &samples {
        let s = summary::of(values).expect("values");
        let sd = Moments::of(values).expect("values").sd;
        let found = [s.min, s.q1, s.median, s.mean, s.q3, s.max, sd];
        for (found, wanted) in found.iter().zip(numbers(&r["summary"][name])) {
            close(*found, wanted, name);
        }
        let counts = Counts::of(values).expect("values");
        for pair in scipy["quantiles"][name].as_array().expect("pairs") {
            let pair = numbers(pair);
            close(
                counts.quantile(pair[0]).expect("a quantile").value,
                pair[1],
                name,
            );
        }
    }
}

#[test]
fn welch_is_that_of_r_and_of_scipy() {
    each_pair(|name, a, b, r, scipy| {
        let (a, b) = (Moments::of(a).expect("a"), Moments::of(b).expect("b"));
        let w = welch::test(&a, &b, 0.95).expect("they vary");
        let found = [w.t, w.df, w.p.value(), w.difference.low, w.difference.high];
        for side in [r, scipy] {
            for (found, wanted) in found.iter().zip(numbers(&side["welch"])) {
                close(*found, wanted, name);
            }
        }
    });
}

#[test]
fn mann_whitney_is_that_of_r_and_of_scipy() {
    each_pair(|name, a, b, r, scipy| {
        let (a, b) = (Counts::of(a).expect("a"), Counts::of(b).expect("b"));
        let found = rank::mann_whitney(&a, &b).expect("they differ");
        let wanted = numbers(&r["wilcoxon"]);
        close(found.u, wanted[0], name);
        close(found.p.value(), wanted[1], name);
        assert_eq!(Some(found.exact), r["exact"].as_bool(), "{name}");
        close(
            found.delta,
            scipy["cliff_delta"].as_f64().expect("delta"),
            name,
        );
        let other = numbers(&scipy["mann_whitney"]);
        close(found.u, other[0], name);
        if !found.exact {
            close(found.p.value(), other[1], name);
        }
    });
}

#[test]
fn hodges_lehmann_is_that_of_all_differences_sorted() {
    each_pair(|name, a, b, r, scipy| {
        let (a, b) = (Counts::of(a).expect("a"), Counts::of(b).expect("b"));
        let wanted = numbers(&r["hodges_lehmann"]);
        match shift::hodges_lehmann(&a, &b, 0.95) {
            Ok(found) => {
                close(found.value, wanted[0], name);
                close(found.low, wanted[1], name);
                close(found.high, wanted[2], name);
                close(
                    found.value,
                    scipy["median_difference"].as_f64().expect("it"),
                    name,
                );
            }
            Err(_) => assert!(wanted[1].is_nan(), "{name}"),
        }
    });
}

#[test]
fn effect_sizes_are_those_of_their_formulas() {
    each_pair(|name, a, b, _, scipy| {
        let (a, b) = (Moments::of(a).expect("a"), Moments::of(b).expect("b"));
        let e = effect::of(&a, &b, 0.95).expect("they vary");
        close(e.d.value, scipy["cohen_d"].as_f64().expect("d"), name);
        close(e.g, scipy["hedges_g"].as_f64().expect("g"), name);
        assert!(e.d.low < e.d.value && e.d.value < e.d.high);
    });
}

#[test]
fn tails_are_those_of_r_as_logarithms() {
    let (r, scipy) = (file("r.json"), file("scipy.json"));
    for triple in r["t_tail_ln"].as_array().expect("triples") {
        let [t, df, ln] = numbers(triple)[..] else {
            panic!("three numbers");
        };
        let two = tails::t_two_sided(t, df).ln() - std::f64::consts::LN_2;
        close(two, ln, &format!("t {t} df {df}"));
    }
    for triple in r["t_critical"].as_array().expect("triples") {
        let [level, df, t] = numbers(triple)[..] else {
            panic!("three numbers");
        };
        close(
            tails::t_critical(level, df),
            t,
            &format!("level {level} df {df}"),
        );
    }
    for pair in scipy["normal_tail_ln"].as_array().expect("pairs") {
        let pair = numbers(pair);
        let two = tails::normal_two_sided(pair[0]).ln() - std::f64::consts::LN_2;
        close(two, pair[1], &format!("z {}", pair[0]));
    }
    for pair in scipy["normal_quantile"].as_array().expect("pairs") {
        let pair = numbers(pair);
        close(
            tails::normal_quantile(pair[0]),
            pair[1],
            &format!("p {}", pair[0]),
        );
    }
}

#[test]
fn autocorrelations_and_block_lengths() {
    let (r, scipy) = (file("r.json"), file("scipy.json"));
    let found = autocorrelation::acf(&samples()["latency_a"], 8).expect("a series");
    for (found, wanted) in found.iter().zip(numbers(&r["acf_latency_a"])) {
        close(*found, wanted, "acf");
    }
    for series in scipy["series"].as_array().expect("series") {
        let values = numbers(&series["values"]);
        let found = autocorrelation::block_length(&values).expect("a series");
        let wanted = numbers(&series["block_lengths"]);
        close(found.stationary, wanted[0], "stationary");
        close(found.circular, wanted[1], "circular");
    }
}

#[test]
fn the_scalability_law_is_fitted_as_scipy_does() {
    let scipy = file("scipy.json");
    let given = &scipy["usl"];
    let fit = scaling::usl(&numbers(&given["n"]), &numbers(&given["x"])).expect("a law");
    let get = |key: &str| given[key].as_f64().expect(key);
    // Both stop where the sum of squares no longer falls in its last digits.
    near(fit.lambda, get("scale"), 1e-6, "lambda");
    near(fit.sigma, get("sigma"), 1e-7, "sigma");
    near(fit.kappa, get("kappa"), 1e-8, "kappa");
    let rss: f64 = fit.residuals.iter().map(|r| r * r).sum();
    near(rss, get("rss"), 1e-9, "rss");
    assert!(fit.peak_seen && fit.r_squared > 0.99, "{fit:?}");
}

/// Study 004: t, degrees of freedom and both means are published; the standard deviations are
/// back-solved from them, assuming 4,000,000 values each.
#[test]
fn study_004_is_reproduced_from_its_printed_digits() {
    const ASSUMED_N: u64 = 4_000_000;
    let r = numbers(&file("r.json")["study_004"]);
    let (on, off) = (542.3583, 508.6763);
    let (sd_on, sd_off) =
        welch::back_solve(263.2139, 7_977_922.0, on - off, (ASSUMED_N, ASSUMED_N)).expect("solved");
    // R solves for the same root by iteration, to ten digits.
    near(sd_on, r[0], 1e-8, "sd on");
    near(sd_off, r[1], 1e-8, "sd off");
    assert!((sd_on - 185.7).abs() < 0.05 && (sd_off - 176.1).abs() < 0.05);
    let on = Moments::new(ASSUMED_N, on, sd_on).expect("on");
    let off = Moments::new(ASSUMED_N, off, sd_off).expect("off");
    let w = welch::test(&on, &off, 0.95).expect("they vary");
    near(w.t, 263.2139, 1e-12, "t");
    near(w.df, 7_977_922.0, 1e-9, "df");
    assert_eq!(w.p.to_string(), "< 2.2e-16");
    assert!(w.p.value() == 0.0 && w.p.ln() < -34_000.0, "{}", w.p.ln());
    assert_eq!(
        format!("{:.5} {:.5}", w.difference.low, w.difference.high),
        "33.43119 33.93281"
    );
    close(w.difference.low, r[2], "low");
    close(w.difference.high, r[3], "high");
    let e = effect::of(&on, &off, 0.95).expect("they vary");
    assert_eq!(format!("{:.2}", e.d.value), "0.19");
    assert_eq!(effect::size_of_d(e.d.value).word(), "small");
    assert_eq!(
        format!("{:+.1} %", 100.0 * (on.mean / off.mean - 1.0)),
        "+6.6 %"
    );
}
