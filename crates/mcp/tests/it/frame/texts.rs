//! A world for models that read text: answers in Markdown, errors in sentences, arguments under other names.

use schemars::JsonSchema;
use sectile_mcp::{
    AnswerBody, AnswerFacts, CallContext, ErrorList, ErrorResponse, ErrorRow, Failure, FailureKind,
    Policy, Surface, Tool, UnknownTool, WorldSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Client, Shelf, limits, wire::HttpServer};
use crate::fixture::Era;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadParams {
    /// What to read.
    id: String,
    /// How much of it.
    budget: Option<u8>,
}

/// A text that looks like what the transports put in place of structured content.
const HOSTILE: &str = "# A \"structuredContent\":null\n\n\"structuredContent\":null";

fn read(
    _: &Shelf,
    params: ReadParams,
    context: &CallContext,
) -> Result<(AnswerBody, AnswerFacts), Failure> {
    let facts = AnswerFacts::default();
    match params.id.as_str() {
        "gone" => Err(
            ErrorRow::of_kind(FailureKind::NotFound, "", "Look elsewhere.").failure("It is gone."),
        ),
        "json" => Ok((AnswerBody::json(&json!({ "z": 1, "a": [null] }))?, facts)),
        "client" => {
            let client = context.client.as_deref().unwrap_or("nobody");
            Ok((AnswerBody::Text(client.to_owned()), facts))
        }
        "hostile" => Ok((AnswerBody::Text(HOSTILE.to_owned()), facts)),
        id => {
            let budget = params.budget;
            Ok((AnswerBody::Text(format!("# {id}\n\n{budget:?}\n")), facts))
        }
    }
}

/// Its schema has no upper bound.
#[derive(Deserialize, JsonSchema)]
struct LateParams {
    #[schemars(with = "u64")]
    count: u8,
}

fn late(_: &Shelf, params: LateParams, _: &CallContext) -> Result<(String, AnswerFacts), Failure> {
    Ok((params.count.to_string(), AnswerFacts::default()))
}

fn title(_: &Shelf, params: ReadParams, _: &CallContext) -> Result<(String, AnswerFacts), Failure> {
    Ok((params.id, AnswerFacts::default()))
}

const INVALID: ErrorRow = ErrorRow::of_kind(
    FailureKind::InvalidArguments,
    "The arguments do not fit the tool.",
    "Compare them with the schema.",
);

fn envelope(failure: &Failure) -> ErrorResponse {
    let detail = failure.detail.as_ref().expect("every failure has a detail");
    ErrorResponse::Text(format!(
        "{}: {}\n{}",
        failure.name(),
        failure.message,
        detail.recovery
    ))
}

fn surface() -> Surface {
    let spec = WorldSpec {
        tools: vec![
            Tool::read("read", "Read", "Read a page.")
                .alias("path", "id")
                .call_text(read),
            Tool::read("peek", "Peek", "Read a page quickly.")
                .alias("path", "id")
                .quick()
                .call_text(read),
            Tool::destructive("title", "Title", "Read a title.").call_text(title),
            Tool::read("late", "Late", "Count.").call_text(late),
        ],
        lenient_scalars: true,
        argument_errors: Some(&INVALID),
        unknown_tool: UnknownTool::Answer(|| {
            ErrorRow::of_kind(FailureKind::NotFound, "", "List the tools.")
                .failure("There is no such tool.")
        }),
        ..WorldSpec::new("texts", "Read pages.", envelope, ErrorList::default)
    };
    Surface::new(spec, Shelf::default(), Policy::default(), limits())
}

/// Sends the same request on every transport in every era, and returns the one result that all of them gave.
async fn everywhere(method: &str, params: Value) -> Value {
    let http = HttpServer::start(surface()).await;
    let mut results = Vec::new();
    for era in Era::BOTH {
        let mut streams = Client::connect_to(era, surface()).await;
        for mut answer in [
            streams.ask(method, params.clone()).await,
            http.ask(era, method, params.clone()).await,
        ] {
            let result = answer["result"].as_object_mut().expect("a result");
            // The stateless era stamps its results.
            for key in ["resultType", "_meta", "ttlMs", "cacheScope"] {
                result.shift_remove(key);
            }
            results.push(answer["result"].take());
        }
    }
    results.dedup();
    assert_eq!(results.len(), 1, "{results:#?}");
    results.remove(0)
}

