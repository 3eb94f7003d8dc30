//! `insert_section`: inserts a section.

use schemars::JsonSchema;
use sectile_mcp::{CallContext, Failure, Tool};
use sectile_vault::editor::{InsertSection, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{edit_tool, inserted_schema},
    params::{EditArguments, EditParams, HeadingsWord, PlaceWord, at, closed_schema},
};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        InsertSectionArguments::TOOL,
        "Insert section",
        "Insert a new section at a position or next to another section. The answer has its section_id. Without level, it takes the level of the section that is now at that position; an insert that would give another section a new parent is refused.",
    )
    .input(closed_schema::<EditParams<InsertSectionArguments>>)
    .output(inserted_schema);
    edit_tool::<InsertSectionArguments>(tool)
}

/// The arguments that an edit of `apply_edits` takes too.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct InsertSectionArguments {
    /// Heading on one line, without # marks.
    heading: String,
    /// Text below the heading. Blank lines around it are handled for you.
    content: String,
    /// 0-based index in the list of sections: 0 is before the first, the number of sections is the end.
    position: Option<u64>,
    /// Instead of position: the place of the section relative to the anchor.
    place: Option<PlaceWord>,
    /// section_id that place refers to.
    anchor: Option<String>,
    /// 1 to 6, if not the level that the position suggests.
    #[schemars(range(min = 1, max = 6))]
    level: Option<u8>,
    /// What to do with headings in content.
    #[serde(default)]
    headings: HeadingsWord,
}

impl InsertSectionArguments {
    /// Returns the insertion; later edits of the same call can refer to the section by `label`.
    pub(super) fn insertion(
        self,
        label: Option<String>,
        world: &EditorWorld,
        path: Option<&str>,
        context: &CallContext,
    ) -> Result<Operation, Failure> {
        Ok(Operation::Insert(InsertSection {
            path: world.document_unless_id(path, self.anchor.as_deref(), context)?,
            heading: self.heading,
            content: self.content,
            at: at(self.position, self.place, self.anchor, "position")?,
            level: self.level,
            headings: self.headings.into(),
            label,
        }))
    }
}

impl EditArguments for InsertSectionArguments {
    const TOOL: &'static str = "insert_section";
    const DONE: &'static str = "Section inserted.";

    fn operation(
        self,
        world: &EditorWorld,
        path: Option<&str>,
        context: &CallContext,
    ) -> Result<Operation, Failure> {
        self.insertion(None, world, path, context)
    }
}
