//! Reports in a browser: three widths, light and dark, printed to PDF. No console message, no
//! violation of the page's own policy, nothing wider than the window, the first screen above 900
//! pixels, one printed page, and the script does what it says, by keyboard alone.

use crate::harness::{Place, skipped};
use std::path::{Path, PathBuf};
use std::process::Command;

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

const WIDTHS: [u64; 3] = [390, 768, 1440];

/// A page that holds the report in frames of these widths, looks at them from outside, and says
/// what it sees in the console. `REPORT` is put in.
const LOOKER: &str = r#"<!DOCTYPE html><meta charset="utf-8"><title>looker</title>
<body><iframe src="REPORT" width="390" height="900"></iframe>
<iframe src="REPORT" width="768" height="900"></iframe>
<iframe src="REPORT" width="1440" height="900"></iframe><script>
"use strict";
function say(what) { console.log("LOOK " + JSON.stringify(what)); }
onload = function () { document.querySelectorAll("iframe").forEach(look); };
function look(frame) {
  var page = frame.contentDocument;
  var root = page.documentElement;
  var wide = Array.prototype.filter.call(page.querySelectorAll("body *"), function (n) {
    return !n.closest(".scroll,.pan,pre,.skip,svg") && n.getBoundingClientRect().right > root.clientWidth + 1;
  }).map(function (n) { return n.tagName + "." + n.className; });
  var small = Array.prototype.filter.call(page.querySelectorAll("svg"), function (s) {
    var width = s.getBoundingClientRect().width;
    return width > 0 && width < 200;
  }).length;
  // The first screen: where its parts end.
  var first = [".facts", ".banner", ".tiles", ".answer figure .pan"].map(function (part) {
    var node = page.querySelector(part);
    return node ? Math.ceil(node.getBoundingClientRect().bottom) : null;
  });
  var button = page.querySelector(".bar button"), copied = null;
  if (button) {
    button.click();
    var holder = page.querySelector(".ticket");
    copied = page.querySelector(".bar output").textContent !== "" &&
      (!holder.open || String(frame.contentWindow.getSelection()).length > 200);
  }
  var live = page.querySelector("figure.live"), zoomed = null, back = null;
  if (live) {
    var path = live.querySelector("path.ln"), pan = live.querySelector(".pan");
    var press = function (key) {
      pan.dispatchEvent(new frame.contentWindow.KeyboardEvent("keydown", { key: key, bubbles: true }));
      return path.getAttribute("d");
    };
    var whole = path.getAttribute("d");
    zoomed = press("+") !== whole;
    back = press("0") === whole;
  }
  // Shapes on paper: what is drawn is drawn alike with the rules for print.
  var shapes = function () {
    return Array.prototype.map.call(page.querySelectorAll("svg rect,svg path,svg circle"), function (n) {
      var box = n.getBBox();
      return [n.getAttribute("class"), box.x, box.y, box.width, box.height].join(" ");
    });
  };
  // What print hides has no box.
  var onScreen = shapes(), screen = { width: root.clientWidth, scroll: root.scrollWidth };
  Array.prototype.forEach.call(page.styleSheets, function (sheet) {
    Array.prototype.forEach.call(sheet.cssRules, function (rule) {
      if (rule.media && rule.media.mediaText === "print") { rule.media.mediaText = "all"; }
    });
  });
  var moved = [];
  shapes().forEach(function (shape, i) {
    if (shape !== onScreen[i] && !/ 0 0 0 0$/.test(shape) && !/ 0 0 0 0$/.test(onScreen[i])) {
      moved.push(onScreen[i] + " -> " + shape);
    }
  });
  say({ moved: moved.slice(0, 3), shapes: onScreen.length, width: screen.width, scroll: screen.scroll, wide: wide, small: small,
    figures: page.querySelectorAll("figure svg").length, zoomed: zoomed, back: back,
    first: first, copied: copied,
    data: page.querySelectorAll("script.zd").length });
}
</script>"#;

fn browser() -> Option<&'static str> {
    let found = NAMES.iter().find(|name| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|o| o.status.success())
    });
    if found.is_none() {
        skipped(&format!(
            "no browser ({}) to look at reports with",
            NAMES.join(", ")
        ));
    }
    found.copied()
}

