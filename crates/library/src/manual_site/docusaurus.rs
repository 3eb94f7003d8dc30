//! Docusaurus: `_category_` files, `sidebars.json`, front matter, and numbers before the names of files and folders.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use sectile_markdown::{Mapping, NotePath, Value, scalar_text};
use serde_json::Value as Json;

use super::{
    MAX_NAV_ENTRIES, MOST_PROBED, NavEntry, SiteKind, SitePlan,
    settings_files::{Place, ProblemReason, SettingsFiles},
    without_ending,
};

/// The folder of the pages in a project, and of their addresses on its site.
const DOCS: &str = "docs";
const CATEGORY_FILES: [&str; 3] = ["_category_.json", "_category_.yml", "_category_.yaml"];
const SIDEBARS: &str = "sidebars.json";
/// The most folders whose `_category_` file is looked for.
const MAX_CATEGORIES: usize = 4_096;
/// The most folders that sidebars may list by themselves.
const MAX_GENERATED: usize = 256;

/// The addresses of the pages.
pub(super) struct DocusaurusPages(HashMap<NotePath, String>);

impl DocusaurusPages {
    /// Returns the address of a page that is published.
    pub(super) fn url(&self, path: &NotePath) -> Option<String> {
        self.0.get(path).cloned()
    }
}

/// Returns whether Docusaurus publishes the folder, or the folder `docs` in it.
pub(super) fn is_here(
    files: &mut SettingsFiles<'_>,
    documents: &[NotePath],
    front_matter: &mut impl FnMut(&NotePath) -> Mapping,
    plan: &mut SitePlan,
) -> bool {
    let mut configurations = ["js", "ts", "mjs", "cjs"]
        .map(|ending| format!("docusaurus.config.{ending}"))
        .into_iter();
    let is_project = configurations.clone().any(|name| files.has(&name));
    let is_in_docs = |path: &NotePath| path.as_str().starts_with("docs/");
    if is_project && documents.iter().any(is_in_docs) {
        plan.base = DOCS.to_owned();
    }
    let is_known = is_project
        || configurations.any(|name| files.exists(Place::Above, &name))
        || folders(documents, "")
            .iter()
            .take(MOST_PROBED)
            .any(|folder| {
                let mut names = CATEGORY_FILES.iter();
                names.any(|name| files.has(&format!("{folder}/{name}")))
            })
        || documents.iter().take(MOST_PROBED).any(|path| {
            let front_matter = front_matter(path);
            front_matter.get("sidebar_position").is_some()
        });
    if is_known {
        plan.kind = SiteKind::Docusaurus;
    }
    is_known
}

/// Reads the order, titles and addresses of the pages.
pub(super) fn read(
    files: &mut SettingsFiles<'_>,
    documents: &[NotePath],
    front_matter: &mut impl FnMut(&NotePath) -> Mapping,
    plan: &mut SitePlan,
) -> DocusaurusPages {
    let mut pages: Vec<Page> = documents
        .iter()
        .filter_map(|path| {
            let below = plan.below_base(path)?;
            // Names that start with an underscore are parts of other pages.
            let is_part = below.split('/').any(|segment| segment.starts_with('_'));
            (!is_part).then(|| Page::new(path, below, &front_matter(path)))
        })
        .collect();
    let categories = categories(files, documents, &plan.base, &pages);
    for page in &mut pages {
        page.places = places(page, &categories);
    }
    pages.sort_by(compare);
    let by_id: HashMap<&str, usize> = pages
        .iter()
        .enumerate()
        .map(|(index, page)| (page.id.as_str(), index))
        .collect();
    if let Some(items) = sidebars(files, plan) {
        let mut reader = SidebarReader {
            pages: &pages,
            by_id: &by_id,
            folders_left: MAX_GENERATED,
            plan,
        };
        reader.sidebars(&items);
    } else {
        for page in &pages {
            let top = page.folder.split('/').next().unwrap_or_default();
            let category = categories.get(top);
            plan.push(page.entry(category.and_then(|category| category.label.clone())));
        }
    }
    let prefix = if plan.base.is_empty() { "" } else { "docs/" };
    let address = |page: &Page| (page.path.clone(), format!("{prefix}{}", page.slug));
    DocusaurusPages(pages.iter().map(address).collect())
}

