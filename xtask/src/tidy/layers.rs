//! Who may know whom: crates, and modules inside the binary.

use super::source::{code_only, line_of, paths_from, without_tests, words};
use super::{Finding, TextFile, Tree};

/// Packages of ours that the crate in each folder may depend on.
const CRATE_EDGES: &[(&str, &[&str])] = &[
    ("client", &[]),
    ("markdown", &[]),
    ("mcp", &["sectile-client"]),
    ("vault", &["sectile-markdown"]),
    ("retrieval", &["sectile-markdown"]),
    (
        "library",
        &["sectile-markdown", "sectile-retrieval", "sectile-vault"],
    ),
    (
        "backends",
        &[
            "sectile-client",
            "sectile-library",
            "sectile-markdown",
            "sectile-retrieval",
        ],
    ),
    (
        "sectile",
        &[
            "sectile-backends",
            "sectile-client",
            "sectile-library",
            "sectile-markdown",
            "sectile-mcp",
            "sectile-vault",
            "sectile-retrieval",
        ],
    ),
];

/// Packages of ours that only tests may use, by crate folder.
const TEST_EDGES: &[(&str, &[&str])] = &[
    ("backends", &["sectile-test-corpus", "sectile-test-servers"]),
    ("retrieval", &["sectile-test-corpus"]),
    (
        "sectile",
        &[
            "sectile-note-store",
            "sectile-test-corpus",
            "sectile-test-servers",
        ],
    ),
];

/// Outside packages that belong to some crates only, by folder.
const RESERVED_PACKAGES: &[(&str, &[&str])] = &[
    ("axum", &["mcp"]),
    ("rmcp", &["mcp"]),
    (
        "serde",
        &[
            "backends",
            "library",
            "mcp",
            "vault",
            "retrieval",
            "sectile",
        ],
    ),
    ("tokio", &["backends", "client", "mcp", "sectile"]),
    (
        "tracing",
        &[
            "backends",
            "library",
            "mcp",
            "vault",
            "retrieval",
            "sectile",
        ],
    ),
];

/// What the pure crate may not reach for, in the standard library.
const IMPURE: &[&str] = &["env", "fs", "net", "process", "time"];

/// Where the protocol library may be named.
const PROTOCOL_HOME: &str = "crates/mcp/";

const BINARY_SOURCE: &str = "crates/sectile/src/";

/// Modules of the binary that each of its modules may import, uppermost first: an edge leads to a row further down. The
/// crate root joins them all and has no row. It re-exports `mcp`, `access` and `observe` from `sectile-mcp`.
const MODULE_EDGES: &[(&str, &[&str])] = &[
    (
        "cli",
        &[
            "telemetry",
            "observe",
            "config",
            "files",
            "worlds",
            "mcp",
            "access",
        ],
    ),
    ("telemetry", &["config", "files"]),
    ("observe", &[]),
    ("config", &["files", "mcp", "access"]),
    ("files", &[]),
    ("worlds", &["mcp", "access"]),
    ("mcp", &[]),
    ("access", &[]),
];

