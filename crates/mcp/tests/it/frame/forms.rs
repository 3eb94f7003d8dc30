//! Handlers that ask the user to fill in a form.

use sectile_mcp::{
    Access, Answer, AnswerFacts, CallContext, Failure, Form, FormReply, JsonObject, Policy, Prompt,
    Surface,
};
use serde_json::{Value, json};

use super::{Client, Shelf, limits, policies::policy, spec, tool, wire::HttpServer};
use crate::fixture::{Era, initialize};

const QUESTION: &str = "Which shelf?";

fn form(name: &'static str) -> Form {
    let schema = json!({
        "type": "object",
        "properties": {
            "place": { "type": "string", "enum": ["top", "bottom"], "default": "top" },
            "row": { "type": "integer" },
        },
        "required": ["place"],
    });
    let Value::Object(schema) = schema else {
        unreachable!("it is an object");
    };
    Form {
        name,
        question: QUESTION.to_owned(),
        schema,
    }
}

/// Returns what was heard, in words.
fn words(reply: &FormReply) -> String {
    match reply {
        FormReply::Submitted(fields) => Value::Object(fields.clone()).to_string(),
        other => format!("{other:?}"),
    }
}

/// Asks for two places, and answers with both.
fn put(_: &Shelf, _: JsonObject, context: &CallContext) -> Result<Answer, Failure> {
    let first = words(&context.ask(&form("first")));
    let second = words(&context.ask(&form("second")));
    Answer::new(
        &json!({ "title": format!("{first} {second}") }),
        AnswerFacts::default(),
    )
}

fn surface_with(policy: Policy) -> Surface {
    let mut world = spec();
    world.sessions = true;
    world.tools = vec![tool("put", Access::Write, put)];
    world.prompts = vec![Prompt {
        name: "put",
        title: "Put",
        description: "Asks where to put a book.",
        arguments: &[],
        render: |_, _, context| Ok(vec![words(&context.ask(&form("first"))).into()]),
    }];
    Surface::new(world, Shelf::default(), policy, limits())
}

fn surface() -> Surface {
    surface_with(Policy::default())
}

fn submitted(fields: Value) -> Value {
    json!({ "action": "accept", "content": fields })
}

/// What clients send, and what the handler hears.
fn replies() -> [(Value, &'static str); 7] {
    [
        (submitted(json!({ "place": "top" })), r#"{"place":"top"}"#),
        (
            submitted(json!({ "place": "bottom", "row": 2.0, "color": "red" })),
            r#"{"place":"bottom","row":2}"#,
        ),
        (submitted(json!({ "place": "middle" })), "Declined"),
        (submitted(json!({ "row": 2 })), "Declined"),
        (submitted(json!({ "place": "top", "row": "2" })), "Declined"),
        (submitted(json!("top")), "Declined"),
        (json!({ "action": "decline" }), "Declined"),
    ]
}

fn stateless(method: &str, params: Value) -> Value {
    let mut request = Era::Stateless.request(7, method, params);
    request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "elicitation": {} });
    request
}

fn put_params() -> Value {
    json!({ "name": "put", "arguments": { "title": "x" } })
}

/// Repeats a request with the answer to its question.
fn again(mut request: Value, asked: &Value, name: &str, response: &Value) -> Value {
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let question = &asked["result"]["inputRequests"][name];
    assert_eq!(question["params"]["message"], QUESTION, "{asked}");
    let fields = &question["params"]["requestedSchema"]["properties"];
    assert_eq!(fields["place"]["default"], "top", "{asked}");
    request["params"]["requestState"] = asked["result"]["requestState"].clone();
    // Other answers are ignored.
    let other = submitted(json!({ "place": "bottom" }));
    request["params"]["inputResponses"] = json!({ "other": other, name: response });
    request
}

