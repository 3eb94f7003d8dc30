//! `1.0` is the integer 1 wherever a schema takes integers, in every world that has such arguments.

use serde_json::{Value, json};

use crate::fixture::{Era, Stdio, TestDocuments, TestVault, initialize, sectile};

/// What a world answers to the same call, with integers written in two ways.
fn both_ways(vault: &TestVault, world: &[&str], tool: &str, arguments: Value) -> [Value; 2] {
    let mut command = sectile();
    command.arg("serve").args(world).arg(vault.root());
    let mut server = Stdio::spawn(vault, command);
    server.exchange(&initialize(0));
    let Value::Object(fields) = &arguments else {
        panic!("arguments are an object")
    };
    let written = fields.iter().map(|(name, value)| {
        let number = value.as_u64().map(|number| json!(number as f64));
        (name.clone(), number.unwrap_or_else(|| value.clone()))
    });
    let written = Value::Object(written.collect());
    assert_ne!(written.to_string(), arguments.to_string());
    [arguments, written].map(|arguments| {
        let answer = server.call(Era::Handshake, tool, arguments);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answer["result"]["structuredContent"].clone()
    })
}

#[test]
fn one_point_zero_is_accepted_as_the_integer_one_by_the_editor() {
    let documents = TestDocuments::folder(&[("a.md", "# A\n\nText.\n\n# B\n")]);
    let arguments = json!({
        "path": "a.md", "heading": "New", "content": "x", "position": 1, "level": 1, "dry_run": true,
    });
    let answers = both_ways(documents.vault(), &["editor"], "insert_section", arguments);
    let [plain, written] = answers.map(|answer| answer["documents"][0]["diff"].clone());
    assert!(plain.as_str().unwrap().contains("+# New"), "{plain}");
    assert_eq!(plain, written);
    let edits = json!({ "edits": [
        { "operation": "insert_section", "path": "a.md", "heading": "New", "content": "", "position": 1.0, "level": 2.0 },
    ], "dry_run": true });
    let answer = documents.open().ok("apply_edits", edits);
    let diff = answer["documents"][0]["diff"].as_str().unwrap();
    assert!(diff.contains("+## New"), "{diff}");
}

#[test]
fn one_point_zero_is_accepted_as_the_integer_one_by_the_notebook() {
    let vault = TestVault::empty();
    vault.note(
        "journal/one.md",
        "# Ice\n\nThin ice.\n\n# More ice\n\nThick ice.\n",
    );
    let mut command = sectile();
    command.args(["serve", "notebook"]).arg(vault.root());
    let mut server = Stdio::spawn(&vault, command);
    server.exchange(&initialize(0));
    let enter = json!({ "collection_id": "journal" });
    server.call(Era::Handshake, "enter_collection", enter);
    for k in [json!(1), json!(1.0)] {
        let arguments = json!({ "query": "ice", "k": k });
        let answer = server.call(Era::Handshake, "semantic_search", arguments);
        let found = &answer["result"]["structuredContent"]["results"];
        assert_eq!(found.as_array().map(Vec::len), Some(1), "{answer}");
    }
}

#[test]
fn a_number_with_a_fraction_is_still_not_an_integer() {
    let documents = TestDocuments::folder(&[("a.md", "# A\n")]);
    let arguments = json!({ "path": "a.md", "heading": "New", "content": "x", "position": 0.5 });
    let error = documents.open().refused("insert_section", arguments);
    assert_eq!(error["code"], -32602);
    assert!(
        error["message"].as_str().unwrap().contains("position"),
        "{error}"
    );
}
