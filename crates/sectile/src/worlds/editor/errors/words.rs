//! Error messages that name the document, the section or the entry that a call is about.

use sectile_markdown::edit::EditError;
use sectile_mcp::{CallContext, may_be_repeated, quoted};
use sectile_vault::{
    NotePath,
    editor::{
        Candidate, CreateDocument, DeleteDocument, DeleteSection, EditText, EditorError,
        InsertSection, MoveSection, Operation, PlaceText, Placement, RenameDocument, RenameFolder,
        RenameSection, SectionRef, SetFrontMatter, UpdateSection, is_markdown,
    },
};

/// The subject of a call, as far as its arguments tell.
#[derive(Default)]
pub(in super::super) struct CallSubject<'a> {
    /// The documents that the call names.
    paths: Vec<&'a NotePath>,
    /// The documents that the call would create.
    targets: Vec<&'a NotePath>,
    /// The heading of the one section that the call names.
    heading: Option<&'a str>,
    /// The history entry that the call names.
    entry: Option<u64>,
    context: Option<&'a CallContext>,
}

impl<'a> CallSubject<'a> {
    /// A call about a document, if it names one.
    pub(in super::super) fn document(
        path: impl Into<Option<&'a NotePath>>,
        context: &'a CallContext,
    ) -> Self {
        Self {
            paths: path.into().into_iter().collect(),
            context: Some(context),
            ..Self::default()
        }
    }

    /// A call about the changes of one request.
    pub(in super::super) fn operations(
        operations: &'a [Operation],
        context: &'a CallContext,
    ) -> Self {
        let mut about = Self::document(None, context);
        for operation in operations {
            about.add(operation);
        }
        if operations.len() > 1 {
            // It is not known here which of them failed.
            about.heading = None;
        }
        about
    }

    /// Adds a section of that document.
    pub(in super::super) fn section(mut self, section: &'a SectionRef) -> Self {
        self.heading = section.heading.as_deref();
        self
    }

    /// Adds an entry of its history.
    pub(in super::super) fn entry(mut self, entry: Option<u64>) -> Self {
        self.entry = entry;
        self
    }

    fn add(&mut self, operation: &'a Operation) {
        let mut section = None;
        match operation {
            Operation::Insert(InsertSection { path, at, .. }) => {
                self.paths.extend(path);
                if let Placement::Next { anchor, .. } = at {
                    section = Some(anchor);
                }
            }
            Operation::Move(MoveSection {
                path,
                to,
                section: moved,
                ..
            }) => {
                self.paths.extend(path.iter().chain(to));
                section = Some(moved);
            }
            Operation::Update(UpdateSection {
                path,
                section: named,
                ..
            })
            | Operation::Delete(DeleteSection {
                path,
                section: named,
                ..
            })
            | Operation::Rename(RenameSection {
                path,
                section: named,
                ..
            }) => {
                self.paths.extend(path);
                section = Some(named);
            }
            Operation::EditText(EditText {
                path,
                section: named,
                ..
            })
            | Operation::PlaceText(PlaceText {
                path,
                section: named,
                ..
            }) => {
                self.paths.extend(path);
                section = named.as_ref();
            }
            Operation::SetFrontMatter(SetFrontMatter { path, .. }) => self.paths.extend(path),
            Operation::CreateDocument(CreateDocument { path, .. }) => self.targets.push(path),
            Operation::RenameDocument(RenameDocument { path, new_path, .. })
            | Operation::RenameFolder(RenameFolder { path, new_path }) => {
                self.paths.push(path);
                self.targets.push(new_path);
            }
            Operation::DeleteDocument(DeleteDocument { path, .. }) => self.paths.push(path),
        }
        self.heading = section.and_then(|section| section.heading.as_deref());
    }