/// Runs the browser without a window, and returns what it says on standard error.
fn look(browser: &str, place: &Place, arguments: &[String]) -> String {
    let profile = place.path().join("browser");
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--hide-scrollbars",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--enable-logging=stderr",
            "--v=0",
            "--allow-file-access-from-files",
        ])
        .args(["--virtual-time-budget=10000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .output()
        .expect("the browser starts");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// What a page wrote to the console, without what the looker says.
fn console(said: &str) -> Vec<&str> {
    let lines = said
        .lines()
        .filter(|l| l.contains("CONSOLE") || l.contains("Refused to"));
    lines.filter(|l| !l.contains("LOOK ")).collect()
}

/// A run of five minutes: one of a moment, its only interval repeated, under another name.
fn store_a_long_run(place: &Place) -> String {
    let short = place.store_a_run();
    let mut export = place.run(&["report", &short, "--format", "redolab"]).json();
    let run = &mut export["run"];
    let id = format!("{short}-long");
    run["run_id"] = id.clone().into();
    let one = run["rows"][0]["intervals"][0].clone();
    let intervals = (1..=300_u32).map(|second| {
        let mut interval = one.clone();
        interval["t_s"] = second.into();
        interval["seconds"] = 1.into();
        interval["commits"] = (1000 + second * 37 % 211).into();
        interval
    });
    run["rows"][0]["intervals"] = intervals.collect();
    let path = place.path().join("long.json");
    std::fs::write(&path, export.to_string()).expect("writes");
    place
        .run(&["import", &path.display().to_string()])
        .expect(0, &[]);
    id
}

/// Reports of each kind, made by the binary: a long run, evidence, a check.
fn reports(place: &Place) -> Vec<PathBuf> {
    let report = |name: &str, id: &str| {
        let path = place.path().join(name);
        let shown = path.display().to_string();
        place.run(&["report", id, "-o", &shown]).expect(0, &[]);
        path
    };
    let mut all = vec![report("long.html", &store_a_long_run(place))];
    let evidence = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/000");
    let files = [
        "lg03-lines.trc",
        "event-histograms.txt",
        "outliers-320-351.txt",
    ];
    let files = files.map(|f| evidence.join(f).display().to_string());
    let mut arguments = vec!["import", "-q", "--format", "json"];
    arguments.extend(files.iter().map(String::as_str));
    let imported = place.run(&arguments).json();
    let id = imported["run_id"].as_str().expect("a run has a name");
    all.push(report("evidence.html", id));
    let checked = place.path().join("checked.html");
    let done = place.check(
        &place.target,
        &["--report", &checked.display().to_string(), "-q"],
    );
    assert!(checked.exists(), "{done:?}");
    all.push(checked);
    all.push(compared(place));
    all
}

/// The report of a live comparison of two rounds.
fn compared(place: &Place) -> PathBuf {
    let path = place.path().join("compared.html");
    let shown = path.display().to_string();
    let [on_a, on_b] = ["a", "b"].map(|name| format!("{name}={}", place.target.display()));
    let arguments = [
        "compare",
        "--on",
        &on_a,
        "--on",
        &on_b,
        "--rounds",
        "2",
        "--jobs",
        "1,2",
        "--time",
        "300ms",
        "--workload",
        "LGWR-LAT1",
        "--allow-busy",
        "--report",
        &shown,
    ];
    let done = place.run(&arguments);
    assert!(path.exists(), "{done:?}");
    path
}

#[test]
fn reports_hold_in_a_browser_at_three_widths_light_and_dark() {
    let Some(browser) = browser() else {
        return;
    };
    let place = Place::new();
    // The schemes in turn; `cargo xtask prove reports` takes both.
    let all = std::env::var_os("REDOLAB_EVERY_SCHEME").is_some();
    for (turn, report) in reports(&place).into_iter().enumerate() {
        for (number, scheme) in ["dark", "light"].into_iter().enumerate() {
            if all || turn % 2 == number {
                looks_well(browser, &place, &report, (number, scheme));
            }
        }
        prints(browser, &place, &report);
    }
}

/// The report in a scheme, by its number for the browser, holds at each width.
fn looks_well(browser: &str, place: &Place, report: &Path, (number, scheme): (usize, &str)) {
    let page = place.path().join("looker.html");
    let name = report.file_name().expect("a file").to_string_lossy();
    std::fs::write(&page, LOOKER.replace("REPORT", &name)).expect("writes");
    let shot = place.path().join("shot.png");
    let arguments = [
        format!("--blink-settings=preferredColorScheme={number}"),
        "--window-size=1480,3000".to_owned(),
        format!("--screenshot={}", shot.display()),
        url(&page),
    ];
    // A browser that was started on a busy machine may end before the page was loaded.
    let mut said = look(browser, place, &arguments);
    for _ in 0..2 {
        if !said.contains("LOOK ") && console(&said).is_empty() {
            said = look(browser, place, &arguments);
        }
    }
    let what = format!("{name}, {scheme}:\n{said}");
    assert_eq!(console(&said), Vec::<&str>::new(), "{what}");
    let seen: Vec<serde_json::Value> = said
        .split("LOOK ")
        .skip(1)
        .filter_map(|s| s.split("\", source").next())
        .map(|s| serde_json::from_str(&s.replace("\\\"", "\"")).expect("what is said is JSON"))
        .collect();
    assert_eq!(seen.len(), WIDTHS.len(), "not all was seen of {what}");
    for (seen, width) in seen.iter().zip(WIDTHS) {
        let what = format!("{width} px, {what}");
        assert_eq!(seen["wide"], serde_json::json!([]), "{what}");
        assert_eq!(seen["width"], width, "{what}");
        assert_eq!(seen["scroll"], seen["width"], "{what}");
        assert_eq!(seen["small"], 0, "{what}");
        assert_eq!(seen["moved"], serde_json::json!([]), "{what}");
        assert_eq!(seen["copied"], true, "{what}");
        if width == 1440 {
            fits_the_first_screen(&seen["first"], &what);
        }
        assert!(seen["figures"].as_u64().is_some_and(|n| n > 0), "{what}");
        if seen["data"].as_u64().is_some_and(|n| n > 0) {
            assert_eq!(
                (&seen["zoomed"], &seen["back"]),
                (&true.into(), &true.into()),
                "{what}"
            );
        }
    }
    assert!(
        std::fs::metadata(&shot).is_ok_and(|m| m.len() > 1000),
        "{what}"
    );
}

/// Facts, answer, four figures and the drawing end above 900 pixels. Evidence has no four figures.
fn fits_the_first_screen(first: &serde_json::Value, what: &str) {
    let ends = first.as_array().expect("the parts");
    let known: Vec<u64> = ends.iter().filter_map(serde_json::Value::as_u64).collect();
    assert!(known.len() >= 3, "{first}: {what}");
    assert!(known.iter().all(|end| *end <= 900), "{first}: {what}");
}

/// The report prints on one page; from its appendix, on several.
fn prints(browser: &str, place: &Place, report: &Path) {
    let page = url(report);
    assert_eq!(pages(browser, place, &page), 1, "{page}");
    let all = pages(browser, place, &format!("{page}#appendix"));
    assert!(all > 1, "{page}: {all} pages with the appendix");
}

/// Pages of a PDF, which is made without a message.
fn pages(browser: &str, place: &Place, address: &str) -> usize {
    let pdf = place.path().join("report.pdf");
    let arguments = [
        "--no-pdf-header-footer".to_owned(),
        format!("--print-to-pdf={}", pdf.display()),
        address.to_owned(),
    ];
    let said = look(browser, place, &arguments);
    assert_eq!(console(&said), Vec::<&str>::new(), "{said}");
    let bytes = std::fs::read(&pdf).expect("a PDF");
    assert!(
        bytes.starts_with(b"%PDF") && bytes.len() > 10_000,
        "{} bytes",
        bytes.len()
    );
    let text = String::from_utf8_lossy(&bytes);
    text.matches("/Type /Page").count() - text.matches("/Type /Pages").count()
}
