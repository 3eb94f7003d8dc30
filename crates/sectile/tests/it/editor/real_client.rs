//! The contract again, by a client that others wrote.

use rmcp::{
    RoleClient, ServiceError,
    model::{
        CallToolRequestParams, ErrorData, GetPromptRequestParams, ProtocolVersion,
        ReadResourceRequestParams,
    },
    service::{ClientLifecycleMode, ClientServiceExt as _, RunningService},
    transport::TokioChildProcess,
};
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt as _, process::ChildStderr};

use super::SAMPLE;
use crate::fixture::{Era, PATIENCE, TestDocuments, assert_log_is_clean};

struct Client {
    service: RunningService<RoleClient, ()>,
    log: ChildStderr,
}

impl Client {
    async fn start(documents: &TestDocuments, era: Era) -> Self {
        let command = tokio::process::Command::from(documents.command(""));
        let (process, log) = TokioChildProcess::builder(command)
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let lifecycle = match era {
            Era::Handshake => ClientLifecycleMode::Initialize,
            Era::Stateless => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        };
        Self {
            service: ().serve_with_lifecycle(process, lifecycle).await.unwrap(),
            log: log.unwrap(),
        }
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> Result<Value, ErrorData> {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        match self.service.call_tool(params).await {
            Ok(result) => Ok(result.structured_content.unwrap()),
            Err(ServiceError::McpError(error)) => Err(error),
            Err(other) => panic!("{tool}: {other}"),
        }
    }

    async fn resource(&self, uri: &str) -> Value {
        let params = ReadResourceRequestParams::new(uri);
        let result = self.service.read_resource(params).await.unwrap();
        let contents = serde_json::to_value(&result.contents[0]).unwrap();
        serde_json::from_str(contents["text"].as_str().unwrap()).unwrap()
    }

    async fn leave(mut self, documents: &TestDocuments) {
        self.service.close().await.unwrap();
        let mut log = String::new();
        self.log.read_to_string(&mut log).await.unwrap();
        assert_log_is_clean(&log, documents.vault());
    }
}

/// Everything that the contract names, once.
async fn session(era: Era) {
    let documents = TestDocuments::single(SAMPLE);
    let client = Client::start(&documents, era).await;
    let message =
        async |tool, arguments| client.call(tool, arguments).await.unwrap()["message"].clone();
    let example = json!({
        "heading": "Introduction",
        "content": "This is the intro.",
        "position": 0,
    });
    let inserted = client.call("insert_section", example).await.unwrap();
    assert_eq!(inserted["message"], "Section inserted.");
    let id = inserted["section_id"].as_str().unwrap().to_owned();
    let update = json!({ "section_id": id, "content": "Other." });
    assert_eq!(message("update_section", update).await, "Section updated.");
    let to_end = json!({ "section_id": id, "new_position": 5 });
    assert_eq!(message("move_section", to_end).await, "Section moved.");
    let read = client
        .call("get_section", json!({ "section_id": id }))
        .await
        .unwrap();
    assert_eq!(
        (&read["content"], &read["position"]),
        (&json!("Other."), &json!(5))
    );
    let listed = client.call("list_sections", json!({})).await.unwrap();
    assert_eq!(listed["sections"].as_array().unwrap().len(), 6);
    assert_eq!(
        message("delete_section", json!({ "heading": "Introduction" })).await,
        "Section deleted."
    );
    assert_eq!(message("undo", json!({})).await, "Undo successful.");
    assert_eq!(message("redo", json!({})).await, "Redo successful.");
    let document = client.call("get_document", json!({})).await.unwrap();
    assert_eq!(document["document"], SAMPLE);

    let error = client
        .call("get_section", json!({ "section_id": "abc123" }))
        .await
        .unwrap_err();
    assert_eq!(
        (error.code.0, error.message.as_ref()),
        (
            -32000,
            "Section not found. \"doc.md\" has no section with the id \"abc123\". Call list_sections to see the sections \
             and their ids."
        )
    );
    assert_eq!(error.data.unwrap()["section_id"], "abc123");
    for (tool, arguments, code) in [
        ("nope", json!({}), -32601),
        ("get_section", json!({ "section_id": 5 }), -32602),
    ] {
        let error = client.call(tool, arguments).await.unwrap_err();
        assert_eq!(error.code.0, code, "{tool}");
    }
    assert_eq!(
        client.resource("sectile://editor/document").await["document"],
        SAMPLE
    );
    let history = client.resource("sectile://editor/history").await;
    assert_eq!(history["history"].as_array().unwrap().len(), 6);
    assert_eq!(
        client.resource("sectile://editor/metadata").await["title"],
        "Title"
    );
    let Value::Object(arguments) = json!({ "section_content": "Words." }) else {
        unreachable!()
    };
    let params = GetPromptRequestParams::new("summarize_section").with_arguments(arguments);
    let prompt = client.service.get_prompt(params).await.unwrap();
    let prompt = serde_json::to_value(&prompt.messages[0]).unwrap();
    assert_eq!(
        prompt["content"]["text"],
        "Summarize the following section:\nWords."
    );
    client.leave(&documents).await;
}

#[test]
fn a_client_that_others_wrote_gets_what_the_contract_says() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for era in Era::BOTH {
        let ended = runtime.block_on(async { tokio::time::timeout(PATIENCE, session(era)).await });
        assert!(ended.is_ok(), "the session did not end, {era:?}");
    }
}