    /// The documents that the call names, then those that it would create.
    pub(in super::super) fn all_paths(&self) -> impl Iterator<Item = &'a NotePath> {
        self.paths.iter().chain(&self.targets).copied()
    }

    /// The same with `path` as the only document.
    pub(in super::super) fn narrowed(&self, path: &'a NotePath) -> Self {
        Self {
            paths: vec![path],
            targets: vec![path],
            ..*self
        }
    }

    /// The heading that the call names.
    pub(in super::super) fn heading(&self) -> Option<&'a str> {
        self.heading
    }

    /// Returns whether the caller may use the tool `name`, and so may learn what that tool would show.
    pub(in super::super) fn may_use(&self, name: &str) -> bool {
        self.context.is_some_and(|context| context.may_use(name))
    }

    /// The one document that the call names, or else would create, in quotes.
    fn path(&self) -> Option<String> {
        match self.paths.as_slice() {
            [] => only(&self.targets),
            paths => only(paths),
        }
    }

    /// The one document that the call would create, or else names, in quotes.
    fn target(&self) -> Option<String> {
        match self.targets.as_slice() {
            [] => only(&self.paths),
            targets => only(targets),
        }
    }
}

/// The path in quotes, if all are the same.
fn only(paths: &[&NotePath]) -> Option<String> {
    let (first, others) = paths.split_first()?;
    let is_only = others.iter().all(|path| path == first);
    (is_only && may_be_repeated(first.as_str())).then(|| quoted(first.as_str()))
}

/// The message for `error`: one or two sentences, the first of which is the contract's where it has one.
pub(super) fn what(error: &EditorError, about: &CallSubject<'_>) -> String {
    use EditorError as E;
    let path = about.path();
    let document = path
        .as_ref()
        .map_or_else(|| "document".to_owned(), |path| format!("document {path}"));
    let beside = |before: &str| {
        let path = path.as_ref();
        path.map(|path| format!(" {before} {path}"))
            .unwrap_or_default()
    };
    match error {
        E::SectionNotFound { section_id, .. } => {
            not_found(section_id.as_deref(), about.heading, path.as_deref())
        }
        E::Edit(EditError::NoSuchSection) => not_found(None, about.heading, path.as_deref()),
        E::SectionDeleted { section_id, entry } => format!(
            "Section not found. {} was deleted by entry {entry}.",
            quoted(section_id)
        ),
        E::Ambiguous { candidates } => match candidates.first() {
            Some(first) => format!(
                "Several sections of {} are called {}.",
                quoted(&first.path),
                quoted(&first.heading)
            ),
            None => error.to_string(),
        },
        E::DocumentNotFound => match path {
            Some(path) => format!("Document not found. There is no document at {path}."),
            None => error.to_string(),
        },
        E::DocumentExists => match about.target() {
            Some(path) => format!("There is already a document at {path}."),
            None => error.to_string(),
        },
        E::IsLink { target } => match path {
            Some(path) => format!("{path} is a link to {}.", quoted(target)),
            None => format!("The path is a link to {}.", quoted(target)),
        },
        E::NotMarkdown => match about.all_paths().find(|path| !is_markdown(path)) {
            Some(path) if may_be_repeated(path.as_str()) => format!(
                "{} is not a Markdown document: its name does not end in .md or .markdown.",
                quoted(path.as_str())
            ),
            _ => error.to_string(),
        },
        E::NotADocument => match (about.path(), about.target()) {
            (Some(path), Some(target)) if path == target => {
                format!("{path} is hidden, ignored or excluded, so it cannot be changed here.")
            }
            _ => error.to_string(),
        },
        E::TooLarge {
            what: "document",
            limit,
        } => format!("The {document} is larger than {limit} bytes."),
        E::Reparents { section } => format!(
            "Section {} would become a child of a different section. Nothing was written.",
            candidate(section)
        ),
        E::FrontMatter(why) => format!(
            "The front matter{} cannot be changed like this: {why}.",
            beside("of")
        ),
        E::Conflict(conflict) => format!(
            "Section {}{} {} Its hash is now {}.",
            quoted(&conflict.section_id),
            beside("of"),
            match conflict.ours {
                Some(_) =>
                    "has changed since it was read, and the changes overlap. Nothing was written.",
                None => "has changed since it was read. Nothing was deleted.",
            },
            quoted(&conflict.hash)
        ),
        E::StillThere { path } => format!("The text is still in {}.", quoted(path)),
        E::DocumentChanged => {
            format!("The {document} has changed since it was read. Nothing was written.")
        }
        E::Busy => format!("Another process is changing the {document}."),
        E::KeepsChanging => {
            format!("The {document} keeps changing on disk. Nothing was written.")
        }
        E::ReadOnlyDocument => format!("The {document} is read-only. Nothing was written."),
        E::Edit(EditError::NotUtf8) => {
            format!("The {document} is not UTF-8, so it can be read but not edited.")
        }
        error => past(error, about),
    }
}

