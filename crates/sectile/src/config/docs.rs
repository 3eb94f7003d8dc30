//! The settings of the docs world, checked.

use std::path::{Path, PathBuf};

use sectile_markdown::is_slug;

use super::{
    ConfigError, DocsRole, Loaded, Mistakes, Origin, env,
    keys::{Key, keys},
};

/// Longest slug of a document.
const MAX_SLUG: usize = 64;
const MAX_NAMESPACE: usize = 32;
/// Most entries of `docs.extra_paths`.
const MOST_EXTRA_PATHS: usize = 64;

/// What the docs world works with.
#[derive(Clone, Debug)]
pub(crate) struct DocsSettings {
    /// Whether somebody set something, so that a file without a word about this world does not serve it.
    pub(crate) is_configured: bool,
    pub(crate) enabled: bool,
    pub(crate) enable_search: bool,
    pub(crate) enable_resources: bool,
    pub(crate) include_default_docs: bool,
    /// The folder that paths count from, where somebody named it.
    pub(crate) root: Option<DocsPath>,
    pub(crate) extra_paths: Vec<DocsPath>,
    pub(crate) documents: Vec<DocsDocument>,
    pub(crate) max_doc_bytes: u64,
    pub(crate) max_total_bytes: u64,
    pub(crate) max_docs: usize,
    /// Most sections of one answer.
    pub(crate) max_sections: usize,
    /// Whether a query whose words are nowhere is answered with what is near in meaning.
    pub(crate) meaning_as_last_resort: bool,
    pub(crate) namespace: String,
}

/// A place as its owner wrote it, which may be shown, and where that is, which may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DocsPath {
    pub(crate) written: String,
    pub(crate) location: PathBuf,
}

/// A document that is listed by itself, with what the list says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DocsDocument {
    pub(crate) path: DocsPath,
    pub(crate) slug: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) role: DocsRole,
    pub(crate) description: Option<String>,
}

impl DocsSettings {
    /// Checks what was loaded. Paths from a file count from its folder, `base`, or from `docs.root`.
    pub(super) fn resolve(loaded: &Loaded, base: &Path) -> Result<Self, Mistakes> {
        let raw = &loaded.raw.docs;
        let refused = |key: &str, expected: String| ConfigError::WrongValue {
            origin: loaded.origin(key),
            key: key.to_owned(),
            expected,
        };
        let root = match loaded.origin("docs.root") {
            Origin::File(_) | Origin::Default => base.join(env::without_tilde((&raw.root).into())),
            _ => env::without_tilde((&raw.root).into()),
        };
        let named_root = (!raw.root.is_empty()).then(|| DocsPath {
            written: raw.root.clone(),
            location: root.clone(),
        });
        let place = |key: &str, written: &str| DocsPath {
            written: written.to_owned(),
            location: match loaded.origin(key) {
                Origin::File(_) => root.join(env::without_tilde(written.into())),
                _ => env::without_tilde(written.into()),
            },
        };
        let mut mistakes = Mistakes::default();
        if !is_namespace(&raw.namespace) {
            mistakes.add(refused(
                "docs.namespace",
                "1 to 32 lower-case letters, digits and single hyphens, starting with a letter, such as decision-gate"
                    .to_owned(),
            ));
        }
        if raw.extra_paths.len() > MOST_EXTRA_PATHS || raw.extra_paths.iter().any(String::is_empty)
        {
            mistakes.add(refused(
                "docs.extra_paths",
                format!("a list of at most {MOST_EXTRA_PATHS} paths, none of them empty"),
            ));
        }
        let mut documents = Vec::with_capacity(raw.documents.len());
        for (index, entry) in raw.documents.iter().enumerate() {
            let refused = |name: &str, expected: &str| ConfigError::WrongValue {
                origin: loaded.origin_of_entry("docs.documents", index),
                key: format!("docs.documents.{name}"),
                expected: format!("{expected} (table {})", index + 1),
            };
            if entry.path.is_empty() {
                mistakes.add(refused("path", "given, relative to docs.root"));
            }
            if !entry.slug.is_empty() && !is_slug(&entry.slug, MAX_SLUG) {
                mistakes.add(refused(
                    "slug",
                    "1 to 64 lower-case letters, digits and hyphens, starting with a letter or a digit",
                ));
            }
            let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
            documents.push(DocsDocument {
                path: place("docs.documents", &entry.path),
                slug: given(&entry.slug),
                title: given(&entry.title),
                role: entry.role,
                description: given(&entry.description),
            });
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let is_set = |key: &Key| loaded.origin(&key.path) != Origin::Default;
        Ok(Self {
            is_configured: keys()
                .iter()
                .any(|key| key.path.starts_with("docs.") && is_set(key)),
            enabled: raw.enabled,
            enable_search: raw.enable_search,
            enable_resources: raw.enable_resources,
            include_default_docs: raw.include_default_docs,
            root: named_root,
            extra_paths: raw
                .extra_paths
                .iter()
                .map(|path| place("docs.extra_paths", path))
                .collect(),
            documents,
            max_doc_bytes: raw.max_doc_bytes,
            max_total_bytes: raw.max_total_bytes,
            max_docs: raw.max_docs,
            max_sections: raw.max_sections,
            meaning_as_last_resort: raw.meaning_as_last_resort,
            namespace: raw.namespace.clone(),
        })
    }
}

/// A name of a tool and a URI scheme are made of it; in the tool's name, hyphens become underscores.
fn is_namespace(text: &str) -> bool {
    is_slug(text, MAX_NAMESPACE)
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with('-')
        && !text.contains("--")
}
