//! A complete world in one file: it searches, reads and edits a folder by means of `sectile-library`, `sectile-vault` and
//! `sectile-mcp` alone, and is served in process to a real client. See "Add a world" in CONTRIBUTING.md.

/// A real client of it.
mod client;

use std::{error::Error, path::Path, sync::Arc};

use schemars::JsonSchema;
use sectile_library::{
    SearchQuery, TOP, clock,
    folder::FolderStorage,
    ids::SourceId,
    library::Library,
    open_collections::{IndexStorage, OpenCollections},
};
use sectile_mcp::{
    AnswerFacts, CallContext, ErrorList, ErrorResponse, Failure, FailureKind, Policy, Surface,
    SurfaceLimits, Tool, WorldSpec,
};
use sectile_vault::{
    Editor, JournalKey, NotePath, Walk,
    editor::{CallHooks, EditText, EditorOptions, Operation, Scope, WriteRequest},
};
use serde::{Deserialize, Serialize};

use crate::fixture::PATIENCE;

/// The state of the world: one folder, open for search and for edits.
struct ExampleWorld {
    notes: OpenCollections,
    editor: Editor,
}

#[derive(Serialize, JsonSchema)]
struct ExampleAnswer {
    /// Ids of passages, or a diff.
    lines: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct FindParams {
    /// Words to look for.
    query: String,
}

#[derive(Deserialize, JsonSchema)]
struct ReadParams {
    /// An id from `find`.
    id: String,
}

#[derive(Deserialize, JsonSchema)]
struct EditParams {
    /// Path of the document, relative to the folder.
    path: String,
    /// A passage that occurs in it once.
    old: String,
    /// The passage to put in its place.
    new: String,
}

type Answered = Result<(ExampleAnswer, AnswerFacts), Failure>;

fn answer(lines: impl Iterator<Item = String>) -> Answered {
    let lines = lines.collect();
    Ok((ExampleAnswer { lines }, AnswerFacts::default()))
}

/// Turns any error of the engines into a failure. A world with a contract has a row for each of them.
fn failed(error: impl Error) -> Failure {
    Failure::new(FailureKind::NotFound, error.to_string())
}

fn find(world: &ExampleWorld, params: FindParams, call: &CallContext) -> Answered {
    let query = SearchQuery::parse(params.query).map_err(failed)?;
    let stop = || call.cancelled.is_cancelled();
    // Now the index knows what this server or any other program wrote.
    world.notes.refresh(TOP, &stop).map_err(failed)?;
    let found = world.notes.search(TOP, &query, 8, &stop).map_err(failed)?;
    answer(found.hits.iter().map(|hit| hit.id.to_string()))
}

/// Answers with the text itself: as JSON, a model would read it escaped.
fn read(
    world: &ExampleWorld,
    params: ReadParams,
    _: &CallContext,
) -> Result<(String, AnswerFacts), Failure> {
    let malformed = || Failure::new(FailureKind::InvalidArguments, "Not an id from find.");
    let id = SourceId::parse(&params.id).ok_or_else(malformed)?;
    let quote = world.notes.quote(&id, 0).map_err(failed)?;
    Ok((quote.text, AnswerFacts::default()))
}

fn edit(world: &ExampleWorld, params: EditParams, call: &CallContext) -> Answered {
    let replacement = EditText {
        path: Some(NotePath::parse_vault(&params.path).map_err(failed)?),
        section: None,
        old_text: params.old,
        new_text: params.new,
        expected_count: 1,
        scope: Scope::Subtree,
        expected_hash: None,
    };
    let request = WriteRequest {
        operations: vec![Operation::EditText(replacement)],
        name: "edit".to_owned(),
        actor: "example".to_owned(),
        reason: None,
        request: None,
        dry_run: false,
        confirmed: false,
        plan: None,
    };
    let stop = || call.cancelled.is_cancelled();
    let written = world.editor.write(&request, CallHooks::until(&stop));
    world.notes.changed(TOP);
    let documents = written.map_err(failed)?.documents.into_iter();
    answer(documents.map(|document| document.diff))
}

fn surface(folder: &Path) -> Surface {
    let storage = FolderStorage::whole(folder, Walk::default(), 1 << 20).unwrap();
    let library = Arc::new(Library::of(Arc::new(storage)));
    let key = JournalKey::new(&[7; JournalKey::BYTES]);
    let options = EditorOptions::new(key, clock::now);
    let world = ExampleWorld {
        notes: OpenCollections::new(library, IndexStorage::Folder(None), clock::now),
        editor: Editor::folder(folder, options).unwrap(),
    };
    let envelope = |failure: &Failure| ErrorResponse::Text(failure.told());
    let spec = WorldSpec {
        tools: vec![
            Tool::read("find", "Find", "Find passages.").call(find),
            Tool::read("read", "Read", "Read a passage that find returned.")
                .alias("source_id", "id")
                .call_text(read),
            Tool::write("edit", "Edit", "Replace a passage of a document.").call(edit),
        ],
        ..WorldSpec::new("example", "Find, then read.", envelope, ErrorList::default)
    };
    let limits = SurfaceLimits {
        max_in_flight: 4,
        max_in_flight_per_caller: 4,
        max_waiting: 4,
        max_waiting_per_caller: 4,
        call_timeout: PATIENCE,
        inline_when_alone: false,
    };
    Surface::new(spec, world, Policy::default(), limits)
}
