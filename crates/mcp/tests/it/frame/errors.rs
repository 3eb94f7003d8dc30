//! Encodings of failed calls: as a result, or as a JSON-RPC error.

use sectile_mcp::{
    Access, ErrorResponse, Failure, FailureKind, Policy, Resources, Surface, UnknownTool,
    WorldSpec, policy::Mode,
};
use serde_json::{Value, json};

use super::{
    Client, RESOURCES, Shelf, limits,
    policies::{Log, policy},
    spec, tool,
    wire::HttpServer,
};
use crate::fixture::Era;

fn torn() -> Failure {
    let Value::Object(data) = json!({ "page": 3, "near": "the middle" }) else {
        unreachable!("it is an object")
    };
    Failure::new(FailureKind::Conflict, "The page is torn.").with_detail(
        "page_torn",
        "Take another copy.",
        data,
    )
}

/// A world in which everything fails with JSON-RPC errors.
fn failing() -> WorldSpec<Shelf> {
    let mut world = spec();
    world.tools = vec![tool("shelve", Access::Write, |_, _, _| Err(torn()))];
    let read = |_: &Shelf, _: &str| Err(torn());
    world.resources = Some(Resources { read, ..RESOURCES });
    world.prompts[1].render = |_, _, _| Err(torn());
    world.envelope = |failure| match &failure.detail {
        Some(detail) => ErrorResponse::Error {
            code: -32050,
            message: failure.message.to_string(),
            data: json!({ "z": detail.code, "a": detail.recovery, "facts": detail.data }),
        },
        None => ErrorResponse::Error {
            code: -32051,
            message: failure.message.to_string(),
            data: json!({}),
        },
    };
    world
}

fn surface(world: WorldSpec<Shelf>) -> Surface {
    Surface::new(world, Shelf::default(), Policy::default(), limits())
}

#[tokio::test]
async fn a_world_that_speaks_in_errors_does_so_in_the_same_bytes_everywhere() {
    let expected = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32050,"message":"The page is torn.","data":{"z":"page_torn","a":"Take another copy.","facts":{"page":3,"near":"the middle"}}}}"#;
    let http = HttpServer::start(surface(failing())).await;
    for era in Era::BOTH {
        let mut stdio = Client::connect_to(era, surface(failing())).await;
        for (method, params) in [
            (
                "tools/call",
                json!({ "name": "shelve", "arguments": { "title": "x" } }),
            ),
            ("resources/read", json!({ "uri": "shelf://alpha" })),
            ("prompts/get", json!({ "name": "tidy" })),
        ] {
            let over_stdio = stdio.line(method, params.clone()).await;
            assert_eq!(over_stdio.trim_end(), expected, "{method}, {era:?}");
            let over_http = http.line(era, method, params).await;
            assert_eq!(over_http, expected, "{method}, {era:?}");
        }
        let arguments = json!({ "name": "shelve", "arguments": {} });
        let answer = stdio.ask("tools/call", arguments).await;
        assert_eq!(answer["error"]["code"], -32051, "{era:?}: {answer}");
        assert_eq!(
            answer["error"]["message"], "Invalid arguments: title is required.",
            "{era:?}"
        );
    }
}

#[tokio::test]
async fn the_log_shows_the_code_of_a_failure_and_nothing_else_of_it() {
    let log = Log::default();
    let _logging = log.record();
    let mut client = Client::connect_to(Era::Handshake, surface(failing())).await;
    let call = json!({ "name": "shelve", "arguments": { "title": "x" } });
    client.line("tools/call", call).await;
    client.line("prompts/get", json!({ "name": "tidy" })).await;
    assert_eq!(log.outcomes(), ["page_torn", "page_torn"]);
    assert!(!log.text().contains("middle"), "{}", log.text());
}

#[tokio::test]
async fn what_does_not_exist_is_not_said_in_the_worlds_words() {
    let hidden = policy(Mode::Filter, &[], &["shelve"], &[]);
    let surface = Surface::new(failing(), Shelf::default(), hidden, limits());
    let mut client = Client::connect_to(Era::Handshake, surface).await;
    let line = client.line("tools/call", json!({ "name": "shelve" })).await;
    assert!(line.contains("unknown_tool"), "{line}");
    assert_eq!(
        line,
        client.line("tools/call", json!({ "name": "x" })).await
    );
}

