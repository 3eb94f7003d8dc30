//! The settings of the docs world.

use std::path::PathBuf;

use schemars::JsonSchema;
use sectile_library::{manual_site::SiteKind, tiers::Tier};
use sectile_markdown::is_slug;
use serde::{Deserialize, Serialize};

use super::{
    NAMESPACE, PLACEHOLDERS,
    corpus::{DocRole, MAX_SLUG},
};
use crate::{
    settings::{ConfigError, ConfigErrors, SettingsReader, SettingsSection, without_tilde},
    worlds::url_template::is_template,
};

const MAX_NAMESPACE: usize = 32;
/// A setting, and a function that gives it another default.
type OtherDefault = (&'static str, fn(&mut DocsSection));
/// The settings whose defaults differ for a folder that is served whole.
const WHOLE_MANUAL: [OtherDefault; 7] = [
    ("docs.include_default_docs", |docs| {
        docs.include_default_docs = false;
    }),
    ("docs.max_docs", |docs| docs.max_docs = 100_000),
    ("docs.max_doc_bytes", |docs| docs.max_doc_bytes = 16 << 20),
    ("docs.max_total_bytes", |docs| {
        docs.max_total_bytes = 1 << 30;
    }),
    ("docs.ranking", |docs| docs.ranking = DocsRanking::Meaning),
    ("docs.budget", |docs| docs.budget = 3_000),
    ("docs.site", |docs| docs.site = SiteSetting::Auto),
];
/// Most entries in `docs.extra_paths`.
const MOST_EXTRA_PATHS: usize = 64;

/// The docs world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DocsSection {
    /// Whether the docs world is served at all.
    pub(crate) enabled: bool,
    /// Whether documents can be searched.
    pub(crate) enable_search: bool,
    /// Whether documents can be listed and read as resources.
    pub(crate) enable_resources: bool,
    /// Whether the manual of Sectile is among the documents.
    pub(crate) include_default_docs: bool,
    /// Folder that paths of documents in the settings file are relative to, such as a checkout; itself relative to the
    /// settings file. Empty: the folder of the settings file.
    pub(crate) root: String,
    /// Documents and folders to add, relative to `root`. A folder adds every `.md` file below it.
    #[schemars(length(max = 64))]
    pub(crate) extra_paths: Vec<String>,
    /// Largest document, in bytes; a larger one is skipped.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub(crate) max_doc_bytes: u64,
    /// Largest size of all documents together, in bytes; a document that no longer fits is skipped.
    #[schemars(range(min = 1, max = 1_073_741_824))]
    pub(crate) max_total_bytes: u64,
    /// Most documents; any more are skipped.
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) max_docs: usize,
    /// Most sections in one answer of the search.
    #[schemars(range(min = 1, max = 10))]
    pub(crate) max_sections: usize,
    /// What decides the order of the sections: `words` alone; `static`, words and the instant model, with the same answers
    /// from the first call on; or `meaning`, words and the better of the two models, once a folder's pages are embedded with
    /// it, which `sectile docs index` does, and a server in the background.
    pub(crate) ranking: DocsRanking,
    /// Whether a query without any word that is in the documents, in any form or spelling, is answered with the sections
    /// nearest in meaning, by the built-in model. Only for the ranking by `words`.
    pub(crate) meaning_as_last_resort: bool,
    /// The most tokens in an answer of the search, unless the caller asks for fewer or more: whole sections while they fit,
    /// then the part around the match. 0: no such limit.
    #[schemars(range(max = 100_000))]
    pub(crate) budget: usize,
    /// The program that publishes a folder of documents, whose rules make the anchors of headings: `github`, `mdbook`,
    /// `mkdocs`, `docusaurus`, `vitepress`, or `auto` to find out from the folder.
    pub(crate) site: SiteSetting,
    /// Address of a section for people, with `{url}` for its published address below that of the folder, `{slug}` for the
    /// document and `{path}` for its file, such as `https://docs.example.org/{url}`. Empty: none.
    pub(crate) url_template: String,
    /// First part of the search tool's name and scheme of the documents' URIs: lower-case letters, digits and single
    /// hyphens, starting with a letter.
    pub(crate) namespace: String,
    /// Documents to add one by one, each as a table [[docs.documents]] with its `path` and, if the front matter does not
    /// give them, `slug`, `title`, `role` and `description`.
    pub(crate) documents: Vec<DocumentSection>,
}

/// What decides the order of the sections.
// Doc comments on the variants would change the schema of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DocsRanking {
    // Words alone.
    Words,
    // Words and the instant model.
    Static,
    // Words and the better model, as soon as there are vectors of it.
    Meaning,
}

/// The program that publishes a folder of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SiteSetting {
    // Found out from the folder.
    Auto,
    Github,
    Mdbook,
    Mkdocs,
    Docusaurus,
    Vitepress,
}

impl DocsRanking {
    /// Returns the best tier that may answer.
    pub(crate) fn best_tier(self) -> Tier {
        match self {
            Self::Words | Self::Static => Tier::Static,
            Self::Meaning => Tier::Transformer,
        }
    }
}

impl SiteSetting {
    /// Returns the kind of site, unless it is to be found out.
    pub(crate) fn kind(self) -> Option<SiteKind> {
        match self {
            Self::Auto => None,
            Self::Github => Some(SiteKind::Plain),
            Self::Mdbook => Some(SiteKind::MdBook),
            Self::Mkdocs => Some(SiteKind::MkDocs),
            Self::Docusaurus => Some(SiteKind::Docusaurus),
            Self::Vitepress => Some(SiteKind::VitePress),
        }
    }
}

