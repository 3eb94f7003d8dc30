//! `sectile demo`: the real server on a sample folder, and the messages that a client would see.

use std::{path::Path, sync::Arc, time::Duration};

use sectile_library::{folder::FolderStorage, library::Library, open_collections::IndexStorage};
use sectile_mcp::{Policy, Surface, SurfaceLimits};
use sectile_vault::Walk;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{DuplexStream, ReadHalf, WriteHalf},
    runtime,
};

use super::{
    line_client::{LineClient, answer_text},
    ui::{CliError, DIM, HEADING, NAME, StyledText, print},
};
use crate::{
    files,
    worlds::{
        desk,
        docs::{
            self, DocsSettings, DocsWorld,
            sources::{DocsSources, SourceOptions},
        },
        editor, key_of_this_process,
        notebook::{self, Constraints, NotebookWorld},
        vault::{self, VaultWorld},
    },
};

/// The sample folder.
const SAMPLE: [(&str, &str); 3] = [
    ("projects/harbour/plan.md", include_str!("demo/plan.md")),
    (
        "inbox/reading-list.md",
        include_str!("demo/reading-list.md"),
    ),
    ("inbox/ideen.md", include_str!("demo/ideen.md")),
];

const MAX_BYTES: usize = 1 << 20;

pub(super) fn run() -> Result<(), CliError> {
    let folder = sample_folder()?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(show(folder.path()))
}

/// Writes the sample into a folder that is removed again.
pub(super) fn sample_folder() -> Result<TempDir, CliError> {
    let written = tempfile::tempdir().and_then(|folder| {
        for (path, text) in SAMPLE {
            files::write_sample(&folder.path().join(path), text)?;
        }
        Ok(folder)
    });
    written.map_err(|error| {
        let reason = files::reason(error.kind());
        CliError::failed(format_args!(
            "the temporary folder cannot be written ({reason}); set TMPDIR to one that can and has space"
        ))
    })
}

async fn show(root: &Path) -> Result<(), CliError> {
    heading("A folder of notes, and one of them")?;
    for (path, _) in SAMPLE {
        print(format_args!("  {path}\n"))?;
    }
    let shown: String = SAMPLE[0]
        .1
        .lines()
        .skip(8)
        .map(|line| format!("  | {line}\n"))
        .collect();
    print(format_args!("\n{}", StyledText(DIM, shown)))?;
    show_desk(root).await?;
    show_structure(root).await?;
    show_quote(root).await?;
    show_search().await?;
    heading("Your turn")?;
    print(
        "  sectile connect claude-code --root ~/notes\n  sectile search \"what did we decide?\"\n  sectile outline\n  sectile edit README.md --old draft --new final\n  sectile undo\n",
    )
}

/// Shows the desk: find, read, edit, a conflict, a rename, undo.
async fn show_desk(root: &Path) -> Result<(), CliError> {
    let mut client = DemoClient::connect(desk_surface(root)?).await?;
    heading("An agent searches, by words and by meaning")?;
    let query = json!({ "query": "ships and concerts at the weekend", "limit": 1 });
    let found = client.call("search", query).await?;
    let hit = &found["results"][0];
    heading("It reads that section: its exact bytes, and the base that an edit starts from")?;
    let text = client.read("fetch", json!({ "id": hit["id"] })).await?;
    let base = text
        .split(" | ")
        .find_map(|part| part.strip_prefix("base "));
    heading("It changes one passage. The bytes are on disk before the answer arrives")?;
    let edit = json!({
        "id": hit["id"],
        "old": "Boats at nine",
        "new": "Boats at ten",
        "base": base,
    });
    client.write("edit", edit).await?;
    heading("Another agent still has the old text: nothing is lost, nothing is written")?;
    let stale = json!({ "id": hit["id"], "new": "Boats at eight, music at two.", "base": base });
    client.read("edit", stale).await?;
    heading("A heading gets a new name, and the link to it follows in the same change")?;
    let rename = json!({ "id": "plan#Saturday", "to": "Day one" });
    client.write("rename", rename).await?;
    heading("Undo, all of it or nothing; it also works tomorrow")?;
    client.write("undo", json!({})).await
}

/// Shows the vault world: structure, never text.
async fn show_structure(root: &Path) -> Result<(), CliError> {
    let mut client = DemoClient::connect(vault_surface(root)?).await?;
    heading("Another client may see only structure: `sectile serve vault` never shows text")?;
    let path = json!({ "path": "projects/harbour/plan.md" });
    client.call("get_note_outline", path).await?;
    heading("A path that leads outside is refused, and not even repeated")?;
    let path = json!({ "path": "../../etc/passwd" });
    client.call("get_document_tree", path).await?;
    Ok(())
}

/// Shows the docs world: Sectile's own manual.
async fn show_search() -> Result<(), CliError> {
    let mut client = DemoClient::connect(docs_surface()).await?;
    heading("Not sure what to call? The manual is inside, and can be searched")?;
    let query = json!({ "query": "undo one older change", "max_sections": 1 });
    let found = client.call_quietly("sectile_docs_search", query).await?;
    let section = &found["sections"][0];
    print(format_args!(
        "  {} {}\n",
        StyledText(NAME, "<-"),
        folded(&json!({
            "heading": section["heading"],
            "uri": section["uri"],
            "content": section["content"],
            "receipt": found["receipt"],
        }))
    ))
}