fn row<'a>(table: &'a [(&str, &'a [&'a str])], key: &str) -> Option<&'a [&'a str]> {
    table
        .iter()
        .find(|(name, _)| *name == key)
        .map(|(_, allowed)| *allowed)
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
        let Some(allowed) = row(CRATE_EDGES, folder) else {
            findings.push(Finding::new(
                file,
                1,
                format!("crate `{folder}` has no row in the table of crate edges"),
            ));
            continue;
        };
        for dependency in dependencies(&manifest) {
            let name = dependency.package.as_str();
            let is_ours = name == "sectile" || name.starts_with("sectile-") || name == "xtask";
            let is_allowed = allowed.contains(&name)
                || (dependency.is_for_tests
                    && row(TEST_EDGES, folder).is_some_and(|packages| packages.contains(&name)));
            let is_reserved = !dependency.is_for_tests
                && row(RESERVED_PACKAGES, name).is_some_and(|crates| !crates.contains(&folder));
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

pub(super) fn pure_markdown(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree
        .product_files()
        .filter(|file| file.path.starts_with("crates/markdown/"))
    {
        for (line, path) in paths_from(&product_code(file), "std") {
            if let Some(name) = path.first().filter(|name| IMPURE.contains(&name.as_str())) {
                findings.push(Finding::new(
                    file,
                    line,
                    format!("`std::{name}` in the pure crate"),
                ));
            }
        }
    }
    findings
}

pub(super) fn protocol_stays_home(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.product_files() {
        if file.path.starts_with(PROTOCOL_HOME) {
            continue;
        }
        let code = product_code(file);
        for at in words(&code, "rmcp") {
            findings.push(Finding::new(
                file,
                line_of(&code, at),
                "`rmcp` is known only to `sectile-mcp`",
            ));
        }
    }
    findings
}

pub(super) fn module_edges(tree: &Tree) -> Vec<Finding> {
    let inside = |file: &TextFile| file.path.strip_prefix(BINARY_SOURCE).map(str::to_owned);
    let worlds: Vec<String> = tree
        .files
        .iter()
        .filter_map(inside)
        .filter_map(|path| world_of(&path).map(str::to_owned))
        .collect();
    let mut findings = Vec::new();
    for file in tree.product_files() {
        let Some(path) = inside(file).filter(|path| path != "main.rs" && path != "lib.rs") else {
            continue;
        };
        let module = path.split(['/', '.']).next().unwrap_or_default();
        let Some(allowed) = row(MODULE_EDGES, module) else {
            findings.push(Finding::new(
                file,
                1,
                format!("module `{module}` has no row in the table of module edges"),
            ));
            continue;
        };
        for (line, target) in paths_from(&product_code(file), "crate") {
            let [first, rest @ ..] = target.as_slice() else {
                continue;
            };
            let is_module = row(MODULE_EDGES, first).is_some();
            if is_module && first != module && !allowed.contains(&first.as_str()) {
                findings.push(Finding::new(
                    file,
                    line,
                    format!("`{module}` may not import `crate::{first}`"),
                ));
            }
            let (own, other) = (world_of(&path), rest.first());
            if let (Some(own), "worlds", Some(other)) = (own, first.as_str(), other)
                && own != other
                && worlds.contains(other)
            {
                findings.push(Finding::new(
                    file,
                    line,
                    format!("world `{own}` may not import world `{other}`"),
                ));
            }
        }
    }
    findings
}

/// The world that a file of the binary belongs to.
fn world_of(path: &str) -> Option<&str> {
    let inner = path.strip_prefix("worlds/")?;
    let name = inner.split(['/', '.']).next()?;
    (name != "mod" && name != "tests").then_some(name)
}

fn product_code(file: &TextFile) -> String {
    without_tests(&code_only(&file.text))
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    const NONE: &[String] = &[];

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

    #[test]
    fn the_pure_crate_has_no_clock_and_no_files() {
        let text = "//! std::fs is not code.\nuse std::{borrow::Cow, time::Instant};\nfn f() { std::env::var(x) }\n";
        assert_eq!(
            found(
                pure_markdown,
                &[
                    ("crates/markdown/src/a.rs", text),
                    ("crates/vault/src/a.rs", text)
                ]
            ),
            [
                "crates/markdown/src/a.rs:2: `std::time` in the pure crate",
                "crates/markdown/src/a.rs:3: `std::env` in the pure crate",
            ]
        );
    }

    #[test]
    fn the_protocol_library_stays_home() {
        let text = "//! About rmcp.\nuse rmcp::Tool;\n";
        let files = [
            ("crates/mcp/src/server.rs", text),
            ("crates/sectile/tests/it/main.rs", text),
            ("crates/sectile/src/cli.rs", text),
        ];
        assert_eq!(
            found(protocol_stays_home, &files),
            ["crates/sectile/src/cli.rs:2: `rmcp` is known only to `sectile-mcp`"]
        );
    }

    #[test]
    fn edges_lead_down() {
        for (at, (module, allowed)) in MODULE_EDGES.iter().enumerate() {
            let below = |name: &str| {
                MODULE_EDGES[at + 1..]
                    .iter()
                    .any(|(lower, _)| *lower == name)
            };
            assert!(allowed.iter().all(|name| below(name)), "{module}");
        }
    }

    #[test]
    fn modules_know_only_the_modules_below() {
        let files = [
            ("crates/sectile/src/main.rs", "use crate::cli;"),
            (
                "crates/sectile/src/cli/serve.rs",
                "use crate::{config::Settings, worlds};",
            ),
            (
                "crates/sectile/src/worlds/vault/tools.rs",
                "use crate::mcp::ToolSpec;\nuse crate::config::Settings;",
            ),
            ("crates/sectile/src/files.rs", "fn f() { crate::cli::g() }"),
            ("crates/sectile/src/extra.rs", ""),
        ];
        assert_eq!(
            found(module_edges, &files),
            [
                "crates/sectile/src/worlds/vault/tools.rs:2: `worlds` may not import `crate::config`",
                "crates/sectile/src/files.rs:1: `files` may not import `crate::cli`",
                "crates/sectile/src/extra.rs:1: module `extra` has no row in the table of module edges",
            ]
        );
    }

    #[test]
    fn worlds_do_not_know_each_other() {
        let files = [
            (
                "crates/sectile/src/worlds.rs",
                "use crate::worlds::vault::WORLD;",
            ),
            (
                "crates/sectile/src/worlds/vault/a.rs",
                "use crate::worlds::{World, hosted::X, vault::Y};",
            ),
            (
                "crates/sectile/src/worlds/hosted.rs",
                "use crate::worlds::World;",
            ),
        ];
        assert_eq!(
            found(module_edges, &files),
            ["crates/sectile/src/worlds/vault/a.rs:1: world `vault` may not import world `hosted`"]
        );
        assert_eq!(found(module_edges, &[]), NONE);
    }
}