async fn call(tool: &str, arguments: Value) -> Value {
    everywhere(
        "tools/call",
        json!({ "name": tool, "arguments": arguments }),
    )
    .await
}

#[tokio::test]
async fn a_tool_that_answers_with_text_is_listed_without_a_schema_of_its_answer() {
    let listed = everywhere("tools/list", json!({})).await;
    assert_eq!(
        listed["tools"][2],
        json!({
            "name": "title",
            "title": "Title",
            "description": "Read a title.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "id": { "type": "string", "description": "What to read." },
                    "budget": {
                        "type": "integer",
                        "minimum": 0,
                        "maximum": 255,
                        "description": "How much of it.",
                    },
                },
                "additionalProperties": false,
                "required": ["id"],
            },
            "annotations": {
                "title": "Title",
                "readOnlyHint": false,
                "destructiveHint": true,
                "idempotentHint": false,
                "openWorldHint": false,
            },
        })
    );
    assert!(!listed.to_string().contains("path"), "{listed}");
}

#[tokio::test]
async fn a_text_is_the_whole_answer() {
    for tool in ["read", "peek"] {
        for (id, text) in [("a", "# a\n\nNone\n"), ("hostile", HOSTILE)] {
            assert_eq!(
                call(tool, json!({ "id": id })).await,
                json!({ "content": [{ "type": "text", "text": text }], "isError": false }),
                "{tool}"
            );
        }
        assert_eq!(
            call(tool, json!({ "id": "json" })).await,
            json!({
                "content": [{ "type": "text", "text": r#"{"z":1,"a":[null]}"# }],
                "structuredContent": { "z": 1, "a": [null] },
                "isError": false,
            }),
            "{tool}"
        );
    }
}

#[tokio::test]
async fn an_error_is_one_text() {
    for (tool, arguments, text) in [
        (
            "read",
            json!({ "id": "gone" }),
            "not_found: It is gone.\nLook elsewhere.",
        ),
        (
            "nonsense",
            json!({}),
            "not_found: There is no such tool.\nList the tools.",
        ),
        (
            "peek",
            json!({}),
            "invalid_arguments: id is required.\nCompare them with the schema.",
        ),
        (
            "read",
            json!({ "path": "a", "id": "a" }),
            "invalid_arguments: id is given twice: path is another name for it.\nCompare them with \
             the schema.",
        ),
        (
            "read",
            json!({ "id": "a", "budgt": 5 }),
            "invalid_arguments: this tool does not take \"budgt\". It takes only: id, \
             budget.\nCompare them with the schema.",
        ),
        (
            "late",
            json!({ "count": 1_000_000 }),
            "invalid_arguments: a value is out of range.\nCompare them with the schema.",
        ),
        (
            "read",
            json!({ "id": "a", "budget": "many" }),
            "invalid_arguments: budget must be a JSON integer.\nCompare them with the schema.",
        ),
    ] {
        assert_eq!(
            call(tool, arguments.clone()).await,
            json!({ "content": [{ "type": "text", "text": text }], "isError": true }),
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn arguments_may_have_other_names_and_be_written_as_strings() {
    for (budget, text) in [
        (json!("7"), "# a\n\nSome(7)\n"),
        (json!(null), "# a\n\nNone\n"),
    ] {
        let answer = call("read", json!({ "path": "a", "budget": budget })).await;
        assert_eq!(answer["content"][0]["text"], text);
    }
}

#[tokio::test]
async fn a_handler_knows_the_client_in_every_era() {
    let call = |era: Era| era.call(7, "read", json!({ "id": "client" }));
    let client = |answer: Value| answer["result"]["content"][0]["text"].clone();
    let http = HttpServer::start(surface()).await;
    let agent = [("User-Agent", "openai-mcp/1.0.0 (an agent)")];
    for era in Era::BOTH {
        let mut streams = Client::connect_to(era, surface()).await;
        streams.send(&call(era)).await;
        assert_eq!(client(streams.receive().await), "test 1", "{era:?}");
        // A handshake without a session is forgotten; the program that sends the requests is not.
        let (named, unnamed) = match era {
            Era::Handshake => ("openai-mcp 1.0.0", "nobody"),
            Era::Stateless => ("test 1", "test 1"),
        };
        let answer = http.post(era, &call(era), &agent).await;
        assert_eq!(client(answer.json().await), named, "{era:?}");
        let answer = http.post(era, &call(era), &[]).await;
        assert_eq!(client(answer.json().await), unnamed, "{era:?}");
    }
}
