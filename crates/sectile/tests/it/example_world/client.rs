//! The example world, served over streams to a client that others wrote.

use std::{fs, sync::Arc};

use rmcp::{model::CallToolRequestParams, service::ServiceExt as _};
use sectile_mcp::stdio::serve_streams;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::surface;

#[tokio::test]
async fn a_world_of_one_file_finds_and_quotes_what_was_just_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("plans")).unwrap();
    let file = folder.path().join("plans/garden.md");
    fs::write(&file, "# Garden\n\nApples.\n").unwrap();
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(theirs);
    let (surface, stop) = (Arc::new(surface(folder.path())), CancellationToken::new());
    tokio::spawn(serve_streams(surface, input, output, 1 << 20, stop));
    let client = ().serve(ours).await.unwrap();
    let call = async |tool: &'static str, arguments: Value| {
        let params = CallToolRequestParams::new(tool);
        let params = params.with_arguments(arguments.as_object().unwrap().clone());
        client.call_tool(params).await.unwrap()
    };
    let lines = async |tool: &'static str, arguments: Value| {
        let structured = call(tool, arguments).await.structured_content;
        structured.expect("JSON")["lines"].clone()
    };
    let text = async |arguments: Value| {
        let result = call("read", arguments).await;
        assert_eq!(result.structured_content, None);
        let text = result.content[0].as_text().expect("text").text.clone();
        (result.is_error == Some(true), text)
    };
    let tools = client.list_all_tools().await.unwrap();
    let has_schema = tools.iter().map(|tool| tool.output_schema.is_some());
    assert_eq!(has_schema.collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(lines("find", json!({ "query": "quince" })).await, json!([]));
    let edit = json!({ "path": "plans/garden.md", "old": "Apples.", "new": "A quince." });
    let diff = lines("edit", edit).await;
    assert!(diff[0].as_str().unwrap().contains("+A quince."), "{diff}");
    let found = lines("find", json!({ "query": "quince" })).await;
    let id = json!({ "source_id": found[0] });
    assert_eq!(text(id.clone()).await, (false, "A quince.".to_owned()));
    // Another program writes. A passage that is gone is never quoted, and the new one is found.
    fs::write(&file, "# Garden\n\nMedlars.\n").unwrap();
    let (is_error, said) = text(id).await;
    assert!(is_error && !said.contains("quince"), "{said}");
    let found = lines("find", json!({ "query": "medlars" })).await;
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
}