/// The message for a failed request about the history.
fn past(error: &EditorError, about: &CallSubject<'_>) -> String {
    use EditorError as E;
    let path = about.path();
    let beside = |before: &str| {
        let path = path.as_ref();
        path.map(|path| format!(" {before} {path}"))
            .unwrap_or_default()
    };
    match error {
        E::NothingToUndo => format!("There is nothing to undo{}.", beside("in")),
        E::NothingToRedo => format!("There is nothing to redo{}.", beside("in")),
        E::EntryNotFound => match about.entry {
            Some(entry) => format!("The history{} has no entry {entry}.", beside("of")),
            None => format!("The history{} has no such entry.", beside("of")),
        },
        E::AlreadyUndone => match about.entry {
            Some(entry) => format!("Entry {entry} is already undone."),
            None => error.to_string(),
        },
        E::UndoOverlaps { entry: later } => format!(
            "{} cannot be undone by itself: entry {later} changed the same text later.",
            about
                .entry
                .map_or_else(|| "The entry".to_owned(), |entry| format!("Entry {entry}"))
        ),
        E::TextUnknown => format!("The history{} does not reach back that far.", beside("of")),
        error => error.to_string(),
    }
}

fn not_found(id: Option<&str>, heading: Option<&str>, path: Option<&str>) -> String {
    let named = match (id, heading) {
        (Some(id), _) => format!(" with the id {}", quoted(id)),
        (None, Some(heading)) => format!(" called {}", quoted(heading)),
        (None, None) => return "Section not found.".to_owned(),
    };
    match path {
        Some(path) => format!("Section not found. {path} has no section{named}."),
        None => format!("Section not found. There is no section{named}."),
    }
}

/// A label for the sections that an error offers, and the sections as a message shows them.
pub(super) fn offered(error: &EditorError) -> (&'static str, Vec<String>) {
    match error {
        EditorError::SectionNotFound { near, .. } => {
            ("Nearest", near.iter().map(candidate).collect())
        }
        EditorError::Ambiguous { candidates } => {
            ("Candidates", candidates.iter().map(twin).collect())
        }
        _ => ("", Vec::new()),
    }
}

/// A section shown by its heading and id.
fn candidate(one: &Candidate) -> String {
    let heading = quoted(&one.heading);
    match one.id.as_str() {
        "" => heading,
        id => format!("{heading} ({})", bare(id)),
    }
}

/// A section among others with the same heading, told apart by its id and text.
fn twin(one: &Candidate) -> String {
    match (one.id.as_str(), one.first_line.as_str()) {
        ("", _) => format!("position {}", one.position),
        (id, "") => bare(id),
        (id, text) => format!("{} ({})", bare(id), quoted(text)),
    }
}

/// An id, without quotes if it needs none. Ids from a journal may hold anything, so those may need them.
fn bare(id: &str) -> String {
    let is_plain = id
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    let quoted = quoted(id);
    match is_plain {
        true => quoted[1..quoted.len() - 1].to_owned(),
        false => quoted,
    }
}
