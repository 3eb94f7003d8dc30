//! Licences, banned crates and sources of the dependencies, offline.
//!
//! `cargo-deny` does this when it is installed. Without it the same rules are read from the same `deny.toml` and checked
//! against `cargo metadata`, so that the gate never depends on a tool that takes minutes to build.

mod spdx;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::{self, Repo, is_present};

/// The only registry that is trusted when `deny.toml` names no other.
const CRATES_IO: &str = "https://github.com/rust-lang/crates.io-index";

pub(crate) fn run(repo: &Repo) -> Result<()> {
    if is_present("cargo-deny", &["deny", "--version"]) {
        process::run(&mut repo.cargo(["deny", "check", "licenses", "bans", "sources"]))?;
        if advisory_database().is_some() {
            return process::run(&mut repo.cargo(["deny", "--offline", "check", "advisories"]));
        }
        println!("advisories not checked: there is no local advisory database");
        return Ok(());
    }
    println!(
        "cargo-deny is not installed: checking deny.toml against cargo metadata; advisories not checked"
    );
    let rules = Rules::parse(&fs::read_to_string(repo.root.join("deny.toml"))?)?;
    let metadata =
        process::stdout_of(&mut repo.cargo(["metadata", "--locked", "--format-version", "1"]))?;
    let packages = packages(&serde_json::from_str(&metadata)?)?;
    let findings: Vec<String> = packages
        .iter()
        .flat_map(|package| check(&rules, &repo.root, package))
        .collect();
    for finding in &findings {
        println!("{finding}");
    }
    println!("{} packages, {} findings", packages.len(), findings.len());
    if findings.is_empty() {
        Ok(())
    } else {
        bail!("{} findings", findings.len())
    }
}

fn advisory_database() -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cargo")))?;
    let folder = home.join("advisory-dbs");
    fs::read_dir(&folder).ok()?.next().map(|_| folder)
}

/// What `deny.toml` says, as far as it can be checked without `cargo-deny`.
#[derive(Debug, Default)]
struct Rules {
    licences: Vec<String>,
    banned: Vec<String>,
    registries: Vec<String>,
}

impl Rules {
    fn parse(text: &str) -> Result<Self> {
        let table: toml::Table = text.parse().context("deny.toml")?;
        let list = |section: &str, key: &str| -> Vec<toml::Value> {
            let found = table.get(section).and_then(|section| section.get(key));
            found
                .and_then(toml::Value::as_array)
                .cloned()
                .unwrap_or_default()
        };
        let names = |values: Vec<toml::Value>| -> Result<Vec<String>> {
            let name = |value: &toml::Value| {
                let plain = value.as_str().or_else(|| value.get("crate")?.as_str());
                plain
                    .map(str::to_owned)
                    .with_context(|| format!("deny.toml: cannot read `{value}`"))
            };
            values.iter().map(name).collect()
        };
        let mut registries = names(list("sources", "allow-registry"))?;
        if registries.is_empty() {
            registries.push(CRATES_IO.to_owned());
        }
        Ok(Self {
            licences: names(list("licenses", "allow"))?,
            banned: names(list("bans", "deny"))?,
            registries,
        })
    }
}

#[derive(Debug, Default)]
struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    /// `None` for a package that lies on disk.
    source: Option<String>,
    manifest: PathBuf,
}

fn packages(metadata: &Value) -> Result<Vec<Package>> {
    let listed = metadata["packages"]
        .as_array()
        .context("cargo metadata lists no packages")?;
    let package = |value: &Value| {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        Ok(Package {
            name: text("name").context("a package without a name")?,
            version: text("version").context("a package without a version")?,
            licence: text("license"),
            source: text("source"),
            manifest: text("manifest_path")
                .context("a package without a manifest")?
                .into(),
        })
    };
    listed.iter().map(package).collect()
}

fn check(rules: &Rules, root: &Path, package: &Package) -> Vec<String> {
    let mut findings = Vec::new();
    let mut report =
        |message: String| findings.push(format!("{} {}: {message}", package.name, package.version));
    match &package.licence {
        None => report("no licence expression".to_owned()),
        Some(expression) => match spdx::is_satisfied(expression, &rules.licences) {
            Ok(true) => {}
            Ok(false) => report(format!("licence `{expression}` is not allowed")),
            Err(error) => report(format!("cannot read licence `{expression}`: {error}")),
        },
    }
    if rules.banned.contains(&package.name) {
        report("banned in deny.toml".to_owned());
    }
    match &package.source {
        None if package.manifest.starts_with(root) => {}
        None => report("a path dependency outside the repository".to_owned()),
        Some(source) => {
            let registry = source
                .strip_prefix("registry+")
                .or_else(|| source.strip_prefix("sparse+"));
            if !registry.is_some_and(|url| rules.registries.iter().any(|known| known == url)) {
                report("comes neither from an allowed registry nor from the repository".to_owned());
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        let text = "
            [licenses]
            allow = ['MIT', 'Apache-2.0 WITH LLVM-exception']
            [bans]
            deny = ['openssl', { crate = 'tantivy' }]
        ";
        Rules::parse(text).unwrap()
    }

    fn check_package(change: impl FnOnce(&mut Package)) -> String {
        let mut package = Package {
            name: "good".to_owned(),
            version: "1.0.0".to_owned(),
            licence: Some("MIT".to_owned()),
            source: Some(format!("registry+{CRATES_IO}")),
            manifest: "/elsewhere/good/Cargo.toml".into(),
        };
        change(&mut package);
        check(&rules(), Path::new("/repository"), &package).join("\n")
    }

    #[test]
    fn a_good_package_has_no_findings() {
        assert_eq!(check_package(|_| ()), "");
        assert_eq!(
            check_package(|package| package.licence = Some("GPL-3.0 OR MIT".to_owned())),
            ""
        );
    }

    #[test]
    fn licences_are_checked() {
        let refused = check_package(|package| package.licence = Some("GPL-3.0-only".to_owned()));
        assert_eq!(refused, "good 1.0.0: licence `GPL-3.0-only` is not allowed");
        assert!(check_package(|package| package.licence = None).contains("no licence"));
        assert!(
            check_package(|package| package.licence = Some("MIT OR".to_owned()))
                .contains("cannot read")
        );
    }

    #[test]
    fn bans_are_checked_in_both_forms() {
        assert!(check_package(|package| package.name = "openssl".to_owned()).contains("banned"));
        assert!(check_package(|package| package.name = "tantivy".to_owned()).contains("banned"));
    }

    #[test]
    fn sources_are_checked() {
        let git =
            check_package(|package| package.source = Some("git+https://example.com/x".to_owned()));
        assert!(git.contains("neither"));
        let registry = check_package(|package| {
            package.source = Some("registry+https://example.com".to_owned())
        });
        assert!(registry.contains("neither"));
        assert!(check_package(|package| package.source = None).contains("outside the repository"));
        let ours = check_package(|package| {
            package.source = None;
            package.manifest = "/repository/crates/x/Cargo.toml".into();
        });
        assert_eq!(ours, "");
    }

    #[test]
    fn packages_are_read_from_metadata() {
        let metadata = serde_json::json!({ "packages": [{
            "name": "a", "version": "1.2.3", "license": "MIT", "source": null, "manifest_path": "/a/Cargo.toml",
        }] });
        let read = packages(&metadata).unwrap();
        assert_eq!(
            (read[0].name.as_str(), read[0].licence.as_deref()),
            ("a", Some("MIT"))
        );
        assert!(packages(&serde_json::json!({})).is_err());
    }
}