/// A page.
struct Page {
    path: NotePath,
    /// The path below the folder of the pages.
    below: String,
    /// Its folder below the folder of the pages; empty at the top.
    folder: String,
    /// The name by which sidebars refer to it.
    id: String,
    title: Option<String>,
    position: Option<f64>,
    is_index: bool,
    /// The address, without a slash at the start.
    slug: String,
    /// Where its folders and the page itself are among their neighbours, outermost first.
    places: Vec<PlaceInFolder>,
}

/// Where a page or folder is in its folder.
#[derive(Debug, PartialEq)]
struct PlaceInFolder {
    /// The page that introduces a folder comes first.
    is_index: bool,
    position: Option<f64>,
    name: String,
}

/// A folder with pages.
#[derive(Debug, Default)]
struct Category {
    label: Option<String>,
    position: Option<f64>,
}

impl Page {
    fn new(path: &NotePath, below: &str, front_matter: &Mapping) -> Self {
        let text = |key: &str| {
            let value = front_matter.get(key)?;
            let is_scalar = matches!(
                value,
                Value::String(_) | Value::Number(_) | Value::Timestamp(_)
            );
            is_scalar
                .then(|| scalar_text(value))
                .filter(|text| !text.is_empty())
        };
        let (folder, name) = below.rsplit_once('/').unwrap_or(("", below));
        let has_prefixes = front_matter.get("parse_number_prefixes") != Some(&Value::Bool(false));
        let split = |name| match has_prefixes {
            true => split_number(name),
            false => (None, name),
        };
        let stem = without_ending(name);
        let (number, base_name) = split(stem);
        let segments = folder.split('/').filter(|segment| !segment.is_empty());
        let address = segments
            .map(|segment| split(segment).1)
            .collect::<Vec<_>>()
            .join("/");
        let base_id = text("id").unwrap_or_else(|| base_name.to_owned());
        let innermost = folder.rsplit('/').next().filter(|name| !name.is_empty());
        let is_index = ["index", "readme"]
            .iter()
            .any(|one| stem.eq_ignore_ascii_case(one))
            || innermost.is_some_and(|name| name.to_lowercase() == stem.to_lowercase());
        let slug = match text("slug") {
            Some(slug) if slug.starts_with('/') => slug.trim_start_matches('/').to_owned(),
            Some(slug) => resolved(&address, &slug),
            None if is_index && address.is_empty() => String::new(),
            None if is_index => format!("{address}/"),
            None => resolved(&address, &base_id),
        };
        let position = match front_matter.get("sidebar_position") {
            Some(Value::Number(position)) => Some(*position),
            _ => number,
        };
        Self {
            path: path.clone(),
            below: below.to_owned(),
            folder: folder.to_owned(),
            id: match address.as_str() {
                "" => base_id,
                address => format!("{address}/{base_id}"),
            },
            title: text("sidebar_label").or_else(|| text("title")),
            position: position.filter(|position| !position.is_nan()),
            is_index: is_index && !folder.is_empty(),
            slug,
            places: Vec::new(),
        }
    }

    fn entry(&self, section: Option<String>) -> NavEntry {
        NavEntry {
            title: self.title.clone(),
            section,
            target: self.below.clone(),
        }
    }
}

/// Splits the number off a name, `02-setup`, unless it is a date or a version.
fn split_number(name: &str) -> (Option<f64>, &str) {
    const MARKS: [char; 3] = ['-', '_', '.'];
    let rest = name.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &name[..name.len() - rest.len()];
    let next = rest.strip_prefix(MARKS);
    let is_version = next.is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit()));
    let marks = rest.trim_start();
    let after = marks.trim_start_matches(MARKS);
    let base = after.trim_start();
    let is_split = !digits.is_empty()
        && !is_version
        && after.len() < marks.len()
        && base.starts_with(|c: char| !MARKS.contains(&c));
    match is_split {
        true => (digits.parse().ok(), base),
        false => (None, name),
    }
}

