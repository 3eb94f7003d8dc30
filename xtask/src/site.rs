//! Builds the manual as a site with mdBook, into `target/site`.
//!
//! The pages are copied first: mdBook would show their front matter, and links to files outside of `docs` would lead
//! nowhere.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use sectile_markdown::{Change, Changes, Source, Span, joined_path, links};

use crate::install;
use crate::process::{self, Repo};

const MANUAL: &str = "docs";
/// Where the files outside of the manual are for readers of the site.
const FILES: &str = "https://github.com/sectile/sectile/blob/main/";

/// Builds the site. mdBook itself is built first, which takes minutes, unless it is there.
pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    let program = match process::is_present("mdbook", &["--version"]) {
        true => "mdbook".into(),
        false => install::mdbook(repo).context("mdBook is missing: it could not be built")?,
    };
    let source = repo.target.join("site-source");
    let site = repo.target.join("site");
    for folder in [&source, &site] {
        if folder.is_dir() {
            fs::remove_dir_all(folder)?;
        }
    }
    copy(&repo.root, MANUAL, &source)?;
    let mut mdbook = Command::new(program);
    mdbook
        .arg("build")
        .arg(&source)
        .arg("--dest-dir")
        .arg(&site);
    process::run(&mut mdbook)?;
    Ok(Some(format!("the site is in {}", site.display())))
}

/// Copies a folder of the repository.
fn copy(root: &Path, folder: &str, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name();
        let path = format!("{folder}/{}", name.to_string_lossy());
        if entry.file_type()?.is_dir() {
            copy(root, &path, &to.join(name))?;
            continue;
        }
        let mut bytes = fs::read(entry.path())?;
        if Path::new(&path)
            .extension()
            .is_some_and(|extension| extension == "md")
        {
            bytes = published(folder, &bytes).with_context(|| format!("cannot rewrite {path}"))?;
        }
        fs::write(to.join(name), bytes)?;
    }
    Ok(())
}

/// Returns a page in `folder` as the site has it: without front matter, and with addresses for files that it lacks.
fn published(folder: &str, page: &[u8]) -> Option<Vec<u8>> {
    with_addresses(folder, page, |target| {
        let is_in_site = target == MANUAL || target.starts_with("docs/");
        (!is_in_site).then(|| format!("{FILES}{target}"))
    })
}

/// Returns a page in `folder` without its front matter. Links to files of the repository get the address that `address`
/// returns for the path from the root, if it returns one.
pub(crate) fn with_addresses(
    folder: &str,
    page: &[u8],
    address: impl Fn(&str) -> Option<String>,
) -> Option<Vec<u8>> {
    let source = Source::new(page);
    let body = source.front_matter().map_or(0, |matter| matter.block.end);
    let mut changes = vec![Change::new(Span::new(0, body), "")];
    for link in links(&source) {
        if link.form.is_wiki() || link.path.text.is_empty() || link.span.start < body {
            continue;
        }
        if let Some(address) = address(&joined_path(folder, &link.path.text)?) {
            changes.push(Change::new(link.path.span, address));
        }
    }
    Changes::new(changes)?.apply(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_page_has_no_front_matter_and_no_dead_links() {
        let page = b"---\ntitle: A\n---\n# A\n\n[b](b.md#c) [code](../deploy/x.service) [up](../docs/d.md)\n";
        let expected = "# A\n\n[b](b.md#c) [code](https://github.com/sectile/sectile/blob/main/deploy/x.service) \
                        [up](../docs/d.md)\n";
        let found = published("docs", page).unwrap();
        assert_eq!(String::from_utf8(found).unwrap(), expected);
        assert_eq!(published("docs", b"# A\n").unwrap(), b"# A\n");
    }
}
