//! Arguments that clients repeat in headers.

use schemars::JsonSchema;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Policy, Surface, Tool, policy::Mode};
use serde::Deserialize;
use serde_json::json;

use super::{
    Client, Shelf, limits,
    policies::policy,
    spec,
    wire::{Answer, HttpServer},
};
use crate::fixture::Era;

#[derive(Deserialize, JsonSchema)]
struct RouteParams {
    /// Where to.
    region: Option<String>,
    /// How often.
    times: Option<u8>,
}

fn route(
    _: &Shelf,
    params: RouteParams,
    _: &CallContext,
) -> Result<(String, AnswerFacts), Failure> {
    let region = params.region.unwrap_or_default();
    Ok((
        format!("{region} {:?}", params.times),
        AnswerFacts::default(),
    ))
}

fn surface(policy: Policy) -> Surface {
    let mut world = spec();
    world.tools = vec![
        Tool::read("route", "Route", "Route a call.")
            .mirror("region", "Region")
            .mirror("times", "Times")
            .call_text(route),
    ];
    Surface::new(world, Shelf::default(), policy, limits())
}

async fn call(
    http: &HttpServer,
    era: Era,
    arguments: serde_json::Value,
    headers: &[(&str, &str)],
) -> Answer {
    http.post(era, &era.call(7, "route", arguments), headers)
        .await
}

#[tokio::test]
async fn a_listing_says_which_arguments_are_repeated() {
    for era in Era::BOTH {
        let mut client = Client::connect_to(era, surface(Policy::default())).await;
        let listing = client.ask("tools/list", json!({})).await;
        let properties = &listing["result"]["tools"][0]["inputSchema"]["properties"];
        assert_eq!(properties["region"]["x-mcp-header"], "Region");
        assert_eq!(properties["times"]["x-mcp-header"], "Times");
    }
}

#[tokio::test]
async fn a_call_whose_headers_repeat_its_arguments_is_answered() {
    let http = HttpServer::start(surface(Policy::default())).await;
    for (arguments, headers) in [
        (json!({}), vec![]),
        (json!({ "region": null }), vec![]),
        (json!({ "region": "eu" }), vec![("Mcp-Param-Region", "eu")]),
        (
            json!({ "region": "eu", "times": 3 }),
            vec![("mcp-param-region", " eu "), ("Mcp-Param-Times", "3")],
        ),
        (
            json!({ "region": "日本" }),
            vec![("Mcp-Param-Region", "=?base64?5pel5pys?=")],
        ),
        (
            json!({ "region": "=?base64?eu" }),
            vec![("Mcp-Param-Region", "=?base64?eu")],
        ),
    ] {
        let answer = call(&http, Era::Stateless, arguments.clone(), &headers).await;
        assert_eq!(answer.status, 200, "{arguments}");
        assert_eq!(answer.json().await["result"]["isError"], false);
    }
}

#[tokio::test]
async fn any_other_header_is_a_mismatch() {
    let http = HttpServer::start(surface(Policy::default())).await;
    for (arguments, headers) in [
        (json!({ "region": "eu" }), vec![]),
        (json!({ "region": "eu" }), vec![("Mcp-Param-Region", "us")]),
        (json!({ "region": "eu" }), vec![("Mcp-Param-Region", "EU")]),
        (json!({}), vec![("Mcp-Param-Region", "eu")]),
        (
            json!({ "region": null }),
            vec![("Mcp-Param-Region", "null")],
        ),
        (
            json!({ "region": "eu" }),
            vec![("Mcp-Param-Region", "eu"), ("Mcp-Param-Region", "us")],
        ),
        (
            json!({ "region": "eu" }),
            vec![("Mcp-Param-Region", "=?base64?ZXU?=")],
        ),
        (
            json!({ "region": "eu" }),
            vec![("Mcp-Param-Region", "=?base64?Z!!!?=")],
        ),
        (json!({ "times": 3 }), vec![("Mcp-Param-Times", "03")]),
    ] {
        let answer = call(&http, Era::Stateless, arguments.clone(), &headers).await;
        assert_eq!(answer.status, 400, "{arguments}, {headers:?}");
        let answer = answer.json().await;
        assert_eq!(answer["error"]["code"], -32020, "{answer}");
        assert_eq!(answer["id"], 7, "{answer}");
    }
}

#[tokio::test]
async fn nothing_is_repeated_in_the_handshake_era_or_on_stdio() {
    let http = HttpServer::start(surface(Policy::default())).await;
    let arguments = json!({ "region": "eu" });
    let answer = call(&http, Era::Handshake, arguments.clone(), &[]).await;
    assert_eq!(answer.json().await["result"]["isError"], false);
    for era in Era::BOTH {
        let mut client = Client::connect_to(era, surface(Policy::default())).await;
        client.send(&era.call(7, "route", arguments.clone())).await;
        assert_eq!(client.receive().await["result"]["isError"], false);
    }
}

#[tokio::test]
async fn a_hidden_tool_does_not_look_at_headers() {
    let hidden = surface(policy(Mode::Filter, &[], &["route"], &[]));
    let http = HttpServer::start(hidden).await;
    let message = |name| Era::Stateless.call(7, name, json!({ "region": "eu" }));
    let hidden = http.post(Era::Stateless, &message("route"), &[]).await;
    let nonexistent = http.post(Era::Stateless, &message("nope"), &[]).await;
    assert_eq!(hidden.status, nonexistent.status);
    assert_eq!(hidden.json().await, nonexistent.json().await);
}
