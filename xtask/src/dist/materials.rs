//! What the program is made of: a bill of materials (CycloneDX 1.6), and the licences of others that go with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Release;
use super::targets::ReleaseTarget;
use crate::process;

/// Beginnings of the names of files with licences and notices, in lower case.
const NOTICES: [&str; 5] = ["license", "licence", "copying", "copyright", "notice"];
/// Longer files are not notices.
const MAX_NOTICE: usize = 200_000;

/// The packages that are compiled into the program for one target.
pub(super) struct Materials {
    /// By id.
    packages: BTreeMap<String, Value>,
    /// Ids of the packages that each package uses.
    uses: BTreeMap<String, BTreeSet<String>>,
    /// SHA-256 of the packaged crates, by name and version.
    sums: BTreeMap<(String, String), String>,
}

impl Materials {
    pub(super) fn of(release: &Release<'_>, target: &ReleaseTarget) -> Result<Self> {
        let repo = release.repo;
        let mut cargo = repo.cargo(["metadata", "--locked", "--format-version", "1"]);
        cargo.args(["--filter-platform", target.triple]);
        cargo.args(["--manifest-path", "crates/sectile/Cargo.toml"]);
        cargo.args(["--features", "backends"]);
        let metadata = serde_json::from_str(&process::stdout_of(&mut cargo)?)?;
        let lock = toml::from_str(&fs::read_to_string(repo.root.join("Cargo.lock"))?)?;
        Self::read(&metadata, &lock).context("cargo metadata does not describe the program")
    }

    fn read(metadata: &Value, lock: &Value) -> Option<Self> {
        let all = metadata["packages"].as_array()?;
        let all: BTreeMap<&str, &Value> = all
            .iter()
            .filter_map(|package| Some((package["id"].as_str()?, package)))
            .collect();
        let nodes = metadata["resolve"]["nodes"].as_array()?;
        let nodes: BTreeMap<&str, &Value> = nodes
            .iter()
            .filter_map(|node| Some((node["id"].as_str()?, node)))
            .collect();
        let root = all
            .iter()
            .find(|(_, package)| package["name"] == "sectile")?
            .0;
        let mut materials = Self {
            packages: BTreeMap::new(),
            uses: BTreeMap::new(),
            sums: sums(lock),
        };
        let mut waiting = vec![*root];
        while let Some(id) = waiting.pop() {
            if materials.packages.contains_key(id) {
                continue;
            }
            materials
                .packages
                .insert(id.to_owned(), (*all.get(id)?).clone());
            let used: BTreeSet<&str> = nodes.get(id)?["deps"]
                .as_array()?
                .iter()
                .filter(|used| is_compiled_in(used))
                .filter_map(|used| used["pkg"].as_str())
                .collect();
            waiting.extend(&used);
            let used = used.into_iter().map(str::to_owned).collect();
            materials.uses.insert(id.to_owned(), used);
        }
        Some(materials)
    }