/// Shows the notebook world: a library that is searched and quoted.
async fn show_quote(root: &Path) -> Result<(), CliError> {
    let mut client = DemoClient::connect(notebook_surface(root)?).await?;
    heading(
        "The same notes as a library: a search matches words and meaning, and returns ids, not text",
    )?;
    let entered = json!({ "collection_id": "projects" });
    client.call_quietly("enter_collection", entered).await?;
    let query = json!({ "query": "ships and concerts at the weekend", "k": 1 });
    let found = client.call_quietly("semantic_search", query).await?;
    let hit = &found["results"][0];
    print(format_args!(
        "  {} {}\n",
        StyledText(NAME, "<-"),
        folded(&json!({
            "reference_id": hit["reference_id"],
            "relevance_score": hit["relevance_score"],
            "preview_snippet": hit["preview_snippet"],
        }))
    ))?;
    heading("The quote is read and hashed in the same call: it proves itself")?;
    let id = json!({ "source_id": hit["reference_id"] });
    let quote = client.call_quietly("fetch_passage", id).await?;
    print(format_args!(
        "  {} {}\n",
        StyledText(NAME, "<-"),
        folded(&json!({
            "exact_text": quote["passage"]["exact_text"],
            "integrity": quote["integrity"],
        }))
    ))
}

fn heading(text: &str) -> Result<(), CliError> {
    print(format_args!("\n{}\n", StyledText(HEADING, text)))
}

const LIMITS: SurfaceLimits = SurfaceLimits {
    max_in_flight: 4,
    max_in_flight_per_caller: 4,
    max_waiting: 4,
    max_waiting_per_caller: 4,
    call_timeout: Duration::from_secs(10),
    inline_when_alone: false,
};

fn vault_surface(root: &Path) -> Result<Surface, CliError> {
    let state = VaultWorld::open(root, MAX_BYTES as u64).map_err(CliError::failed)?;
    Ok(Surface::new(
        vault::spec(),
        state,
        Policy::default(),
        LIMITS,
    ))
}

pub(super) fn desk_surface(root: &Path) -> Result<Surface, CliError> {
    let state = desk::open_without_settings(root, key_of_this_process()?)?;
    Ok(Surface::new(desk::spec(), state, Policy::default(), LIMITS))
}

fn notebook_surface(root: &Path) -> Result<Surface, CliError> {
    let storage = FolderStorage::open(root, Walk::default(), MAX_BYTES as u64);
    let constraints = Constraints::default();
    let state = NotebookWorld::new(
        Arc::new(Library::of(Arc::new(storage.map_err(CliError::failed)?))),
        IndexStorage::Folder(None),
        constraints,
        editor::now,
    );
    let spec = notebook::spec(&constraints);
    Ok(Surface::new(spec, state, Policy::default(), LIMITS))
}

fn docs_surface() -> Surface {
    let mut settings = DocsSettings::default();
    settings.written.max_doc_bytes = MAX_BYTES as u64;
    let sources = DocsSources::open(&settings, sectile_manual::PAGES, SourceOptions::default());
    Surface::new(
        docs::spec(&settings.written),
        DocsWorld::new(&settings.written, sources),
        Policy::default(),
        LIMITS,
    )
}

/// A client of a server in this process, which prints what it says and hears.
struct DemoClient(LineClient<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>);

impl DemoClient {
    async fn connect(surface: Surface) -> Result<Self, CliError> {
        LineClient::of_surface(surface).await.map(Self)
    }

    /// Calls a tool and prints both messages, as a client would see them.
    async fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, CliError> {
        let value = self.call_quietly(tool, arguments).await?;
        print(format_args!(
            "  {} {}\n",
            StyledText(NAME, "<-"),
            folded(&value)
        ))?;
        Ok(value)
    }

    /// Calls a tool and prints the request, and the text of the answer as it is.
    async fn read(&mut self, tool: &str, arguments: Value) -> Result<String, CliError> {
        let text = self.ask(tool, arguments).await?;
        let lines: String = text.lines().map(|line| format!("     {line}\n")).collect();
        let lines = lines.trim_start();
        print(format_args!("  {} {lines}", StyledText(NAME, "<-")))?;
        Ok(text)
    }

    /// Calls a tool that writes, and prints the diff and what else the answer says.
    async fn write(&mut self, tool: &str, arguments: Value) -> Result<(), CliError> {
        let mut answer = self.call_quietly(tool, arguments).await?;
        let diff = answer["diff"].take();
        if let Some(fields) = answer.as_object_mut() {
            fields.remove("diff");
        }
        print(format_args!("  {} {answer}\n", StyledText(NAME, "<-")))?;
        let lines = super::edit::diff(diff.as_str().unwrap_or_default());
        let indented: String = lines.lines().map(|line| format!("     {line}\n")).collect();
        print(indented)
    }

    /// Calls a tool and prints only the request.
    async fn call_quietly(&mut self, tool: &str, arguments: Value) -> Result<Value, CliError> {
        let text = self.ask(tool, arguments).await?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Calls a tool, prints the request, and returns the text of the answer.
    async fn ask(&mut self, tool: &str, arguments: Value) -> Result<String, CliError> {
        let params = json!({ "name": tool, "arguments": arguments });
        print(format_args!(
            "  {} tools/call {params}\n",
            StyledText(NAME, "->")
        ))?;
        let answer = self.0.request("tools/call", &params).await?;
        Ok(answer_text(&answer).to_owned())
    }
}

/// Formats a JSON object with one field or one list entry per line.
fn folded(value: &Value) -> String {
    let Value::Object(fields) = value else {
        return value.to_string();
    };
    let lines: Vec<String> = fields
        .iter()
        .map(|(key, value)| match value {
            Value::Array(items) if items.iter().any(Value::is_object) => {
                let items: Vec<String> =
                    items.iter().map(|item| format!("       {item}")).collect();
                format!("{key:?}: [\n{}]", items.join(",\n"))
            }
            value => format!("{key:?}: {value}"),
        })
        .collect();
    format!("{{{}}}", lines.join(",\n      "))
}
