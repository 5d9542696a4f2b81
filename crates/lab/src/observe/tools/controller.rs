//! RAID controllers as their own tools show them: the battery or flash backup of the write cache,
//! whether it is used without one, and the caches of the disks behind it.
//!
//! Invariant: only a state that means sound is taken for sound; what is not shown stays unknown.

use super::{Run, installed};
use measure::stack::{ControllerCache, Stack};
use measure::units::parse_bytes;
use serde_json::Value;

/// storcli and perccli are one program under two names.
const STORCLI: &[&str] = &["storcli64", "storcli", "perccli64", "perccli"];
const STORCLI_PLACES: &[&str] = &["/opt/MegaRAID/storcli", "/opt/MegaRAID/perccli"];
const SSACLI: &[&str] = &["ssacli", "hpssacli"];
const SSACLI_PLACES: &[&str] = &["/usr/sbin", "/opt/smartstorageadmin/ssacli/bin"];

/// Adds every controller that a tool shows.
pub(super) fn complete(stack: &mut Stack, run: Run<'_>) {
    if let Some(tool) = installed(STORCLI, STORCLI_PLACES) {
        // `nolog`: it otherwise leaves a log where it is run.
        let of_all = run(&tool, &["/call", "show", "all", "J", "nolog"]);
        let of_volumes = run(&tool, &["/call/vall", "show", "all", "J", "nolog"]);
        let (all, volumes) = (of_all.unwrap_or_default(), of_volumes.unwrap_or_default());
        stack.controllers.extend(storcli(&all, &volumes));
    }
    if let Some(tool) = installed(SSACLI, SSACLI_PLACES)
        && let Some(text) = run(&tool, &["ctrl", "all", "show", "config", "detail"])
    {
        stack.controllers.extend(ssacli(&text));
    }
}

/// `storcli /call show all J` and `storcli /call/vall show all J`.
fn storcli(all: &str, volumes: &str) -> Vec<ControllerCache> {
    let list = |text: &str| -> Vec<Value> {
        let json: Value = serde_json::from_str(text).unwrap_or_default();
        json["Controllers"].as_array().cloned().unwrap_or_default()
    };
    let volumes = list(volumes);
    let one = |(at, controller): (usize, &Value)| {
        let data = &controller["Response Data"];
        data.is_object().then(|| {
            let of_volumes = volumes
                .get(at)
                .map_or(&Value::Null, |v| &v["Response Data"]);
            of_megaraid(data, of_volumes)
        })
    };
    list(all).iter().enumerate().filter_map(one).collect()
}

fn of_megaraid(data: &Value, volumes: &Value) -> ControllerCache {
    let word = |value: &Value| value.as_str().map(|s| s.trim().to_owned());
    let model = word(&data["Basics"]["Model"]).unwrap_or_else(|| "controller".to_owned());
    let states: Vec<String> = ["BBU_Info", "Cachevault_Info"]
        .iter()
        .filter_map(|key| data[*key].as_array())
        .flatten()
        .filter_map(|backup| word(&backup["State"]))
        .collect();
    let is_sound = |s: &String| s.starts_with("Optimal") || s == "Optl";
    let caches: Vec<String> = data["VD LIST"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|volume| word(&volume["Cache"]))
        .collect();
    let memory = word(&data["HwCfg"]["On Board Memory Size"]);
    ControllerCache {
        name: format!("storcli: {model}"),
        protected: (!states.is_empty()).then(|| states.iter().all(is_sound)),
        protection: (!states.is_empty()).then(|| states.join(", ")),
        cache_bytes: memory.and_then(|m| size(&m)),
        // RWBD, NRAWBC: what is read ahead, AWB for always, WB only with a sound battery.
        forced_write_back: (!caches.is_empty()).then(|| caches.iter().any(|c| c.contains("AWB"))),
        write_through: (!caches.is_empty()).then(|| caches.iter().all(|c| c.contains("WT"))),
        drive_caches: disk_caches(volumes),
    }
}

/// `Disk Cache Policy` of every volume; known only where each says so.
fn disk_caches(volumes: &Value) -> Option<bool> {
    let properties = volumes.as_object()?.iter();
    let policies: Vec<&str> = properties
        .filter(|(key, _)| key.starts_with("VD") && key.ends_with("Properties"))
        .filter_map(|(_, value)| value["Disk Cache Policy"].as_str())
        .collect();
    match policies.as_slice() {
        [] => None,
        all if all.contains(&"Enabled") => Some(true),
        all if all.iter().all(|p| *p == "Disabled") => Some(false),
        _ => None,
    }
}

/// `ssacli ctrl all show config detail`: a line with the controller's slot begins each.
fn ssacli(text: &str) -> Vec<ControllerCache> {
    let mut found: Vec<ControllerCache> = Vec::new();
    for line in text.lines() {
        if !line.starts_with([' ', '\t']) && line.contains(" in Slot ") {
            found.push(ControllerCache {
                name: format!("ssacli: {}", line.trim()),
                ..ControllerCache::default()
            });
            continue;
        }
        let Some((now, (key, value))) = found.last_mut().zip(line.trim().split_once(": ")) else {
            continue;
        };
        let on = || match value.trim() {
            "Enabled" => Some(true),
            "Disabled" => Some(false),
            _ => None,
        };
        match key {
            "Battery/Capacitor Status" => {
                now.protection = Some(value.trim().to_owned());
                now.protected = Some(value.trim() == "OK");
            }
            // `OK`, `Permanently Disabled`, `Temporarily Disabled`, `Not Configured`.
            "Cache Status" => now.write_through = Some(value.trim() != "OK"),
            "Total Cache Size" => now.cache_bytes = size(value.trim()),
            "No-Battery Write Cache" => now.forced_write_back = on(),
            "Drive Write Cache" => now.drive_caches = on(),
            _ => {}
        }
    }
    found
}

