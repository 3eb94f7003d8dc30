//! The six commands.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use sectile_markdown::edit::{EditError, PayloadHeadings};
use sectile_mcp::{AnswerFacts, CallContext, Failure, FailureKind, Tool};
use sectile_vault::{
    NotePath,
    editor::{
        CallHooks, CreateDocument, DeleteDocument, EditText, EditorError, Operation, PlaceText,
        RenameDocument, RenameFolder, Scope, TextPlace, WriteRequest, short_hash,
    },
};
use serde::Deserialize;

use super::{
    super::{
        DeskWorld,
        answers::actor,
        errors::library_failure,
        roots::{DeskRoot, VisibleRoots},
    },
    paths::{self, MemoryPath, TOP},
    text,
};

/// Maximum number of levels of folders that a view lists.
const LEVELS: usize = 2;
/// Maximum number of lines in a view of a folder.
const MAX_LISTED: usize = 1_000;
/// How often an edit is tried while other programs write the same file.
const TRIES: usize = 3;

type TextAnswer = Result<(String, AnswerFacts), Failure>;

/// The tools, in the order of the documentation of the memory tool.
pub(super) fn table() -> Vec<Tool<DeskWorld>> {
    vec![
        Tool::read(
            "view",
            "View",
            "Show a folder two levels deep, or a file with line numbers.",
        )
        .call_text(view),
        Tool::write("create", "Create", "Create a file; refused if it exists.").call_text(create),
        Tool::write(
            "str_replace",
            "Replace",
            "Replace text that occurs once in a file.",
        )
        .call_text(str_replace),
        Tool::write(
            "insert",
            "Insert",
            "Insert text after a line of a file; 0 is before the first.",
        )
        .call_text(insert),
        Tool::destructive(
            "delete",
            "Delete",
            "Delete a file, or a folder with everything in it.",
        )
        .call_text(delete),
        Tool::write("rename", "Rename", "Rename or move a file or folder.").call_text(rename),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ViewParams {
    /// Starts with /memories.
    path: String,
    /// First and last line; -1 is the end.
    #[schemars(length(min = 2, max = 2))]
    view_range: Option<Vec<i64>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateMemoryParams {
    path: String,
    file_text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReplaceParams {
    path: String,
    old_str: String,
    #[serde(default)]
    new_str: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InsertParams {
    path: String,
    insert_line: i64,
    insert_text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteMemoryParams {
    path: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RenameMemoryParams {
    old_path: String,
    new_path: String,
}

/// Something that is there.
#[derive(Debug, PartialEq, Eq)]
enum Memory {
    Top,
    Folder(NotePath),
    File(NotePath),
}

/// The folder of all memories, for one call.
struct MemoryFolder<'a> {
    roots: VisibleRoots<'a>,
    root: &'a DeskRoot,
    context: &'a CallContext,
}

fn refused(kind: FailureKind, text: impl Into<String>) -> Failure {
    Failure::new(kind, text.into())
}

fn missing(path: &str) -> Failure {
    refused(
        FailureKind::NotFound,
        format!(
            "The path {} does not exist. Please provide a valid path.",
            text::repeated(path)
        ),
    )
}

/// The same as the commands that write put it.
fn error_missing(path: &str) -> Failure {
    let text = format!(
        "Error: The path {} does not exist. Please provide a valid path.",
        text::repeated(path)
    );
    refused(FailureKind::NotFound, text)
}

fn answered(text: String) -> TextAnswer {
    Ok((text, AnswerFacts::default()))
}

impl<'a> MemoryFolder<'a> {
    fn new(world: &'a DeskWorld, context: &'a CallContext) -> Result<Self, Failure> {
        let roots = world.roots_for(context);
        let first_two = {
            let mut visible = roots.iter();
            (visible.next(), visible.next())
        };
        let root = match first_two {
            (Some(root), None) => root,
            (Some(_), Some(_)) => {
                let text = "Error: A memory has one folder, and you have access to several. Sign in with a key for one of them.";
                return Err(refused(FailureKind::Conflict, text));
            }
            (None, _) => return Err(missing(TOP)),
        };
        Ok(Self {
            roots,
            root,
            context,
        })
    }

    /// Parses a path, and refuses one that leads anywhere else.
    fn parse(given: &str) -> Result<MemoryPath, Failure> {
        paths::parse(given).ok_or_else(|| {
            let text = format!(
                "Error: The path {} is not below {TOP}. Give a path such as {TOP}/notes.md.",
                text::repeated(given)
            );
            refused(FailureKind::InvalidPath, text)
        })
    }

    /// Finds what is at a path.
    fn find(&self, given: &str) -> Result<Option<Memory>, Failure> {
        let MemoryPath::Below { folder, document } = Self::parse(given)? else {
            return Ok(Some(Memory::Top));
        };
        if self.folders()?.contains(&folder) {
            return Ok(Some(Memory::Folder(folder)));
        }
        match self.root.folder.editor.view(&document) {
            Ok(_) => Ok(Some(Memory::File(document))),
            Err(EditorError::DocumentNotFound) => Ok(None),
            Err(error) => Err(self.failure(&error, given)),
        }
    }

    fn folders(&self) -> Result<Vec<NotePath>, Failure> {
        let stop = || self.context.cancelled.is_cancelled();
        let state = self.root.folder.index.complete(&stop);
        let state = state.map_err(|error| library_failure(&error))?;
        Ok(state.folders().to_vec())
    }

    /// The file at a path.
    fn file(&self, given: &str) -> Result<NotePath, Failure> {
        match self.find(given)? {
            Some(Memory::File(path)) => Ok(path),
            _ => Err(error_missing(given)),
        }
    }

    fn text(&self, path: &NotePath, given: &str) -> Result<(String, String), Failure> {
        let view = self.root.folder.editor.view(path);
        let view = view.map_err(|error| self.failure(&error, given))?;
        let text = String::from_utf8_lossy(view.bytes()).into_owned();
        Ok((text, short_hash(view.hash())))
    }

    fn write(&self, operations: Vec<Operation>, name: &str) -> Result<(), EditorError> {
        let request = WriteRequest::new(operations, name, actor(self.context));
        let stop = || self.context.cancelled.is_cancelled();
        let written = self.root.folder.write(&request, CallHooks::until(&stop));
        written.map(drop)
    }

    fn failure(&self, error: &EditorError, given: &str) -> Failure {
        self.roots.editor_failure(self.root, error, given)
    }
}

fn view(world: &DeskWorld, params: ViewParams, context: &CallContext) -> TextAnswer {
    let memory = MemoryFolder::new(world, context)?;
    let folder = match memory.find(&params.path)? {
        Some(Memory::File(path)) => {
            let (text, _) = memory.text(&path, &params.path)?;
            let range = range(params.view_range.as_deref(), &text)?;
            let view = text::file_view(&params.path, &text, range);
            return answered(view.map_err(|text| refused(FailureKind::TooLarge, text))?);
        }
        Some(Memory::Folder(path)) => format!("{path}/"),
        Some(Memory::Top) => String::new(),
        None => return Err(missing(&params.path)),
    };
    let stop = || context.cancelled.is_cancelled();
    let state = memory.root.folder.index.complete(&stop);
    let state = state.map_err(|error| library_failure(&error))?;
    // The sizes of everything to list, folders with a slash at their end.
    let mut sizes: BTreeMap<String, u64> = BTreeMap::from([(String::new(), 0)]);
    let is_shown = |below: &str| below.split('/').all(|name| name != "node_modules");
    let folders = state.folders().iter().map(|path| (format!("{path}/"), 0));
    let files = state.notes().iter();
    let files = files.map(|note| (note.path.as_str().to_owned(), note.stamp.bytes));
    for (path, bytes) in folders.chain(files) {
        let Some(below) = path.strip_prefix(&folder).filter(|below| is_shown(below)) else {
            continue;
        };
        let ends = below.match_indices('/').map(|(end, _)| end + 1);
        for end in [0].into_iter().chain(ends.take(LEVELS)) {
            *sizes.entry(below[..end].to_owned()).or_default() += bytes;
        }
        if below.trim_end_matches('/').matches('/').count() < LEVELS && !below.ends_with('/') {
            sizes.insert(below.to_owned(), bytes);
        }
    }
    let mut lines = vec![format!(
        "Here're the files and directories up to 2 levels deep in {}, excluding hidden items and node_modules:",
        params.path
    )];
    let more = sizes.len().saturating_sub(MAX_LISTED);
    for (below, bytes) in sizes.into_iter().take(MAX_LISTED) {
        let path = paths::shown(&format!("{folder}{below}"));
        lines.push(format!(
            "{}\t{}",
            text::size(bytes),
            path.trim_end_matches('/')
        ));
    }
    if more > 0 {
        lines.push(format!("[{more} more are not listed: view a folder below]"));
    }
    answered(lines.join("\n"))
}

/// Checks a range of lines.
fn range(given: Option<&[i64]>, text: &str) -> Result<Option<(usize, usize)>, Failure> {
    let Some(given) = given else {
        return Ok(None);
    };
    let count = text::lines(text).len();
    let line = |number: i64| usize::try_from(number).ok();
    let checked = match given {
        [first, -1] => line(*first).map(|first| (first, count)),
        [first, last] => line(*first).zip(line(*last)),
        _ => None,
    };
    match checked {
        Some((first, last)) if first >= 1 && first <= last.max(1) && first <= count.max(1) => {
            Ok(Some((first, last)))
        }
        _ => {
            let text = format!(
                "Error: Invalid `view_range` parameter: {given:?}. Its first element should be within the range of lines of the file: [1, {count}], and the second not before it, or -1."
            );
            Err(refused(FailureKind::InvalidArguments, text))
        }
    }
}

fn create(world: &DeskWorld, params: CreateMemoryParams, context: &CallContext) -> TextAnswer {
    let memory = MemoryFolder::new(world, context)?;
    let exists = || {
        let text = format!(
            "Error: File {} already exists",
            text::repeated(&params.path)
        );
        refused(FailureKind::Conflict, text)
    };
    let MemoryPath::Below { document, .. } = MemoryFolder::parse(&params.path)? else {
        return Err(exists());
    };
    if memory.find(&params.path)?.is_some() {
        return Err(exists());
    }
    let create = Operation::CreateDocument(CreateDocument {
        path: document,
        content: params.file_text,
    });
    match memory.write(vec![create], "create") {
        Ok(()) => answered(format!("File created successfully at: {}", params.path)),
        Err(EditorError::DocumentExists) => Err(exists()),
        Err(error) => Err(memory.failure(&error, &params.path)),
    }
}

fn str_replace(world: &DeskWorld, params: ReplaceParams, context: &CallContext) -> TextAnswer {
    let memory = MemoryFolder::new(world, context)?;
    let path = memory.file(&params.path)?;
    let (before, _) = memory.text(&path, &params.path)?;
    let edit = Operation::EditText(EditText {
        path: Some(path.clone()),
        section: None,
        old_text: params.old_str.clone(),
        new_text: params.new_str.clone(),
        expected_count: 1,
        scope: Scope::Subtree,
        expected_hash: None,
    });
    match memory.write(vec![edit], "str_replace") {
        Ok(()) => {}
        Err(EditorError::Edit(EditError::TextCount { found: 0, .. } | EditError::EmptyOldText)) => {
            let text = format!(
                "No replacement was performed, old_str `{}` did not appear verbatim in {}.",
                text::repeated(&params.old_str),
                params.path
            );
            return Err(refused(FailureKind::NotFound, text));
        }
        Err(EditorError::Edit(EditError::TextCount { .. })) => {
            let lines = text::lines_with(&before, &params.old_str);
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            let text = format!(
                "No replacement was performed. Multiple occurrences of old_str `{}` in lines: {}. Please ensure it is unique",
                text::repeated(&params.old_str),
                lines.join(", ")
            );
            return Err(refused(FailureKind::Conflict, text));
        }
        Err(error) => return Err(memory.failure(&error, &params.path)),
    }
    let (after, _) = memory.text(&path, &params.path)?;
    let start = common_start(&before, &after);
    let end = start + params.new_str.len();
    let shown = text::edited_lines(&after, start, end);
    answered(format!("The memory file has been edited.\n{shown}"))
}

/// Returns the length of what two texts have in common at their start.
fn common_start(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes());
    same.take_while(|(one, other)| one == other).count()
}

fn insert(world: &DeskWorld, params: InsertParams, context: &CallContext) -> TextAnswer {
    let memory = MemoryFolder::new(world, context)?;
    let path = memory.file(&params.path)?;
    for _ in 0..TRIES {
        let (before, hash) = memory.text(&path, &params.path)?;
        let count = text::lines(&before).len();
        let after = usize::try_from(params.insert_line)
            .ok()
            .filter(|line| *line <= count);
        let Some(after) = after else {
            let text = format!(
                "Error: Invalid `insert_line` parameter: {}. It should be within the range of lines of the file: [0, {count}]",
                params.insert_line
            );
            return Err(refused(FailureKind::InvalidArguments, text));
        };
        let insertion = insertion(&path, &before, after, &params.insert_text, hash);
        match memory.write(vec![insertion], "insert") {
            Ok(()) => return answered(format!("The file {} has been edited.", params.path)),
            // Another program wrote it meanwhile: the lines have other numbers now.
            Err(EditorError::DocumentChanged | EditorError::Edit(EditError::TextCount { .. })) => {}
            Err(error) => return Err(memory.failure(&error, &params.path)),
        }
    }
    Err(memory.failure(&EditorError::KeepsChanging, &params.path))
}

/// Returns the operation that inserts text after a line: it replaces the smallest passage around that place which occurs
/// only once.
fn insertion(
    path: &NotePath,
    before: &str,
    after: usize,
    inserted: &str,
    hash: String,
) -> Operation {
    if before.is_empty() {
        return Operation::PlaceText(PlaceText {
            path: Some(path.clone()),
            section: None,
            place: TextPlace::Append,
            scope: Scope::Subtree,
            text: inserted.to_owned(),
            headings: PayloadHeadings::AsWritten,
            expected_hash: Some(hash),
        });
    }
    let (at, new) = text::insertion(before, after, inserted);
    let (start, end) = text::unique_passage(before, at);
    Operation::EditText(EditText {
        path: Some(path.clone()),
        section: None,
        old_text: before[start..end].to_owned(),
        new_text: format!("{}{new}{}", &before[start..at], &before[at..end]),
        expected_count: 1,
        scope: Scope::Subtree,
        expected_hash: Some(hash),
    })
}

fn delete(world: &DeskWorld, params: DeleteMemoryParams, context: &CallContext) -> TextAnswer {
    let memory = MemoryFolder::new(world, context)?;
    let delete = |path: &NotePath| {
        Operation::DeleteDocument(DeleteDocument {
            path: path.clone(),
            expected_hash: None,
        })
    };
    let gone = || {
        let text = format!(
            "Error: The path {} does not exist",
            text::repeated(&params.path)
        );
        refused(FailureKind::NotFound, text)
    };
    let failed = |error: EditorError| memory.failure(&error, &params.path);
    match memory.find(&params.path)? {
        None => return Err(gone()),
        Some(Memory::Top) => {
            let text = format!("Error: The folder {TOP} itself cannot be deleted");
            return Err(refused(FailureKind::InvalidArguments, text));
        }
        Some(Memory::File(path)) => memory
            .write(vec![delete(&path)], "delete")
            .map_err(failed)?,
        Some(Memory::Folder(folder)) => {
            let stop = || context.cancelled.is_cancelled();
            let state = memory.root.folder.index.complete(&stop);
            let state = state.map_err(|error| library_failure(&error))?;
            let inside = |path: &&NotePath| path.below(folder.as_str()).is_some();
            let notes = state.notes().iter().map(|note| &note.path).filter(inside);
            let operations: Vec<Operation> = notes.map(delete).collect();
            if !operations.is_empty() {
                memory.write(operations, "delete").map_err(failed)?;
            }
            let folders = state.folders().iter().filter(inside).rev();
            for path in folders.chain([&folder]) {
                // What else is in a folder stays, and so does the folder then.
                match memory.root.folder.editor.remove_empty_folder(path) {
                    Ok(()) | Err(EditorError::FolderNotEmpty | EditorError::FolderNotFound) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
        }
    }
    answered(format!("Successfully deleted {}", params.path))
}

fn rename(world: &DeskWorld, params: RenameMemoryParams, context: &CallContext) -> TextAnswer {
    let memory = MemoryFolder::new(world, context)?;
    let found = memory.find(&params.old_path)?;
    let taken = || {
        let text = format!(
            "Error: The destination {} already exists",
            text::repeated(&params.new_path)
        );
        refused(FailureKind::Conflict, text)
    };
    let MemoryPath::Below { folder, document } = MemoryFolder::parse(&params.new_path)? else {
        return Err(taken());
    };
    let operation = match found {
        None => {
            let text = format!(
                "Error: The path {} does not exist",
                text::repeated(&params.old_path)
            );
            return Err(refused(FailureKind::NotFound, text));
        }
        Some(Memory::Top) => {
            let text = format!("Error: The folder {TOP} itself cannot be renamed");
            return Err(refused(FailureKind::InvalidArguments, text));
        }
        Some(Memory::File(path)) => Operation::RenameDocument(RenameDocument {
            path,
            new_path: document,
            repair_links: true,
        }),
        Some(Memory::Folder(path)) => Operation::RenameFolder(RenameFolder {
            path,
            new_path: folder,
        }),
    };
    if memory.find(&params.new_path)?.is_some() {
        return Err(taken());
    }
    match memory.write(vec![operation], "rename") {
        Ok(()) => answered(format!(
            "Successfully renamed {} to {}",
            params.old_path, params.new_path
        )),
        Err(EditorError::DocumentExists | EditorError::FolderExists) => Err(taken()),
        Err(error) => Err(memory.failure(&error, &params.old_path)),
    }
}
