//! The contract's vectors of the hosted world, through the real server and a real store.

use sectile_note_store::Fault;
use serde_json::{Value, json};

use crate::{
    fixture::{Caller, Era, TestHosted, error_of, tool_text},
    vectors::{TOOLS, table},
};

/// The body of a row that describes a long one instead of holding it.
fn upstream_body(row: &Value) -> Vec<u8> {
    let body = row["input"]["upstream"]["body"].as_str().unwrap();
    if body.starts_with("<JSON object") {
        return json!({ "body": "x".repeat(1_000_001) })
            .to_string()
            .into_bytes();
    }
    body.as_bytes().to_vec()
}

#[test]
fn path_vectors() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    let note = json!({ "body": "# A" }).to_string();
    hosted
        .store()
        .set_fault(Fault::Canned(200, note.into_bytes()));
    let caller = Caller::named("ann");
    for row in table("hosted_path") {
        for era in Era::BOTH {
            for tool in TOOLS {
                let answer = gateway.call(era, &caller, tool, json!({ "path": row["input"] }));
                let requests = gateway.requests();
                if row["error"].is_string() {
                    assert_eq!(row["error"], error_of(&answer), "{tool}, {row}");
                    assert_eq!(requests, [], "{tool}, {row}");
                    continue;
                }
                let view: Value = serde_json::from_str(tool_text(&answer)).unwrap();
                assert_eq!(view["path"], row["normalized"], "{tool}, {row}");
                assert_eq!(requests.len(), 1, "{tool}, {row}");
                assert_eq!(row["url_suffix"], requests[0].target, "{tool}, {row}");
            }
        }
    }
}

#[test]
fn call_vectors() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    let caller = Caller::named("ann");
    for row in table("hosted_calls") {
        let (input, expected) = (&row["input"], &row["expected"]);
        let status = u16::try_from(input["upstream"]["status"].as_u64().unwrap()).unwrap();
        hosted
            .store()
            .set_fault(Fault::Canned(status, upstream_body(&row)));
        for era in Era::BOTH {
            let arguments = json!({ "path": input["path"] });
            let answer = gateway.call(era, &caller, "get_section_source", arguments);
            let result = &answer["result"];
            assert_eq!(result["isError"], expected["isError"], "{row}: {answer}");
            assert_eq!(tool_text(&answer), expected["json"].to_string(), "{row}");
            let targets: Vec<String> = gateway
                .requests()
                .into_iter()
                .map(|request| request.target)
                .collect();
            if row["id"].as_str().unwrap().starts_with("unsafe") {
                assert!(targets.is_empty(), "{row}: {targets:?}");
            } else {
                let path = input["path"].as_str().unwrap();
                assert_eq!(targets, [format!("/api/v1/notes/{path}")], "{row}");
            }
            if let Some(path) = expected.get("upstream_path") {
                assert_eq!(*path, targets[0], "{row}");
            }
        }
    }
}

/// What a row's front matter shows in an answer: its title and its tags.
#[test]
fn front_matter_vectors() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    for row in table("canister_frontmatter") {
        let note = json!({ "frontmatter": row["input"], "body": "---\ntitle: Block\n---\n# A" });
        hosted
            .store()
            .set_fault(Fault::Canned(200, note.to_string().into_bytes()));
        let source = gateway.view("get_section_source", "n.md");
        // Only a field that is null leaves the word to a block in the body, which the original does not split off.
        let expected = match (&row["input"], row["result"]["ok"].get("title")) {
            (Value::Null, _) => json!("Block"),
            (_, Some(title)) => title.clone(),
            (_, None) => json!("n"),
        };
        assert_eq!(source["title"], expected, "{row}");
        assert_eq!(
            source["sections"].as_array().unwrap().len(),
            1,
            "{row}: {source}"
        );
    }
    for (field, title) in [
        (json!("{\\\"title\\\":\\\"Escaped\\\"}"), "Escaped"),
        (json!("{\"title\":\"Text\"}"), "Text"),
        (json!({ "title": "Object" }), "Object"),
    ] {
        let note = json!({ "frontmatter": field, "body": "# A" });
        hosted
            .store()
            .set_fault(Fault::Canned(200, note.to_string().into_bytes()));
        assert_eq!(
            gateway.view("get_section_source", "n.md")["title"],
            title,
            "{note}"
        );
    }
    // The original fails here as well.
    let note = json!({ "frontmatter": "\"", "body": "# A" });
    hosted
        .store()
        .set_fault(Fault::Canned(200, note.to_string().into_bytes()));
    for tool in TOOLS {
        assert_eq!(gateway.error(tool, "n.md"), "Runtime failure");
    }
    gateway.assert_healthy();
}

/// The original's facets builder has path rules of its own; all four tools here have those of this world.
const OTHER_PATHS: [&str; 2] = ["./a.md", " a.md "];

#[test]
fn facet_vectors() {
    let mut others = Vec::new();
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    for row in table("metadata_facets") {
        let path = row["path"].as_str().unwrap();
        if OTHER_PATHS.contains(&path) {
            others.push(path.to_owned());
            continue;
        }
        for field in [
            row["frontmatter"].clone(),
            json!(row["frontmatter"].to_string()),
        ] {
            let note = json!({ "frontmatter": field, "body": "" });
            hosted
                .store()
                .set_fault(Fault::Canned(200, note.to_string().into_bytes()));
            let answer = gateway.note("get_metadata_facets", path);
            assert_eq!(tool_text(&answer), row["result"]["ok"].to_string(), "{row}");
        }
    }
    assert_eq!(others, OTHER_PATHS);
}

/// The vectors of the self-hosted tools hold here too, with front matter left in the body.
#[test]
fn markdown_vectors() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    for row in table("markdown_vectors") {
        let note = json!({ "body": row["markdown"] });
        hosted
            .store()
            .set_fault(Fault::Canned(200, note.to_string().into_bytes()));
        let path = row["path"].as_str().unwrap();
        for (tool, key) in [
            ("get_section_source", "section_source"),
            ("get_note_outline", "note_outline"),
            ("get_document_tree", "document_tree"),
        ] {
            let answer = gateway.note(tool, path);
            assert_eq!(
                tool_text(&answer),
                row[key].to_string(),
                "{}, {tool}",
                row["id"]
            );
        }
    }
}
