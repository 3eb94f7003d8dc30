//! `sectile demo`: the real server on a sample folder, and the messages that a client would see.

use std::{path::Path, sync::Arc, time::Duration};

use sectile_library::{folder::FolderStorage, library::Library, open_collections::IndexStorage};
use sectile_mcp::{Policy, Surface, SurfaceLimits, stdio};
use sectile_vault::{Walk, editor::EditorOptions};
use serde_json::{Value, json};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
        split,
    },
    runtime,
};
use tokio_util::sync::CancellationToken;

use super::ui::{CliError, DIM, HEADING, NAME, StyledText, print};
use crate::{
    files,
    worlds::{
        docs::{self, DocsSettings, DocsWorld, corpus::DocsCorpus, manual},
        editor::{self, EditorWorld, ErrorStyle},
        key_of_this_process,
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
    let folder = tempfile::tempdir()?;
    for (path, text) in SAMPLE {
        files::write_sample(&folder.path().join(path), text)?;
    }
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(show(folder.path()))
}

async fn show(root: &Path) -> Result<(), CliError> {
    let mut client = DemoClient::connect(vault_surface(root)?).await?;
    heading("A folder of notes, and what is in one of them")?;
    for (path, _) in SAMPLE {
        print(format_args!("  {path}\n"))?;
    }
    let shown: String = SAMPLE[0]
        .1
        .lines()
        .take(14)
        .map(|line| format!("  | {line}\n"))
        .collect();
    print(format_args!("\n{}  | ...\n", StyledText(DIM, shown)))?;

    heading("An agent asks for the outline: structure, no text")?;
    client
        .call(
            "get_note_outline",
            json!({ "path": "projects/harbour/plan.md" }),
        )
        .await?;
    heading("Every section with its id and position, and whether there is something to read")?;
    client
        .call("get_section_source", json!({ "path": "inbox/ideen.md" }))
        .await?;
    heading("Facets: tags and dates. The front matter also has an api_key; it is not among them")?;
    client
        .call(
            "get_metadata_facets",
            json!({ "path": "projects/harbour/plan.md" }),
        )
        .await?;
    heading("A path that leads outside is refused, and not even repeated")?;
    client
        .call("get_document_tree", json!({ "path": "../../etc/passwd" }))
        .await?;

    show_edits(root).await?;
    show_search().await?;
    show_quote(root).await?;

    heading("Your turn")?;
    print(
        "  sectile outline README.md\n  sectile edit list README.md\n  sectile docs search \"how do I undo an edit?\"\n  sectile connect claude-code --root ~/notes\n  sectile connect claude-code --world editor --root ~/notes\n  sectile notebook search ~/notes journal \"what did we decide?\"\n",
    )
}

/// Shows the second world: text and edits.
async fn show_edits(root: &Path) -> Result<(), CliError> {
    let mut client = DemoClient::connect(editor_surface(root)?).await?;
    heading("Another agent may edit: it reads one section and gets its id and hash")?;
    let path = "projects/harbour/plan.md";
    let section = client
        .call(
            "get_section",
            json!({ "path": path, "heading": "Saturday" }),
        )
        .await?;
    heading("It changes that section. The bytes are on disk before the answer arrives")?;
    let update = json!({
        "section_id": section["section_id"],
        "content": "Boats at ten, music at noon.",
        "expected_hash": section["hash"],
        "reason": "The pilot asked for it.",
    });
    let written = client.call_quietly("update_section", update).await?;
    print(diff(&written))?;
    heading("It writes from a stale copy: nothing is lost, nothing is written")?;
    let stale = json!({
        "section_id": section["section_id"],
        "content": "Boats at eight, music at noon.",
        "expected_hash": section["hash"],
    });
    let refused = client.call_quietly("update_section", stale).await?;
    print(format_args!(
        "  {} {}\n",
        StyledText(NAME, "<-"),
        folded(&json!({
            "code": refused["code"],
            "message": refused["message"],
            "theirs": refused["data"]["theirs"],
        }))
    ))?;
    heading("Undo, which also works tomorrow")?;
    let undone = client.call_quietly("undo", json!({ "path": path })).await?;
    print(diff(&undone))
}

/// Shows the third world: Sectile's own manual.
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

/// Shows the fourth world: a library that is searched and quoted.
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

/// Returns the diff of the first document that a write changed.
fn diff(written: &Value) -> String {
    let text = written["documents"][0]["diff"].as_str().unwrap_or_default();
    let lines = super::edit::diff(text);
    let indented: String = lines.lines().map(|line| format!("  {line}\n")).collect();
    indented
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

fn editor_surface(root: &Path) -> Result<Surface, CliError> {
    let options = EditorOptions::new(key_of_this_process()?, editor::now);
    let (state, extent) = EditorWorld::open(root, options, MAX_BYTES).map_err(CliError::failed)?;
    let spec = editor::spec(extent, ErrorStyle::Protocol);
    Ok(Surface::new(spec, state, Policy::default(), LIMITS))
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
    let corpus = DocsCorpus::load(&settings, manual::EMBEDDED);
    Surface::new(
        docs::spec(&settings.written),
        DocsWorld::new(&settings.written, corpus),
        Policy::default(),
        LIMITS,
    )
}

/// A client that speaks MCP with the server over a pair of in-memory pipes.
struct DemoClient {
    to_server: WriteHalf<DuplexStream>,
    from_server: BufReader<ReadHalf<DuplexStream>>,
    next_id: u64,
}

impl DemoClient {
    async fn connect(surface: Surface) -> Result<Self, CliError> {
        let surface = Arc::new(surface);
        let (ours, theirs) = tokio::io::duplex(MAX_BYTES);
        let (reader, writer) = split(theirs);
        tokio::spawn(stdio::serve_streams(
            surface,
            reader,
            writer,
            MAX_BYTES,
            CancellationToken::new(),
        ));
        let (from_server, to_server) = split(ours);
        let mut client = Self {
            to_server,
            from_server: BufReader::new(from_server),
            next_id: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "sectile-demo", "version": env!("CARGO_PKG_VERSION") },
        });
        client.request("initialize", &hello).await?;
        Ok(client)
    }

    /// Sends one request and waits for its answer.
    async fn request(&mut self, method: &str, params: &Value) -> Result<Value, CliError> {
        self.next_id += 1;
        let message =
            json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params });
        self.to_server
            .write_all(format!("{message}\n").as_bytes())
            .await?;
        let mut line = String::new();
        self.from_server.read_line(&mut line).await?;
        serde_json::from_str(&line).map_err(|_| CliError::failed("the server's answer is not JSON"))
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

    /// Calls a tool and prints only the request.
    async fn call_quietly(&mut self, tool: &str, arguments: Value) -> Result<Value, CliError> {
        let params = json!({ "name": tool, "arguments": arguments });
        print(format_args!(
            "  {} tools/call {params}\n",
            StyledText(NAME, "->")
        ))?;
        let answer = self.request("tools/call", &params).await?;
        if answer["error"].is_object() {
            return Ok(answer["error"].clone());
        }
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default();
        Ok(serde_json::from_str(text).unwrap_or_default())
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
