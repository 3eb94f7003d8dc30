//! What clients can rely on, pinned in files.

use serde_json::{Value, json};

use crate::{
    contract::{pin, schema::violation},
    fixture::{Caller, Era, TestHosted, initialize, tool_text},
    vectors::TOOLS,
};

fn result(gateway: &crate::fixture::Gateway<'_>, era: Era, message: &Value) -> Value {
    let answer = gateway.post(era, &Caller::named("ann"), message);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["result"].clone()
}

#[test]
fn the_listing_and_every_tool_are_as_pinned() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    let listing = result(
        &gateway,
        Era::Stateless,
        &Era::Stateless.request(1, "tools/list", json!({})),
    );
    let tools = listing["tools"].as_array().unwrap();
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
    pin("hosted__tools", &json!(names));
    for tool in tools {
        pin(&format!("hosted__{}", tool["name"].as_str().unwrap()), tool);
    }
}

#[test]
fn the_introductions_are_as_pinned() {
    let hosted = TestHosted::empty();
    let gateway = hosted.serve();
    let mut introduced = result(&gateway, Era::Handshake, &initialize(1));
    introduced["serverInfo"]["version"] = json!("[version]");
    pin("hosted__initialize", &introduced);
    let discover = Era::Stateless.request(1, "server/discover", json!({}));
    let mut discovered = result(&gateway, Era::Stateless, &discover);
    discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["version"] = json!("[version]");
    pin("hosted__discover", &discovered);
}

#[test]
fn answers_are_valid_under_their_output_schemas() {
    let hosted = TestHosted::sample();
    hosted.note("default", "ann", "empty.md", "");
    hosted.note(
        "default",
        "ann",
        "deep.md",
        "# a\n## b\n### c\n#### d\n##### e\n###### f\n# g\n",
    );
    let gateway = hosted.serve();
    let listing = result(
        &gateway,
        Era::Handshake,
        &Era::Handshake.request(1, "tools/list", json!({})),
    );
    for (tool, name) in listing["tools"].as_array().unwrap().iter().zip(TOOLS) {
        assert_eq!(tool["name"], name);
        for path in ["inbox/one.md", "empty.md", "deep.md"] {
            let answer = gateway.note(name, path);
            let structured = &answer["result"]["structuredContent"];
            assert_eq!(
                violation(&tool["outputSchema"], structured),
                None,
                "{name}, {path}"
            );
            assert_eq!(tool_text(&answer), structured.to_string(), "{name}, {path}");
        }
    }
}
