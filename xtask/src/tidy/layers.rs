//! Checks which crate may depend on which package: Cargo enforces the boundaries that the manifests declare, and this
//! checks the manifests.

use anyhow::{Result, ensure};

use super::{Finding, Tree};
use crate::process::{self, Repo};

/// A row of a table: the key, and words separated by spaces.
type Row = (&'static str, &'static str);

/// Our crates that each crate may depend on, by folder.
const CRATE_EDGES: &[Row] = &[
    ("client", ""),
    ("markdown", ""),
    ("mcp", "client"),
    ("vault", "markdown"),
    ("retrieval", "markdown model-static model-transformer"),
    ("library", "markdown retrieval vault"),
    ("backends", "client library markdown retrieval"),
    (
        "sectile",
        "backends client library manual markdown mcp retrieval vault",
    ),
];

/// Further crates that only tests may depend on.
const TEST_EDGES: &[Row] = &[
    ("backends", "test-corpus test-servers"),
    ("retrieval", "test-corpus"),
    ("sectile", "note-store test-corpus test-servers"),
];

/// Third-party packages that only certain crates may use.
const RESERVED_PACKAGES: &[Row] = &[
    ("axum", "mcp"),
    ("clap", "sectile"),
    ("rmcp", "mcp"),
    ("serde", "backends library mcp retrieval sectile vault"),
    ("tokio", "backends client mcp sectile"),
    ("tracing", "backends library mcp retrieval sectile vault"),
];

/// Clients of databases and object storages, which only a program with the feature `backends` has.
const SERVER_CLIENTS: [&str; 5] = [
    "deadpool-postgres",
    "object_store",
    "pgvector",
    "tokio-postgres",
    "tokio-postgres-rustls",
];

/// Checks that a program without the feature `backends` is linked with no client of a database or an object storage.
pub(super) fn linked_clients(repo: &Repo) -> Result<()> {
    let linked = |feature: &str| -> Result<Vec<&str>> {
        let words =
            format!("tree --package sectile --edges normal --prefix none --locked{feature}");
        let tree = process::stdout_of(&mut repo.cargo(words.split(' ')))?;
        let names: Vec<&str> = tree
            .lines()
            .filter_map(|line| line.split(' ').next())
            .collect();
        let clients = SERVER_CLIENTS.into_iter();
        Ok(clients.filter(|client| names.contains(client)).collect())
    };
    let without = linked("")?;
    ensure!(
        without.is_empty(),
        "without the feature `backends`, the program is linked with {}",
        without.join(", ")
    );
    // A name that nothing has any more would be absent in both.
    let with = linked(" --features backends")?;
    ensure!(
        with == SERVER_CLIENTS,
        "with the feature `backends`, only {} of the clients in the table are linked",
        with.join(", ")
    );
    Ok(())
}

/// Returns whether the row of `key` has a word; `None` without a row.
fn has(table: &[Row], key: &str, word: &str) -> Option<bool> {
    let (_, words) = table.iter().find(|(name, _)| *name == key)?;
    Some(words.split(' ').any(|other| other == word))
}

pub(super) fn crate_edges(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        let Some((folder, "Cargo.toml")) = file.in_crate() else {
            continue;
        };
        let Ok(manifest) = file.text.parse::<toml::Table>() else {
            findings.push(Finding::new(file, 1, "the manifest cannot be read"));
            continue;
        };
        if has(CRATE_EDGES, folder, "").is_none() {
            let message = format!("crate `{folder}` has no row in the table of crate edges");
            findings.push(Finding::new(file, 1, message));
        }
        for dependency in dependencies(&manifest) {
            let name = dependency.package.as_str();
            let is_for_tests = dependency.is_for_tests;
            let is_ours = name == "sectile" || name.starts_with("sectile-") || name == "xtask";
            let ours = name.strip_prefix("sectile-").unwrap_or(name);
            let is_allowed = has(CRATE_EDGES, folder, ours) == Some(true)
                || (is_for_tests && has(TEST_EDGES, folder, ours) == Some(true));
            let is_reserved = !is_for_tests && has(RESERVED_PACKAGES, name, folder) == Some(false);
            if (is_ours && !is_allowed) || is_reserved {
                let line = file
                    .numbered_lines()
                    .find(|(_, line)| line.trim_start().starts_with(&dependency.key));
                let message = format!("`{folder}` may not depend on `{name}`");
                findings.push(Finding::new(
                    file,
                    line.map_or(1, |(line, _)| line),
                    message,
                ));
            }
        }
    }
    findings
}

struct Dependency {
    /// The name in the manifest, which may be an alias.
    key: String,
    package: String,
    is_for_tests: bool,
}

fn dependencies(manifest: &toml::Table) -> Vec<Dependency> {
    let mut found = Vec::new();
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets
        .into_iter()
        .flat_map(toml::Table::values)
        .filter_map(toml::Value::as_table);
    for table in std::iter::once(manifest).chain(targets) {
        for section in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let entries = table.get(section).and_then(toml::Value::as_table);
            for (key, value) in entries.into_iter().flatten() {
                let package = value
                    .get("package")
                    .and_then(toml::Value::as_str)
                    .unwrap_or(key)
                    .to_owned();
                found.push(Dependency {
                    key: key.clone(),
                    package,
                    is_for_tests: section == "dev-dependencies",
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    fn check_edges(folder: &str, manifest: &str, expected: &[&str]) {
        assert_eq!(
            found(
                crate_edges,
                &[(&format!("crates/{folder}/Cargo.toml"), manifest)]
            ),
            expected
        );
    }

    #[test]
    fn crates_know_only_the_crates_below() {
        check_edges(
            "vault",
            "[dependencies]\nsectile-markdown.workspace = true\n",
            &[],
        );
        check_edges(
            "markdown",
            "[dependencies]\nsectile-vault = \"1\"\n",
            &["crates/markdown/Cargo.toml:2: `markdown` may not depend on `sectile-vault`"],
        );
        check_edges(
            "retrieval",
            "[dev-dependencies]\nv = { package = \"sectile-backends\", version = \"1\" }\n",
            &["crates/retrieval/Cargo.toml:2: `retrieval` may not depend on `sectile-backends`"],
        );
        check_edges(
            "new",
            "[package]\n",
            &["crates/new/Cargo.toml:1: crate `new` has no row in the table of crate edges"],
        );
    }

    #[test]
    fn what_is_for_tests_is_for_tests_only() {
        check_edges(
            "sectile",
            "[dev-dependencies]\nsectile-note-store = \"1\"\n",
            &[],
        );
        check_edges(
            "sectile",
            "[dependencies]\nsectile-note-store = \"1\"\n",
            &["crates/sectile/Cargo.toml:2: `sectile` may not depend on `sectile-note-store`"],
        );
    }

    #[test]
    fn reserved_packages_are_for_their_crates() {
        check_edges("markdown", "[dev-dependencies]\nserde = \"1\"\n", &[]);
        check_edges("mcp", "[dependencies]\ntokio = \"1\"\nrmcp = \"1\"\n", &[]);
        check_edges(
            "sectile",
            "[dependencies]\nrmcp = \"1\"\n[dev-dependencies]\naxum = \"1\"\n",
            &["crates/sectile/Cargo.toml:2: `sectile` may not depend on `rmcp`"],
        );
        check_edges(
            "vault",
            "[target.'cfg(unix)'.dependencies]\ntokio = \"1\"\n",
            &["crates/vault/Cargo.toml:2: `vault` may not depend on `tokio`"],
        );
    }
}
