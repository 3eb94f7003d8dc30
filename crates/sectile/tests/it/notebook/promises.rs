//! Promises of the contract that are easily broken in silence, by name: what is not searched, what may change, what bounds a call,
//! how a context ends, and what a server says of itself.

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use super::{Client, Library, error_of, source};
use crate::fixture::{
    AUDIENCE, Era, Http, ISSUER, Stdio, TOKEN_SECRET, claims, initialize, sectile, token, wait_for,
};

/// Notebooks are small here.
const SMALL_NOTEBOOKS: &str = "[vault]\nmax_note_bytes = 2000\n";

fn pull_all(client: &mut Client<'_>, token: &Value) -> Vec<Value> {
    let mut chunks = Vec::new();
    loop {
        let chunk = client.call("next_stream_chunk", json!({ "stream_token": token }));
        let is_last = chunk["continuation"]["has_more"] == false;
        chunks.push(chunk);
        if is_last {
            return chunks;
        }
    }
}

#[test]
fn a_notebook_too_large_to_search_is_reported_to_the_client_and_never_silently_absent() {
    let library = Library::new();
    let large = format!("# Quince\n\nA quince is yellow. {}\n", "x ".repeat(2000));
    library.vault.note("journal/large.md", &large);
    let named = json!([{ "notebook_id": "large.md", "reason": "too_large" }]);
    // Without an index, with one that knows the limit, and with one that was made before there was one.
    for index in [None, Some(SMALL_NOTEBOOKS), Some("")] {
        if let Some(settings) = index {
            let root = library.vault.root().display().to_string();
            let settings = format!("{settings}[notebook]\nroot = \"{root}\"\n");
            let mut command = sectile();
            command.args(["notebook", "index"]);
            command.arg(library.vault.config(&settings));
            let output = command.args(["--tier", "static"]).output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        let mut client = library.open_with(Era::Handshake, SMALL_NOTEBOOKS);
        let listed = client.call("list_collections", json!({}));
        let card = &listed["collections"][0];
        assert_eq!(card["notebook_count"], 3, "{card}");
        assert_eq!(card["notebooks_too_large"], 1, "{card}");
        let note = card["notes"][0].as_str().unwrap();
        assert!(
            note.contains("`large.md`") && note.contains("2000 bytes"),
            "{note}"
        );
        client.enter("journal");
        let found = wait_for("the comparison with the notebooks", || {
            let found = client.search("quince");
            (found["metadata"]["notebooks_not_searched"] == 1).then_some(found)
        });
        assert_eq!(found["metadata"]["not_searched"], named, "{index:?}");
        let begun = client.call("begin_result_stream", json!({ "query": "quince" }));
        assert_eq!(begun["metadata"]["notebooks_not_searched"], 1);
        assert_eq!(begun["metadata"]["not_searched"], named);
        let chunk = client.call(
            "next_stream_chunk",
            json!({ "stream_token": begun["stream_token"] }),
        );
        let why = chunk["stream_metadata"]["why"].as_str().unwrap();
        assert!(
            why.ends_with(
                "Nothing is known about 1 notebook that could not be searched: large.md (too large)."
            ),
            "{why}"
        );
        // The word is in the notebook that was not read, so nothing is claimed of the collection.
        assert!(!why.contains("the collection"), "{why}");
    }
}

#[test]
fn a_quote_from_a_notebook_that_grew_too_large_says_that_it_is_too_large_and_not_that_it_is_gone() {
    let library = Library::new();
    let mut client = library.open_with(Era::Handshake, SMALL_NOTEBOOKS);
    client.enter("journal");
    let id = client.search("thaw ice broke")["results"][0]["reference_id"].clone();
    assert!(id.as_str().unwrap().contains("two.md"), "{id}");
    let grown = format!("# Thaw\n\nThe ice broke.\n\n{}\n", "x ".repeat(2000));
    library.vault.note("journal/deep/two.md", grown);
    let error = client.error("fetch_passage", json!({ "source_id": id }));
    assert_eq!(error["type"], "source_not_found", "{error}");
    assert_eq!(error["context"]["reason"], "too_large", "{error}");
}

/// The integer settings below a section, by name.
fn integers(schema: &Value, section: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut at = schema;
    for part in section.split('.') {
        at = &at["properties"][part];
    }
    let mut rest = vec![(section.to_owned(), at)];
    while let Some((name, at)) = rest.pop() {
        if at["type"] == "integer" {
            found.insert(name.clone());
        }
        let properties = at["properties"].as_object().into_iter().flatten();
        rest.extend(properties.map(|(key, value)| (format!("{name}.{key}"), value)));
    }
    assert!(!found.is_empty(), "{section}");
    found
}

#[test]
fn list_constraints_names_every_limit_that_settings_have() {
    let output = sectile().args(["config", "schema"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    let library = Library::new();
    let settings = "[server.limits]\ncall_timeout_ms = 29999\nmax_in_flight = 12\n[vault]\nmax_note_bytes = 7777\n\
                    [notebook.constraints]\nstream_chunk_size = 6\n";
    let names = |constraints: &Value| -> BTreeSet<String> {
        let limits = constraints["all_limits"].as_array().unwrap().iter();
        let names: Vec<String> = limits
            .map(|limit| {
                assert!(
                    limit["value"].is_u64() && limit["bounds"].is_string(),
                    "{limit}"
                );
                limit["name"].as_str().unwrap().to_owned()
            })
            .collect();
        let set: BTreeSet<String> = names.iter().cloned().collect();
        assert_eq!(set.len(), names.len(), "each once: {names:?}");
        set
    };
    let value = |constraints: &Value, name: &str| {
        let limits = constraints["all_limits"].as_array().unwrap().iter();
        let mut found = limits.filter(|limit| limit["name"] == name);
        found.next().unwrap_or_else(|| panic!("{name}"))["value"].clone()
    };
    let mut client = library.open_with(Era::Handshake, settings);
    let on_stdio = client.call("list_constraints", json!({}));
    let http = library.http(settings);
    let request = Era::Stateless.call(1, "list_constraints", json!({}));
    let over_http =
        http.post(Era::Stateless, &request).json()["result"]["structuredContent"].clone();
    for constraint in integers(&schema, "notebook.constraints") {
        let name = constraint.rsplit_once('.').unwrap().1;
        for constraints in [&on_stdio, &over_http] {
            assert!(names(constraints).contains(name), "{name}");
            assert_eq!(value(constraints, name), constraints["limits"][name]);
        }
    }
    fs::write(library.vault.outside().join("tokens"), TOKEN_SECRET).unwrap();
    let signed_in = library.http(&format!(
        "{settings}[server.auth.tokens]\nsecret_file = 'outside/tokens'\nissuer = '{ISSUER}'\naudience = ['{AUDIENCE}']\n"
    ));
    let token = format!("Bearer {}", token(&claims("ada", "viewer")));
    let answer = signed_in.post_with(Era::Stateless, &request, &[("Authorization", &token)]);
    let for_callers = answer.json()["result"]["structuredContent"].clone();
    for limit in integers(&schema, "server.limits") {
        // Requests are counted where people sign in.
        let is_counted = limit.ends_with("requests_per_minute");
        assert!(names(&for_callers).contains(&limit), "{limit}");
        for constraints in [&on_stdio, &over_http] {
            assert_eq!(names(constraints).contains(&limit), !is_counted, "{limit}");
        }
    }
    for limit in integers(&schema, "server.http") {
        // It gives a load balancer time, and refuses nothing.
        let is_limit = limit != "server.http.stop_notice_ms";
        assert_eq!(names(&over_http).contains(&limit), is_limit, "{limit}");
        assert!(!names(&on_stdio).contains(&limit), "{limit}");
    }
    let per_address = "server.http.max_connections_per_address";
    assert_eq!(value(&over_http, per_address), 1024, "as it is used");
    assert_eq!(value(&on_stdio, "server.limits.call_timeout_ms"), 29_999);
    assert_eq!(
        value(&on_stdio, "server.limits.max_in_flight_per_caller"),
        3
    );
    assert_eq!(value(&on_stdio, "max_notebook_bytes"), 7777);
    assert_eq!(value(&on_stdio, "stream_chunk_size"), 6);
    for limit in [
        "max_query_bytes",
        "max_query_words",
        "max_passage_bytes",
        "max_streams",
        "max_context_handles",
        "max_open_collections",
        "max_artifact_folders",
    ] {
        assert!(names(&on_stdio).contains(limit), "{limit}");
    }
}

#[test]
fn the_tier_is_named_among_what_may_change_between_equal_calls() {
    let library = Library::new();
    let constraints = library
        .open(Era::Handshake)
        .call("list_constraints", json!({}));
    let fields = constraints["volatile_fields"].as_array().unwrap();
    for field in [
        "semantic_search metadata.tier",
        "semantic_search metadata.tier_change",
        "begin_result_stream metadata.tier",
        "describe_world retrieval.active",
    ] {
        assert!(fields.contains(&json!(field)), "{field}: {fields:?}");
    }
    let rules = constraints["volatile_rules"].to_string();
    assert!(rules.contains("as long as metadata.tier is"), "{rules}");
}

#[test]
fn a_server_does_not_switch_tiers_within_a_context_without_saying_so() {
    let library = Library::new();
    library.index(&[]);
    let mut client = library.open(Era::Handshake);
    client.enter("journal");
    for _ in 0..2 {
        let found = client.search("ice on the lake");
        assert_eq!(found["metadata"]["tier"], "static");
        assert_eq!(found["metadata"]["tier_change"], Value::Null);
    }
    let filled = library.tiers_command(&["journal"]).output().unwrap();
    assert!(filled.status.success(), "{filled:?}");
    // Something happens in the folder of the collection, so that the server looks.
    fs::write(library.vault.root().join("journal/.look"), "").unwrap();
    let switched = wait_for("the second tier", || {
        let found = client.search("ice on the lake");
        let tier = found["metadata"]["tier"].as_str().unwrap();
        if tier == "static" {
            assert_eq!(found["metadata"]["tier_change"], Value::Null, "{found}");
            return None;
        }
        Some(found)
    });
    let said = switched["metadata"]["tier_change"].as_str().unwrap();
    assert!(
        said.starts_with("The tier changed from static to transformer"),
        "{said}"
    );
    let begun = client.call("begin_result_stream", json!({ "query": "ice" }));
    assert_eq!(begun["metadata"]["tier"], "transformer");
    assert_eq!(begun["metadata"]["tier_change"], Value::Null, "it was said");
    // A context of its own has seen no other tier.
    client.enter("journal");
    let found = client.search("ice on the lake");
    assert_eq!(found["metadata"]["tier"], "transformer");
    assert_eq!(found["metadata"]["tier_change"], Value::Null);
}

/// The error object of the world in a protocol error.
fn carried(answer: &Value, kind: &str, code: i64) -> Value {
    assert_eq!(answer["error"]["code"], code, "{answer}");
    assert_eq!(answer["error"]["data"]["kind"], kind, "{answer}");
    let error = answer["error"]["data"]["error"].clone();
    for key in ["type", "message", "recovery"] {
        assert!(error[key].is_string(), "{answer}");
    }
    // The protocol's message goes on with what to do, for hosts that show nothing else.
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with(error["message"].as_str().unwrap()),
        "{answer}"
    );
    assert_eq!(error["context"]["reason"], kind, "{answer}");
    error
}

#[test]
fn timeouts_busy_and_internal_failures_carry_the_error_object_of_the_world() {
    let library = Library::new();
    let open = |fault: &str, settings: &str| {
        let mut command = library.command(settings);
        command.env("SECTILE_FAULT", fault);
        let mut server = Stdio::spawn(&library.vault, command);
        server.exchange(&initialize(0));
        server.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        server
    };
    let mut broken = open("panic:list_collections", "");
    let answer = broken.call(Era::Handshake, "list_collections", json!({}));
    let error = carried(&answer, "internal", -32603);
    assert_eq!(error["type"], "upstream_failure");
    let mut slow = open(
        "sleep:list_collections:20000",
        "[server.limits]\ncall_timeout_ms = 100\n",
    );
    let answer = slow.call(Era::Handshake, "list_collections", json!({}));
    assert_eq!(
        carried(&answer, "timed_out", -32074)["type"],
        "upstream_failure"
    );
    let mut full = open(
        "sleep:list_collections:20000",
        "[server.limits]\nmax_in_flight = 1\nmax_waiting = 0\n",
    );
    let first = Era::Handshake.call(7, "list_collections", json!({}));
    full.send_line(&first.to_string());
    let answer = wait_for("the place to be taken", || {
        let answer = full.call(Era::Handshake, "list_constraints", json!({}));
        answer["error"].is_object().then_some(answer)
    });
    assert_eq!(carried(&answer, "busy", -32072)["type"], "upstream_failure");
    full.kill();
    // What the caller may not use, as well.
    let settings = "[server.auth]\nallowed_tools = [\"describe_world\"]\n";
    let mut client = library.open_with(Era::Handshake, settings);
    let answer = client
        .server
        .call(Era::Handshake, "list_collections", json!({}));
    let error = carried(&answer, "forbidden", -32003);
    assert_eq!(error["type"], "operation_forbidden");
}

#[test]
fn stream_chunk_size_bounds_every_kind_of_chunk_that_is_delivered() {
    let library = Library::rich();
    let settings = "[notebook.constraints]\nstream_chunk_size = 1\n";
    let mut client = library.open_with(Era::Handshake, settings);
    client.enter("lab");
    let begun = client.call("begin_result_stream", json!({ "query": "glacier ice" }));
    let chunks = pull_all(&mut client, &begun["stream_token"]);
    assert_eq!(begun["metadata"]["estimated_chunks"], chunks.len() - 1);
    let mut kinds = BTreeSet::new();
    let mut links = Vec::new();
    for chunk in &chunks[..chunks.len() - 1] {
        let entries = ["items", "links"].map(|key| chunk["payload"][key].as_array());
        let entries = entries.into_iter().flatten().next().unwrap();
        assert_eq!(entries.len(), 1, "{chunk}");
        kinds.insert(chunk["chunk_type"].as_str().unwrap());
        if chunk["chunk_type"] == "artifact_links" {
            links.push(entries[0]["artifact_id"].clone());
        }
    }
    assert_eq!(kinds.len(), 4, "{kinds:?}");
    assert_eq!(links, ["one/summary.md", "two/facts.json", "two/notes.txt"]);
}

#[test]
fn a_context_can_be_left_from_any_state() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open(era);
        let leave = json!({ "collection_id": "journal", "leave": true });
        // Also where there is nothing to leave.
        let left = client.call("enter_collection", leave.clone());
        assert_eq!(left["context_established"], false, "{left}");
        client.enter("journal");
        client.search("ice");
        let begun = client.call("begin_result_stream", json!({ "query": "ice" }));
        let left = client.call("enter_collection", leave.clone());
        assert_eq!(left["context_established"], false, "{left}");
        assert_eq!(left["available_operations"], json!([]));
        assert_eq!(left["context_handle"], Value::Null);
        for (tool, arguments) in super::data_calls() {
            let error = client.error(tool, arguments);
            assert_eq!(error["type"], "no_collection_context", "{tool}, {era:?}");
        }
        if era == Era::Handshake {
            let world = client.call("describe_world", json!({}));
            assert_eq!(world["session"]["active_collection"], Value::Null);
        }
        // Its streams ended, and it can be entered again.
        client.handle = None;
        client.enter("journal");
        let token = json!({ "stream_token": begun["stream_token"] });
        let error = client.error("next_stream_chunk", token);
        assert_eq!(error["type"], "stream_token_invalid", "{error}");
        let reason = match era {
            Era::Handshake => "collection_left",
            Era::Stateless => "unknown",
        };
        assert_eq!(error["context"]["reason"], reason, "{error}");
        client.search("ice");
        // Leaving works when the collection is gone, and `leave: false` enters.
        let entered = client.call(
            "enter_collection",
            json!({ "collection_id": "journal", "leave": false }),
        );
        assert_eq!(entered["context_established"], true);
        let gone = json!({ "collection_id": "nowhere", "leave": true });
        let left = client.call("enter_collection", gone);
        assert_eq!(left["context_established"], false);
    }
}

