//! Packages the crates that are published, and checks what the crate registry would refuse.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::process::{self, Repo};

/// The crate registry refuses larger packages.
const MAX_CRATE: u64 = 10_485_760;
/// The crate registry refuses more keywords, or longer ones.
const MAX_KEYWORDS: usize = 5;
const MAX_KEYWORD: usize = 20;

/// Packages the crates. Returns their number and the largest.
pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    let mut sizes = Vec::new();
    for file in package(repo)? {
        let name = file.file_name().unwrap_or_default().display().to_string();
        sizes.push((fs::metadata(&file)?.len(), name));
    }
    let (size, name) = sizes.iter().max().context("there are no crates")?;
    let count = sizes.len();
    Ok(Some(format!(
        "{count} crates, the largest {name} with {size} bytes"
    )))
}

/// Packages the crates without compiling them, and returns the files.
pub(crate) fn package(repo: &Repo) -> Result<Vec<PathBuf>> {
    let mut cargo = repo.cargo(["metadata", "--no-deps", "--locked", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&process::stdout_of(&mut cargo)?)?;
    let packages = metadata["packages"]
        .as_array()
        .context("no packages in the workspace")?;
    let published: Vec<PublishedCrate<'_>> = packages
        .iter()
        .filter(|package| package["publish"].is_null())
        .map(PublishedCrate::read)
        .collect::<Result<_>>()?;
    let mut cargo = repo.cargo([
        "package",
        "--locked",
        "--quiet",
        "--no-verify",
        "--allow-dirty",
    ]);
    for package in &published {
        cargo.args(["--package", package.name]);
    }
    process::run(&mut cargo)?;
    let files = published.iter().map(|package| {
        let file = repo.target.join(format!(
            "package/{}-{}.crate",
            package.name, package.version
        ));
        let size = fs::metadata(&file).with_context(|| format!("{} is missing", file.display()))?;
        ensure!(
            size.len() <= MAX_CRATE,
            "{} has {} bytes, and the crate registry takes {MAX_CRATE}",
            package.name,
            size.len()
        );
        Ok(file)
    });
    files.collect()
}

/// A crate of the workspace that is published.
struct PublishedCrate<'a> {
    name: &'a str,
    version: &'a str,
}

impl<'a> PublishedCrate<'a> {
    /// Reads a package of `cargo metadata`. Fails if it lacks what the crate registry asks for.
    fn read(package: &'a Value) -> Result<Self> {
        let text = |key: &str| {
            let value = package[key].as_str().filter(|text| !text.is_empty());
            value.with_context(|| format!("{} has no {key}", package["name"]))
        };
        for key in ["description", "license", "repository", "readme"] {
            text(key)?;
        }
        let name = text("name")?;
        let keywords = package["keywords"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let is_long =
            |keyword: &Value| keyword.as_str().is_none_or(|text| text.len() > MAX_KEYWORD);
        if keywords.len() > MAX_KEYWORDS || keywords.iter().any(is_long) {
            bail!("{name} has too many keywords, or too long ones");
        }
        Ok(Self {
            name,
            version: text("version")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_crate_without_what_the_registry_asks_for_is_refused() {
        let mut package = json!({
            "name": "a", "version": "1.0.0", "description": "A.", "license": "MIT", "repository": "https://example.org",
            "readme": "README.md", "keywords": ["one", "two"],
        });
        assert_eq!(PublishedCrate::read(&package).unwrap().version, "1.0.0");
        package["keywords"] = json!(["more-than-twenty-characters"]);
        assert!(PublishedCrate::read(&package).is_err());
        package["keywords"] = json!([]);
        package["readme"] = Value::Null;
        let error = PublishedCrate::read(&package).err().unwrap().to_string();
        assert_eq!(error, "\"a\" has no readme");
    }
}