/// Connects a client of the handshake era that shows forms.
async fn with_handshake() -> Client {
    let mut client = Client::connect_to(Era::Stateless, surface()).await;
    client.era = Era::Handshake;
    let mut message = initialize(0);
    message["params"]["capabilities"] = json!({ "elicitation": {} });
    client.send(&message).await;
    client.receive().await;
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_form_is_filled_in_while_the_call_waits() {
    for (response, heard) in replies() {
        let mut client = with_handshake().await;
        let call = Era::Handshake.request(7, "tools/call", put_params());
        client.send(&call).await;
        for response in [&response, &submitted(json!({ "place": "top" }))] {
            let question = client.receive().await;
            assert_eq!(question["method"], "elicitation/create", "{question}");
            let reply = json!({ "jsonrpc": "2.0", "id": question["id"], "result": response });
            client.send(&reply).await;
        }
        let answer = client.receive().await;
        let title = &answer["result"]["structuredContent"]["title"];
        assert_eq!(*title, format!(r#"{heard} {{"place":"top"}}"#), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn without_a_handshake_each_round_brings_one_more_form() {
    let http = HttpServer::start(surface()).await;
    let request = || stateless("tools/call", put_params());
    let ask = async |request: Value| http.post(Era::Stateless, &request, &[]).await.json().await;
    for (response, heard) in replies() {
        let first = ask(request()).await;
        let second = ask(again(request(), &first, "first", &response)).await;
        assert_ne!(
            first["result"]["requestState"], second["result"]["requestState"],
            "{heard}"
        );
        let top = submitted(json!({ "place": "top" }));
        let answer = ask(again(request(), &second, "second", &top)).await;
        let title = &answer["result"]["structuredContent"]["title"];
        assert_eq!(*title, format!(r#"{heard} {{"place":"top"}}"#), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_prompt_can_ask_too() {
    let http = HttpServer::start(surface()).await;
    let request = || stateless("prompts/get", json!({ "name": "put" }));
    let ask = async |request: Value| http.post(Era::Stateless, &request, &[]).await.json().await;
    let text = |answer: &Value| answer["result"]["messages"][0]["content"]["text"].clone();
    for (response, heard) in replies() {
        let asked = ask(request()).await;
        let answer = ask(again(request(), &asked, "first", &response)).await;
        assert_eq!(text(&answer), heard, "{answer}");
        let mut client = with_handshake().await;
        let request = Era::Handshake.request(7, "prompts/get", json!({ "name": "put" }));
        client.send(&request).await;
        let question = client.receive().await;
        let reply = json!({ "jsonrpc": "2.0", "id": question["id"], "result": response });
        client.send(&reply).await;
        let answer = client.receive().await;
        assert_eq!(text(&answer), heard, "{answer}");
    }
    // The request state of the tool of the same name does not fit.
    let asked = ask(stateless("tools/call", put_params())).await;
    let top = submitted(json!({ "place": "top" }));
    let answer = ask(again(request(), &asked, "first", &top)).await;
    assert_eq!(answer["error"]["data"]["kind"], "strange_state", "{answer}");
    // A client without forms is not asked.
    let answer = ask(Era::Stateless.request(7, "prompts/get", json!({ "name": "put" }))).await;
    assert_eq!(text(&answer), "Unsupported", "{answer}");
}

#[tokio::test]
async fn a_hidden_prompt_does_not_look_at_answers() {
    let hidden = surface_with(policy(
        sectile_mcp::policy::Mode::Filter,
        &[],
        &["put"],
        &[],
    ));
    let http = HttpServer::start(hidden).await;
    let ask = async |name: &str| {
        let params = json!({ "name": name, "requestState": "forged", "inputResponses": {} });
        let request = stateless("prompts/get", params);
        http.post(Era::Stateless, &request, &[]).await.json().await
    };
    let hidden = ask("put").await;
    assert_eq!(hidden, ask("nope").await);
    assert_eq!(
        hidden["error"]["data"]["kind"], "unknown_prompt",
        "{hidden}"
    );
}
