//! `section_source/v0`: every section with its ids, its position, and whether it has a body.

use schemars::JsonSchema;
use sectile_markdown::{Note, NoteSectionIds};
use sectile_mcp::{AnswerFacts, Tool};
use serde::Serialize;

use super::{NoteSource, NoteTooLong, outline::Outline};

/// The tool that returns this view.
pub(super) fn tool<S: NoteSource>() -> Tool<S> {
    let tool = Tool::read(
        "get_section_source",
        "Get section source",
        "Return body-free SectionSource v0 metadata for one note.",
    );
    S::show(tool, view)
}

fn view(note: &Note<'_>) -> Result<(SectionSource, AnswerFacts), NoteTooLong> {
    let source = SectionSource::of(note)?;
    let facts = AnswerFacts {
        sections: Some(source.sections.len()),
        truncated: source.truncated,
        ..AnswerFacts::default()
    };
    Ok((source, facts))
}

/// The sections of one note, without any of its text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SectionSource {
    /// Name and version of this shape.
    #[schemars(extend("const" = Self::SCHEMA))]
    schema: &'static str,
    /// Vault-relative path of the note.
    path: String,
    /// Title from the front matter, else made from the file name.
    title: Option<String>,
    /// Sections in document order, at most 500.
    pub(crate) sections: Vec<SectionEntry>,
    /// Whether sections were left out or text was cut.
    pub(crate) truncated: bool,
}

/// One section.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SectionEntry {
    /// Id of the section: slug of the path, then the heading id.
    section_id: String,
    /// Id of the heading: level, slug and position in the note.
    heading_id: String,
    /// Heading level, 1 to 6.
    #[schemars(range(min = 1, max = 6))]
    level: u8,
    /// Headings from the outermost to this one.
    heading_path: Vec<String>,
    /// Text of the heading.
    heading_text: String,
    /// Ids of the sections directly below, in order.
    child_section_ids: Vec<String>,
    /// Whether there is text under this heading or its subheadings.
    body_available: bool,
    /// Always false: this tool returns no body.
    body_returned: bool,
    /// Always false: this tool returns no snippet.
    snippet_returned: bool,
}

impl SectionSource {
    const SCHEMA: &'static str = "knowtation.section_source/v0";

    pub(crate) fn of(note: &Note<'_>) -> Result<Self, NoteTooLong> {
        let outline = Outline::of(note)?;
        let mut sections: Vec<SectionEntry> = Vec::with_capacity(outline.headings.len());
        let ids = NoteSectionIds::new(note.path());
        for heading in outline.headings {
            let section_id = ids.of(&heading.id);
            let mut heading_path = Vec::new();
            if let Some(parent) = heading.parent {
                let parent = &mut sections[parent];
                heading_path.clone_from(&parent.heading_path);
                parent.child_section_ids.push(section_id.clone());
            }
            heading_path.push(heading.text.clone());
            sections.push(SectionEntry {
                section_id,
                heading_id: heading.id,
                level: heading.level,
                heading_path,
                heading_text: heading.text,
                child_section_ids: Vec::new(),
                body_available: heading.body_available,
                body_returned: false,
                snippet_returned: false,
            });
        }
        Ok(Self {
            schema: Self::SCHEMA,
            path: note.path().to_owned(),
            title: outline.title,
            sections,
            truncated: outline.truncated,
        })
    }
}
