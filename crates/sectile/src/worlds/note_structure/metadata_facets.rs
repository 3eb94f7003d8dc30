//! `metadata_facets/v0`: the few front matter keys that may be shown, as slugs and dates, and facts from the path.

use schemars::JsonSchema;
use sectile_markdown::{Note, Value, scalar_text, slug, trim};
use sectile_mcp::{AnswerFacts, Tool};
use serde::Serialize;

use super::{NoteSource, NoteTooLong};

/// The tool that returns this view.
pub(super) fn tool<S: NoteSource>() -> Tool<S> {
    let tool = Tool::read(
        "get_metadata_facets",
        "Get metadata facets",
        "Return bounded body-free MetadataFacets v0 for one note.",
    );
    S::show(tool, view)
}

fn view(note: &Note<'_>) -> Result<(MetadataFacets, AnswerFacts), NoteTooLong> {
    let facets = MetadataFacets::of(note);
    let facts = AnswerFacts {
        truncated: facets.truncated,
        ..AnswerFacts::default()
    };
    Ok((facets, facts))
}

/// Most items read from `tags` and `entity`.
const MAX_VALUES: usize = 100;
/// Longest value, in UTF-16 code units; the rest is cut.
const MAX_VALUE_UTF16_UNITS: usize = 256;

/// Facets of one note, without any of its text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MetadataFacets {
    /// Name and version of this shape.
    #[schemars(extend("const" = Self::SCHEMA))]
    schema: &'static str,
    /// Vault-relative path of the note.
    path: String,
    /// Facets from the front matter.
    facets: Facets,
    /// Facets from the path.
    inferred: InferredFacets,
    /// Whether values were left out or cut.
    pub(crate) truncated: bool,
}

/// Front matter keys that are shown.
#[derive(Debug, Serialize, JsonSchema)]
struct Facets {
    /// Slug of the project, from the front matter or from `projects/<name>/` in the path.
    project: Option<String>,
    /// Slugs of the tags.
    tags: Vec<String>,
    /// Date as written, or in ISO form when it is a YAML date.
    date: Option<String>,
    /// Date of the last update, in the same form.
    updated: Option<String>,
    /// Slug of the causal chain.
    causal_chain_id: Option<String>,
    /// Slugs of the entities.
    entity: Vec<String>,
    /// Slug of the episode.
    episode_id: Option<String>,
}

/// Facets inferred from the path of the note.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Inferred")]
struct InferredFacets {
    /// Folder of the note, or null at the root.
    folder: Option<String>,
    /// Always null in this version.
    source_type: Option<String>,
}

impl MetadataFacets {
    const SCHEMA: &'static str = "knowtation.metadata_facets/v0";

    pub(crate) fn of(note: &Note<'_>) -> Self {
        let mut reader = FacetReader {
            note,
            truncated: false,
        };
        let facets = Facets {
            project: reader.project(),
            tags: reader.slugs("tags"),
            date: reader.date("date"),
            updated: reader.date("updated"),
            causal_chain_id: reader.slug("causal_chain_id"),
            entity: reader.slugs("entity"),
            episode_id: reader.slug("episode_id"),
        };
        Self {
            schema: Self::SCHEMA,
            path: note.path().to_owned(),
            facets,
            inferred: InferredFacets {
                folder: note
                    .path()
                    .rsplit_once('/')
                    .map(|(folder, _)| folder.to_owned()),
                source_type: None,
            },
            truncated: reader.truncated,
        }
    }
}

/// Reads facets and records whether any had to be cut.
struct FacetReader<'a> {
    note: &'a Note<'a>,
    truncated: bool,
}

impl<'a> FacetReader<'a> {
    fn value(&self, key: &str) -> Option<&'a Value> {
        self.note
            .front_matter()
            .get(key)
            .filter(|value| **value != Value::Null)
    }

    fn project(&mut self) -> Option<String> {
        match self.value("project") {
            Some(value) => self.slug_of(&scalar_text(value)),
            None => {
                let name = self
                    .note
                    .path()
                    .strip_prefix("projects/")?
                    .split_once('/')?
                    .0;
                self.slug_of(name)
            }
        }
    }

    fn slug(&mut self, key: &str) -> Option<String> {
        let text = scalar_text(self.value(key)?);
        self.slug_of(&text)
    }

    fn slugs(&mut self, key: &str) -> Vec<String> {
        let items: Vec<String> = match self.value(key) {
            Some(Value::String(text)) => {
                text.split(',').map(|item| trim(item).to_owned()).collect()
            }
            Some(Value::List(items)) => {
                items.iter().take(MAX_VALUES + 1).map(scalar_text).collect()
            }
            _ => Vec::new(),
        };
        self.truncated |= items.len() > MAX_VALUES;
        items
            .iter()
            .take(MAX_VALUES)
            .filter_map(|item| self.slug_of(item))
            .collect()
    }

    fn date(&mut self, key: &str) -> Option<String> {
        let text = match self.value(key)? {
            Value::Timestamp(timestamp) => timestamp.to_iso(),
            value => scalar_text(value),
        };
        Some(self.cut(text))
    }

    fn slug_of(&mut self, text: &str) -> Option<String> {
        let slug = self.cut(slug(text));
        let slug = slug.trim_end_matches('-');
        (!slug.is_empty()).then(|| slug.to_owned())
    }

    fn cut(&mut self, mut text: String) -> String {
        let mut units = 0;
        let end = text.char_indices().find(|(_, c)| {
            units += c.len_utf16();
            units > MAX_VALUE_UTF16_UNITS
        });
        if let Some((end, _)) = end {
            text.truncate(end);
            self.truncated = true;
        }
        text
    }
}
