//! The world without its transport: how it handles arguments and the store's answers.

use std::time::Duration;

use sectile_client::ClientSettings;
use sectile_mcp::{AnswerFacts, Tool};
use serde_json::{Value, json};

use super::*;
use crate::worlds::note_structure::{
    metadata_facets::MetadataFacets, section_source::SectionSource,
};

fn table(name: &str) -> Vec<Value> {
    let vectors: Value =
        serde_json::from_str(include_str!("../../../test_data/section_source.json")).unwrap();
    let rows = vectors[name].as_array().unwrap().clone();
    assert!(!rows.is_empty(), "{name}");
    rows
}

fn envelope(failure: &Failure) -> Value {
    match (spec().envelope)(failure) {
        ErrorResponse::Result(value) => value,
        other => panic!("no result: {other:?}"),
    }
}

fn section_source(path: &str, json: &[u8]) -> Result<Answer, Failure> {
    view_of(&note_path(path)?, json, |note| {
        Ok((SectionSource::of(note)?, AnswerFacts::default()))
    })
}

fn facets(path: &str, json: &[u8]) -> Value {
    let answer = view_of(&note_path(path).unwrap(), json, |note| {
        Ok((MetadataFacets::of(note), AnswerFacts::default()))
    });
    serde_json::from_str(answer.unwrap().body.text()).unwrap()
}

/// The body of a row, expanded if the row only describes a long one.
fn upstream_body(row: &Value) -> String {
    let body = row["input"]["upstream"]["body"].as_str().unwrap();
    if body.starts_with("<JSON object") {
        json!({ "body": "x".repeat(1_000_001) }).to_string()
    } else {
        body.to_owned()
    }
}

#[test]
fn call_vectors() {
    let mut successes = 0;
    for row in table("hosted_calls") {
        let status = row["input"]["upstream"]["status"].as_u64().unwrap();
        let status = http::StatusCode::from_u16(u16::try_from(status).unwrap()).unwrap();
        let path = row["input"]["path"].as_str().unwrap();
        let answer = match (note_path(path), status.is_success()) {
            (Err(failure), _) => Err(failure),
            (Ok(_), true) => section_source(path, upstream_body(&row).as_bytes()),
            (Ok(_), false) => Err(refused(status)),
        };
        let expected = row["expected"]["json"].to_string();
        match answer {
            Ok(answer) => {
                assert_eq!(answer.body.text(), expected, "{row}");
                assert_eq!(answer.facts.upstream, Some("2xx"), "{row}");
                successes += 1;
            }
            Err(failure) => assert_eq!(envelope(&failure).to_string(), expected, "{row}"),
        }
    }
    assert_eq!(successes, 7);
}

/// Paths that the original's facets builder treats by rules of its own; all four tools here share this world's rules.
const OTHER_PATHS: [&str; 2] = ["./a.md", " a.md "];

#[test]
fn facet_vectors() {
    let mut others = Vec::new();
    for row in table("metadata_facets") {
        let path = row["path"].as_str().unwrap();
        if row["result"]["ok"]["path"] != note_path(path).unwrap().as_str() {
            others.push(path.to_owned());
            continue;
        }
        let json = json!({ "frontmatter": row["frontmatter"], "body": "# A" }).to_string();
        assert_eq!(facets(path, json.as_bytes()), row["result"]["ok"], "{row}");
        let text = json!({ "frontmatter": row["frontmatter"].to_string() }).to_string();
        assert_eq!(facets(path, text.as_bytes()), row["result"]["ok"], "{row}");
    }
    assert_eq!(others, OTHER_PATHS);
}

#[test]
fn a_block_in_the_body_is_never_shown_and_counts_only_without_the_field() {
    let body = "---\ntitle: Block\nproject: block\n---\n# A\n";
    for (front_matter, title, project) in [
        (json!({ "title": "Field" }), "Field", Value::Null),
        (json!("{\"title\":\"Field\"}"), "Field", Value::Null),
        (json!({}), "n", Value::Null),
        (json!(""), "n", Value::Null),
        (json!([]), "n", Value::Null),
        (Value::Null, "Block", json!("block")),
    ] {
        let json = json!({ "frontmatter": front_matter, "body": body }).to_string();
        let answer = section_source("n.md", json.as_bytes()).unwrap();
        let answer: Value = serde_json::from_str(answer.body.text()).unwrap();
        assert_eq!(answer["title"], title, "{json}");
        assert_eq!(answer["sections"].as_array().unwrap().len(), 1, "{json}");
        assert_eq!(
            facets("n.md", json.as_bytes())["facets"]["project"],
            project,
            "{json}"
        );
    }
    let absent = json!({ "body": body }).to_string();
    let answer = section_source("n.md", absent.as_bytes()).unwrap();
    assert!(
        answer.body.text().contains("\"title\":\"Block\""),
        "{}",
        answer.body.text()
    );
}

