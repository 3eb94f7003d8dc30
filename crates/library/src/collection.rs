//! The description of a collection, made without opening its notebooks.
//!
//! An optional `collection.toml` in a collection describes it:
//!
//! ```toml
//! title = "Lab notes"
//! tags = ["chemistry", "2024"]
//! author = "Ada"
//! date_range = { start = 2024-01-01, end = 2024-12-31 }
//! ```
//!
//! Anything that is missing from the file, or unusable, is derived; the card says what is wrong.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use sectile_markdown::{Note, NotePath};
use serde::Serialize;

use crate::{
    artifacts::{self, MOST_LISTED_BYTES, RecordBudget},
    error::LibraryError,
    left_out::{MOST_NAMED, WhyLeftOut},
    library::Library,
    storage::{NotebookFile, TOP},
};

/// The file that describes a collection.
const MANIFEST: &str = "collection.toml";
/// The longest manifest, in bytes.
pub const MAX_MANIFEST: usize = 64 << 10;
/// The most characters kept of a title, an author or a tag.
pub const MAX_TEXT: usize = 256;
/// The most tags kept.
pub const MAX_TAGS: usize = 100;
/// The size of a collection in a list, in bytes, without names, titles, tags and notes.
const CARD_BYTES: usize = 240;
/// The most notes about one manifest.
pub const MAX_NOTES: usize = 20;

/// A collection in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CollectionCard {
    /// Name of the collection, for `enter_collection`.
    pub collection_id: String,
    /// Title from its manifest, or else derived from its name.
    pub title: String,
    /// The time it covers: from its manifest, or else the dates of its oldest and newest file.
    pub(crate) date_range: DateRange,
    /// Tags from its manifest.
    pub(crate) domain_tags: Vec<String>,
    /// Number of artifacts derived from it.
    pub(crate) artifact_count: usize,
    /// Number of notebooks.
    pub(crate) notebook_count: usize,
    /// Number of notebooks that are too large to be searched or quoted, if there are any. `notes` names the first.
    #[serde(skip_serializing_if = "is_none")]
    pub(crate) notebooks_too_large: usize,
    /// When one of its notebooks was last modified, in milliseconds since 1970; 0 if there is none.
    pub last_modified: i64,
    /// Sentences about what in its manifest cannot be used, and what was not counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A range of days.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct DateRange {
    /// First day, such as `2024-01-31`; empty if there is none.
    pub start: String,
    /// Last day; empty if there is none.
    pub end: String,
}

/// The usable contents of a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CollectionManifest {
    /// The title of the collection.
    pub title: Option<String>,
    /// Its tags, in the order of the manifest.
    pub tags: Vec<String>,
    /// Its author.
    pub author: Option<String>,
    /// The first and last day, if given.
    pub(crate) days: (Option<String>, Option<String>),
    /// Sentences about what cannot be used.
    pub notes: Vec<String>,
}

/// The cards of some collections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectionCards {
    /// Sorted by id.
    pub cards: Vec<CollectionCard>,
    /// Number of all collections.
    pub total: usize,
    /// The id of the last card, if others follow.
    pub next_cursor: Option<String>,
}

/// Returns the cards of the collections after `cursor`, as many as fit in one answer.
pub fn cards(
    storage: &Library,
    cursor: Option<&str>,
    stop: &dyn Fn() -> bool,
) -> Result<CollectionCards, LibraryError> {
    let mut collections = storage.collections()?;
    let mut found = CollectionCards {
        total: collections.len(),
        ..CollectionCards::default()
    };
    collections.retain(|name| cursor.is_none_or(|cursor| name.as_str() > cursor));
    let (mut rest, mut budget) = (MOST_LISTED_BYTES, RecordBudget::default());
    let mut last = None;
    for collection in collections {
        if rest == 0 {
            found.next_cursor = last;
            break;
        }
        if stop() {
            return Err(LibraryError::Cancelled);
        }
        match card(storage, &collection, &mut budget, stop) {
            Ok(card) => {
                rest = rest.saturating_sub(card.bytes());
                found.cards.push(card);
            }
            // It was removed after the names were listed.
            Err(LibraryError::CollectionNotFound) => found.total -= 1,
            Err(error) => return Err(error),
        }
        last = Some(collection);
    }
    Ok(found)
}

