//! The same library in a folder or in a bucket, with its index in any storage: the same answers, one request for a quote, and
//! faults of the servers that are told and passed.

/// What goes wrong with the servers, one by one.
mod faults;
/// Runs that are killed at many moments.
mod kills;
mod second_tier;
mod services;

use serde_json::{Value, json};

use super::{Client, Library, dice::Dice, stable, tour::tour};
use crate::fixture::{Backends, Era, IndexHome, Where, sectile, wait_for};

/// A client of a server on standard input and output.
fn client<'a>(library: &'a Library, backends: &Backends, era: Era) -> Client<'a> {
    client_with(library, backends, era, "")
}

/// The same, with more settings.
fn client_with<'a>(
    library: &'a Library,
    backends: &Backends,
    era: Era,
    settings: &str,
) -> Client<'a> {
    let command = backends.server(&library.vault, settings);
    Client::start(&library.vault, command, era)
}

/// An answer without what differs for good: where it was found, and what bounds the storage.
fn comparable(tool: &str, result: &Value) -> Value {
    let mut answer = stable(tool, &result["structuredContent"]);
    if let Some(retrieval) = answer.get_mut("retrieval").and_then(Value::as_object_mut) {
        retrieval.remove("active");
    }
    if let Some(answer) = answer.as_object_mut() {
        answer.remove("index_on_disk");
        answer.remove("context_handle");
        answer.remove("all_limits");
    }
    answer
}

#[test]
fn every_storage_gives_the_same_answers() {
    let library = Library::rich();
    let mut expected: Option<Vec<(&str, Value)>> = None;
    for place in Where::all() {
        let backends = Backends::start(place, &library.vault);
        backends.fill(&library.vault);
        for era in [Era::Handshake, Era::Stateless] {
            let mut client = client(&library, &backends, era);
            let walked = tour(&mut client, "lab");
            let walked: Vec<(&str, Value)> = walked
                .into_iter()
                .map(|(tool, result)| (tool, comparable(tool, &result)))
                .collect();
            assert!(walked.len() > 20, "{place:?}");
            let expected = expected.get_or_insert_with(|| walked.clone());
            for (at, (one, other)) in walked.iter().zip(expected.iter()).enumerate() {
                assert_eq!(one, other, "{place:?} {era:?}, step {at}");
            }
            assert_eq!(walked.len(), expected.len());
        }
    }
}

#[test]
fn questions_have_the_same_answers_from_every_index() {
    let library = Library::new();
    let mut dice = Dice::new(31);
    for number in 0..24 {
        let text = dice.notebook() + &dice.notebook();
        library.vault.note(&format!("lab/deep/n{number}.md"), text);
    }
    let questions: Vec<String> = (0..40).map(|_| dice.words(5)).collect();
    let mut expected: Option<Vec<Value>> = None;
    for place in Where::all() {
        let backends = Backends::start(place, &library.vault);
        backends.fill(&library.vault);
        let mut client = client(&library, &backends, Era::Handshake);
        client.enter("lab");
        let answers: Vec<Value> = questions
            .iter()
            .map(|question| {
                let result =
                    client.result("semantic_search", json!({ "query": question, "k": 20 }));
                comparable("semantic_search", &result)
            })
            .collect();
        let hits = |answer: &Value| answer["results"].as_array().map_or(0, Vec::len);
        assert!(answers.iter().map(hits).sum::<usize>() > 150);
        let expected = expected.get_or_insert_with(|| answers.clone());
        for (question, (one, other)) in questions.iter().zip(answers.iter().zip(expected)) {
            assert_eq!(one, other, "{place:?}: {question}");
        }
    }
}

#[test]
fn a_quote_is_one_ranged_read() {
    let library = Library::rich();
    let backends = Backends::start(Where::new(true, IndexHome::Postgres), &library.vault);
    backends.fill(&library.vault);
    let (_, proxy) = backends.bucket.as_ref().unwrap();
    let mut client = client(&library, &backends, Era::Stateless);
    client.enter("lab");
    let found = client.search("ice on the lake");
    let id = found["results"][0]["reference_id"].clone();
    // Once, the server looks by itself whether its index is behind.
    wait_for("a comparison", || {
        let found = client.search("ice on the lake");
        found["metadata"]["changed_not_indexed"].as_u64()
    });
    drop(proxy.take_requests());
    for _ in 0..3 {
        let answer = client.call("fetch_passage", json!({ "source_id": id }));
        assert_eq!(answer["integrity"]["verified"], true, "{answer}");
        let requests = proxy.take_requests();
        assert_eq!(requests.len(), 1, "{requests:?}");
        assert_eq!(requests[0].method, "GET");
        let range = requests[0].range.as_deref().unwrap();
        assert!(range.starts_with("bytes=0-"), "{range}");
    }
}

#[test]
fn which_index_answers_is_told() {
    let library = Library::rich();
    let backends = Backends::start(Where::new(false, IndexHome::Postgres), &library.vault);
    backends.fill(&library.vault);
    let mut client = client(&library, &backends, Era::Handshake);
    client.enter("lab");
    client.search("ice");
    let described = client.call("describe_world", json!({}));
    let active = &described["retrieval"]["active"];
    assert_eq!(active["index"], "postgres", "{active}");
    assert_eq!(active["vectors"], "exact", "{active}");
}