#[test]
fn paths_that_are_too_long_are_not_asked_for() {
    let long = "ü".repeat(MAX_PATH_BYTES / 2);
    assert!(note_path(&long).is_ok());
    assert!(note_path(&format!("  {long}  ")).is_ok());
    for path in [
        format!("{long}x"),
        "a/".repeat(MAX_PATH_BYTES) + "b",
        ".".to_owned(),
    ] {
        let failure = note_path(&path).unwrap_err();
        assert_eq!(failure.kind, FailureKind::InvalidPath);
        assert_eq!(failure.upstream, None);
    }
}

#[test]
fn a_path_that_is_no_text_is_an_invalid_path_and_other_arguments_are_not() {
    let mut failure = Failure::new(FailureKind::InvalidArguments, "Invalid arguments: secret");
    failure.argument = Some("path".to_owned());
    let invalid = json!({ "error": "Invalid path", "code": "UPSTREAM_ERROR" });
    assert_eq!(envelope(&failure), invalid);
    failure.argument = None;
    assert_eq!(envelope(&failure)["error"], "Invalid arguments: secret");
}

#[test]
fn statuses_have_a_class_and_a_kind() {
    for (status, kind, class) in [
        (302, FailureKind::Unreadable, "3xx"),
        (401, FailureKind::Unreadable, "4xx"),
        (404, FailureKind::NotFound, "4xx"),
        (418, FailureKind::Unreadable, "4xx"),
        (500, FailureKind::Unreadable, "5xx"),
        (599, FailureKind::Unreadable, "5xx"),
        (999, FailureKind::Unreadable, "none"),
    ] {
        let failure = refused(http::StatusCode::from_u16(status).unwrap());
        assert_eq!(failure.kind, kind, "{status}");
        assert_eq!(failure.upstream, Some(class), "{status}");
        assert_eq!(failure.message, format!("Upstream {status}"));
    }
}

#[test]
fn every_failure_is_in_the_table() {
    let codes: Vec<&str> = errors().codes.iter().map(|card| card.code).collect();
    let failures = [
        note_path("..").unwrap_err(),
        refused(http::StatusCode::NOT_FOUND),
        refused(http::StatusCode::FORBIDDEN),
        section_source("a.md", b"<html>").err().unwrap(),
        section_source("a.md", upstream_body(&table("hosted_calls")[8]).as_bytes())
            .err()
            .unwrap(),
    ];
    for failure in failures {
        assert!(codes.contains(&failure.name()), "{failure:?}");
    }
}

/// Nothing may reveal a tool that is denied.
#[test]
fn the_instructions_name_no_tool() {
    let spec = spec();
    let names = spec
        .tools
        .iter()
        .map(|tool: &Tool<HostedWorld>| tool.name.as_ref());
    for name in names.chain(["section_source", "outline", "tree", "facets"]) {
        assert!(!spec.instructions.contains(name), "{name}");
    }
    assert!(spec.instructions.len() < 2048);
}

/// Nothing listens on port 9, so an attempt to connect would fail differently.
#[tokio::test]
async fn nobody_is_asked_without_an_identity() {
    let client = Client::new(ClientSettings {
        connect_timeout: Duration::from_secs(1),
        timeout: Duration::from_secs(1),
        max_body_bytes: 1024,
        proxy: None,
        extra_roots: None,
    });
    let store = BaseUrl::parse("http://127.0.0.1:9").unwrap();
    let hosted = HostedWorld::new(&HostedSettings {
        store,
        client: client.unwrap(),
        gateway_secret: None,
        breaker_failures: 1,
        breaker_pause: Duration::from_secs(60),
    });
    let hosted = Arc::new(hosted);
    for tool in spec().tools {
        let sectile_mcp::Handler::Waiting(handle) = tool.handler else {
            panic!("{} waits", tool.name)
        };
        for _ in 0..3 {
            let arguments = json!({ "path": "a.md" }).as_object().unwrap().clone();
            let context = CallContext::without_client();
            let failure = handle(Arc::clone(&hosted), arguments, context)
                .await
                .err()
                .unwrap();
            assert_eq!(failure.kind, FailureKind::Internal, "{}", tool.name);
            assert_eq!(failure.message, RUNTIME_FAILURE, "{}", tool.name);
            assert_eq!(failure.upstream, None, "{}", tool.name);
        }
    }
}