/// A document of the docs world. Its front matter takes precedence over these settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["path"]))]
pub(crate) struct DocumentSection {
    /// Path of the document, relative to `docs.root`.
    pub(crate) path: String,
    /// Last part of its URI: lower-case letters, digits and hyphens, at most 64. Empty: made from the file name.
    pub(crate) slug: String,
    /// Its title. Empty: its first heading of level 1, else the file name.
    pub(crate) title: String,
    /// Its purpose: concepts (`reasoning`), choosing (`decision`), names and schemas (`ontology`) or recipes
    /// (`pattern`).
    pub(crate) role: DocRole,
    /// A sentence about it. Empty: its first sentence.
    pub(crate) description: String,
}

impl Default for DocsSection {
    fn default() -> Self {
        Self {
            enabled: true,
            enable_search: true,
            enable_resources: true,
            include_default_docs: true,
            root: String::new(),
            extra_paths: Vec::new(),
            max_doc_bytes: 256 << 10,
            max_total_bytes: 1 << 20,
            max_docs: 32,
            max_sections: 10,
            ranking: DocsRanking::Static,
            meaning_as_last_resort: false,
            budget: 0,
            site: SiteSetting::Github,
            url_template: String::new(),
            namespace: NAMESPACE.to_owned(),
            documents: Vec::new(),
        }
    }
}

/// The checked settings of the docs world.
#[derive(Clone, Debug, Default)]
pub(crate) struct DocsSettings {
    /// Whether any setting of this world is given. A file that does not mention it does not serve it.
    pub(crate) is_configured: bool,
    /// The checked section. Its paths are in the fields below.
    pub(crate) written: DocsSection,
    /// The folder that paths are relative to, if it is set.
    pub(crate) root: Option<DocsPath>,
    pub(crate) extra_paths: Vec<DocsPath>,
    pub(crate) documents: Vec<DocsDocument>,
    /// Whether a path on the command line is the whole manual, so that documents are named by their paths in it.
    pub(crate) is_whole: bool,
    /// The settings that a path on the command line does not change, because they are given.
    pub(super) given: Vec<&'static str>,
}

/// A path as written, which may be shown, and its location, which may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DocsPath {
    pub(crate) written: String,
    pub(crate) location: PathBuf,
}

/// A document with an entry of its own. Its front matter takes precedence over the entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DocsDocument {
    pub(crate) path: DocsPath,
    pub(crate) slug: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) role: DocRole,
    pub(crate) description: Option<String>,
}

impl DocsSettings {
    /// Adds a document or a folder given on the command line, relative to the current folder. If the settings do not name
    /// documents, it is the manual: all of it, and nothing else.
    pub(crate) fn add_path(&mut self, path: &str) {
        if self.extra_paths.is_empty() && self.documents.is_empty() {
            self.is_whole = true;
            for (key, make_whole) in WHOLE_MANUAL {
                if !self.given.contains(&key) {
                    make_whole(&mut self.written);
                }
            }
        }
        self.extra_paths.push(DocsPath {
            written: path.to_owned(),
            location: without_tilde(path.into()),
        });
    }
}

impl DocsSection {
    /// Returns whether documents can be searched.
    pub(crate) fn offers_search(&self) -> bool {
        self.enabled && self.enable_search
    }

    /// Returns whether documents can be listed and read as resources.
    pub(crate) fn offers_resources(&self) -> bool {
        self.enabled && self.enable_resources
    }
}

impl SettingsSection for DocsSection {
    type Checked = DocsSettings;

    /// Checks the section. Paths are relative to the settings file, or to `docs.root`.
    fn check(&self, reader: SettingsReader<'_>) -> Result<DocsSettings, ConfigErrors> {
        let root = reader.place("docs.root", &self.root);
        let base = root.as_deref().unwrap_or(reader.base);
        let place = |key: &str, written: &str| DocsPath {
            written: written.to_owned(),
            location: reader.place_from(base, key, written),
        };
        let mut mistakes = ConfigErrors::default();
        if !is_namespace(&self.namespace) {
            mistakes.add(reader.refuse(
                "docs.namespace",
                "1 to 32 lower-case letters, digits and single hyphens, starting with a letter, such as decision-gate",
            ));
        }
        let template = &self.url_template;
        if !template.is_empty() && !is_template(template, &PLACEHOLDERS) {
            mistakes.add(reader.refuse(
                "docs.url_template",
                "an address with {url}, {slug} or {path}, such as https://docs.example.org/{url}",
            ));
        }
        let extra_paths = &self.extra_paths;
        if extra_paths.len() > MOST_EXTRA_PATHS || extra_paths.iter().any(String::is_empty) {
            mistakes.add(reader.refuse(
                "docs.extra_paths",
                format!("a list of at most {MOST_EXTRA_PATHS} paths, none of them empty"),
            ));
        }
        let mut documents = Vec::with_capacity(self.documents.len());
        for (index, entry) in self.documents.iter().enumerate() {
            let refused = |name: &str, expected: &str| ConfigError::WrongValue {
                origin: reader.origins.of_entry("docs.documents", index),
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
        let extra_paths = extra_paths.iter();
        Ok(DocsSettings {
            is_configured: reader.origins.mention("docs"),
            extra_paths: extra_paths
                .map(|path| place("docs.extra_paths", path))
                .collect(),
            documents,
            is_whole: false,
            given: WHOLE_MANUAL
                .into_iter()
                .map(|(key, _)| key)
                .filter(|key| reader.origins.mention(key))
                .collect(),
            root: root.map(|location| DocsPath {
                written: self.root.clone(),
                location,
            }),
            written: self.clone(),
        })
    }
}

/// Returns whether `text` can be part of a tool name and a URI scheme. In the tool name, hyphens become underscores.
fn is_namespace(text: &str) -> bool {
    is_slug(text, MAX_NAMESPACE)
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with('-')
        && !text.contains("--")
}
