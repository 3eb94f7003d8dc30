//! Apps: which clients are told about them, and for which callers they exist.

use serde_json::{Value, json};

use super::*;
use crate::frame::policies::policy;

const APP: &str = "ui://shelf/arrange";
const EXTENSION: &str = "io.modelcontextprotocol/ui";

fn app() -> Resource {
    Resource {
        uri: APP.to_owned(),
        name: "arrange".to_owned(),
        title: "Arrange".to_owned(),
        description: "Shows what was arranged.".to_owned(),
        mime_type: sectile_mcp::APP_TYPE,
        size: None,
        last_modified: None,
    }
}

/// A world with an app for one of its two tools.
fn with_app() -> WorldSpec<Shelf> {
    let arrange = Tool::write("arrange", "Arrange", "Put the books in order.")
        .app(APP)
        .call_raw::<ShelveParams, Shelved>(|_, _, context| {
            let title = format!("shows apps: {}", context.shows_apps);
            Answer::new(&Shelved { title }, AnswerFacts::default())
        });
    let resources = Resources {
        list: |shelf, context| {
            let mut listing = list(shelf, context)?;
            listing.resources.push(app());
            Ok(listing)
        },
        read: |shelf, uri| match uri {
            APP => Ok(Some(ResourceContent::text(
                sectile_mcp::APP_TYPE,
                "<!doctype html>".to_owned(),
                CacheHint::TABLE,
            ))),
            uri => read(shelf, uri),
        },
        ..RESOURCES
    };
    let mut spec = spec();
    spec.tools.push(arrange);
    spec.resources = Some(resources);
    spec
}

/// A client with these extensions, and what it is told when it connects.
async fn connect(
    era: Era,
    extensions: &Value,
    spec: WorldSpec<Shelf>,
    policy: Policy,
) -> (Client, Value) {
    let capabilities = json!({ "extensions": extensions });
    let surface = Surface::new(spec, Shelf::default(), policy, limits());
    let mut client = Client::connect_to(Era::Stateless, surface).await;
    client.era = era;
    let mut greeting = match era {
        Era::Handshake => initialize(7),
        Era::Stateless => era.request(7, "server/discover", json!({})),
    };
    match era {
        Era::Handshake => greeting["params"]["capabilities"] = capabilities,
        Era::Stateless => {
            greeting["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                capabilities;
        }
    }
    client.send(&greeting).await;
    let answer = client.receive().await;
    let declared = answer["result"]["capabilities"]["extensions"].clone();
    (client, declared)
}

/// The answer to a request of a client with these extensions.
async fn ask(client: &mut Client, extensions: &Value, method: &str, params: Value) -> Value {
    let mut request = client.era.request(7, method, params);
    if client.era == Era::Stateless {
        request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "extensions": extensions });
    }
    client.send(&request).await;
    client.receive().await
}

fn both() -> [Value; 2] {
    let shown = json!({ EXTENSION: { "mimeTypes": [sectile_mcp::APP_TYPE] } });
    [shown, json!({})]
}

#[tokio::test]
async fn only_clients_that_show_apps_are_told_which_tools_have_one() {
    for era in Era::BOTH {
        let mut listings = Vec::new();
        for extensions in both() {
            let (mut client, declared) =
                connect(era, &extensions, with_app(), Policy::default()).await;
            assert_eq!(
                declared[EXTENSION]["mimeTypes"],
                json!([sectile_mcp::APP_TYPE])
            );
            let listing = ask(&mut client, &extensions, "tools/list", json!({})).await;
            listings.push(listing["result"].clone());
            let resources = ask(&mut client, &extensions, "resources/list", json!({})).await;
            let lists_app = resources.to_string().contains(APP);
            assert_eq!(lists_app, extensions != json!({}), "{era:?}: {resources}");
            let call = json!({ "name": "arrange", "arguments": { "title": "x" } });
            let answer = ask(&mut client, &extensions, "tools/call", call).await;
            let shows = extensions != json!({});
            assert_eq!(
                answer["result"]["structuredContent"]["title"],
                format!("shows apps: {shows}"),
                "{era:?}"
            );
        }
        let [shown, plain] = &mut listings[..] else {
            unreachable!()
        };
        assert_eq!(shown["tools"][0].get("_meta"), None);
        let meta = shown["tools"][1].as_object_mut().unwrap().remove("_meta");
        assert_eq!(
            meta,
            Some(json!({ "ui": { "resourceUri": APP } })),
            "{era:?}"
        );
        assert_eq!(shown["tools"], plain["tools"]);
        if era == Era::Stateless {
            // One cache for both kinds of clients would confuse them.
            assert_eq!(shown["cacheScope"], "private");
            assert_eq!(plain["cacheScope"], "public");
        }
    }
}

#[tokio::test]
async fn an_app_says_that_it_loads_nothing() {
    for era in Era::BOTH {
        let [extensions, _] = both();
        let (mut client, _) = connect(era, &extensions, with_app(), Policy::default()).await;
        let uri = json!({ "uri": APP });
        let read = ask(&mut client, &extensions, "resources/read", uri).await;
        let listed = ask(&mut client, &extensions, "resources/list", json!({})).await;
        let listed = listed["result"]["resources"].as_array().unwrap().clone();
        assert_eq!(listed[0].get("_meta"), None);
        let content = &read["result"]["contents"][0];
        assert_eq!(content["mimeType"], "text/html;profile=mcp-app");
        for ui in [&content["_meta"]["ui"], &listed[2]["_meta"]["ui"]] {
            assert_eq!(ui["csp"]["connectDomains"], json!([]));
            assert_eq!(ui["csp"]["resourceDomains"], json!([]));
            assert_eq!(ui["prefersBorder"], true);
        }
    }
}

#[tokio::test]
async fn an_app_does_not_exist_without_its_tool() {
    use sectile_mcp::policy::Mode::Filter;
    let hiding = [
        (with_app().read_only(), Policy::default()),
        (with_app(), policy(Filter, &[], &["arrange"], &[])),
        (with_app(), policy(Filter, &[], &[APP], &[])),
        (with_app(), policy(Filter, &["shelve", "arrange"], &[], &[])),
    ];
    for (spec, policy) in hiding {
        let [extensions, _] = both();
        let (mut client, declared) = connect(Era::Stateless, &extensions, spec, policy).await;
        assert_eq!(declared, Value::Null);
        let listing = ask(&mut client, &extensions, "tools/list", json!({})).await;
        assert!(!listing.to_string().contains("ui://"), "{listing}");
        let resources = ask(&mut client, &extensions, "resources/list", json!({})).await;
        assert!(!resources.to_string().contains("ui://"), "{resources}");
        let mut lines = Vec::new();
        for uri in [APP, "ui://shelf/nothing", "shelf://nothing"] {
            lines.push(client.line("resources/read", json!({ "uri": uri })).await);
        }
        assert!(lines.iter().all(|line| *line == lines[0]), "{lines:?}");
        assert!(lines[0].contains("unknown_resource"), "{lines:?}");
    }
}
