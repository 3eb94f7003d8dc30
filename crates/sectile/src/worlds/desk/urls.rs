//! Addresses of documents and sections, for hosts that cite only what has one.
//!
//! Without a template, a folder that Obsidian opens gets `obsidian:` addresses. Everything else gets `sectile:` ones, which
//! say what is meant and lead nowhere. An address with a place of this machine is made only from a template that the user
//! wrote: a client that is not on this machine could not open it, and should not learn it.

use sectile_vault::{NotePath, PathEntry, Root};

use super::{
    fetched::ReadItem,
    roots::{DeskRoot, VisibleRoots},
};
use crate::worlds::url_template::{self, PART, PATH, decoded, encoded, filled};

/// The names that a template may have in braces.
const PLACEHOLDERS: [&str; 5] = ["path", "name", "id", "root", "heading"];

/// How the addresses of one root are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UrlStyle {
    /// From a template with [`PLACEHOLDERS`].
    Template(String),
    /// For Obsidian, which knows the folder by this name.
    Obsidian(String),
    /// Addresses of our own.
    Sectile,
}

/// The thing that an address is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct UrlTarget<'a> {
    /// Name of the root; empty if it needs none.
    pub(super) root: &'a str,
    /// Path of the document or folder, relative to the root.
    pub(super) path: &'a str,
    /// The canonical id.
    pub(super) id: &'a str,
    /// Id and heading of the section; without one, the target is the document or folder.
    pub(super) section: Option<(&'a str, &'a str)>,
}

impl UrlStyle {
    /// Returns the style for the folder `root`, which people know by `name`: the template if there is one.
    pub(super) fn of_folder(template: Option<&str>, root: &Root, name: &str) -> Self {
        let settings = NotePath::parse_vault(".obsidian").ok();
        let settings = settings.and_then(|path| root.find(&path));
        match (template, settings) {
            (Some(template), _) => Self::Template(template.to_owned()),
            (None, Some(PathEntry::Folder(_))) => Self::Obsidian(name.to_owned()),
            (None, _) => Self::Sectile,
        }
    }

    /// Returns the address of `target`.
    pub(super) fn url(&self, target: UrlTarget<'_>) -> String {
        let UrlTarget {
            root,
            path,
            id,
            section,
        } = target;
        let heading = section.map_or("", |(_, heading)| heading);
        match self {
            Self::Template(template) => {
                let value = |name: &str| match name {
                    "path" => Some(encoded(path, PATH)),
                    "name" => Some(encoded(file_stem(path), PART)),
                    "id" => Some(encoded(id, PART)),
                    "root" => Some(encoded(root, PART)),
                    "heading" => Some(encoded(heading, PART)),
                    _ => None,
                };
                filled(template, value)
            }
            Self::Obsidian(vault) => {
                let mut file = path.to_owned();
                if !heading.is_empty() {
                    file = format!("{file}#{heading}");
                }
                let (vault, file) = (encoded(vault, PART), encoded(&file, PART));
                format!("obsidian://open?vault={vault}&file={file}")
            }
            Self::Sectile => {
                let mut url = "sectile:///".to_owned();
                if !root.is_empty() {
                    url += &encoded(root, PART);
                    url.push('/');
                }
                url += &encoded(path, PATH);
                if let Some((section, _)) = section {
                    url.push('#');
                    url += &encoded(section, PART);
                }
                url
            }
        }
    }
}

impl UrlStyle {
    /// Returns the id that an address of the root `root` is for; `None` if it is not such an address.
    pub(super) fn id_of_url(&self, root: &str, url: &str) -> Option<String> {
        let (path, section) = match self {
            Self::Template(template) => {
                let values = url_template::values(template, url)?;
                let value = |name: &str| {
                    let found = values.iter().find(|(known, _)| *known == name);
                    found.map(|(_, value)| value.as_str())
                };
                if value("root").is_some_and(|value| value != root) {
                    return None;
                }
                if let Some(id) = value("id") {
                    return Some(id.to_owned());
                }
                let path = value("path").or_else(|| value("name"))?;
                (path.to_owned(), value("heading").map(str::to_owned))
            }
            Self::Obsidian(vault) => {
                let query = url.strip_prefix("obsidian://open?")?;
                let value = |name: &str| {
                    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
                    let (_, value) = pairs.find(|(key, _)| *key == name)?;
                    Some(decoded(value))
                };
                if value("vault")? != *vault {
                    return None;
                }
                (value("file")?, None)
            }
            Self::Sectile => {
                let rest = url.strip_prefix("sectile:///")?;
                let rest = match root {
                    "" => rest,
                    root => rest
                        .strip_prefix(&encoded(root, PART))
                        .and_then(|rest| rest.strip_prefix('/'))?,
                };
                match rest.split_once('#') {
                    Some((path, section)) => (decoded(path), Some(decoded(section))),
                    None => (decoded(rest), None),
                }
            }
        };
        Some(match section.filter(|section| !section.is_empty()) {
            Some(section) => format!("{path}#{section}"),
            None => path,
        })
    }
}