    /// Returns the bill of materials. Only its time depends on more than the lock file and the manifests.
    pub(super) fn bill(&self, release: &Release<'_>) -> Result<Value> {
        let time = Timestamp::from_second(i64::try_from(release.time)?)?;
        let (program, libraries): (Vec<&Value>, Vec<&Value>) = self
            .packages
            .values()
            .partition(|package| package["name"] == "sectile");
        let libraries: Vec<Value> = libraries
            .into_iter()
            .map(|package| self.component(package, "library"))
            .collect();
        let program = program
            .first()
            .map(|package| self.component(package, "application"));
        let reference = |id: &String| self.packages.get(id).map(purl);
        let dependencies: Vec<Value> = self
            .uses
            .iter()
            .map(|(id, used)| {
                let used: Vec<_> = used.iter().filter_map(reference).collect();
                json!({ "ref": reference(id), "dependsOn": used })
            })
            .collect();
        Ok(json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": { "timestamp": time.to_string(), "tools": { "components": [compiler()?] }, "component": program },
            "components": libraries,
            "dependencies": dependencies,
        }))
    }

    fn component(&self, package: &Value, kind: &str) -> Value {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let mut component = json!({
            "type": kind,
            "bom-ref": purl(package),
            "name": text("name"),
            "version": text("version"),
            "purl": purl(package),
            "licenses": [{ "expression": text("license").replace('/', " OR ") }],
        });
        let key = (text("name").to_owned(), text("version").to_owned());
        if let Some(sum) = self.sums.get(&key) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    }

    /// Returns the licences and notices of everything that others wrote, each text once.
    pub(super) fn notices(&self) -> Result<String> {
        let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut list = String::new();
        for package in self
            .packages
            .values()
            .filter(|package| !package["source"].is_null())
        {
            let text = |key: &str| package[key].as_str().unwrap_or_default();
            let name = format!("{} {}", text("name"), text("version"));
            writeln!(list, "{name}: {}", text("license"))?;
            let folder = Path::new(text("manifest_path")).parent();
            for notice in notices_in(folder.context("a package without a folder")?)? {
                texts.entry(notice).or_default().insert(name.clone());
            }
        }
        let mut page = format!(
            "Sectile contains these packages, under the licences given. Their notices follow.\n\n{list}"
        );
        for (text, names) in texts {
            let names: Vec<String> = names.into_iter().collect();
            write!(
                page,
                "\n{}\n{}\n\n{text}\n",
                "-".repeat(80),
                names.join(", ")
            )?;
        }
        Ok(page)
    }
}

/// Returns the compiler as a component. Only the same version builds the same program.
fn compiler() -> Result<Value> {
    let version = process::stdout_of(Command::new("rustc").arg("-vV"))?;
    let line = |name: &str| version.lines().find_map(|line| line.strip_prefix(name));
    let number = line("release: ").context("rustc does not say which version it is")?;
    let commit = line("commit-hash: ").unwrap_or_default();
    Ok(json!({ "type": "application", "name": "rustc", "version": number, "description": commit }))
}

/// Returns whether a dependency ends up in the program: those of build scripts and tests do not.
fn is_compiled_in(used: &Value) -> bool {
    let kinds = used["dep_kinds"].as_array();
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
}

/// Returns the sums in a lock file.
fn sums(lock: &Value) -> BTreeMap<(String, String), String> {
    let packages = lock["package"].as_array().into_iter().flatten();
    let entries = packages.filter_map(|package| {
        let text = |key: &str| package[key].as_str().map(str::to_owned);
        Some(((text("name")?, text("version")?), text("checksum")?))
    });
    entries.collect()
}

/// Returns the address of a package, as bills of materials write it.
fn purl(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    format!(
        "pkg:cargo/{}@{}",
        text("name"),
        text("version").replace('+', "%2B")
    )
}

/// Returns the texts of the licences and notices in the folder of a package.
fn notices_in(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if entry.file_type()?.is_file() && NOTICES.iter().any(|start| name.starts_with(start)) {
            names.push(entry.path());
        }
    }
    names.sort();
    let mut texts = Vec::new();
    for name in names {
        let bytes = fs::read(name)?;
        if bytes.len() <= MAX_NOTICE {
            let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
            texts.push(text.trim_end().to_owned());
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_compiled_in_is_material() {
        let package = |name: &str| json!({ "id": name, "name": name, "version": "1.0.0+b", "license": "MIT/Apache-2.0" });
        let used =
            |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let packages = ["sectile", "used", "tested", "deep", "unused"].map(package);
        let metadata = json!({
            "packages": packages,
            "resolve": { "nodes": [
                { "id": "sectile", "deps": [used("used", Value::Null), used("tested", "dev".into())] },
                { "id": "used", "deps": [used("deep", Value::Null)] },
                { "id": "deep", "deps": [] },
            ] },
        });
        let lock =
            json!({ "package": [{ "name": "deep", "version": "1.0.0+b", "checksum": "ab" }] });
        let materials = Materials::read(&metadata, &lock).unwrap();
        let names: Vec<&str> = materials.packages.keys().map(String::as_str).collect();
        assert_eq!(names, ["deep", "sectile", "used"]);
        let deep = materials.component(&materials.packages["deep"], "library");
        assert_eq!(deep["purl"], "pkg:cargo/deep@1.0.0%2Bb");
        assert_eq!(deep["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(deep["hashes"][0]["content"], "ab");
    }
}