#[test]
fn an_index_in_a_bucket_is_told_listed_exported_and_removed() {
    let library = Library::rich();
    let backends = Backends::start(Where::new(false, IndexHome::Bucket), &library.vault);
    let settings = library.vault.config(&backends.settings());
    let run = |arguments: &[&str]| {
        let mut command = sectile();
        let output = command.args(arguments).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let complaint = String::from_utf8(output.stderr).unwrap();
        (output.status.success(), said, complaint)
    };
    let file = settings.to_str().unwrap();
    let list = ["notebook", "bucket", "list", file, "--json"];
    assert_eq!(run(&list), (true, "[]\n".to_owned(), String::new()));
    let export = library.vault.outside().join("export");
    let export = export.to_str().unwrap();
    let (is_done, _, complaint) = run(&["notebook", "bucket", "export", file, "lab", export]);
    assert!(
        !is_done && complaint.contains("has no index of this collection"),
        "{complaint}"
    );
    backends.fill(&library.vault);
    let mut client = client(&library, &backends, Era::Handshake);
    client.enter("lab");
    let found = client.search("ice on the lake");
    assert_eq!(found["metadata"]["index_location"], "s3", "{found}");
    let described = client.call("describe_world", json!({}));
    let active = &described["retrieval"]["active"];
    assert_eq!(active["index"], "s3", "{active}");
    assert_eq!(active["vectors"], "exact", "{active}");

    let (_, listed, _) = run(&list);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let named = |one: &Value| one["collection_id"] == "lab";
    assert!(listed.as_array().unwrap().iter().any(named), "{listed}");
    let (is_done, _, complaint) = run(&["notebook", "bucket", "export", file, "lab", export]);
    assert!(is_done, "{complaint}");
    let search = [
        "notebook",
        "search",
        file,
        "lab",
        "ice on the lake",
        "--json",
    ];
    let (is_done, copied, complaint) = run(&search);
    assert!(is_done, "{complaint}");
    let exported = run(&[&search[..], &["--index", export]].concat());
    let hits = |said: &str| {
        let answer: Value = serde_json::from_str(said).unwrap();
        answer["results"].clone()
    };
    assert_eq!(hits(&exported.1), hits(&copied));
    let (is_done, cleaned, _) = run(&["notebook", "bucket", "clean", file, "lab", "--json"]);
    assert!(is_done);
    let cleaned: Value = serde_json::from_str(&cleaned).unwrap();
    assert_eq!(
        (&cleaned["removed"], &cleaned["recent"]),
        (&json!(0), &json!(0))
    );
    let remove = ["notebook", "bucket", "remove", file, "lab", "--json"];
    assert_eq!(run(&remove).1, "{\"removed\":[\"lab\"]}\n");
    assert_eq!(run(&remove).1, "{\"removed\":[]}\n");
    let (_, removed, _) = run(&["notebook", "bucket", "remove", file, "--all", "--json"]);
    assert!(
        removed.contains("journal") && !removed.contains("lab"),
        "{removed}"
    );
    assert_eq!(run(&list).1, "[]\n");
    // The server goes on with what it has open, and quotes what is there.
    let found = client.search("ice on the lake");
    let id = found["results"][0]["reference_id"].clone();
    let quoted = client.call("fetch_passage", json!({ "source_id": id }));
    assert_eq!(quoted["integrity"]["verified"], true);
    let (is_done, _, complaint) =
        run(&["notebook", "index", file, "--to", "s3", "--index", export]);
    assert!(
        !is_done && complaint.contains("either in a folder or in a bucket"),
        "{complaint}"
    );
    let (is_done, said, complaint) = run(&["doctor", "--config", file]);
    let said = said + &complaint;
    assert!(said.contains("has no index"), "{is_done} {said}");
}

#[test]
fn a_notebook_too_large_to_search_is_reported_from_every_storage_and_index() {
    let library = Library::rich();
    let large = format!("# Quince\n\nA quince is yellow. {}\n", "x ".repeat(4000));
    library.vault.note("lab/large.md", large);
    for place in Where::all() {
        let backends = Backends::start(place, &library.vault);
        // The index was made when a notebook could be larger.
        backends.fill(&library.vault);
        let small = "[vault]\nmax_note_bytes = 7000\n";
        let mut client = client_with(&library, &backends, Era::Handshake, small);
        client.enter("lab");
        let found = wait_for("a comparison with the notebooks", || {
            let found = client.search("quince");
            assert!(
                !found["results"].to_string().contains("large.md"),
                "{found}"
            );
            (found["metadata"]["notebooks_not_searched"] == 1).then_some(found)
        });
        let named = json!([{ "notebook_id": "large.md", "reason": "too_large" }]);
        assert_eq!(found["metadata"]["not_searched"], named, "{place:?}");
        let gone = json!({ "source_id": "lab/large.md@0-4:0123456789abcdef" });
        let error = client.error("fetch_passage", gone);
        assert_eq!(error["context"]["reason"], "too_large", "{place:?}");
        let constraints = client.call("list_constraints", json!({}));
        let limits = constraints["all_limits"].as_array().unwrap();
        let has = |name: &str| limits.iter().any(|limit| limit["name"] == name);
        assert!(has("max_notebook_bytes"));
        assert_eq!(has("max_objects"), place.in_bucket, "{place:?}");
        let has_timeout = place.index == IndexHome::Postgres || place.index.is_service();
        let timeout = "notebook.vector_storage.statement_timeout_ms";
        assert_eq!(has(timeout), has_timeout, "{place:?}");
        let timeout = "notebook.notebook_storage.s3.timeout_ms";
        assert_eq!(has(timeout), place.in_bucket, "{place:?}");
    }
}
