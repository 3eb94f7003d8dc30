//! The Inspector's command line: listings and answers that other clients can use, on both transports and in both eras.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::subject::{Kind, NOTE, SENTINELS, Subject};
use super::{Bench, Job, Row, in_parallel};
use crate::process::bounded;

const LIMIT: Duration = Duration::from_secs(60);

/// A request that the Inspector makes, and what must come back.
struct Request {
    arguments: &'static [&'static str],
    /// Where to look in the result, as a JSON pointer.
    at: &'static str,
    expected: Expected,
}

enum Expected {
    Text(&'static str),
    /// A list of things with exactly these names, in any order.
    Names(&'static [&'static str]),
    /// A list of things with these names among others.
    Among(&'static [&'static str]),
}

use Expected::{Among, Names, Text};

const fn request(
    arguments: &'static [&'static str],
    at: &'static str,
    expected: Expected,
) -> Request {
    Request {
        arguments,
        at,
        expected,
    }
}

const LIST_TOOLS: &[&str] = &["tools/list", "--strict"];

const VAULT: &[Request] = &[
    request(
        LIST_TOOLS,
        "/tools",
        Names(&[
            "get_document_tree",
            "get_metadata_facets",
            "get_note_outline",
            "get_section_source",
        ]),
    ),
    vault_call(&[
        "tools/call",
        "--tool-name",
        "get_document_tree",
        "--tool-arg",
        "path=inbox/example.md",
    ]),
    vault_call(&[
        "tools/call",
        "--tool-name",
        "get_metadata_facets",
        "--tool-arg",
        "path=inbox/example.md",
    ]),
    vault_call(&[
        "tools/call",
        "--tool-name",
        "get_note_outline",
        "--tool-arg",
        "path=inbox/example.md",
    ]),
    vault_call(&[
        "tools/call",
        "--tool-name",
        "get_section_source",
        "--tool-arg",
        "path=inbox/example.md",
    ]),
];

const fn vault_call(arguments: &'static [&'static str]) -> Request {
    request(arguments, "/structuredContent/path", Text(NOTE))
}

/// The tools of the contract that the editor follows.
const EDITOR_TOOLS: Expected = Among(&[
    "insert_section",
    "delete_section",
    "update_section",
    "move_section",
    "get_section",
    "list_sections",
    "undo",
    "redo",
    "get_document",
]);

const LIST_PROMPTS: Request = request(
    &["prompts/list"],
    "/prompts",
    Names(&["generate_outline", "rewrite_section", "summarize_section"]),
);

const GET_PROMPT: Request = request(
    &[
        "prompts/get",
        "--prompt-name",
        "summarize_section",
        "--prompt-args",
        "section_content=Some text.",
    ],
    "/messages/0/content/text",
    Text("Summarize the following section:\nSome text."),
);

const EDITOR_FOLDER: &[Request] = &[
    request(LIST_TOOLS, "/tools", EDITOR_TOOLS),
    request(
        &[
            "tools/call",
            "--tool-name",
            "list_sections",
            "--tool-arg",
            "path=inbox/example.md",
        ],
        "/structuredContent/path",
        Text(NOTE),
    ),
    request(
        &[
            "tools/call",
            "--tool-name",
            "insert_section",
            "--tool-arg",
            "heading=Introduction",
            "content=This is the intro.",
            "position=0",
            "path=inbox/example.md",
        ],
        "/structuredContent/message",
        Text("Section inserted."),
    ),
    request(
        &["resources/list"],
        "/resources",
        Among(&[NOTE, "projects/plan/plan.md", "日本語/メモ.md"]),
    ),
    request(
        &["resources/templates/list"],
        "/resourceTemplates",
        Names(&["document", "history", "metadata"]),
    ),
    request(
        &[
            "resources/read",
            "--uri",
            "sectile://editor/metadata/inbox/example.md",
        ],
        "/contents/0/mimeType",
        Text("application/json"),
    ),
    LIST_PROMPTS,
    GET_PROMPT,
];

const EDITOR_DOCUMENT: &[Request] = &[
    request(LIST_TOOLS, "/tools", EDITOR_TOOLS),
    request(
        &["tools/call", "--tool-name", "list_sections"],
        "/structuredContent/path",
        Text("example.md"),
    ),
    request(
        &[
            "tools/call",
            "--tool-name",
            "insert_section",
            "--tool-arg",
            "heading=Introduction",
            "content=This is the intro.",
            "position=0",
        ],
        "/structuredContent/message",
        Text("Section inserted."),
    ),
    request(
        &["resources/list"],
        "/resources",
        Names(&["document", "history", "metadata"]),
    ),
    request(
        &["resources/templates/list"],
        "/resourceTemplates",
        Names(&[]),
    ),
    request(
        &["resources/read", "--uri", "sectile://editor/document"],
        "/contents/0/mimeType",
        Text("application/json"),
    ),
    LIST_PROMPTS,
    GET_PROMPT,
];

