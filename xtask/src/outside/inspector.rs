//! The Inspector's command line: listings and answers that other clients can use, on both transports and in both eras.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::subject::{NOTE, SENTINELS, Subject, SubjectKind};
use super::{Bench, CheckRow, Job, in_parallel};
use crate::process::bounded;

const LIMIT: Duration = Duration::from_secs(60);

/// A request that the Inspector makes, and what must come back.
struct Request {
    /// The method and its options, one word each; `+` is a space in a word.
    words: String,
    /// The part of the result to check, as a JSON pointer.
    at: &'static str,
    expected: ExpectedReply,
}

enum ExpectedReply {
    Text(&'static str),
    /// A list of things with exactly these names, in any order.
    Names(&'static str),
    /// A list of things with these names among others.
    Among(&'static str),
    /// Skills with these names, one per line, whose files all have the digests that the list gave.
    Verified(&'static str),
}

use ExpectedReply::{Among, Names, Text, Verified};

fn request(words: impl Into<String>, at: &'static str, expected: ExpectedReply) -> Request {
    Request {
        words: words.into(),
        at,
        expected,
    }
}

fn call(words: &str, at: &'static str, expected: ExpectedReply) -> Request {
    request(format!("tools/call --tool-name {words}"), at, expected)
}

fn list_tools(expected: ExpectedReply) -> Request {
    request("tools/list --strict", "/tools", expected)
}

const VAULT_TOOLS: &str =
    "get_document_tree get_metadata_facets get_note_outline get_section_source";

const DESK_TOOLS: &str =
    "search fetch outline links changes create edit set_fields rename delete undo";

/// The tools of the contract that the editor follows.
const EDITOR_TOOLS: &str = "insert_section delete_section update_section move_section get_section \
                            list_sections undo redo get_document";

const NOTEBOOK_TOOLS: &str = "begin_result_stream describe_world enter_collection explain_provenance \
                              fetch_passage list_artifact_sets list_collections list_constraints \
                              next_stream_chunk retrieve_artifact semantic_search";

const INSERT: &str =
    "insert_section --tool-arg heading=Introduction content=This+is+the+intro. position=0";

fn requests(kind: SubjectKind) -> Vec<Request> {
    match kind {
        SubjectKind::Vault | SubjectKind::Hosted => vault(),
        SubjectKind::Desk => desk(),
        SubjectKind::EditorFolder => editor_folder(),
        SubjectKind::EditorDocument => editor_document(),
        SubjectKind::Docs => docs(),
        SubjectKind::Notebook => notebook(),
    }
}

fn vault() -> Vec<Request> {
    let read = |tool: &str| {
        let words = format!("{tool} --tool-arg path={NOTE}");
        call(&words, "/structuredContent/path", Text(NOTE))
    };
    let mut requests = vec![list_tools(Names(VAULT_TOOLS))];
    requests.extend(VAULT_TOOLS.split(' ').map(read));
    requests
}

fn desk() -> Vec<Request> {
    let outline = format!("outline --tool-arg id={NOTE}");
    let edit = format!("edit --tool-arg id={NOTE}#Second new=Some+text.");
    let field = format!("set_fields --tool-arg id={NOTE} set={{\"status\":\"open\"}}");
    let found = "search --tool-arg query=status:open";
    let verified = "skills/list --verify --require-digests";
    let skill = "skills/get --uri skill://skills/release-notes/SKILL.md";
    let folder = "resources/directory/read --uri skill://skills/release-notes";
    let children = "release-notes assets references scripts";
    vec![
        list_tools(Names(DESK_TOOLS)),
        call(&outline, "/structuredContent/items/0/title", Text("First")),
        call(&edit, "/content/0/type", Text("text")),
        call(&field, "/structuredContent/id", Text(NOTE)),
        call(found, "/structuredContent/results/0/id", Text(NOTE)),
        request(verified, "", Verified("release-notes working-at-the-desk")),
        request(skill, "/skill/frontmatter/license", Text("MIT")),
        request(folder, "/resources", Names(children)),
    ]
}

fn editor_folder() -> Vec<Request> {
    let list = format!("list_sections --tool-arg path={NOTE}");
    let insert = format!("{INSERT} path={NOTE}");
    let resource = format!("resources/read --uri sectile://editor/metadata/{NOTE}");
    let notes = "inbox/example.md projects/plan/plan.md 日本語/メモ.md";
    let templates = "document history metadata";
    let mut requests = vec![
        call(&list, "/structuredContent/path", Text(NOTE)),
        call(
            &insert,
            "/structuredContent/message",
            Text("Section inserted."),
        ),
        request("resources/list", "/resources", Among(notes)),
        request(
            "resources/templates/list",
            "/resourceTemplates",
            Names(templates),
        ),
        request(resource, "/contents/0/mimeType", Text("application/json")),
    ];
    requests.extend(editor());
    requests
}

fn editor_document() -> Vec<Request> {
    let resource = "resources/read --uri sectile://editor/document";
    let resources = "document history metadata";
    let mut requests = vec![
        call(
            "list_sections",
            "/structuredContent/path",
            Text("example.md"),
        ),
        call(
            INSERT,
            "/structuredContent/message",
            Text("Section inserted."),
        ),
        request("resources/list", "/resources", Names(resources)),
        request("resources/templates/list", "/resourceTemplates", Names("")),
        request(resource, "/contents/0/mimeType", Text("application/json")),
    ];
    requests.extend(editor());
    requests
}

/// Returns the requests that are the same for a folder and for a document.
fn editor() -> [Request; 3] {
    let prompts = "generate_outline rewrite_section summarize_section";
    let prompt =
        "prompts/get --prompt-name summarize_section --prompt-args section_content=Some+text.";
    let text = "Summarize the following section:\nSome text.";
    [
        list_tools(Among(EDITOR_TOOLS)),
        request("prompts/list", "/prompts", Names(prompts)),
        request(prompt, "/messages/0/content/text", Text(text)),
    ]
}

fn docs() -> Vec<Request> {
    let search = "sectile_docs_search --tool-arg query=rename+a+heading+and+keep+links+working";
    let section = "sectile://docs/recipes#rename-a-heading-and-keep-links-working";
    let document = "resources/read --uri sectile://docs/recipes";
    vec![
        list_tools(Names("sectile_docs_search")),
        call(search, "/structuredContent/sections/0/uri", Text(section)),
        request(
            "resources/list",
            "/resources",
            Among("model recipes errors"),
        ),
        request(
            "resources/templates/list",
            "/resourceTemplates",
            Names("document section"),
        ),
        request(document, "/contents/0/mimeType", Text("text/markdown")),
    ]
}

fn notebook() -> Vec<Request> {
    let collection = "/structuredContent/collections/0/collection_id";
    let enter = "enter_collection --tool-arg collection_id=projects";
    vec![
        list_tools(Names(NOTEBOOK_TOOLS)),
        call("list_collections", collection, Text("inbox")),
        call(enter, "/structuredContent/collection_id", Text("projects")),
    ]
}

#[derive(Clone, Copy)]
enum Transport {
    Stdio,
    Http,
}

pub(super) fn run(bench: &Bench, subjects: &[Subject]) -> Vec<CheckRow> {
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

fn ask_all(
    bench: &Bench,
    subject: &Subject,
    transport: Transport,
    era: &str,
    name: String,
) -> CheckRow {
    let log = name.replace(", ", "-");
    let mut row = CheckRow::new(name);
    for (index, request) in requests(subject.kind).iter().enumerate() {
        let outcome = ask(
            bench,
            subject,
            transport,
            era,
            request,
            &format!("{log}-{index}"),
        );
        row.record(outcome.with_context(|| request.words.clone()));
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
        // Without settings of its own: the Inspector takes `--config` for itself, wherever it appears.
        // So it is asked about the manual alone, which a folder on the command line would replace.
        Transport::Stdio if subject.kind == SubjectKind::Docs => {
            command.arg(&bench.binary).args(["serve", subject.world])
        }
        Transport::Stdio => command.arg(&bench.binary).args(subject.arguments()),
        Transport::Http => command.args([&subject.url, "--transport", "http"]),
    };
    if subject.store.is_some() {
        let header = format!("Authorization: {}", subject.authorization());
        command.args(["--header", &header]);
    }
    command
        .args(["--protocol-era", era, "--format", "json", "--method"])
        .args(request.words.split(' ').map(|word| word.replace('+', " ")));
    let finished = bounded(&mut command, &bench.log(log), LIMIT)?;
    if !finished.status.success() {
        bail!("{}", finished.tail());
    }
    let said = &finished.stdout;
    if let Some(sentinel) = SENTINELS
        .iter()
        .find(|sentinel| subject.is_body_free() && said.contains(**sentinel))
    {
        bail!("the answer contains `{sentinel}`");
    }
    if let Verified(names) = request.expected {
        return check_verified(names, said);
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
    let items = found.as_array().into_iter().flatten();
    let names: Vec<&str> = items.filter_map(|item| item["name"].as_str()).collect();
    let has_all = |wanted: &str| wanted.split_whitespace().all(|name| names.contains(&name));
    let is_met = match request.expected {
        Text(text) => found == text,
        Among(wanted) => has_all(wanted),
        Names(wanted) => has_all(wanted) && names.len() == wanted.split_whitespace().count(),
        // Its reply is not one value.
        Verified(_) => false,
    };
    if !is_met {
        bail!("not what was expected at {}: {found}", request.at);
    }
    Ok(())
}

/// Checks the lines about skills whose files the Inspector has read.
fn check_verified(wanted: &str, said: &str) -> Result<()> {
    let mut names = Vec::new();
    for line in said.lines().filter(|line| !line.is_empty()) {
        let skill: Value = serde_json::from_str(line).context("a line is not JSON")?;
        let files = skill["files"].as_array().context("a skill has no files")?;
        let is_verified = |file: &Value| file["status"] == "verified";
        if files.is_empty() || !files.iter().all(is_verified) {
            bail!("not every file is verified: {skill}");
        }
        for remarks in ["conformance", "frontmatter"] {
            if skill[remarks]
                .as_array()
                .is_none_or(|found| !found.is_empty())
            {
                bail!("the Inspector objects: {skill}");
            }
        }
        names.extend(skill["name"].as_str().map(str::to_owned));
    }
    if !names.iter().map(String::as_str).eq(wanted.split(' ')) {
        bail!("other skills than expected: {names:?}");
    }
    Ok(())
}
