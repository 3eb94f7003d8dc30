//! Checks licences, bans and sources of all dependencies by the rules of `deny.toml`, without a network.
//!
//! `cargo deny check` reads the same file and checks advisories too, but it takes minutes to build.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::{self, Repo};

/// The only registry that is trusted, as Cargo names it whatever mirror is used.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    let rules = toml::from_str(&fs::read_to_string(repo.root.join("deny.toml"))?)?;
    let metadata =
        process::stdout_of(&mut repo.cargo(["metadata", "--locked", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata lists no packages")?;
    let findings: Vec<String> = packages
        .iter()
        .flat_map(|package| check(&rules, &repo.root, package))
        .collect();
    for finding in &findings {
        println!("{finding}");
    }
    println!("{} packages, {} findings", packages.len(), findings.len());
    if findings.is_empty() {
        return Ok(Some(
            "advisories not checked; cargo deny check does".to_owned(),
        ));
    }
    bail!("{} findings", findings.len())
}

fn check(rules: &Value, root: &Path, package: &Value) -> Vec<String> {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    let mut findings = Vec::new();
    let mut report =
        |message: String| findings.push(format!("{} {}: {message}", text("name"), text("version")));
    if !is_satisfied(text("license"), &rules["licenses"]["allow"]) {
        report(format!("licence `{}` is not allowed", text("license")));
    }
    let mut bans = rules["bans"]["deny"].as_array().into_iter().flatten();
    // A ban is a name, or a table with one.
    if bans.any(|ban| [ban, &ban["crate"]].contains(&&package["name"])) {
        report("banned in deny.toml".to_owned());
    }
    let is_ours = package["source"].is_null() && Path::new(text("manifest_path")).starts_with(root);
    if !is_ours && package["source"] != CRATES_IO {
        report("comes neither from crates.io nor from the repository".to_owned());
    }
    findings
}

/// Returns whether an SPDX expression can be satisfied with the `allowed` licences alone.
///
/// OR is read as if it bound tighter than AND, and parentheses are ignored. That may refuse what the expression allows, but
/// never allows what it refuses.
fn is_satisfied(expression: &str, allowed: &Value) -> bool {
    let is_allowed = |licence: &str| {
        let mut names = allowed.as_array().into_iter().flatten();
        names.any(|name| name == licence.trim())
    };
    let flat = expression.replace('/', " OR ").replace(['(', ')'], "");
    flat.split(" AND ")
        .all(|part| part.split(" OR ").any(is_allowed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns the findings for a valid package with one field changed.
    fn found(key: &str, value: Value) -> String {
        let rules = json!({
            "licenses": { "allow": ["MIT", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"] },
            "bans": { "deny": ["tantivy", { "crate": "openssl" }] },
        });
        let mut package = json!({
            "name": "good", "version": "1.0.0", "license": "MIT", "source": CRATES_IO,
            "manifest_path": "/repository/good/Cargo.toml",
        });
        package[key] = value;
        check(&rules, Path::new("/repository"), &package).join("\n")
    }

    #[test]
    fn licences_are_checked() {
        for (expression, is_allowed) in [
            ("MIT", true),
            ("GPL-3.0-only OR MIT", true),
            ("MIT/GPL-2.0-only", true),
            ("(MIT OR GPL-3.0-only) AND Unicode-3.0", true),
            ("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", true),
            ("Apache-2.0", false),
            ("MIT WITH LLVM-exception", false),
            ("GPL-3.0-only AND MIT", false),
            ("(MIT OR Apache-2.0) AND GPL-3.0-only", false),
            ("GPL-2.0-only / GPL-3.0-only", false),
            ("", false),
        ] {
            let found = found("license", expression.into());
            assert_eq!(found.is_empty(), is_allowed, "{expression}: {found}");
        }
        assert_eq!(
            found("license", Value::Null),
            "good 1.0.0: licence `` is not allowed"
        );
    }

    #[test]
    fn bans_and_sources_are_checked() {
        assert_eq!(found("name", "fine".into()), "");
        assert!(found("name", "openssl".into()).contains("banned"));
        assert!(found("name", "tantivy".into()).contains("banned"));
        assert!(found("source", "git+https://example.com/x".into()).contains("neither"));
        assert!(found("source", "registry+https://example.com".into()).contains("neither"));
        assert_eq!(found("source", Value::Null), "", "a package of ours");
    }

    #[test]
    fn a_package_on_disk_is_one_of_the_repository() {
        let package = json!({ "license": "MIT", "manifest_path": "/elsewhere/Cargo.toml" });
        let rules = json!({ "licenses": { "allow": ["MIT"] } });
        assert_eq!(check(&rules, Path::new("/repository"), &package).len(), 1);
    }
}
