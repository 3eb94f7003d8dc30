//! Long listings, templates, and how long a client may cache an answer.

use std::borrow::Cow;

use sectile_mcp::{
    CacheHint, JsonObject, Policy, Resource, ResourceContent, ResourceListing, ResourceTemplate,
    Resources, Surface, WorldSpec, policy::Mode,
};
use serde_json::{Value, json};

use super::{Client, Shelf, limits, policies::policy, spec, wire::HttpServer};
use crate::fixture::Era;

pub(super) const TEMPLATE: &str = "shelf://{book}/pages/{page}";
pub(super) const HIDDEN_TEMPLATE: &str = "shelf://secret/{page}";

const TEMPLATES: &[ResourceTemplate] = &[
    ResourceTemplate {
        uri_template: Cow::Borrowed(TEMPLATE),
        name: "page",
        title: "Page",
        description: "A page of a book.",
        mime_type: "text/markdown",
    },
    ResourceTemplate {
        uri_template: Cow::Borrowed(HIDDEN_TEMPLATE),
        name: "secret",
        title: "Secret page",
        description: "A page of a secret book.",
        mime_type: "text/markdown",
    },
];

/// A shelf with 401 books, whose pages can be read without being listed.
pub(super) fn library() -> WorldSpec<Shelf> {
    let mut world = spec();
    world.resources = Some(Resources {
        list: |_, _| {
            let book = |number: usize| Resource {
                uri: format!("shelf://{number}"),
                name: number.to_string(),
                title: format!("Book {number}"),
                description: "A book.".to_owned(),
                mime_type: "text/markdown",
                size: None,
                last_modified: (number == 0).then(|| "2026-11-15T06:00:00Z".to_owned()),
            };
            Ok(ResourceListing {
                resources: (0..401).map(book).collect(),
                meta: JsonObject::from_iter([("shelf/lost".to_owned(), json!(3))]),
            })
        },
        read: |_, uri| {
            Ok(uri.ends_with("/pages/1").then(|| {
                ResourceContent::text("text/markdown", "one".to_owned(), CacheHint::TABLE)
            }))
        },
        templates: Cow::Borrowed(TEMPLATES),
        cache: CacheHint::LIVE,
        changes: None,
    });
    world
}

fn uris(answer: &Value) -> Vec<String> {
    let resources = answer["result"]["resources"].as_array().unwrap();
    let uri = |resource: &Value| resource["uri"].as_str().unwrap().to_owned();
    resources.iter().map(uri).collect()
}

#[tokio::test]
async fn a_long_listing_comes_in_pages_without_what_is_hidden() {
    let hidden = policy(Mode::Filter, &[], &["shelf://7"], &[]);
    for era in Era::BOTH {
        let mut client = Client::connect(era, library(), hidden.clone()).await;
        let mut all = Vec::new();
        let mut params = json!({});
        let mut sizes = Vec::new();
        loop {
            let answer = client.ask("resources/list", params).await;
            let page = uris(&answer);
            sizes.push(page.len());
            all.extend(page);
            let result = &answer["result"];
            assert_eq!(result["ttlMs"], 0, "{era:?}");
            assert_eq!(result["_meta"]["shelf/lost"], 3, "{era:?}: {result}");
            assert_eq!(result["cacheScope"], "private", "{era:?}");
            match result["nextCursor"].as_str() {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => break,
            }
        }
        assert_eq!(sizes, [200, 200], "{era:?}");
        let expected = (0..401).filter(|number| *number != 7);
        let expected: Vec<String> = expected.map(|number| format!("shelf://{number}")).collect();
        assert_eq!(all, expected, "{era:?}");
        for cursor in [json!(""), json!("x"), json!("00000001"), json!(5)] {
            let params = json!({ "cursor": cursor });
            let answer = client.ask("resources/list", params).await;
            assert_eq!(
                answer["error"]["code"], -32602,
                "{cursor}, {era:?}: {answer}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_not_known_of_a_resource_is_left_out() {
    let mut client = Client::connect(Era::Stateless, library(), Policy::default()).await;
    let answer = client.ask("resources/list", json!({})).await;
    let resources = &answer["result"]["resources"];
    assert_eq!(
        resources[0]["annotations"],
        json!({ "lastModified": "2026-11-15T06:00:00Z" })
    );
    assert!(resources[0].get("size").is_none());
    assert!(resources[1].get("annotations").is_none());
}

#[tokio::test]
async fn templates_are_listed_and_what_fits_them_is_read() {
    let hidden = policy(Mode::Filter, &[], &[HIDDEN_TEMPLATE], &[]);
    let surface = Surface::new(library(), Shelf::default(), hidden.clone(), limits());
    let http = HttpServer::start(surface).await;
    for era in Era::BOTH {
        let mut client = Client::connect(era, library(), hidden.clone()).await;
        let over_stdio = client.ask("resources/templates/list", json!({})).await;
        let over_http = http.ask(era, "resources/templates/list", json!({})).await;
        for answer in [over_stdio, over_http] {
            let shown = &TEMPLATES[0];
            assert_eq!(
                answer["result"]["resourceTemplates"],
                json!([{
                    "uriTemplate": TEMPLATE,
                    "name": shown.name,
                    "title": shown.title,
                    "description": shown.description,
                    "mimeType": shown.mime_type,
                }]),
                "{era:?}: {answer}"
            );
        }
        let params = json!({ "uri": "shelf://9/pages/1" });
        let answer = client.ask("resources/read", params).await;
        assert_eq!(answer["result"]["contents"][0]["text"], "one", "{era:?}");
        assert_eq!(answer["result"]["ttlMs"], 300_000, "{era:?}");
        assert_eq!(answer["result"]["cacheScope"], "public", "{era:?}");
        let params = json!({ "uri": "shelf://9/pages/2" });
        let answer = client.ask("resources/read", params).await;
        assert_eq!(
            answer["error"]["data"]["kind"], "unknown_resource",
            "{era:?}"
        );
    }
}
