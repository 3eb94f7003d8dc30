//! `llms.txt`: the order of the pages in a folder that has no other navigation.

use std::{borrow::Cow, collections::HashMap};

use percent_encoding::percent_decode_str;
use sectile_markdown::{LinkList, NotePath, Source};

use super::{
    NavEntry, SitePlan, is_page_name,
    settings_files::{Place, SettingsFiles},
    without_ending,
};

const NAME: &str = "llms.txt";
/// The most folders at the start of an address that may belong to the site and not to the page.
const MOST_FOLDERS_OF_SITE: usize = 8;

/// Reads the list in the folder, if there is one.
pub(super) fn read(files: &mut SettingsFiles<'_>, documents: &[NotePath], plan: &mut SitePlan) {
    let Some(text) = files.text(Place::Here, NAME) else {
        return;
    };
    let list = LinkList::read(&Source::new(text.as_bytes()));
    if plan.title.is_none() && !list.title.is_empty() {
        plan.title = Some(list.title);
    }
    let mut by_path: HashMap<&str, &str> = HashMap::new();
    for path in documents {
        if let Some(below) = plan.below_base(path) {
            by_path.insert(below, below);
            by_path.entry(page_name(below)).or_insert(below);
        }
    }
    for link in list.links {
        let address = path_of(&link.target);
        let target = match found(&address, link.target.contains("://"), &by_path) {
            Some(page) => page.to_owned(),
            None if is_page_name(&link.target) => address.into_owned(),
            // It leads elsewhere.
            None => continue,
        };
        plan.push(NavEntry {
            title: Some(link.title).filter(|title| !title.is_empty()),
            section: Some(link.section).filter(|section| !section.is_empty()),
            target,
        });
    }
}

/// Returns the page at an address. Where the address names a host, the site may be in a folder there.
fn found<'d>(
    address: &str,
    has_host: bool,
    by_path: &HashMap<&'d str, &'d str>,
) -> Option<&'d str> {
    let mut path = address;
    for _ in 0..=MOST_FOLDERS_OF_SITE {
        let page = by_path.get(path).or_else(|| by_path.get(page_name(path)));
        if let Some(page) = page {
            return Some(page);
        }
        path = path.split_once('/')?.1;
        if !has_host || path.is_empty() {
            break;
        }
    }
    None
}

/// Returns the path of an address, without what comes before and after it.
fn path_of(target: &str) -> Cow<'_, str> {
    let path = match target.split_once("://") {
        Some((_, rest)) => rest.split_once('/').map_or("", |(_, path)| path),
        None => target,
    };
    let path = path.split(['#', '?']).next().unwrap_or_default();
    let path = path.trim_start_matches("./").trim_start_matches('/');
    percent_decode_str(path).decode_utf8_lossy()
}

/// Returns what the path of a page and its addresses have in common: `guide` for `guide/index.md` and `guide/`, and
/// `guide/a` for `guide/a.md`, `guide/a.html` and `guide/a.html.md`.
fn page_name(path: &str) -> &str {
    let path = without_ending(path.trim_end_matches('/'));
    let path = path.strip_suffix(".html").unwrap_or(path);
    match path.rsplit_once('/') {
        Some((folder, "index" | "README")) => folder,
        None if matches!(path, "index" | "README") => "",
        _ => path,
    }
}
