//! The files of a release that name those of all targets: the npm launcher, `server.json`, the Homebrew formula, the
//! winget manifests and the sums.
//!
//! They are made from what is in the folder, so that a release can be put together from the parts of several machines.

use std::fmt::Write as _;
use std::fs;

use anyhow::Result;
use serde_json::{Value, json};

use super::archives::{PackedFile, tar_gz};
use super::targets::{ReleaseTarget, System, TARGETS};
use super::{DESCRIPTION, REGISTRY_NAME, REPOSITORY, Release, WHEEL, pretty};

/// The file with the sums of all others.
pub(super) const SUMS: &str = "SHA256SUMS";
/// The folder that people keep manifests in, as file names: identifier and version come before.
const WINGET: &str = "Sectile.Sectile";
const WINGET_SCHEMA: &str = "1.10.0";

/// The files of a release, with their sums.
struct ReleaseFiles {
    version: String,
    sums: Vec<(String, String)>,
}

/// Writes the files that name others, the sums last.
pub(super) fn write(release: &Release<'_>) -> Result<()> {
    let files = ReleaseFiles::of(release)?;
    release.write(
        &launcher_file(&release.version),
        &launcher(release, &files)?,
    )?;
    release.write("server.json", &pretty(&files.server_json()))?;
    release.write("sectile.rb", files.formula().as_bytes())?;
    for (name, text) in files.winget() {
        release.write(&name, text.as_bytes())?;
    }
    let mut sums = String::new();
    for (name, _, sum) in release.files()?.iter().filter(|(name, ..)| name != SUMS) {
        writeln!(sums, "{sum}  {name}")?;
    }
    release.write(SUMS, sums.as_bytes())
}

/// Returns the name of the npm package that people install, as `npm pack` names its file.
pub(super) fn launcher_file(version: &str) -> String {
    format!("sectile-{version}.tgz")
}

/// Makes the npm package that people install. It depends on the packages of those platforms that are there.
fn launcher(release: &Release<'_>, files: &ReleaseFiles) -> Result<Vec<u8>> {
    let root = &release.repo.root;
    let platforms = TARGETS
        .iter()
        .filter(|target| files.sum(&target.npm_file(&release.version)).is_some())
        .map(|target| {
            let version = Value::from(&*release.version);
            (format!("@sectile/{}", target.platform()), version)
        });
    let manifest = json!({
        "name": "sectile",
        "version": release.version,
        "mcpName": REGISTRY_NAME,
        "description": DESCRIPTION,
        "license": "MIT OR Apache-2.0",
        "repository": { "type": "git", "url": format!("git+{REPOSITORY}.git") },
        "homepage": REPOSITORY,
        "keywords": ["agents", "knowledge-base", "markdown", "mcp", "search"],
        "bin": { "sectile": "bin/sectile.js" },
        "engines": { "node": ">=18" },
        "optionalDependencies": serde_json::Map::from_iter(platforms),
    });
    let mut packed = vec![
        PackedFile::new("package.json", pretty(&manifest)),
        PackedFile::program(
            "bin/sectile.js",
            fs::read(root.join("xtask/dist/launcher.js"))?,
        ),
    ];
    for name in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        packed.push(PackedFile::new(name, fs::read(root.join(name))?));
    }
    tar_gz("package", &packed, release.time)
}

impl ReleaseFiles {
    fn of(release: &Release<'_>) -> Result<Self> {
        let files = release.files()?.into_iter();
        Ok(Self {
            version: release.version.clone(),
            sums: files.map(|(name, _, sum)| (name, sum)).collect(),
        })
    }

    fn sum(&self, name: &str) -> Option<&str> {
        let mut sums = self.sums.iter();
        sums.find(|(found, _)| found == name)
            .map(|(_, sum)| sum.as_str())
    }

    /// Returns the address of a file of this release.
    fn url(&self, name: &str) -> String {
        format!("{REPOSITORY}/releases/download/v{}/{name}", self.version)
    }