/// Returns the card of one collection.
pub(crate) fn card(
    storage: &Library,
    collection: &str,
    budget: &mut RecordBudget,
    stop: &dyn Fn() -> bool,
) -> Result<CollectionCard, LibraryError> {
    let notebooks = storage.notebooks(collection, stop)?;
    let mut manifest = manifest(storage, collection)?;
    let (artifact_count, are_all) = artifacts::count(storage, collection, budget, stop)?;
    if !are_all {
        manifest.notes.push(
            "The records of its artifacts are too many or too large, so not all are counted."
                .to_owned(),
        );
    }
    let too_large = too_large(&notebooks, storage.max_notebook_bytes());
    manifest.notes.extend(told(&too_large, storage));
    let (first, last) = manifest.days;
    let modified = |listed: &NotebookFile| listed.stamp.modified;
    let oldest = notebooks.iter().map(modified).min();
    let newest = notebooks.iter().map(modified).max();
    Ok(CollectionCard {
        collection_id: collection.to_owned(),
        title: title_of(storage, manifest.title, collection),
        date_range: DateRange {
            start: first.or_else(|| day(oldest?)).unwrap_or_default(),
            end: last.or_else(|| day(newest?)).unwrap_or_default(),
        },
        domain_tags: manifest.tags,
        artifact_count,
        notebook_count: notebooks.len(),
        notebooks_too_large: too_large.len(),
        last_modified: newest.unwrap_or_default(),
        notes: manifest.notes,
    })
}

/// Returns the notebooks that are too large to be read.
fn too_large(notebooks: &[NotebookFile], max_notebook_bytes: u64) -> Vec<&NotePath> {
    let large = notebooks
        .iter()
        .filter(|one| WhyLeftOut::of(one, max_notebook_bytes) == WhyLeftOut::TooLarge);
    large.map(|one| &one.notebook).collect()
}

/// Returns a sentence that names them, if there are any.
fn told(too_large: &[&NotePath], storage: &Library) -> Option<String> {
    if too_large.is_empty() {
        return None;
    }
    let names = too_large.iter().take(MOST_NAMED);
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let more = match too_large.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "{} larger than {} bytes, so nothing of {} is searched or quoted: {}{more}.",
        match too_large.len() {
            1 => "1 notebook is".to_owned(),
            count => format!("{count} notebooks are"),
        },
        storage.max_notebook_bytes(),
        match too_large.len() {
            1 => "it",
            _ => "them",
        },
        names.join(", "),
    ))
}

/// Returns whether the count is zero.
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Returns the title of a collection: the one in its manifest, or else one derived from its name.
pub fn title(storage: &Library, collection: &str) -> Result<String, LibraryError> {
    let manifest = manifest(storage, collection)?;
    Ok(title_of(storage, manifest.title, collection))
}

fn title_of(storage: &Library, given: Option<String>, collection: &str) -> String {
    /// The title of [`TOP`] in a storage without a name to show.
    const UNNAMED: &str = "Notes at the top";
    let name = match collection {
        TOP => storage
            .notebook_storage()
            .name()
            .unwrap_or_else(|| UNNAMED.to_owned()),
        _ => collection.to_owned(),
    };
    given
        .or_else(|| Some(Note::new(&name, b"").title()?.text))
        .unwrap_or(name)
}

/// Returns the manifest of a collection; an empty one if there is none.
pub(crate) fn manifest(
    storage: &Library,
    collection: &str,
) -> Result<CollectionManifest, LibraryError> {
    let Ok(file) = NotePath::parse_vault(MANIFEST) else {
        return Ok(CollectionManifest::default());
    };
    let bytes = match storage.read(collection, &file) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(CollectionManifest::default()),
        Err(LibraryError::Failed { .. }) => {
            return Ok(CollectionManifest::unusable("cannot be read"));
        }
        Err(error) => return Err(error),
    };
    if bytes.len() > MAX_MANIFEST {
        return Ok(CollectionManifest::unusable("is larger than 64 KiB"));
    }
    let table = std::str::from_utf8(&bytes)
        .ok()
        .map(|text| text.trim_start_matches('\u{feff}'))
        .and_then(|text| text.parse::<toml::Table>().ok());
    Ok(match table {
        Some(table) => CollectionManifest::of(&table),
        None => CollectionManifest::unusable("is not valid TOML"),
    })
}

