//! Documents and sections as resources.

use serde_json::{Value, json};

use super::library::{Library, SAMPLE, text};
use crate::fixture::Era;

fn read(client: &mut super::library::Client<'_>, uri: &str) -> Value {
    client.ask("resources/read", json!({ "uri": uri }))
}

#[test]
fn list_returns_all_docs() {
    let library = Library::sample("");
    for era in Era::BOTH {
        let mut client = library.open_in(era);
        let listed = client.ask("resources/list", json!({}));
        let resources = listed["result"]["resources"].as_array().unwrap();
        let uris: Vec<String> = resources.iter().map(|one| text(&one["uri"])).collect();
        assert_eq!(
            uris,
            ["names", "steps", "which", "why"].map(|slug| format!("sectile://docs/{slug}"))
        );
        for resource in resources {
            assert_eq!(resource["mimeType"], "text/markdown");
            assert!(resource["size"].as_u64().unwrap() > 0);
            assert!(resource["title"].is_string() && resource["description"].is_string());
        }
    }
}

#[test]
fn read_returns_exact_doc_body() {
    let library = Library::sample("");
    let mut client = library.open();
    for (path, body) in SAMPLE {
        let uri = format!("sectile://docs/{}", path.trim_end_matches(".md"));
        let answer = read(&mut client, &uri);
        let content = &answer["result"]["contents"][0];
        assert_eq!(content["text"], body, "{uri}");
        assert_eq!(content["uri"], uri);
        assert_eq!(content["mimeType"], "text/markdown");
    }
}

#[test]
fn resource_bodies_match_docs_search_registry() {
    let library = Library::sample("");
    let mut client = library.open();
    for query in ["lane", "inputs", "comparator", "fences", ""] {
        let answer = client.search(json!({ "query": query, "max_sections": 10 }));
        for section in answer["sections"].as_array().unwrap() {
            let answer = read(&mut client, section["uri"].as_str().unwrap());
            let body = text(&answer["result"]["contents"][0]["text"]);
            assert!(
                body.contains(section["content"].as_str().unwrap()),
                "{section}"
            );
        }
    }
}

#[test]
fn a_section_is_read_by_its_anchor_with_what_is_below_it() {
    let library = Library::sample("");
    let mut client = library.open();
    let answer = read(&mut client, "sectile://docs/which#precheck");
    let body = text(&answer["result"]["contents"][0]["text"]);
    assert!(
        body.starts_with("## Precheck\n") && body.contains("### Inputs"),
        "{body}"
    );
    assert!(!body.contains("## Live"), "{body}");
}

#[test]
fn an_unknown_uri_is_answered_as_the_era_wants() {
    let library = Library::sample("");
    for era in Era::BOTH {
        let mut client = library.open_in(era);
        let mut known = None;
        for uri in [
            "sectile://docs/nope",
            "sectile://docs/WHY",
            "sectile://docs/why#nope",
            "sectile://docs/why#",
            "sectile://docs/why/",
            "sectile://docs/why.md",
            "sectile://docs/../why",
            "other://docs/why",
            "file:///etc/passwd",
            "",
        ] {
            let error = read(&mut client, uri)["error"].clone();
            assert!(error["code"].is_i64(), "{uri}: {error}");
            assert_eq!(&error, known.get_or_insert(error.clone()), "{uri}");
        }
    }
}