    /// Returns the entry for the MCP registry.
    fn server_json(&self) -> Value {
        let folder = json!([
            { "type": "positional", "value": "serve" },
            { "type": "positional", "value": "desk" },
            {
                "type": "positional",
                "valueHint": "folder",
                "description": "The folder of Markdown files that the agent may read and edit.",
                "format": "filepath",
                "isRequired": true,
            },
        ]);
        let named = |kind: &str, address: &str, name: &str, hint: Option<&str>| {
            let mut package = json!({
                "registryType": kind,
                "registryBaseUrl": address,
                "identifier": name,
                "version": self.version,
                "transport": { "type": "stdio" },
                "packageArguments": folder,
            });
            if let Some(hint) = hint {
                package["runtimeHint"] = json!(hint);
            }
            package
        };
        let mut packages = vec![
            named("npm", "https://registry.npmjs.org", "sectile", Some("npx")),
            named("pypi", "https://pypi.org", WHEEL, Some("uvx")),
            named("cargo", "https://crates.io", "sectile", None),
        ];
        for target in &TARGETS {
            let name = target.bundle(&self.version);
            if let Some(sum) = self.sum(&name) {
                // The bundle asks for the folder itself.
                packages.push(json!({
                    "registryType": "mcpb",
                    "identifier": self.url(&name),
                    "version": self.version,
                    "fileSha256": sum,
                    "transport": { "type": "stdio" },
                }));
            }
        }
        json!({
            "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            "name": REGISTRY_NAME,
            "title": "Sectile",
            "description": DESCRIPTION,
            "version": self.version,
            "repository": { "url": REPOSITORY, "source": "github" },
            "websiteUrl": REPOSITORY,
            "packages": packages,
        })
    }