impl CollectionCard {
    /// Returns its approximate size in a list, in bytes.
    fn bytes(&self) -> usize {
        let texts = [&self.collection_id, &self.title].into_iter();
        let texts = texts.chain(&self.domain_tags).chain(&self.notes);
        CARD_BYTES + texts.map(|text| text.len() + 3).sum::<usize>()
    }
}

impl CollectionManifest {
    fn unusable(why: &str) -> Self {
        let note = format!("`{MANIFEST}` {why}, so everything is derived. Correct it.");
        Self {
            notes: vec![note],
            ..Self::default()
        }
    }

    fn of(table: &toml::Table) -> Self {
        let mut manifest = Self::default();
        for (key, value) in table {
            let problem = match key.as_str() {
                "title" => manifest.take_title(value),
                "author" => manifest.take_author(value),
                "tags" => manifest.take_tags(value),
                "date_range" => manifest.take_dates(value),
                _ => Some("is not known; title, tags, author and date_range are"),
            };
            if let Some(problem) = problem {
                let key: String = key.chars().take(40).collect();
                manifest
                    .notes
                    .push(format!("`{key}` in `{MANIFEST}` {problem}."));
            }
        }
        manifest.notes.truncate(MAX_NOTES);
        manifest
    }

    fn take_title(&mut self, value: &toml::Value) -> Option<&'static str> {
        self.title = text(value);
        self.title
            .is_none()
            .then_some("must be a string, so the title is derived from the folder's name")
    }

    fn take_author(&mut self, value: &toml::Value) -> Option<&'static str> {
        self.author = text(value);
        self.author.is_none().then_some("must be a string")
    }

    fn take_tags(&mut self, value: &toml::Value) -> Option<&'static str> {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        self.tags = items.iter().filter_map(text).take(MAX_TAGS).collect();
        (self.tags.len() != items.len() || !value.is_array())
            .then_some("must be a list of at most 100 strings; other values are ignored")
    }

    fn take_dates(&mut self, value: &toml::Value) -> Option<&'static str> {
        let Some(table) = value.as_table() else {
            return Some("must be { start, end }, so the range is derived");
        };
        let start = table.get("start").map(date);
        let end = table.get("end").map(date);
        let is_odd = table.keys().any(|key| key != "start" && key != "end");
        let (start, end) = match (start, end) {
            (Some(None), _) | (_, Some(None)) => {
                return Some("must have days such as 2024-01-31, so the range is derived");
            }
            (start, end) => (start.flatten(), end.flatten()),
        };
        if start.zip(end).is_some_and(|(start, end)| start > end) {
            return Some("ends before it starts, so the range is derived");
        }
        self.days = (
            start.map(|day| day.to_string()),
            end.map(|day| day.to_string()),
        );
        is_odd.then_some("has keys other than start and end")
    }
}

fn text(value: &toml::Value) -> Option<String> {
    let text = sectile_markdown::trim(value.as_str()?);
    let text: String = text.chars().take(MAX_TEXT).collect();
    (!text.is_empty()).then_some(text)
}

fn date(value: &toml::Value) -> Option<jiff::civil::Date> {
    match value {
        toml::Value::String(text) => text.parse().ok(),
        toml::Value::Datetime(moment) => moment.date?.to_string().parse().ok(),
        _ => None,
    }
}

/// Returns the day of a time in milliseconds since 1970, in UTC.
fn day(milliseconds: i64) -> Option<String> {
    let moment = jiff::Timestamp::from_millisecond(milliseconds).ok()?;
    let day = jiff::tz::Offset::UTC.to_datetime(moment).date();
    Some(day.to_string())
}

#[cfg(test)]
mod tests {
    use crate::{
        collection::*,
        testing::{LARGEST, Memory},
    };

