//! `sectile demo`: the real server on a sample folder, and the messages that a client would see.

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
        split,
    },
    runtime,
};
use tokio_util::sync::CancellationToken;

use super::ui::{CliError, DIM, HEADING, NAME, Styled, print};
use crate::{
    files,
    mcp::{Limits, Policy, Surface, stdio},
    worlds::vault::{self, Vault},
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
    let mut client = Client::connect(root).await?;
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
    print(format_args!("\n{}  | ...\n", Styled(DIM, shown)))?;

    heading("An agent asks for the outline: structure, no text")?;
    client
        .call("get_note_outline", "projects/harbour/plan.md")
        .await?;
    heading("Every section with its id and place, and whether there is something to read")?;
    client.call("get_section_source", "inbox/ideen.md").await?;
    heading("Facets: tags and dates. The front matter also has an api_key; it is not among them")?;
    client
        .call("get_metadata_facets", "projects/harbour/plan.md")
        .await?;
    heading("A path that leads out is refused, and not even repeated")?;
    client.call("get_document_tree", "../../etc/passwd").await?;

    heading("Your turn")?;
    print("  sectile outline README.md\n  sectile connect claude-code --root ~/notes\n")
}

fn heading(text: &str) -> Result<(), CliError> {
    print(format_args!("\n{}\n", Styled(HEADING, text)))
}

/// A client that speaks MCP with the server over a pair of in-memory pipes.
struct Client {
    to_server: WriteHalf<DuplexStream>,
    from_server: BufReader<ReadHalf<DuplexStream>>,
    next_id: u64,
}

impl Client {
    async fn connect(root: &Path) -> Result<Self, CliError> {
        let state = Vault::open(root, MAX_BYTES as u64).map_err(CliError::failed)?;
        let limits = Limits {
            max_in_flight: 4,
            max_waiting: 4,
            call_timeout: Duration::from_secs(10),
            inline_when_alone: false,
        };
        let surface = Arc::new(Surface::new(
            vault::spec(),
            state,
            Policy::default(),
            limits,
        ));
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
    async fn call(&mut self, tool: &str, path: &str) -> Result<(), CliError> {
        let params = json!({ "name": tool, "arguments": { "path": path } });
        print(format_args!(
            "  {} tools/call {params}\n",
            Styled(NAME, "->")
        ))?;
        let answer = self.request("tools/call", &params).await?;
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default();
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        print(format_args!(
            "  {} {}\n",
            Styled(NAME, "<-"),
            folded(&value)
        ))
    }
}

/// A JSON object with one field or one list entry a line.
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