/// Returns the address of `slug` relative to the folder at `address`.
fn resolved(address: &str, slug: &str) -> String {
    let mut segments: Vec<&str> = address.split('/').filter(|one| !one.is_empty()).collect();
    for segment in slug.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            name => segments.push(name),
        }
    }
    let slash = if slug.ends_with('/') && !segments.is_empty() {
        "/"
    } else {
        ""
    };
    segments.join("/") + slash
}

/// Returns the folders of the documents below `base`, relative to it, sorted.
fn folders(documents: &[NotePath], base: &str) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for path in documents {
        let below = match base {
            "" => path.folder(),
            base => path
                .folder()
                .and_then(|folder| folder.strip_prefix(base)?.strip_prefix('/')),
        };
        let mut folder = below.unwrap_or_default();
        while !folder.is_empty()
            && folders.len() < MAX_CATEGORIES
            && folders.insert(folder.to_owned())
        {
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }
    folders
}

/// Reads the labels and positions of the folders.
fn categories(
    files: &mut SettingsFiles<'_>,
    documents: &[NotePath],
    base: &str,
    pages: &[Page],
) -> BTreeMap<String, Category> {
    let index_of: HashMap<&str, &Page> = pages
        .iter()
        .filter(|page| page.is_index)
        .map(|page| (page.folder.as_str(), page))
        .collect();
    let mut categories = BTreeMap::new();
    for folder in folders(documents, base) {
        let location = match base {
            "" => folder.clone(),
            base => format!("{base}/{folder}"),
        };
        let written = CATEGORY_FILES
            .iter()
            .find_map(|name| category_file(files, &format!("{location}/{name}")));
        let written = written.unwrap_or_default();
        let name = folder.rsplit('/').next().unwrap_or(&folder);
        let (number, plain_name) = split_number(name);
        let index = index_of.get(folder.as_str());
        let category = Category {
            label: written
                .label
                .or_else(|| index.and_then(|page| page.title.clone()))
                .or_else(|| Some(plain_name.to_owned())),
            position: written
                .position
                .or_else(|| index.and_then(|page| page.position))
                .or(number),
        };
        categories.insert(folder, category);
    }
    categories
}

fn category_file(files: &mut SettingsFiles<'_>, name: &str) -> Option<Category> {
    if name.ends_with(".json") {
        let json = json(files, Place::Here, name)?;
        return Some(Category {
            label: json.get("label").and_then(Json::as_str).map(str::to_owned),
            position: json.get("position").and_then(Json::as_f64),
        });
    }
    let settings = files.yaml(Place::Here, name)?;
    Some(Category {
        label: match settings.get("label") {
            Some(Value::String(label)) => Some(label.clone()),
            _ => None,
        },
        position: match settings.get("position") {
            Some(Value::Number(position)) if !position.is_nan() => Some(*position),
            _ => None,
        },
    })
}

fn json(files: &mut SettingsFiles<'_>, place: Place, name: &str) -> Option<Json> {
    let text = files.text(place, name)?;
    let read = serde_json::from_str(&text).ok();
    if read.is_none() {
        files.note(place, name, ProblemReason::Malformed);
    }
    read
}

/// Returns where the folders of a page are among their neighbours, and the page itself.
fn places(page: &Page, categories: &BTreeMap<String, Category>) -> Vec<PlaceInFolder> {
    let mut places = Vec::new();
    let ends = page.below.match_indices('/').map(|(at, _)| at);
    let mut start = 0;
    for end in ends {
        places.push(PlaceInFolder {
            is_index: false,
            position: categories
                .get(&page.below[..end])
                .and_then(|one| one.position),
            name: page.below[start..end].to_owned(),
        });
        start = end + 1;
    }
    places.push(PlaceInFolder {
        is_index: page.is_index,
        position: page.position,
        name: page.below[start..].to_owned(),
    });
    places
}

fn compare(one: &Page, other: &Page) -> Ordering {
    let pairs = one.places.iter().zip(&other.places);
    let unequal = pairs
        .map(|(one, other)| {
            let positions = match (one.position, other.position) {
                (Some(one), Some(other)) => one.total_cmp(&other),
                // What has no position comes last.
                (one, other) => other.is_some().cmp(&one.is_some()),
            };
            other
                .is_index
                .cmp(&one.is_index)
                .then(positions)
                .then_with(|| one.name.cmp(&other.name))
        })
        .find(|order| order.is_ne());
    unequal.unwrap_or_else(|| one.below.cmp(&other.below))
}