impl VisibleRoots<'_> {
    /// Returns the address of a document or section.
    pub(super) fn url_of(&self, root: &DeskRoot, item: &ReadItem) -> String {
        let section = item.section.and_then(|at| item.view.section(at));
        root.urls.url(UrlTarget {
            root: &root.name,
            path: item.view.path().as_str(),
            id: &item.id(),
            section: section
                .as_ref()
                .map(|section| (section.id.as_str(), section.heading.as_str())),
        })
    }
}

/// Returns whether `template` is an address with a scheme, and has no names in braces but [`PLACEHOLDERS`].
pub(super) fn is_template(template: &str) -> bool {
    url_template::is_template(template, &PLACEHOLDERS)
}

/// Returns the name of the file at `path`, without its extension.
fn file_stem(path: &str) -> &str {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTION: UrlTarget<'_> = UrlTarget {
        root: "my notes",
        path: "Daily notes/Über & co.md",
        id: "Daily notes/Über & co.md#plan-1kebc1",
        section: Some(("plan-1kebc1", "Plan #1")),
    };

    #[test]
    fn every_part_of_an_address_is_encoded() {
        let template = UrlStyle::Template("https://n.example/{root}/{path}?h={heading}".to_owned());
        for (style, url) in [
            (
                template,
                "https://n.example/my%20notes/Daily%20notes/%C3%9Cber%20%26%20co.md?h=Plan%20%231",
            ),
            (
                UrlStyle::Obsidian("my vault".to_owned()),
                "obsidian://open?vault=my%20vault&file=Daily%20notes%2F%C3%9Cber%20%26%20co.md%23Plan%20%231",
            ),
            (
                UrlStyle::Sectile,
                "sectile:///my%20notes/Daily%20notes/%C3%9Cber%20%26%20co.md#plan-1kebc1",
            ),
        ] {
            assert_eq!(style.url(SECTION), url);
        }
        let document = UrlTarget {
            section: None,
            ..SECTION
        };
        assert!(!UrlStyle::Sectile.url(document).contains('#'));
        let only = UrlTarget {
            root: "",
            path: "a.md",
            ..document
        };
        assert_eq!(UrlStyle::Sectile.url(only), "sectile:///a.md");
        let named = UrlStyle::Template("x:{name}/{root}".to_owned());
        assert_eq!(named.url(document), "x:%C3%9Cber%20%26%20co/my%20notes");
        let bare = UrlStyle::Template("x:{id}{heading}{".to_owned()).url(document);
        assert!(bare.starts_with("x:Daily%20notes%2F"), "{bare}");
        assert!(bare.ends_with("1kebc1{"), "{bare}");
    }

    #[test]
    fn an_address_leads_back_to_its_id() {
        for (style, id) in [
            (UrlStyle::Sectile, "Daily notes/Über & co.md#plan-1kebc1"),
            (
                UrlStyle::Obsidian("v 1".to_owned()),
                "Daily notes/Über & co.md#Plan #1",
            ),
            (
                UrlStyle::Template("https://n.example/{root}/{path}?h={heading}".to_owned()),
                "Daily notes/Über & co.md#Plan #1",
            ),
            (
                UrlStyle::Template("x:{id}".to_owned()),
                "Daily notes/Über & co.md#plan-1kebc1",
            ),
            (
                UrlStyle::Template("x:{root}/{name}".to_owned()),
                "Über & co",
            ),
        ] {
            let url = style.url(SECTION);
            assert_eq!(
                style.id_of_url("my notes", &url).as_deref(),
                Some(id),
                "{url}"
            );
            assert_eq!(
                style.id_of_url("my notes", "https://elsewhere.example/"),
                None
            );
        }
        assert_eq!(
            UrlStyle::Sectile.id_of_url("other", &UrlStyle::Sectile.url(SECTION)),
            None
        );
    }

    #[test]
    fn a_template_has_a_scheme_and_known_names() {
        for good in ["https://x/{path}", "file:///srv/notes/{path}", "x-app:{id}"] {
            assert!(is_template(good), "{good}");
        }
        for bad in [
            "/{path}",
            "{path}",
            "https://x/{file}",
            "https://x y/",
            "1:x",
            "x:\n",
        ] {
            assert!(!is_template(bad), "{bad}");
        }
    }
}