    /// Returns the formula for Homebrew, with the archives that are there.
    fn formula(&self) -> String {
        let part = |system: &str, targets: &[(&str, System, &str)]| {
            let blocks: Vec<String> = TARGETS
                .iter()
                .filter_map(|target| {
                    let wanted = |(_, system, cpu): &&(&str, System, &str)| {
                        *system == target.system && *cpu == target.cpu
                    };
                    let (name, ..) = targets.iter().find(wanted)?;
                    let archive = target.archive(&self.version);
                    let sum = self.sum(&archive)?;
                    Some(format!(
                        "    {name} do\n      url \"{}\"\n      sha256 \"{sum}\"\n    end\n",
                        self.url(&archive)
                    ))
                })
                .collect();
            match blocks.is_empty() {
                true => String::new(),
                false => format!("\n  {system} do\n{}  end\n", blocks.join("\n")),
            }
        };
        let macos = [
            ("on_intel", System::MacOs, "x64"),
            ("on_arm", System::MacOs, "arm64"),
        ];
        let linux = [
            ("on_intel", System::LinuxGnu, "x64"),
            ("on_arm", System::LinuxGnu, "arm64"),
        ];
        format!(
            r##"class Sectile < Formula
  desc "{}"
  homepage "{REPOSITORY}"
  version "{}"
  license any_of: ["MIT", "Apache-2.0"]
{}{}
  def install
    bin.install "sectile"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/sectile.bash" => "sectile"
    zsh_completion.install "completions/_sectile"
    fish_completion.install "completions/sectile.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/sectile --version")
    system bin/"sectile", "self-check"
  end
end
"##,
            // Homebrew wants neither an article at the beginning nor a full stop at the end.
            DESCRIPTION.trim_end_matches('.'),
            self.version,
            part("on_macos", &macos),
            part("on_linux", &linux),
        )
    }

    /// Returns the manifests for winget, if there is an archive for Windows.
    fn winget(&self) -> Vec<(String, String)> {
        let is_for_windows = |target: &&ReleaseTarget| target.system == System::Windows;
        let archives = TARGETS.iter().filter(is_for_windows).filter_map(|target| {
            let archive = target.archive(&self.version);
            let sum = self.sum(&archive)?.to_uppercase();
            Some(format!(
                "- Architecture: {}\n  InstallerUrl: {}\n  InstallerSha256: {sum}\n  NestedInstallerFiles:\n  \
                 - RelativeFilePath: sectile-{}-{}\\sectile.exe\n    PortableCommandAlias: sectile\n",
                target.cpu,
                self.url(&archive),
                self.version,
                target.triple,
            ))
        });
        let installers: String = archives.collect();
        if installers.is_empty() {
            return Vec::new();
        }
        let page = |kind: &str, suffix: &str, body: &str| {
            let text = format!(
                "# yaml-language-server: $schema=https://aka.ms/winget-manifest.{kind}.{WINGET_SCHEMA}.schema.json\n\
                 PackageIdentifier: {WINGET}\nPackageVersion: {}\n{body}ManifestType: {kind}\nManifestVersion: {WINGET_SCHEMA}\n",
                self.version
            );
            (format!("{WINGET}{suffix}.yaml"), text)
        };
        vec![
            page("version", "", "DefaultLocale: en-US\n"),
            page(
                "installer",
                ".installer",
                &format!(
                    "InstallerType: zip\nNestedInstallerType: portable\nCommands:\n- sectile\nInstallers:\n{installers}"
                ),
            ),
            page(
                "defaultLocale",
                ".locale.en-US",
                &format!(
                    "PackageLocale: en-US\nPublisher: The Sectile developers\nPublisherUrl: {REPOSITORY}\n\
                     PackageName: Sectile\nPackageUrl: {REPOSITORY}\nLicense: MIT OR Apache-2.0\n\
                     ShortDescription: {DESCRIPTION}\nMoniker: sectile\nTags:\n- markdown\n- mcp\n- notes\n"
                ),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A release with an archive and a bundle for every target.
    fn all() -> ReleaseFiles {
        let names = TARGETS
            .iter()
            .flat_map(|target| [target.archive("1.2.3"), target.bundle("1.2.3")]);
        ReleaseFiles {
            version: "1.2.3".to_owned(),
            sums: names
                .map(|name| {
                    let sum = format!("{:064x}", name.len());
                    (name, sum)
                })
                .collect(),
        }
    }

    #[test]
    fn the_registry_entry_names_every_kind_of_package_with_one_version() {
        let entry = all().server_json();
        let packages = entry["packages"].as_array().unwrap();
        let kinds: Vec<&str> = packages
            .iter()
            .take(4)
            .map(|package| package["registryType"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["npm", "pypi", "cargo", "mcpb"]);
        assert_eq!(packages.len(), 3 + TARGETS.len());
        for package in packages {
            assert_eq!(package["version"], entry["version"], "{package}");
            let is_bundle = package["registryType"] == "mcpb";
            assert_eq!(package["fileSha256"].is_string(), is_bundle, "{package}");
        }
    }

    /// What the registry's schema (2025-12-11) demands of the fields that are there.
    #[test]
    fn the_registry_entry_keeps_to_the_schema() {
        let entry = all().server_json();
        let (namespace, name) = entry["name"].as_str().unwrap().split_once('/').unwrap();
        let is_word = |text: &str, more: &str| {
            let fits = |letter: char| letter.is_ascii_alphanumeric() || more.contains(letter);
            !text.is_empty() && text.chars().all(fits)
        };
        assert!(
            is_word(namespace, ".-") && is_word(name, "._-"),
            "{namespace}/{name}"
        );
        for (key, longest) in [("description", 100), ("title", 100), ("version", 255)] {
            let text = entry[key].as_str().unwrap();
            assert!((1..=longest).contains(&text.len()), "{key}: {text}");
        }
        for key in ["url", "source"] {
            assert!(
                entry["repository"][key].is_string(),
                "the repository has no {key}"
            );
        }
        for package in entry["packages"].as_array().unwrap() {
            assert!(package["registryType"].is_string() && package["identifier"].is_string());
            assert_eq!(package["transport"]["type"], "stdio");
            assert_ne!(package["version"], "latest");
            if let Some(sum) = package["fileSha256"].as_str() {
                assert!(
                    sum.len() == 64 && sum.bytes().all(|byte| b"0123456789abcdef".contains(&byte))
                );
            }
            for argument in package["packageArguments"].as_array().into_iter().flatten() {
                assert_eq!(argument["type"], "positional");
                assert!(argument["value"].is_string() || argument["valueHint"].is_string());
                assert!(argument["format"].is_null() || argument["format"] == "filepath");
            }
        }
    }

    #[test]
    fn the_formula_has_a_block_for_each_archive() {
        let formula = all().formula();
        assert_eq!(formula.matches("sha256").count(), 4, "{formula}");
        assert!(
            formula.contains("v1.2.3/sectile-1.2.3-aarch64-apple-darwin.tar.gz"),
            "{formula}"
        );
        let none = ReleaseFiles {
            version: "1.2.3".to_owned(),
            sums: Vec::new(),
        };
        assert!(!none.formula().contains("on_macos"));
        assert!(none.winget().is_empty());
    }

    #[test]
    fn winget_gets_three_manifests() {
        let manifests = all().winget();
        let names: Vec<&str> = manifests.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "Sectile.Sectile.yaml",
            "Sectile.Sectile.installer.yaml",
            "Sectile.Sectile.locale.en-US.yaml",
        ];
        assert_eq!(names, expected);
        assert!(
            manifests[1]
                .1
                .contains(r"- RelativeFilePath: sectile-1.2.3-x86_64-pc-windows-msvc\sectile.exe")
        );
    }
}