#[test]
fn no_collection_context_from_fetch_passage_carries_the_source_id() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open(era);
        for id in [source("journal"), "é".repeat(5000)] {
            let shown: String = id.chars().take(1000).collect();
            let error = client.error("fetch_passage", json!({ "source_id": id }));
            assert_eq!(error["type"], "no_collection_context");
            assert_eq!(error["source_id"], shown, "{era:?}");
            assert_eq!(error["context"]["source_id"], shown, "{era:?}");
        }
        let unknown = json!({ "source_id": source("journal"), "context_handle": "none" });
        let error = client.error("fetch_passage", unknown);
        assert_eq!(error["source_id"], source("journal"));
        client.enter("journal");
        let long = json!({ "source_id": "journal/one.md@0-2000000:0123456789abcdef" });
        let error = client.error("fetch_passage", long.clone());
        assert_eq!(error["type"], "ambiguous_request");
        assert_eq!(error["source_id"], long["source_id"]);
    }
}

#[test]
fn numbers_are_numbers_and_texts_are_texts_where_nothing_is_known() {
    let library = Library::rich();
    fs::create_dir(library.vault.root().join("void")).unwrap();
    let mut client = library.open(Era::Handshake);
    let listed = client.call("list_collections", json!({}));
    let cards = listed["collections"].as_array().unwrap();
    let empty = cards.iter().find(|card| card["collection_id"] == "void");
    let empty = empty.expect("an empty collection is listed");
    assert_eq!(empty["date_range"], json!({ "start": "", "end": "" }));
    for key in ["artifact_count", "notebook_count", "last_modified"] {
        assert_eq!(empty[key], 0, "{key}");
    }
    client.enter("lab");
    let found = client.search("glacier number");
    let id = &found["results"][0]["reference_id"];
    assert!(id.as_str().unwrap().contains("plain.md"), "{id}");
    let explain = |client: &mut Client<'_>, id: &Value, kind: &str| {
        let arguments = json!({ "id": id, "id_type": kind });
        client.call("explain_provenance", arguments)["provenance"].clone()
    };
    let undated = "A notebook has no date, so its created_at is 0.";
    for lineage in [
        explain(&mut client, id, "source"),
        explain(&mut client, &json!("two/notes.txt"), "artifact"),
    ] {
        assert_eq!(lineage["origin_notebook"]["created_at"], 0, "{lineage}");
        let notes = lineage["confidence_notes"].as_array().unwrap();
        assert!(notes.contains(&json!(undated)), "{lineage}");
    }
    let dated = explain(&mut client, &json!("one/summary.md"), "artifact");
    assert_eq!(
        dated["origin_notebook"]["created_at"],
        1_714_953_600_000_i64
    );
    assert!(!dated["confidence_notes"].to_string().contains("created_at"));
}

