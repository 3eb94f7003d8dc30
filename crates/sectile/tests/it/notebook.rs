//! The notebook world: what its contract's validation checklist asks for, box by box, and what can be sent to it.

/// Notebooks in a bucket and their index in a database: the same answers, and faults of the servers.
#[cfg(feature = "backends")]
mod backends;
/// What bad arguments, ids and tokens answer.
mod bad_input;
/// The boxes of the contract's validation checklist, by name.
mod checklist;
/// Which collection a caller has entered, in both eras and on both transports.
mod contexts;
/// The listing and every schema, pinned.
mod contract;
/// A damaged index never gives a wrong answer.
mod damage;
/// Same question, same notebooks, same bytes.
mod determinism;
/// Numbers that look random and are the same for the same seed.
pub(crate) mod dice;
/// How well documents are found, on a public test set.
mod eval;
/// What is found follows the files while the server runs.
mod freshness;
/// An index whose writer was killed is the old one or the new one.
mod kills;
/// What names are given back for names that lead nowhere.
mod messages;
/// Whatever happens to the files between two calls, nothing false is verified.
mod mutation;
/// Every row of the table of points that the contract left open, by name.
mod open_points;
/// Promises that are easily broken in silence, by name.
mod promises;
/// Answers held against the disk, by a second reading.
mod proof;
/// Every file is what it was after every tool was used.
mod read_only;
/// Several servers over one library, and clients that go to any of them.
mod replicas;
/// The arguments and fields of the contract, with their types.
mod shapes;
/// The second tier of an index: filled whatever happens, and in use when it is complete.
mod tiers;
/// Notes at the top of a library.
mod top;
/// A walk over every tool.
mod tour;
/// What is hidden cannot be told from what does not exist.
mod visibility;
/// Answers without what the contract publishes as volatile.
mod volatile;

use std::{fs, path::PathBuf, process::Command};

use serde_json::{Value, json};

use self::{proof::sha256, volatile::stable};
use crate::fixture::{Era, Http, NOTE_TEXT, Stdio, TestVault, initialize, sectile, tool_text};

/// The tools, in listing order.
const TOOLS: [&str; 11] = [
    "describe_world",
    "list_collections",
    "enter_collection",
    "list_artifact_sets",
    "semantic_search",
    "fetch_passage",
    "retrieve_artifact",
    "begin_result_stream",
    "next_stream_chunk",
    "explain_provenance",
    "list_constraints",
];