#[tokio::test]
async fn a_world_that_panics_for_words_still_answers() {
    let mut world = failing();
    world.envelope = |_| panic!("what was being worked on");
    let mut client = Client::connect_to(Era::Handshake, surface(world)).await;
    let call = json!({ "name": "shelve", "arguments": { "title": "x" } });
    for (method, params) in [
        ("tools/call", call),
        ("prompts/get", json!({ "name": "tidy" })),
    ] {
        let answer = client.ask(method, params).await;
        assert_eq!(answer["error"]["code"], -32603, "{method}: {answer}");
    }
}

#[tokio::test]
async fn a_world_can_add_its_own_error_object_to_what_the_frame_refuses() {
    let call = json!({ "name": "shelve", "arguments": { "title": "x" } });
    let breaking = || {
        let mut world = spec();
        world.tools = vec![tool("shelve", Access::Read, |_, _, _| panic!("broken"))];
        world
    };
    let plain = breaking();
    let mut own = breaking();
    own.refused = Some(|refused| {
        let problem = json!({ "problem": { "word": refused.code, "advice": refused.recovery } });
        problem.as_object().cloned().unwrap()
    });
    let mut broken = breaking();
    broken.refused = Some(|_| panic!("broken as well"));
    let mut answers = Vec::new();
    for world in [plain, own, broken] {
        let mut client = Client::connect_to(Era::Handshake, surface(world)).await;
        answers.push(client.ask("tools/call", call.clone()).await["error"].clone());
    }
    let [plain, own, broken] = answers.try_into().unwrap();
    assert_eq!(plain["data"]["kind"], "internal", "{plain}");
    assert_eq!(broken, plain, "without it there is what every world says");
    assert_eq!(own["data"]["problem"]["word"], "internal", "{own}");
    assert_eq!(own["data"]["problem"]["advice"], plain["data"]["recovery"]);
    for key in ["code", "message"] {
        assert_eq!(own[key], plain[key], "{own}");
    }
    assert_eq!(own["data"]["kind"], plain["data"]["kind"]);
}

/// A world that answers unknown tools in its own words, and adds metadata to every tool and result.
fn marked() -> WorldSpec<Shelf> {
    let object = |value: Value| value.as_object().cloned().unwrap();
    let mut world = spec();
    world.unknown_tool = UnknownTool::Answer(torn);
    world.tool_meta = object(json!({ "kept": false }));
    world.result_meta = object(json!({ "checked": true }));
    world
}

#[tokio::test]
async fn a_world_can_answer_unknown_tools_with_a_result_of_its_own() {
    let hidden = policy(Mode::Filter, &[], &["shelve"], &[]);
    let hiding = || Surface::new(marked(), Shelf::default(), hidden.clone(), limits());
    let http = HttpServer::start(hiding()).await;
    let log = Log::default();
    let _logging = log.record();
    for era in Era::BOTH {
        let mut client = Client::connect_to(era, hiding()).await;
        let hidden = json!({ "name": "shelve", "arguments": { "title": "x" } });
        let unknown = json!({ "name": "x", "arguments": { "title": "x" } });
        let line = client.line("tools/call", unknown.clone()).await;
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["result"]["isError"], true, "{era:?}: {line}");
        assert_eq!(
            answer["result"]["content"][0]["text"], r#"{"problem":"The page is torn."}"#,
            "{era:?}"
        );
        assert_eq!(line, client.line("tools/call", hidden.clone()).await);
        assert_eq!(line.trim_end(), http.line(era, "tools/call", hidden).await);
        assert_eq!(line.trim_end(), http.line(era, "tools/call", unknown).await);
    }
    assert_eq!(
        log.outcomes()[..2],
        ["page_torn", "page_torn"],
        "{}",
        log.text()
    );
}

#[tokio::test]
async fn what_a_world_says_of_all_tools_and_results_is_in_their_meta() {
    for era in Era::BOTH {
        let mut client = Client::connect_to(era, surface(marked())).await;
        let listed = client.ask("tools/list", json!({})).await;
        assert_eq!(listed["result"]["tools"][0]["_meta"]["kept"], false);
        for title in ["x", ""] {
            let call = json!({ "name": "shelve", "arguments": { "title": title } });
            let answer = client.ask("tools/call", call).await;
            assert_eq!(answer["result"]["_meta"]["checked"], true, "{answer}");
        }
    }
}
