//! The version of the program, in every file that people read or build from.

use super::{Finding, TextFile, Tree};

/// Letters between the name of the program and its version, in names of files and images.
const SEPARATORS: [char; 3] = ['-', '_', ':'];

/// Finds names of files and images, and requirements of our own crates, with another version than the workspace has.
pub(super) fn one_version(tree: &Tree) -> Vec<Finding> {
    let mut files = tree.files.iter();
    let Some(manifest) = files.find(|file| file.path == "Cargo.toml") else {
        return Vec::new();
    };
    let Some(version) = workspace_version(&manifest.text) else {
        return vec![Finding::new(manifest, 1, "the workspace has no version")];
    };
    let mut findings = wrong_requirements(manifest, version);
    for file in tree.files.iter().filter(|file| is_page(&file.path)) {
        for (number, line) in file.numbered_lines() {
            let wrong = versions_in(line).filter(|found| *found != version);
            findings.extend(wrong.map(|found| {
                let message = format!("version {found}, and the workspace has {version}");
                Finding::new(file, number, message)
            }));
        }
    }
    findings
}

/// Returns whether a file tells people what to install.
fn is_page(path: &str) -> bool {
    let is_manual = path.starts_with("docs/") && !path.starts_with("docs/decisions/");
    path == "README.md" || path.starts_with("deploy/") || (is_manual && path.ends_with(".md"))
}

fn workspace_version(manifest: &str) -> Option<&str> {
    let (_, package) = manifest.split_once("[workspace.package]")?;
    let (_, version) = package.split_once("\nversion = \"")?;
    version.split('"').next()
}

/// Finds our own crates in the list of dependencies with another version.
fn wrong_requirements(manifest: &TextFile, version: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in manifest.numbered_lines() {
        let required = line
            .strip_prefix("sectile-")
            .and_then(|line| line.split_once("version = \""))
            .and_then(|(_, rest)| rest.split('"').next());
        if required.is_some_and(|required| required != version) {
            let message = format!("another version than that of the workspace, {version}");
            findings.push(Finding::new(manifest, number, message));
        }
    }
    findings
}

/// Returns the versions in names such as `sectile-1.2.3-x86_64-unknown-linux-musl.tar.gz`.
fn versions_in(line: &str) -> impl Iterator<Item = &str> {
    line.split("sectile").skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix(SEPARATORS)?;
        let end = rest
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .unwrap_or(rest.len());
        let version = rest[..end].trim_end_matches('.');
        (version.split('.').count() == 3).then_some(version)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[workspace]\n\n[workspace.package]\nversion = \"1.2.3\"\n\n\
                            [workspace.dependencies]\nserde = \"1.0.9\"\n";

    fn found(path: &str, text: &str) -> Vec<(String, usize)> {
        let file = |path: &str, text: String| TextFile {
            path: path.to_owned(),
            text,
        };
        let is_manifest = path == "Cargo.toml";
        let more = if is_manifest { text } else { "" };
        let mut files = vec![file("Cargo.toml", format!("{MANIFEST}{more}"))];
        if !is_manifest {
            files.push(file(path, text.to_owned()));
        }
        let findings = one_version(&Tree {
            files,
            ..Tree::default()
        });
        let place = |finding: Finding| (finding.path, finding.line);
        findings.into_iter().map(place).collect()
    }

    #[test]
    fn pages_name_files_of_the_version_of_the_workspace() {
        let page = "docs/install.md";
        for right in [
            "tar xzf sectile-1.2.3-x86_64-unknown-linux-musl.tar.gz",
            "apt install ./sectile_1.2.3-1_amd64.deb",
            "ghcr.io/sectile/sectile:1.2.3",
            "http://127.0.0.1:7420, sectile-1, sectile-fusion-5, glibc 2.28.1",
        ] {
            assert_eq!(found(page, right), [], "{right}");
        }
        for wrong in [
            "tar xzf sectile-1.2.2-x86_64-unknown-linux-musl.tar.gz",
            "apt install ./sectile_1.2.4-1_amd64.deb",
            "The image is ghcr.io/sectile/sectile:1.3.0.",
        ] {
            assert_eq!(found(page, wrong), [(page.to_owned(), 1)], "{wrong}");
        }
        assert_eq!(found("docs/decisions/0001-a.md", "sectile-0.9.0"), []);
    }

    #[test]
    fn crates_of_the_workspace_require_each_other_in_one_version() {
        let row = |version: &str| {
            format!("sectile-vault = {{ path = \"x\", version = \"{version}\" }}\n")
        };
        assert_eq!(found("Cargo.toml", &row("1.2.3")), []);
        assert_eq!(
            found("Cargo.toml", &row("1.2.2")),
            [("Cargo.toml".to_owned(), 8)]
        );
    }
}