    fn card_of_one(storage: &Memory, collection: &str) -> Result<CollectionCard, LibraryError> {
        card(storage, collection, &mut RecordBudget::default(), &|| false)
    }

    fn card_of(manifest: &str) -> CollectionCard {
        let storage = Memory::of(&[
            ("lab-notes/a.md", "a"),
            ("lab-notes/b.md", "b"),
            ("lab-notes/collection.toml", manifest),
        ]);
        storage.set_modified("lab-notes", "a.md", 86_400_000);
        storage.set_modified("lab-notes", "b.md", 1_714_953_600_123);
        card_of_one(&storage, "lab-notes").unwrap()
    }

    #[test]
    fn everything_is_derived() {
        let storage = Memory::of(&[("lab-notes/a.md", "a"), ("empty/x.txt", "")]);
        storage.set_modified("lab-notes", "a.md", 1000);
        let cards = cards(&storage, None, &|| false).unwrap().cards;
        assert_eq!(
            serde_json::to_string(&cards).unwrap(),
            r#"[{"collection_id":"empty","title":"empty","date_range":{"start":"","end":""},"domain_tags":[],"artifact_count":0,"notebook_count":0,"last_modified":0},{"collection_id":"lab-notes","title":"lab notes","date_range":{"start":"1970-01-01","end":"1970-01-01"},"domain_tags":[],"artifact_count":0,"notebook_count":1,"last_modified":1000}]"#
        );
        assert_eq!(storage.read_of_notebooks(), 0, "no notebook is opened");
        assert_eq!(
            card_of_one(&storage, "none"),
            Err(LibraryError::CollectionNotFound)
        );
    }

    #[test]
    fn a_notebook_too_large_to_search_is_reported_in_the_list_of_collections() {
        let storage = Memory::of(&[("lab/a.md", "a")]);
        let large = vec![b'x'; usize::try_from(LARGEST).unwrap() + 1];
        storage.write("lab", "b.md", &large);
        let card = card_of_one(&storage, "lab").unwrap();
        assert_eq!((card.notebook_count, card.notebooks_too_large), (2, 1));
        assert_eq!(
            card.notes,
            [
                "1 notebook is larger than 4194304 bytes, so nothing of it is searched or quoted: `b.md`."
            ]
        );
        storage.write("lab", "b.md", &large[1..]);
        let card = card_of_one(&storage, "lab").unwrap();
        assert_eq!((card.notebooks_too_large, card.notes.len()), (0, 0));
    }

    #[test]
    fn a_manifest_speaks_first() {
        let card = card_of(
            "title = ' Lab '\ntags = ['x', 'y']\nauthor = 'Ada'\ndate_range = { start = 2023-01-01 }\n",
        );
        assert_eq!((card.title.as_str(), card.domain_tags.len()), ("Lab", 2));
        assert_eq!(card.date_range.start, "2023-01-01");
        assert_eq!(card.date_range.end, "2024-05-06");
        assert_eq!(card.notes, [""; 0]);
    }

    #[test]
    fn an_odd_manifest_never_costs_the_collection() {
        for (manifest, title, notes) in [
            ("title = [", "lab notes", 1),
            ("\u{feff}title = 'T'\ntitel = 'x'", "T", 1),
            (
                "title = 3\ntags = 'x'\nauthor = []\ndate_range = 1",
                "lab notes",
                4,
            ),
            ("tags = ['x', 3]", "lab notes", 1),
            ("date_range = { start = 'soon' }", "lab notes", 1),
            (
                "date_range = { start = 2024-02-01, end = 2024-01-01 }",
                "lab notes",
                1,
            ),
            ("date_range = { start = 2024-02-01, x = 1 }", "lab notes", 1),
            (&format!("title = '{}'", "x".repeat(70_000)), "lab notes", 1),
        ] {
            let card = card_of(manifest);
            let start: String = manifest.chars().take(60).collect();
            assert_eq!(
                (card.title.as_str(), card.notes.len()),
                (title, notes),
                "{start}"
            );
            assert!(!card.date_range.start.is_empty() && card.notebook_count == 2);
        }
    }
}