/// `8192MB`, `2.0 GB`, `4096`: without a unit MB, as older tools print it.
fn size(text: &str) -> Option<u64> {
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let unit_at = compact
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(compact.len());
    let (number, unit) = compact.split_at_checked(unit_at)?;
    let number: f64 = number.parse().ok()?;
    let unit = if unit.is_empty() { "MB" } else { unit };
    let each = parse_bytes(&format!("1{}", unit.chars().next()?)).ok()?;
    let bytes = number * each as f64;
    (bytes.is_finite() && (0.0..1e15).contains(&bytes)).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(state: &str, cache: &str, policy: &str) -> ControllerCache {
        let all = format!(
            r#"{{"Controllers":[{{"Command Status":{{"Status":"Success"}},"Response Data":{{
            "Basics":{{"Model":"PERC H755 Front"}},"HwCfg":{{"On Board Memory Size":"8192MB"}},
            "VD LIST":[{{"DG/VD":"0/239","TYPE":"RAID1","Cache":"{cache}"}}],
            "BBU_Info":[{{"Model":"BBU","State":"{state}"}}]}}}}]}}"#
        );
        let volumes = format!(
            r#"{{"Controllers":[{{"Response Data":{{"/c0/v239":[],
            "VD239 Properties":{{"Disk Cache Policy":"{policy}"}}}}}}]}}"#
        );
        let mut found = storcli(&all, &volumes);
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

    #[test]
    fn storcli_tells_battery_policy_and_disk_caches() {
        let sound = told("Optimal", "RWBD", "Disabled");
        assert_eq!(
            sound,
            ControllerCache {
                name: "storcli: PERC H755 Front".to_owned(),
                protection: Some("Optimal".to_owned()),
                protected: Some(true),
                cache_bytes: Some(8 << 30),
                forced_write_back: Some(false),
                write_through: Some(false),
                drive_caches: Some(false),
            }
        );
        let bad = told("Failed", "NRAWBC", "Enabled");
        let facts = (bad.protected, bad.forced_write_back, bad.drive_caches);
        assert_eq!(facts, (Some(false), Some(true), Some(true)));
        assert_eq!(
            told("Dgd (Needs Attention)", "RWTD", "x").protected,
            Some(false)
        );
        assert_eq!(told("Optimal", "RWBD", "Disk's Default").drive_caches, None);
    }

    #[test]
    fn a_controller_without_a_battery_is_told_as_such() {
        let all = r#"{"Controllers":[{"Response Data":{"Basics":{"Model":"X"}}}]}"#;
        let found = storcli(all, "");
        let facts = (
            found[0].protected,
            found[0].forced_write_back,
            found[0].cache_bytes,
        );
        assert_eq!(facts, (None, None, None));
        for bad in [
            "",
            "{",
            "[]",
            r#"{"Controllers":3}"#,
            r#"{"Controllers":[{},null]}"#,
        ] {
            assert_eq!(storcli(bad, bad), [], "{bad}");
        }
    }

    #[test]
    fn ssacli_tells_each_controller() {
        let text = "\n\
Smart Array P440ar in Slot 0 (Embedded)\n   Bus Interface: PCI\n   Slot: 0\n\
   Cache Status: OK\n   Total Cache Size: 2.0 GB\n   Drive Write Cache: Disabled\n\
   No-Battery Write Cache: Disabled\n   Battery/Capacitor Count: 1\n\
   Battery/Capacitor Status: OK\n   Cache Backup Power Source: Capacitors\n\n\
Smart Array P420 in Slot 2\n   No-Battery Write Cache: Enabled\n\
   Battery/Capacitor Status: Failed (Replace Batteries/Capacitors)\n   Total Cache Size: 1024\n";
        let found = ssacli(text);
        let facts: Vec<_> = found
            .iter()
            .map(|c| {
                (
                    c.protected,
                    c.forced_write_back,
                    c.drive_caches,
                    c.cache_bytes,
                )
            })
            .collect();
        assert_eq!(
            facts,
            [
                (Some(true), Some(false), Some(false), Some(2 << 30)),
                (Some(false), Some(true), None, Some(1 << 30)),
            ]
        );
        let through: Vec<_> = found.iter().map(|c| c.write_through).collect();
        assert_eq!(through, [Some(false), None]);
        let failed = "Smart Array P420i in Slot 0 (Embedded)\n\
   Cache Status: Permanently Disabled\n   Cache Status Details: Cache disabled; backup power \
source failed to charge to an acceptable level\n   Battery/Capacitor Status: Failed\n";
        assert_eq!(ssacli(failed)[0].write_through, Some(true));
        assert_eq!(
            found[0].name,
            "ssacli: Smart Array P440ar in Slot 0 (Embedded)"
        );
        assert_eq!(ssacli("Error: No controllers detected.\n"), []);
    }
}