const DOCS: &[Request] = &[
    request(LIST_TOOLS, "/tools", Names(&["sectile_docs_search"])),
    request(
        &[
            "tools/call",
            "--tool-name",
            "sectile_docs_search",
            "--tool-arg",
            "query=rename a heading and keep links working",
        ],
        "/structuredContent/sections/0/uri",
        Text("sectile://docs/recipes#rename-a-heading-and-keep-links-working"),
    ),
    request(
        &["resources/list"],
        "/resources",
        Among(&["model", "recipes", "errors"]),
    ),
    request(
        &["resources/templates/list"],
        "/resourceTemplates",
        Names(&["document", "section"]),
    ),
    request(
        &["resources/read", "--uri", "sectile://docs/recipes"],
        "/contents/0/mimeType",
        Text("text/markdown"),
    ),
];

const NOTEBOOK: &[Request] = &[
    request(
        LIST_TOOLS,
        "/tools",
        Names(&[
            "begin_result_stream",
            "describe_world",
            "enter_collection",
            "explain_provenance",
            "fetch_passage",
            "list_artifact_sets",
            "list_collections",
            "list_constraints",
            "next_stream_chunk",
            "retrieve_artifact",
            "semantic_search",
        ]),
    ),
    request(
        &["tools/call", "--tool-name", "list_collections"],
        "/structuredContent/collections/0/collection_id",
        Text("inbox"),
    ),
    request(
        &[
            "tools/call",
            "--tool-name",
            "enter_collection",
            "--tool-arg",
            "collection_id=projects",
        ],
        "/structuredContent/collection_id",
        Text("projects"),
    ),
];

#[derive(Clone, Copy)]
enum Transport {
    Stdio,
    Http,
}

pub(super) fn run(bench: &Bench, subjects: &[Subject]) -> Vec<Row> {
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for subject in subjects {
        for (transport, transport_name) in [(Transport::Stdio, "stdio"), (Transport::Http, "http")]
        {
            if matches!(transport, Transport::Stdio) && !subject.is_on_stdio() {
                continue;
            }
            for era in ["legacy", "modern"] {
                let name = format!("inspector, {}, {transport_name}, {era}", subject.name);
                jobs.push(Box::new(move || {
                    vec![ask_all(bench, subject, transport, era, name)]
                }));
            }
        }
    }
    in_parallel(jobs)
}

fn ask_all(bench: &Bench, subject: &Subject, transport: Transport, era: &str, name: String) -> Row {
    let requests = match subject.kind {
        Kind::Vault | Kind::Hosted => VAULT,
        Kind::EditorFolder => EDITOR_FOLDER,
        Kind::EditorDocument => EDITOR_DOCUMENT,
        Kind::Docs => DOCS,
        Kind::Notebook => NOTEBOOK,
    };
    let log = name.replace(", ", "-");
    let mut row = Row::new(name);
    for (index, request) in requests.iter().enumerate() {
        let outcome = ask(
            bench,
            subject,
            transport,
            era,
            request,
            &format!("{log}-{index}"),
        );
        row.record(outcome.with_context(|| request.arguments.join(" ")));
    }
    row
}

fn ask(
    bench: &Bench,
    subject: &Subject,
    transport: Transport,
    era: &str,
    request: &Request,
    log: &str,
) -> Result<()> {
    let mut command = bench.node(
        "@modelcontextprotocol/inspector",
        "clients/launcher/build/index.js",
    );
    command.arg("--cli");
    match transport {
        // Without settings of its own: the inspector takes `--config` for itself, wherever it stands.
        Transport::Stdio => command.arg(&bench.binary).args(subject.arguments()),
        Transport::Http => command.args([&subject.url, "--transport", "http"]),
    };
    if subject.store.is_some() {
        let header = format!("Authorization: {}", subject.authorization());
        command.args(["--header", &header]);
    }
    command
        .args(["--protocol-era", era, "--format", "json", "--method"])
        .args(request.arguments);
    let finished = bounded(&mut command, &bench.log(log), LIMIT)?;
    if !finished.status.success() {
        bail!("{}", finished.tail());
    }
    let said = &finished.stdout;
    if let Some(sentinel) = SENTINELS
        .iter()
        .find(|sentinel| subject.is_body_free() && said.contains(**sentinel))
    {
        bail!("the answer holds `{sentinel}`");
    }
    let answer: Value = serde_json::from_str(said).context("the answer is not JSON")?;
    check(request, answer.get("result").unwrap_or(&answer))
}

fn check(request: &Request, result: &Value) -> Result<()> {
    if result["isError"] == true {
        bail!("the tool failed: {result}");
    }
    let found = result
        .pointer(request.at)
        .with_context(|| format!("there is no {} in {result}", request.at))?;
    let names = || -> Vec<&str> {
        let list = found.as_array().into_iter().flatten();
        list.filter_map(|item| item["name"].as_str()).collect()
    };
    let is_met = match &request.expected {
        Text(text) => found == text,
        Among(wanted) => wanted.iter().all(|name| names().contains(name)),
        Names(wanted) => {
            names().len() == wanted.len() && wanted.iter().all(|name| names().contains(name))
        }
    };
    if !is_met {
        bail!("not what was expected at {}: {found}", request.at);
    }
    Ok(())
}
