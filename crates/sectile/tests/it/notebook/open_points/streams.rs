//! What a result stream delivers, and how it ends.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::super::{Client, Library, proof};
use crate::fixture::Era;

const SMALL_CHUNKS: &str = "[notebook.constraints]\nstream_chunk_size = 2\n";

fn begin(client: &mut Client<'_>, query: &str) -> (String, Value) {
    let begun = client.call("begin_result_stream", json!({ "query": query }));
    (begun["stream_token"].as_str().unwrap().to_owned(), begun)
}

fn pull(client: &mut Client<'_>, token: &str) -> Value {
    client.call("next_stream_chunk", json!({ "stream_token": token }))
}

/// All chunks up to the record of completion, which comes last.
fn all(client: &mut Client<'_>, token: &str) -> Vec<Value> {
    let mut chunks = vec![pull(client, token)];
    while chunks.last().unwrap()["continuation"]["has_more"] == true {
        chunks.push(pull(client, token));
    }
    chunks
}

fn refused(client: &mut Client<'_>, token: &str) -> (Value, Value) {
    let error = client.error("next_stream_chunk", json!({ "stream_token": token }));
    (error["type"].clone(), error["context"]["reason"].clone())
}

#[test]
fn every_step_delivers_its_payload_under_its_own_name() {
    let library = Library::rich();
    let root = library.vault.root();
    let mut client = library.open_with(Era::Handshake, SMALL_CHUNKS);
    client.enter("lab");
    let (token, begun) = begin(&mut client, "glacier ice");
    assert_eq!(begun.get("payload"), None);
    let chunks = all(&mut client, &token);
    let of = |name: &str| -> Vec<Value> {
        let chunks = chunks.iter().filter(|chunk| chunk["chunk_type"] == name);
        chunks
            .flat_map(|chunk| {
                chunk["payload"]["items"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default()
            })
            .collect()
    };
    for chunk in &chunks {
        proof::assert_delivered(&root, "lab", chunk);
    }
    let order = chunks
        .iter()
        .map(|chunk| chunk["chunk_type"].as_str().unwrap());
    let mut order: Vec<&str> = order.collect();
    order.dedup();
    assert_eq!(
        order,
        [
            "reference_identifiers",
            "passages",
            "dense_sections",
            "artifact_links",
            "stream_complete"
        ]
    );
    let (references, passages) = (of("reference_identifiers"), of("passages"));
    assert_eq!(
        references.len() as u64,
        begun["metadata"]["references"].as_u64().unwrap()
    );
    let id = |item: &Value| item["reference_id"].clone();
    assert!(references.iter().map(id).eq(passages.iter().map(id)));
    for item in &references {
        assert!(
            item["scores"]["fused"].is_number() && item["matched_terms"].is_array(),
            "{item}"
        );
        assert_eq!(item.get("exact_text"), None, "references carry no text");
    }
    assert!(
        passages
            .iter()
            .all(|item| item["exact_text"].is_string() && item["checksum"].is_string())
    );
    let sections = of("dense_sections");
    let dense = &sections[0];
    assert!(
        dense["exact_text"]
            .as_str()
            .unwrap()
            .starts_with("# Glaciers"),
        "{dense}"
    );
    assert_eq!(dense["hits"], 3, "{dense}");
    assert!(
        dense["hits_per_1000_bytes"]
            .as_f64()
            .is_some_and(|density| density > 0.0)
    );
    let links = chunks.iter();
    let links: Vec<&Value> = links
        .flat_map(|chunk| chunk["payload"]["links"].as_array().into_iter().flatten())
        .collect();
    let ids: Vec<&Value> = links.iter().map(|link| &link["artifact_id"]).collect();
    assert_eq!(ids, ["one/summary.md", "two/facts.json", "two/notes.txt"]);
    assert!(
        links
            .iter()
            .all(|link| link.get("contents").is_none() && link["staleness_indicator"] == "fresh")
    );
}

#[test]
fn totals_and_remaining_chunks_are_exact() {
    let library = Library::rich();
    for (settings, query) in [
        (SMALL_CHUNKS, "glacier ice"),
        ("", "glacier ice"),
        ("", "zzyzx"),
    ] {
        let mut client = library.open_with(Era::Handshake, settings);
        client.enter("lab");
        let (token, begun) = begin(&mut client, query);
        let mut chunks = all(&mut client, &token);
        let end = chunks.pop().unwrap();
        assert_eq!(begun["metadata"]["estimated_chunks"], chunks.len());
        for (at, chunk) in chunks.iter().enumerate() {
            assert_eq!(chunk["chunk_index"], at);
            let left = chunks.len() - at - 1;
            assert_eq!(
                chunk["continuation"],
                json!({ "has_more": true, "next_chunk_available": left > 0, "estimated_remaining": left })
            );
        }
        assert_eq!(
            end,
            json!({
                "stream_token": token,
                "chunk_type": "stream_complete",
                "summary": { "total_chunks": chunks.len(), "total_references": begun["metadata"]["references"], "query": query },
                "continuation": { "has_more": false, "stream_closed": true },
            })
        );
        assert_eq!(
            refused(&mut client, &token),
            (json!("stream_token_invalid"), json!("finished"))
        );
    }
}

#[test]
fn entering_any_collection_drops_all_streams() {
    let library = Library::rich();
    for collection in ["lab", "journal"] {
        let mut client = library.open(Era::Handshake);
        client.enter("lab");
        let tokens = [begin(&mut client, "ice").0, begin(&mut client, "glacier").0];
        pull(&mut client, &tokens[0]);
        client.enter(collection);
        for token in &tokens {
            assert_eq!(
                refused(&mut client, token),
                (json!("stream_token_invalid"), json!("collection_changed"))
            );
        }
    }
}

#[test]
fn a_stream_ends_with_its_connection() {
    let library = Library::rich();
    for era in Era::BOTH {
        let mut client = library.open(era);
        client.enter("lab");
        let (token, _) = begin(&mut client, "ice");
        drop(client);
        let mut client = library.open(era);
        client.enter("lab");
        assert_eq!(
            refused(&mut client, &token),
            (json!("stream_token_invalid"), json!("unknown"))
        );
    }
}

#[test]
fn a_token_is_good_in_its_own_context_only_and_the_oldest_stream_makes_room() {
    let library = Library::rich();
    let mut client = library.open(Era::Stateless);
    client.enter("lab");
    let (token, _) = begin(&mut client, "ice");
    let own = client.handle.take();
    client.enter("lab");
    assert_eq!(
        refused(&mut client, &token),
        (json!("stream_token_invalid"), json!("unknown"))
    );
    client.handle = own;
    pull(&mut client, &token);
    for _ in 0..8 {
        begin(&mut client, "ice");
    }
    assert_eq!(
        refused(&mut client, &token),
        (json!("stream_token_invalid"), json!("displaced"))
    );
}

/// Pulls until the time is over, which no pull makes longer. It is never over too early.
#[test]
fn a_stream_lasts_for_its_time_from_its_beginning_however_it_is_used() {
    let library = Library::rich();
    for number in 0..40 {
        library.vault.note(
            &format!("lab/many/n{number}.md"),
            format!("# Ice {number}\n\nThe ice of {number}.\n"),
        );
    }
    let settings = "[notebook.constraints]\nstream_timeout_s = 1\nstream_chunk_size = 1\n";
    let mut client = library.open_with(Era::Handshake, settings);
    client.enter("lab");
    client.search("ice");
    let (token, begun) = begin(&mut client, "ice");
    let metadata = &begun["metadata"];
    assert_eq!(begun["disclosure_policy"]["timeout_s"], 1);
    let expires = metadata["expires_at"].as_i64().unwrap();
    assert_eq!(expires - metadata["created_at"].as_i64().unwrap(), 1000);
    assert!(
        metadata["estimated_chunks"].as_u64().unwrap() > 60,
        "{begun}"
    );
    // At most so many pulls fit into a second, so the stream is not read to its end.
    for _ in 0..50 {
        let answer = client.result("next_stream_chunk", json!({ "stream_token": token }));
        if answer["isError"] == true {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    assert!(
        now.as_millis() >= u128::try_from(expires).unwrap(),
        "too early"
    );
    for _ in 0..2 {
        let error = client.error("next_stream_chunk", json!({ "stream_token": token }));
        assert_eq!(error["type"], "stream_token_expired", "{error}");
    }
    let unknown = refused(&mut client, "00000000-0000-4000-8000-000000000000");
    assert_eq!(unknown, (json!("stream_token_invalid"), json!("unknown")));
}

#[test]
fn what_changes_while_a_stream_runs_is_told_and_not_quoted() {
    let library = Library::rich();
    let root = library.vault.root();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let (token, _) = begin(&mut client, "thin on the eighth");
    let first = pull(&mut client, &token);
    assert_eq!(first["payload"]["items"][0]["verified"], true);
    library
        .vault
        .note("lab/dated.md", "# Rewritten\n\nNothing of it is left.\n");
    let second = pull(&mut client, &token);
    proof::assert_delivered(&root, "lab", &second);
    let item = &second["payload"]["items"][0];
    assert_eq!(
        (&item["verified"], &item["gone"]["reason"]),
        (&json!(false), &json!("changed")),
        "{item}"
    );
    let said = second["stream_metadata"]["what_changed"].as_str().unwrap();
    assert!(said.contains("changed since the search"), "{said}");
}
