//! The listing and every schema, pinned.

use serde_json::{Value, json};

use super::Library;
use crate::{
    contract::{
        pin,
        schema::{objects, schemas},
    },
    fixture::{Era, initialize},
};

fn listed(library: &Library) -> Vec<Value> {
    let mut client = library.open(Era::Stateless);
    let request = Era::Stateless.request(1, "tools/list", json!({}));
    let listed = client.server.exchange(&request);
    listed["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn the_listing_and_every_tool_are_as_pinned() {
    let tools = listed(&Library::new());
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
    pin("notebook__tools", &json!(names));
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        pin(&format!("notebook__{name}"), tool);
    }
}

#[test]
fn the_introduction_is_as_pinned() {
    let library = Library::new();
    let mut server = crate::fixture::Stdio::spawn(&library.vault, library.command(""));
    let mut answer = server.exchange(&initialize(1));
    answer["result"]["serverInfo"]["version"] = json!("[version]");
    pin("notebook__initialize", &answer["result"]);
    let instructions = answer["result"]["instructions"].as_str().unwrap();
    assert!(instructions.len() < 2048, "{}", instructions.len());
}

#[test]
fn schemas_are_closed_described_and_hold_nothing_that_clients_stumble_over() {
    for tool in listed(&Library::new()) {
        for side in ["inputSchema", "outputSchema"] {
            let case = format!("{}, {side}", tool["name"]);
            assert_eq!(tool[side]["type"], "object", "{case}");
            for part in schemas(&tool[side]) {
                let is_plain = part.get("type").is_none_or(Value::is_string);
                assert!(is_plain, "{case}: {part}");
            }
            for object in objects(&tool[side]) {
                // What somebody else recorded may be any object.
                if object.get("properties").is_none() && object.get("description").is_some() {
                    continue;
                }
                assert_eq!(object["additionalProperties"], false, "{case}: {object}");
                for (name, property) in object["properties"].as_object().unwrap() {
                    let description = property["description"].as_str().unwrap_or("");
                    assert!(!description.is_empty(), "{case}: {name}");
                }
            }
        }
    }
}
