//! `document_tree/v0`: the headings as a tree.

use schemars::JsonSchema;
use sectile_markdown::Note;
use sectile_mcp::{AnswerFacts, Tool};
use serde::Serialize;

use super::{
    NoteSource, NoteTooLong,
    outline::{Heading, Outline},
};

/// The tool that returns this view.
pub(super) fn tool<S: NoteSource>() -> Tool<S> {
    let tool = Tool::read(
        "get_document_tree",
        "Get document tree",
        "Return a derived nested Markdown heading tree for one note without body text.",
    );
    S::show(tool, view)
}

fn view(note: &Note<'_>) -> Result<(DocumentTree, AnswerFacts), NoteTooLong> {
    let tree = DocumentTree::of(note)?;
    let facts = AnswerFacts {
        sections: Some(tree.heading_count()),
        truncated: tree.truncated,
        ..AnswerFacts::default()
    };
    Ok((tree, facts))
}

/// The heading tree of one note, without any of its text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DocumentTree {
    /// Name and version of this shape.
    #[schemars(extend("const" = Self::SCHEMA))]
    schema: &'static str,
    /// Vault-relative path of the note.
    path: String,
    /// Title from the front matter, else made from the file name.
    title: Option<String>,
    /// The document itself.
    pub(crate) root: TreeRoot,
    /// Whether headings were left out or text was cut.
    pub(crate) truncated: bool,
}

/// The document above all headings.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TreeRoot {
    /// Headings with no heading above them.
    pub(crate) children: Vec<TreeNode>,
}

/// One heading with the headings below it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TreeNode {
    /// Id of the heading: level, slug and position in the note.
    id: String,
    /// Heading level, 1 to 6.
    #[schemars(range(min = 1, max = 6))]
    level: u8,
    /// Text of the heading.
    text: String,
    /// Headings directly below, in order.
    children: Vec<Self>,
}

impl DocumentTree {
    const SCHEMA: &'static str = "knowtation.document_tree/v0";

    pub(crate) fn of(note: &Note<'_>) -> Result<Self, NoteTooLong> {
        let outline = Outline::of(note)?;
        Ok(Self {
            schema: Self::SCHEMA,
            path: note.path().to_owned(),
            title: outline.title,
            root: TreeRoot {
                children: nest(outline.headings),
            },
            truncated: outline.truncated,
        })
    }

    /// Number of headings in the tree.
    pub(crate) fn heading_count(&self) -> usize {
        fn count(nodes: &[TreeNode]) -> usize {
            nodes.iter().map(|node| 1 + count(&node.children)).sum()
        }
        count(&self.root.children)
    }
}

/// Builds from the last heading to the first, so that every node is complete when it moves into its parent.
fn nest(headings: Vec<Heading>) -> Vec<TreeNode> {
    let mut children: Vec<Vec<TreeNode>> = headings.iter().map(|_| Vec::new()).collect();
    let mut roots = Vec::new();
    for (index, heading) in headings.into_iter().enumerate().rev() {
        let mut below = std::mem::take(&mut children[index]);
        below.reverse();
        let node = TreeNode {
            id: heading.id,
            level: heading.level,
            text: heading.text,
            children: below,
        };
        match heading.parent {
            Some(parent) => children[parent].push(node),
            None => roots.push(node),
        }
    }
    roots.reverse();
    roots
}