/// A call of each tool that needs a collection.
fn data_calls() -> [(&'static str, Value); 7] {
    [
        ("list_artifact_sets", json!({})),
        ("semantic_search", json!({ "query": "ice" })),
        ("fetch_passage", json!({ "source_id": source("journal") })),
        ("retrieve_artifact", json!({ "artifact_id": "x" })),
        ("begin_result_stream", json!({ "query": "ice" })),
        ("next_stream_chunk", json!({ "stream_token": "x" })),
        (
            "explain_provenance",
            json!({ "id": source("journal"), "id_type": "source" }),
        ),
    ]
}

/// A well-formed id of a passage that is not there.
fn source(collection: &str) -> String {
    format!("{collection}/one.md@0-4:0123456789abcdef")
}

/// Two collections of notebooks.
struct Library {
    vault: TestVault,
}

impl Library {
    fn new() -> Self {
        let vault = TestVault::empty();
        vault.note(
            "journal/one.md",
            format!("# Ice\n\nThe ice on the lake is thin. {NOTE_TEXT}\n\n# Snow\n\nSnow fell.\n"),
        );
        vault.note("journal/deep/two.md", "# Thaw\n\nThe ice broke.\n");
        vault.note("physics/water.md", "# Phases\n\nIce floats on water.\n");
        Self { vault }
    }

    /// The same, and a collection with dates, a long section and artifacts.
    fn rich() -> Self {
        let library = Self::new();
        let vault = &library.vault;
        vault.note(
            "lab/dated.md",
            "---\ntitle: Field book\nauthor: Ada\ndate: 2024-05-06\n---\n\n# Week 19\n\nThe ice on the lake was measured.\n\n\
             ## 2024-05-08, a Wednesday\n\nThe ice was thin on the eighth.\n",
        );
        let paragraph = |number: usize| {
            let line = format!("Glacier number {number} moves é over the ice of the valley. ");
            format!("{}\n\n", line.repeat(28).trim_end())
        };
        let long: String = (1..=3).map(paragraph).collect();
        vault.note(
            "lab/plain.md",
            format!("# Glaciers\n\n{long}# Rest\n\nNothing of it.\n"),
        );
        library.add(
            "one",
            &[("summary.md", "They measured.\n")],
            &[
                "--source",
                "dated.md",
                "--step",
                "tool=summarise;model=small",
            ],
        );
        library.add(
            "two",
            &[("facts.json", "{\"n\": 1}"), ("notes.txt", "Notes.\n")],
            &["--source", "plain.md"],
        );
        library.add(
            "own",
            &[("review.md", "I looked.\n")],
            &["--status", "canonical"],
        );
        library
    }

    /// Adds a set of artifacts to the collection with dates.
    fn add(&self, set: &str, files: &[(&str, &str)], more: &[&str]) {
        let mut command = sectile();
        command
            .args(["notebook", "artifact", "add"])
            .arg(self.vault.root());
        command.args(["lab", set, "--type", "summary"]);
        for (name, text) in files {
            let file = self.vault.outside().join(name);
            fs::write(&file, text).unwrap();
            command.arg(file);
        }
        let output = command.args(more).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    fn command(&self, settings: &str) -> Command {
        let mut command = sectile();
        command.args(["serve", "notebook"]).arg(self.vault.root());
        if !settings.is_empty() {
            command.arg("--config").arg(self.vault.config(settings));
        }
        command
    }

    fn open(&self, era: Era) -> Client<'_> {
        self.open_with(era, "")
    }

    fn open_with(&self, era: Era, settings: &str) -> Client<'_> {
        Client::start(&self.vault, self.command(settings), era)
    }

    /// A command that indexes the library, with more arguments: the tier that is ready at once.
    fn index_command(&self, more: &[&str]) -> Command {
        let mut command = self.tiers_command(more);
        command.args(["--tier", "static"]);
        command
    }

    /// A command that indexes the library, with more arguments: all tiers, unless they say otherwise.
    fn tiers_command(&self, more: &[&str]) -> Command {
        let mut command = sectile();
        // Tests that count what is embedded find nothing that others have embedded.
        command.env("XDG_CACHE_HOME", self.vault.cache());
        command.args(["notebook", "index"]).arg(self.vault.root());
        command.arg("--json").args(more);
        command
    }

    /// Indexes the library and returns what was done, by collection.
    fn index(&self, more: &[&str]) -> Vec<Value> {
        let output = self.index_command(more).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Where the index of a collection is.
    fn index_folder(&self, collection: &str) -> PathBuf {
        let digits = sha256(collection.as_bytes());
        let all = self.vault.root().join(".sectile/notebook");
        all.join(&digits[..16])
    }

    fn http(&self, settings: &str) -> Http<'_> {
        Http::spawn(&self.vault, self.command(settings))
    }
}

/// A client on stdio, which passes the handle that it was given.
struct Client<'a> {
    era: Era,
    server: Stdio<'a>,
    handle: Option<String>,
}

impl<'a> Client<'a> {
    /// A client of a server that a command starts.
    fn start(vault: &'a TestVault, command: Command, era: Era) -> Self {
        let mut server = Stdio::spawn(vault, command);
        if era == Era::Handshake {
            server.exchange(&initialize(0));
            server.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        }
        Self {
            era,
            server,
            handle: None,
        }
    }

    /// The whole result of a call.
    fn result(&mut self, tool: &str, arguments: Value) -> Value {
        let mut arguments = arguments;
        if let Some(handle) = &self.handle
            && !["list_collections", "list_constraints"].contains(&tool)
            && arguments.get("context_handle").is_none()
        {
            arguments["context_handle"] = json!(handle);
        }
        let answer = self.server.call(self.era, tool, arguments);
        let result = &answer["result"];
        assert!(result.is_object(), "{answer}");
        result.clone()
    }

    /// What a call answers, which must be no error.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// The error that a call answers.
    fn error(&mut self, tool: &str, arguments: Value) -> Value {
        error_of(&self.result(tool, arguments))
    }

    fn search(&mut self, query: &str) -> Value {
        self.call("semantic_search", json!({ "query": query }))
    }

    fn enter(&mut self, collection: &str) -> Value {
        let entered = self.call("enter_collection", json!({ "collection_id": collection }));
        self.handle = entered["context_handle"].as_str().map(str::to_owned);
        assert_eq!(self.handle.is_some(), self.era == Era::Stateless);
        entered
    }
}

/// The error in a result.
fn error_of(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    let text = tool_text(&json!({ "result": result })).to_owned();
    let object: Value = serde_json::from_str(&text).unwrap();
    let error = object["error"].clone();
    for key in ["type", "message", "recovery"] {
        assert!(error[key].is_string(), "{error}");
    }
    assert!(error["context"].is_object(), "{error}");
    error
}
