//! Checks that relative links lead to files and headings that exist, and that the table of contents lists every page.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use sectile_markdown::{
    Anchors, FragmentResolution, LineIndex, Link, LinkForm, LinkList, Source, joined_path, links,
};

/// Pages outside of `docs`.
const PAGES: [&str; 5] = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
];
/// Where readers find the files of the repository, and its front page.
const FILES: &str = "https://github.com/sectile/sectile/blob/main/";
const FRONT_PAGE: &str = "https://github.com/sectile/sectile#";
const MANUAL: &str = "docs";
const CONTENTS: &str = "docs/SUMMARY.md";
/// Pages that are not part of the book.
const NOT_LISTED: [&str; 2] = [CONTENTS, "docs/pictures/README.md"];

/// Checks all pages, and returns the number of links.
pub(super) fn check(root: &Path) -> Result<usize> {
    let mut pages: Vec<String> = PAGES.map(ToOwned::to_owned).into();
    add_pages(root, MANUAL, &mut pages)?;
    let mut findings = Vec::new();
    let mut count = 0;
    for page in &pages {
        let bytes = fs::read(root.join(page)).with_context(|| format!("cannot read {page}"))?;
        let source = Source::new(&bytes);
        let lines = LineIndex::new(&bytes);
        for link in links(&source).iter().filter(|link| !link.form.is_wiki()) {
            count += 1;
            if let Some(what) = problem(root, page, &source, link) {
                let line = lines.position(link.span.start).line;
                findings.push(format!("{page}:{line}: `{}` {what}", link.target()));
            }
        }
        for (number, line) in (1..).zip(String::from_utf8_lossy(&bytes).lines()) {
            for (target, what) in wrong_addresses(root, line) {
                findings.push(format!("{page}:{number}: `{target}` {what}"));
            }
        }
    }
    findings.extend(unlisted(root, &pages)?);
    if findings.is_empty() {
        return Ok(count);
    }
    for finding in &findings {
        println!("{finding}");
    }
    bail!(
        "{} links or pages are wrong, such as {}",
        findings.len(),
        findings[0]
    )
}

/// Adds the Markdown files below a folder, with paths from the root, in order.
fn add_pages(root: &Path, folder: &str, pages: &mut Vec<String>) -> Result<()> {
    let mut names: Vec<(String, bool)> = Vec::new();
    for entry in fs::read_dir(root.join(folder)).with_context(|| format!("cannot list {folder}"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        names.push((format!("{folder}/{name}"), entry.file_type()?.is_dir()));
    }
    names.sort();
    for (name, is_folder) in names {
        if is_folder {
            add_pages(root, &name, pages)?;
        } else if is_page(&name) {
            pages.push(name);
        }
    }
    Ok(())
}

fn is_page(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|extension| extension == "md")
}

/// Returns what is wrong with a link, if anything.
fn problem(root: &Path, page: &str, source: &Source<'_>, link: &Link) -> Option<&'static str> {
    if link.path.text.is_empty() {
        return missing_heading(&Anchors::new(source), link.form, link.fragment_text());
    }
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let Some(target) = joined_path(folder, &link.path.text) else {
        return Some("leads out of the repository");
    };
    problem_at(root, &target, link.form, link.fragment_text())
}

/// Returns what is wrong with a link to a file of the repository, if anything.
fn problem_at(root: &Path, target: &str, form: LinkForm, fragment: &str) -> Option<&'static str> {
    if !root.join(target).exists() {
        return Some("leads to a file that does not exist");
    }
    if fragment.is_empty() {
        return None;
    }
    let Ok(bytes) = fs::read(root.join(target)) else {
        return Some("names a heading of something that is not a file");
    };
    missing_heading(&Anchors::new(&Source::new(&bytes)), form, fragment)
}

fn missing_heading(anchors: &Anchors, form: LinkForm, fragment: &str) -> Option<&'static str> {
    let is_missing = matches!(
        anchors.resolve(form, fragment),
        FragmentResolution::Missing | FragmentResolution::MissingBlock
    );
    is_missing.then_some("names a heading that does not exist")
}

/// Returns the addresses of our own repository in a line that are wrong, with what is wrong with them. On the site, where pages
/// are read without the repository, they stand for relative links.
fn wrong_addresses<'t>(
    root: &Path,
    line: &'t str,
) -> impl Iterator<Item = (&'t str, &'static str)> {
    let starts = [(FILES, ""), (FRONT_PAGE, "README.md#")];
    starts.into_iter().flat_map(move |(start, page)| {
        line.split(start).skip(1).filter_map(move |rest| {
            let end = rest.find([')', '>', '"', ' ', '`']).unwrap_or(rest.len());
            let target = format!("{page}{}", &rest[..end]);
            let (path, fragment) = target.split_once('#').unwrap_or((&target, ""));
            Some((
                &rest[..end],
                problem_at(root, path, LinkForm::Inline, fragment)?,
            ))
        })
    })
}

/// Returns the pages of the manual that its table of contents does not list.
fn unlisted(root: &Path, pages: &[String]) -> Result<Vec<String>> {
    let bytes = fs::read(root.join(CONTENTS)).with_context(|| format!("cannot read {CONTENTS}"))?;
    let contents = LinkList::read_summary(&Source::new(&bytes));
    let listed: BTreeSet<String> = contents
        .links
        .iter()
        .filter_map(|link| joined_path(MANUAL, &link.target))
        .collect();
    let is_missing = |page: &&String| {
        !PAGES.contains(&page.as_str())
            && !NOT_LISTED.contains(&page.as_str())
            && !listed.contains(*page)
    };
    let missing = pages.iter().filter(is_missing);
    Ok(missing
        .map(|page| format!("{page} is not listed in {CONTENTS}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is wrong with the links of a page at `docs/page.md`, in this repository.
    fn problems(text: &str) -> Vec<Option<&'static str>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let source = Source::new(text.as_bytes());
        let links = links(&source);
        let problem = |link| problem(&root, "docs/page.md", &source, link);
        links.iter().map(problem).collect()
    }

    #[test]
    fn links_lead_to_files_and_headings() {
        let right = "# Here\n\n[a](#here) [b](desk.md) [c](desk.md#edit-one-section) [d](../README.md) [e](contracts)\n";
        assert_eq!(problems(right), [None; 5]);
        let wrong = "# Here\n\n[a](#there) [b](gone.md) [c](desk.md#gone) [d](../../x.md) [e](contracts#x)\n";
        let found = problems(wrong);
        assert_eq!(found.len(), 5);
        assert!(found.iter().all(Option::is_some), "{found:?}");
    }

    #[test]
    fn addresses_of_the_repository_lead_to_files_and_headings() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let wrong = |line: &str| wrong_addresses(&root, line).count();
        assert_eq!(
            wrong(&format!(
                "[a]({FILES}README.md) [b]({FRONT_PAGE}install) {FILES}docs"
            )),
            0
        );
        assert_eq!(
            wrong(&format!(
                "[a]({FILES}GONE.md) [b]({FRONT_PAGE}gone) {FILES}README.md#x"
            )),
            3
        );
    }
}
