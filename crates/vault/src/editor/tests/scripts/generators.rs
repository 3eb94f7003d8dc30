//! Random documents of all kinds, and random acts on them.

use proptest::{collection::vec, option::weighted, prelude::*};

/// An act. Numbers are taken modulo the number of candidates.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Insert {
        at: usize,
        relative: usize,
        level: Option<u8>,
        heading: String,
        body: String,
    },
    Update {
        section: usize,
        body: String,
        subtree: bool,
    },
    /// Writes back what is there.
    WriteBack {
        section: usize,
        subtree: bool,
    },
    Delete {
        section: usize,
    },
    Move {
        section: usize,
        at: usize,
        relative: usize,
        across: bool,
    },
    Rename {
        section: usize,
        heading: String,
        level: Option<u8>,
    },
    EditText {
        section: Option<usize>,
        new: String,
    },
    FrontMatter {
        key: usize,
        value: Option<String>,
    },
    CreateDocument {
        text: String,
    },
    RenameDocument,
    DeleteDocument,
    Undo,
    Redo,
    /// Undoes any entry.
    UndoEntry {
        nth: usize,
    },
    /// Another program rewrites the file. Without a look, the next act is the first to notice.
    Outside {
        edit: Outside,
        look: bool,
    },
    /// Another process goes on.
    Reopen,
}

#[derive(Clone, Debug)]
pub(super) enum Outside {
    Append(String),
    Prepend(String),
    /// Removes a line.
    RemoveLine(usize),
    /// Changes the words of a line.
    ChangeLine(usize, String),
    /// Replaces the whole document.
    Replace(String),
    /// Renames the file.
    MoveFile,
    RemoveFile,
}

/// An act, on one of the documents.
#[derive(Clone, Debug)]
pub(super) struct ScriptStep {
    pub(super) document: usize,
    pub(super) act: Act,
}

fn block() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z]{1,6}( [a-z]{1,6}){0,3}",
        1 => "[a-z]{1,4}(\n[a-z]{1,4}){1,4}",
        1 => Just("```\n# not a heading\n```".to_owned()),
        1 => Just("~~~~\ncode\n\n## no\n~~~~".to_owned()),
        1 => Just("> # quoted\n> text".to_owned()),
        1 => Just("- item\n\n  # nested\n- two".to_owned()),
        1 => Just("<!-- # comment\n## more -->".to_owned()),
        1 => Just("    indented code".to_owned()),
        1 => Just("***".to_owned()),
        1 => Just("é 日本 \u{1f680}".to_owned()),
        1 => Just(String::new()),
    ]
}

fn heading_line() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (1_usize..5, "[A-D]").prop_map(|(level, text)| format!("{} {text}", "#".repeat(level))),
        1 => "[A-D]".prop_map(|text| format!("{text}\n===")),
        1 => "[A-D]".prop_map(|text| format!("{text}\n---")),
        1 => "[A-D]".prop_map(|text| format!("## {text} ##")),
        1 => Just("###".to_owned()),
    ]
}

fn heading() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[A-H]",
        1 => Just("C #".to_owned()),
        1 => Just("*x* `y`".to_owned()),
        1 => Just("Überschrift 日本".to_owned()),
    ]
}

fn body() -> impl Strategy<Value = String> {
    let piece = prop_oneof![5 => block(), 1 => heading_line()];
    vec(piece, 0..3).prop_map(|pieces| pieces.join("\n\n"))
}

prop_compose! {
    /// Line endings, byte order mark, front matter, tight or wide, with or without a final newline, without headings,
    /// empty.
    pub(super) fn document()(
        bom in proptest::bool::weighted(0.1),
        front_matter in proptest::bool::weighted(0.25),
        preamble in weighted(0.3, block()),
        sections in vec((heading_line(), vec(block(), 0..3), any::<bool>()), 0..6),
        line_end in prop_oneof![3 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\r")],
        final_newline in proptest::bool::weighted(0.8),
    ) -> String {
        let mut text = String::new();
        if front_matter {
            text += "---\ntitle: x # c\ntags: [a]\n---\n";
        }
        if let Some(preamble) = preamble {
            text += &format!("{preamble}\n\n");
        }
        for (heading, blocks, tight) in sections {
            text += &format!("{heading}{}", if tight { "\n" } else { "\n\n" });
            for block in blocks {
                text += &format!("{block}\n\n");
            }
        }
        if !final_newline {
            text.truncate(text.trim_end().len());
        }
        let text = text.replace('\n', line_end);
        if bom { format!("\u{feff}{text}") } else { text }
    }
}

/// Acts on sections.
pub(super) fn edit() -> impl Strategy<Value = Act> {
    let level = || weighted(0.3, 1_u8..5);
    prop_oneof![
        3 => (0_usize..8, 0_usize..5, level(), heading(), body()).prop_map(|(at, relative, level, heading, body)| {
            Act::Insert { at, relative, level, heading, body }
        }),
        4 => (0_usize..8, body(), any::<bool>())
            .prop_map(|(section, body, subtree)| Act::Update { section, body, subtree }),
        1 => (0_usize..8, any::<bool>())
            .prop_map(|(section, subtree)| Act::WriteBack { section, subtree }),
        2 => (0_usize..8).prop_map(|section| Act::Delete { section }),
        3 => (0_usize..8, 0_usize..8, 0_usize..5, any::<bool>()).prop_map(|(section, at, relative, across)| {
            Act::Move { section, at, relative, across }
        }),
        2 => (0_usize..8, heading(), level())
            .prop_map(|(section, heading, level)| Act::Rename { section, heading, level }),
        2 => (weighted(0.7, 0_usize..8), body()).prop_map(|(section, new)| Act::EditText { section, new }),
        1 => (0_usize..3, weighted(0.7, "[a-z: ]{0,5}"))
            .prop_map(|(key, value)| Act::FrontMatter { key, value }),
    ]
}

fn outside() -> impl Strategy<Value = Outside> {
    prop_oneof![
        2 => body().prop_map(Outside::Append),
        2 => body().prop_map(Outside::Prepend),
        2 => any::<usize>().prop_map(Outside::RemoveLine),
        2 => (any::<usize>(), block()).prop_map(|(line, text)| Outside::ChangeLine(line, text)),
        1 => document().prop_map(Outside::Replace),
        1 => Just(Outside::MoveFile),
        1 => Just(Outside::RemoveFile),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        12 => edit(),
        3 => Just(Act::Undo),
        2 => Just(Act::Redo),
        2 => (0_usize..8).prop_map(|nth| Act::UndoEntry { nth }),
        3 => (outside(), any::<bool>()).prop_map(|(edit, look)| Act::Outside { edit, look }),
        1 => Just(Act::Reopen),
        1 => document().prop_map(|text| Act::CreateDocument { text }),
        1 => Just(Act::RenameDocument),
        1 => Just(Act::DeleteDocument),
    ]
}

/// The acts of a script, in order.
pub(super) fn script() -> impl Strategy<Value = Vec<ScriptStep>> {
    let step = (0_usize..2, act()).prop_map(|(document, act)| ScriptStep { document, act });
    vec(step, 4..9)
}

/// The same without other programs.
pub(super) fn own_script() -> impl Strategy<Value = Vec<ScriptStep>> {
    let step = (0_usize..2, edit()).prop_map(|(document, act)| ScriptStep { document, act });
    vec(step, 3..7)
}
