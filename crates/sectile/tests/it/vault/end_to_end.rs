//! End-to-end tier: a real MCP client against the real binary.

use std::time::Duration;

use rmcp::{
    RoleClient, ServiceError,
    model::{
        CallToolRequestParams, CallToolResult, ErrorCode, GetPromptRequestParams, ProtocolVersion,
        ReadResourceRequestParams,
    },
    service::{ClientLifecycleMode, ClientServiceExt as _, RunningService},
    transport::TokioChildProcess,
};
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt as _, process::ChildStderr};

use crate::{
    fixture::{Era, PATIENCE, SECRET, TestVault, note_not_found, sectile},
    vectors::TOOLS,
};

struct Client {
    service: RunningService<RoleClient, ()>,
    log: ChildStderr,
}

impl Client {
    async fn start(vault: &TestVault, era: Era) -> Self {
        let mut command = sectile();
        command.args(["serve", "vault"]).arg(vault.root());
        let (process, log) = TokioChildProcess::builder(tokio::process::Command::from(command))
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

    async fn call(
        &self,
        tool: &'static str,
        arguments: Value,
    ) -> Result<CallToolResult, ServiceError> {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        self.service
            .call_tool(CallToolRequestParams::new(tool).with_arguments(arguments))
            .await
    }

    /// Leaves like a client does, and returns what the server has logged until its end.
    async fn leave(mut self) -> String {
        self.service.close().await.unwrap();
        let mut log = String::new();
        self.log.read_to_string(&mut log).await.unwrap();
        log
    }
}

fn text(result: &CallToolResult) -> &str {
    let [content] = result.content.as_slice() else {
        panic!("one block of content: {result:?}")
    };
    &content.as_text().unwrap().text
}

fn code<T: std::fmt::Debug>(result: Result<T, ServiceError>) -> ErrorCode {
    match result {
        Err(ServiceError::McpError(error)) => error.code,
        other => panic!("no protocol error: {other:?}"),
    }
}

/// Runs a client's session in both eras; a server that hangs fails the test.
fn in_both_eras(session: impl AsyncFn(Era)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for era in Era::BOTH {
        let limit: Duration = PATIENCE;
        let ended = runtime.block_on(async { tokio::time::timeout(limit, session(era)).await });
        assert!(ended.is_ok(), "the session did not end, {era:?}");
    }
}

fn assert_clean(vault: &TestVault, text: &str, what: &str) {
    assert!(!text.contains(SECRET), "{what}: {text}");
    for path in vault.absolute_paths() {
        assert!(!text.contains(&path), "{what}: {text}");
    }
}

#[test]
fn a_client_lists_and_calls_all_tools() {
    let vault = TestVault::sample();
    in_both_eras(async |era| {
        let client = Client::start(&vault, era).await;
        let info = client.service.peer_info().unwrap();
        let server = info.server_info.as_ref().unwrap();
        assert_eq!(server.name, "sectile", "{era:?}");
        assert!(info.capabilities.tools.is_some(), "{era:?}");
        assert!(info.capabilities.resources.is_none(), "{era:?}");
        assert!(info.capabilities.prompts.is_none(), "{era:?}");
        let tools = client.service.list_all_tools().await.unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, TOOLS, "{era:?}");
        for (tool, schema) in TOOLS.into_iter().zip([
            "knowtation.section_source/v0",
            "knowtation.note_outline/v1",
            "knowtation.document_tree/v0",
            "knowtation.metadata_facets/v0",
        ]) {
            let result = client
                .call(tool, json!({ "path": "inbox/one.md" }))
                .await
                .unwrap();
            assert_eq!(result.is_error, Some(false), "{tool}, {era:?}");
            let decoded: Value = serde_json::from_str(text(&result)).unwrap();
            assert_eq!(decoded["schema"], schema, "{era:?}");
            assert_eq!(result.structured_content, Some(decoded), "{tool}, {era:?}");
            assert_clean(&vault, &serde_json::to_string(&result).unwrap(), tool);
        }
        let log = client.leave().await;
        assert!(log.contains("stopped"), "{log}");
        assert_clean(&vault, &log, "the log");
    });
}

#[test]
fn a_client_sees_errors_as_results_and_unknown_tools_as_protocol_errors() {
    let vault = TestVault::sample();
    in_both_eras(async |era| {
        let client = Client::start(&vault, era).await;
        for (arguments, message) in [
            (json!({}), "Invalid arguments: path is required."),
            (
                json!({ "path": "none.md" }),
                note_not_found("none.md").as_str(),
            ),
            (
                json!({ "path": "../outside/secret.md" }),
                "Invalid path: path must be vault-relative and cannot escape vault",
            ),
        ] {
            for tool in TOOLS {
                let result = client.call(tool, arguments.clone()).await.unwrap();
                assert_eq!(result.is_error, Some(true), "{tool}, {arguments}, {era:?}");
                let decoded: Value = serde_json::from_str(text(&result)).unwrap();
                assert_eq!(
                    decoded,
                    json!({ "error": message, "code": "RUNTIME_ERROR" }),
                    "{tool}, {arguments}, {era:?}"
                );
            }
        }
        let unknown = client
            .call("get_note", json!({ "path": "inbox/one.md" }))
            .await;
        assert_eq!(code(unknown), ErrorCode::INVALID_PARAMS, "{era:?}");
        assert_clean(&vault, &client.leave().await, "the log");
    });
}

#[test]
fn there_are_no_resources_and_no_prompts() {
    let vault = TestVault::sample();
    in_both_eras(async |era| {
        let client = Client::start(&vault, era).await;
        let service = &client.service;
        let codes = [
            code(service.list_resources(None).await),
            code(service.list_resource_templates(None).await),
            code(service.list_prompts(None).await),
            code(
                service
                    .read_resource(ReadResourceRequestParams::new("file:///inbox/one.md"))
                    .await,
            ),
            code(service.get_prompt(GetPromptRequestParams::new("any")).await),
        ];
        for (index, found) in codes.into_iter().enumerate() {
            assert_eq!(
                found,
                ErrorCode::METHOD_NOT_FOUND,
                "request {index}, {era:?}"
            );
        }
        let result = client
            .call("get_note_outline", json!({ "path": "inbox/one.md" }))
            .await;
        assert!(
            text(&result.unwrap()).contains("h1-inbox-one-0001"),
            "{era:?}"
        );
        assert_clean(&vault, &client.leave().await, "the log");
    });
}
