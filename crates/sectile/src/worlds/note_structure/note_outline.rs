//! `note_outline/v1`: the flat list of headings.

use schemars::JsonSchema;
use sectile_markdown::Note;
use sectile_mcp::{AnswerFacts, Tool};
use serde::Serialize;

use super::{NoteSource, NoteTooLong, outline::Outline};

/// The tool that returns this view.
pub(super) fn tool<S: NoteSource>() -> Tool<S> {
    let tool = Tool::read(
        "get_note_outline",
        "Get note outline",
        "Return a derived Markdown heading outline for one note without body text.",
    );
    S::show(tool, view)
}

fn view(note: &Note<'_>) -> Result<(NoteOutline, AnswerFacts), NoteTooLong> {
    let outline = NoteOutline::of(note)?;
    let facts = AnswerFacts {
        sections: Some(outline.headings.len()),
        truncated: outline.truncated,
        ..AnswerFacts::default()
    };
    Ok((outline, facts))
}

/// The headings of one note, without any of its text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NoteOutline {
    /// Name and version of this shape.
    #[schemars(extend("const" = Self::SCHEMA))]
    schema: &'static str,
    /// Vault-relative path of the note.
    path: String,
    /// Title from the front matter, else made from the file name.
    title: Option<String>,
    /// Headings in document order, at most 500.
    pub(crate) headings: Vec<HeadingEntry>,
    /// Whether headings were left out or text was cut.
    pub(crate) truncated: bool,
}

/// One heading.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HeadingEntry {
    /// Heading level, 1 to 6.
    #[schemars(range(min = 1, max = 6))]
    pub(crate) level: u8,
    /// Text of the heading.
    pub(crate) text: String,
    /// Id of the heading: level, slug and position in the note.
    pub(crate) id: String,
}

impl NoteOutline {
    const SCHEMA: &'static str = "knowtation.note_outline/v1";

    pub(crate) fn of(note: &Note<'_>) -> Result<Self, NoteTooLong> {
        let outline = Outline::of(note)?;
        Ok(Self {
            schema: Self::SCHEMA,
            path: note.path().to_owned(),
            title: outline.title,
            headings: outline
                .headings
                .into_iter()
                .map(|heading| HeadingEntry {
                    level: heading.level,
                    text: heading.text,
                    id: heading.id,
                })
                .collect(),
            truncated: outline.truncated,
        })
    }
}