/// Returns the sidebars of a site that has them as data.
fn sidebars(files: &mut SettingsFiles<'_>, plan: &SitePlan) -> Option<Json> {
    let place = match plan.base.is_empty() && !files.has(SIDEBARS) {
        true => Place::Above,
        false => Place::Here,
    };
    json(files, place, SIDEBARS)
}

/// Reads the pages of sidebars in order. Their depth is bounded by the parser.
struct SidebarReader<'p> {
    pages: &'p [Page],
    by_id: &'p HashMap<&'p str, usize>,
    /// How many more folders may be listed.
    folders_left: usize,
    plan: &'p mut SitePlan,
}

impl SidebarReader<'_> {
    fn sidebars(&mut self, sidebars: &Json) {
        for items in sidebars
            .as_object()
            .into_iter()
            .flat_map(|all| all.values())
        {
            self.items(items, None);
        }
    }

    fn items(&mut self, items: &Json, section: Option<&str>) {
        match items {
            Json::Array(items) => items.iter().for_each(|item| self.item(item, section)),
            // A sidebar or category can also be written as labels with items.
            Json::Object(labels) if !labels.contains_key("type") => {
                for (label, items) in labels {
                    self.items(items, section.or(Some(label)));
                }
            }
            item => self.item(item, section),
        }
    }

    fn item(&mut self, item: &Json, section: Option<&str>) {
        if self.plan.nav.len() >= MAX_NAV_ENTRIES {
            return;
        }
        let text = |key: &str| item.get(key).and_then(Json::as_str);
        match (item, text("type")) {
            (Json::String(id), _) => self.page(id, None, section),
            (_, Some("doc" | "ref")) => {
                self.page(text("id").unwrap_or_default(), text("label"), section);
            }
            (_, Some("category")) => {
                let link = item.get("link").and_then(|link| link.get("id"));
                if let Some(id) = link.and_then(Json::as_str) {
                    self.page(id, None, section.or(text("label")));
                }
                if let Some(items) = item.get("items") {
                    self.items(items, section.or(text("label")));
                }
            }
            (_, Some("autogenerated")) => {
                self.folder(text("dirName").unwrap_or_default(), section);
            }
            (Json::Object(_), None) => self.items(item, section),
            _ => {}
        }
    }

    fn page(&mut self, id: &str, label: Option<&str>, section: Option<&str>) {
        let section = section.map(str::to_owned);
        let entry = match self.by_id.get(id) {
            Some(index) => self.pages[*index].entry(section),
            // It is missed under the name that it would have.
            None => NavEntry {
                target: format!("{id}.md"),
                section,
                title: None,
            },
        };
        self.plan.push(NavEntry {
            title: label.map(str::to_owned).or(entry.title),
            ..entry
        });
    }

    fn folder(&mut self, folder: &str, section: Option<&str>) {
        let is_inside = |page: &&Page| {
            let below = page.below.strip_prefix(folder);
            matches!(folder, "" | ".") || below.is_some_and(|below| below.starts_with('/'))
        };
        let Some(left) = self.folders_left.checked_sub(1) else {
            return;
        };
        self.folders_left = left;
        for page in self.pages.iter().filter(is_inside) {
            self.plan.push(page.entry(section.map(str::to_owned)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_before_names() {
        // As `DefaultNumberPrefixParser` of Docusaurus 3.10 splits them.
        for (name, number, base) in [
            ("02-setup", Some(2.0), "setup"),
            ("003 - My doc", Some(3.0), "My doc"),
            ("1.intro", Some(1.0), "intro"),
            ("0_a", Some(0.0), "a"),
            ("03--1.6.X", Some(3.0), "1.6.X"),
            ("2021-01-31 - Doc", None, "2021-01-31 - Doc"),
            ("7.0-release", None, "7.0-release"),
            ("a1-doc", None, "a1-doc"),
            ("12", None, "12"),
            ("12-", None, "12-"),
            ("1 doc", None, "1 doc"),
        ] {
            assert_eq!(split_number(name), (number, base), "{name}");
        }
    }
}