#[test]
fn server_info_and_the_start_line_name_the_world_and_that_it_starts_safe() {
    const SAFE: &str = "Open Notebook starts in SAFE mode: no collection context is loaded.";
    let library = Library::new();
    let is_named = |info: &Value| {
        assert_eq!(info["title"], "Sectile notebook", "{info}");
        assert_eq!(info["description"], SAFE, "{info}");
    };
    let mut server = Stdio::spawn(&library.vault, library.command(""));
    is_named(&server.exchange(&initialize(0))["result"]["serverInfo"]);
    let discover = Era::Stateless.request(1, "server/discover", json!({}));
    let discovered = server.exchange(&discover);
    is_named(&discovered["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]);
    let says_so = |log: &str| {
        let line = log.lines().find(|line| line.contains("serving"));
        line.is_some_and(|line| line.contains("notebook") && line.contains(SAFE))
    };
    wait_for("the start line on stdio", || {
        says_so(&server.log()).then_some(())
    });
    let http = Http::spawn(&library.vault, library.command(""));
    wait_for("the start line over HTTP", || {
        says_so(&http.log()).then_some(())
    });
    // And so it does.
    let request = Era::Handshake.call(2, "list_artifact_sets", json!({}));
    let error = error_of(&server.exchange(&request)["result"]);
    assert_eq!(error["type"], "no_collection_context");
}

#[test]
fn the_page_on_the_notebook_world_tells_the_truth_about_storages() {
    let page = include_str!("../../../../../docs/notebook.md");
    let library = Library::new();
    let refused = |settings: &str| {
        let mut command = sectile();
        command.args(["config", "check"]);
        let output = command
            .arg(library.vault.config(settings))
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        // Other mistakes than the type do not count: nothing else is set.
        said.contains("storage.type")
    };
    for (section, kind, is_served) in [
        ("notebook_storage", "filesystem", true),
        ("notebook_storage", "s3", true),
        ("notebook_storage", "supabase", true),
        ("notebook_storage", "dropbox", false),
        ("vector_storage", "embedded", true),
        ("vector_storage", "pgvector", true),
        ("vector_storage", "pinecone", true),
        ("vector_storage", "weaviate", true),
        ("vector_storage", "abacus", false),
        ("artifact_storage", "filesystem", true),
        ("artifact_storage", "s3", true),
        ("artifact_storage", "supabase", false),
    ] {
        let settings = format!("[notebook.{section}]\ntype = \"{kind}\"\n");
        assert_eq!(refused(&settings), !is_served, "{section} {kind}");
        let row = format!("| `{section}` |");
        let row = page.lines().find(|line| line.starts_with(&row));
        let row = row.unwrap_or_else(|| panic!("{section} has a row"));
        let (served, others) = row.rsplit_once('|').unwrap().0.rsplit_once('|').unwrap();
        assert_eq!(served.contains(&format!("`{kind}`")), is_served, "{row}");
        assert!(!others.contains(&format!("`{kind}`")), "{row}");
    }
}
