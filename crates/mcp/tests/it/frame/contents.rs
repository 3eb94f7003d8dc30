//! Answers, prompts and resources that are more than text.

use schemars::JsonSchema;
use sectile_mcp::{
    AnswerFacts, CacheHint, CallContext, ContentPart, Failure, MediaContent, Policy, Prompt,
    ResourceContent, Resources, Surface, Tool,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Client, RESOURCES, Shelf, limits, spec, wire::HttpServer};
use crate::fixture::Era;

/// The start of a picture, which is not UTF-8.
const COVER: &[u8] = b"\x89PNG";

fn media(mime_type: &'static str, bytes: &[u8]) -> MediaContent {
    let bytes = bytes.to_vec();
    MediaContent { mime_type, bytes }
}

fn parts() -> Vec<ContentPart> {
    vec![
        "A cover:".to_owned().into(),
        ContentPart::Image(media("image/png", COVER)),
        ContentPart::Audio(media("audio/wav", b"RIFF")),
        ContentPart::Resource {
            uri: "shelf://cover".to_owned(),
            content: media("text/plain", b"blue"),
        },
    ]
}

fn wire_parts() -> Value {
    json!([
        { "type": "text", "text": "A cover:" },
        { "type": "image", "data": "iVBORw==", "mimeType": "image/png" },
        { "type": "audio", "data": "UklGRg==", "mimeType": "audio/wav" },
        {
            "type": "resource",
            "resource": { "uri": "shelf://cover", "mimeType": "text/plain", "text": "blue" },
        },
    ])
}

#[derive(Deserialize, JsonSchema)]
struct NoParams {}

fn show(
    _: &Shelf,
    _: NoParams,
    _: &CallContext,
) -> Result<(Vec<ContentPart>, AnswerFacts), Failure> {
    Ok((parts(), AnswerFacts::default()))
}

fn surface() -> Surface {
    let mut world = spec();
    world.tools = vec![
        Tool::read("show", "Show", "Show the cover.").call_text(show),
        Tool::read("show_quickly", "Show", "Show the cover.")
            .quick()
            .call_text(show),
    ];
    world.prompts = vec![Prompt {
        name: "describe",
        title: "Describe",
        description: "Asks for a description of the cover.",
        arguments: &[],
        render: |_, _, _| Ok(parts()),
    }];
    world.resources = Some(Resources {
        read: |_, uri| {
            Ok((uri == "shelf://cover").then(|| ResourceContent {
                content: media("image/png", COVER),
                cache: CacheHint::LIVE,
            }))
        },
        ..RESOURCES
    });
    Surface::new(world, Shelf::default(), Policy::default(), limits())
}

#[tokio::test]
async fn an_answer_may_have_parts_of_several_kinds() {
    for era in Era::BOTH {
        let mut client = Client::connect_to(era, surface()).await;
        let http = HttpServer::start(surface()).await;
        for tool in ["show", "show_quickly"] {
            let params = json!({ "name": tool, "arguments": {} });
            for answer in [
                client.ask("tools/call", params.clone()).await,
                http.ask(era, "tools/call", params).await,
            ] {
                let result = &answer["result"];
                assert_eq!(result["content"], wire_parts(), "{era:?}, {tool}");
                assert!(result.get("structuredContent").is_none(), "{answer}");
            }
        }
    }
}

#[tokio::test]
async fn each_part_of_a_prompt_is_a_message_of_the_user() {
    for era in Era::BOTH {
        let mut client = Client::connect_to(era, surface()).await;
        let answer = client
            .ask("prompts/get", json!({ "name": "describe" }))
            .await;
        let messages = answer["result"]["messages"].as_array().unwrap();
        let contents: Vec<&Value> = messages.iter().map(|message| &message["content"]).collect();
        assert_eq!(json!(contents), wire_parts(), "{era:?}");
        assert!(messages.iter().all(|message| message["role"] == "user"));
    }
}

#[tokio::test]
async fn bytes_that_are_not_text_are_read_in_base64() {
    for era in Era::BOTH {
        let mut client = Client::connect_to(era, surface()).await;
        let answer = client
            .ask("resources/read", json!({ "uri": "shelf://cover" }))
            .await;
        let expected =
            json!([{ "uri": "shelf://cover", "mimeType": "image/png", "blob": "iVBORw==" }]);
        assert_eq!(answer["result"]["contents"], expected, "{era:?}");
    }
}
