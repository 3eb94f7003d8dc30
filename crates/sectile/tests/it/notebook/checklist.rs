//! The boxes of the contract's validation checklist, by name. `BOXES` says which test shows which.

use serde_json::{Value, json};

use super::{Library, TOOLS, data_calls, open_points::is_tested, stable, tour::tour};
use crate::{contract::schema::violation, fixture::Era};

/// The boxes, and the test of each.
const BOXES: [(&str, &str); 15] = [
    (
        "SAFE: Server starts with no active collection",
        "safe_server_starts_with_no_active_collection",
    ),
    (
        "Context: Nothing loaded until explicit `enter_collection`",
        "context_nothing_loaded_until_explicit_enter_collection",
    ),
    (
        "Awareness: All constraints enumerable via `list_constraints`",
        "awareness_all_constraints_enumerable_via_list_constraints",
    ),
    (
        "Exit: Collection context clearable; no persistent state",
        "exit_collection_context_clearable_no_persistent_state",
    ),
    (
        "Enumerated Affordances: Exactly 11 tools, no dynamic invention",
        "enumerated_affordances_exactly_11_tools_no_dynamic_invention",
    ),
    (
        "Structural Mediation: All data access via MCP tools",
        "structural_mediation_all_data_access_via_mcp_tools",
    ),
    (
        "Inspectability: `describe_world` exposes all capabilities",
        "inspectability_describe_world_exposes_all_capabilities",
    ),
    (
        "Determinism: Read-only = repeatable",
        "determinism_read_only_is_repeatable",
    ),
    (
        "Reversibility Declaration: All tools marked reversible",
        "reversibility_declaration_all_tools_marked_reversible",
    ),
    (
        "Observability Surface: All responses include provenance/metadata",
        "observability_surface_all_responses_include_metadata",
    ),
    (
        "No implicit memory: Session state in-memory only",
        "no_implicit_memory_session_state_in_memory_only",
    ),
    (
        "No silent mutation: Mutation attempts return explicit refusal",
        "no_silent_mutation_mutation_attempts_return_explicit_refusal",
    ),
    (
        "All synthesis labeled: Artifacts include `synthesis_metadata`",
        "all_synthesis_labeled_artifacts_include_synthesis_metadata",
    ),
    (
        "All affordances enumerable: Tool list static and complete",
        "all_affordances_enumerable_tool_list_static_and_answers_keep_to_their_schemas",
    ),
    (
        "Streaming explains: Each chunk includes `stream_metadata` with what/why",
        "streaming_explains_each_chunk_says_what_changed_and_the_measured_reason",
    ),
];

#[test]
fn every_box_has_its_test() {
    for (asked, test) in BOXES {
        assert!(
            is_tested(&[include_str!("checklist.rs")], test),
            "{asked}: {test}"
        );
    }
}

#[test]
fn determinism_read_only_is_repeatable() {
    let library = Library::rich();
    let walks: Vec<Vec<(&str, Value)>> = Era::BOTH
        .into_iter()
        .chain(Era::BOTH)
        .map(|era| {
            let walk = tour(&mut library.open(era), "lab").into_iter();
            walk.map(|(tool, result)| (tool, stable(tool, &result["structuredContent"])))
                .collect()
        })
        .collect();
    for walk in &walks[1..] {
        assert_eq!(walk.len(), walks[0].len());
        for (one, other) in walks[0].iter().zip(walk) {
            assert_eq!(one, other);
        }
    }
}

#[test]
fn all_synthesis_labeled_artifacts_include_synthesis_metadata() {
    let library = Library::rich();
    let mut client = library.open(Era::Handshake);
    let walk = tour(&mut client, "lab");
    let artifacts = walk.iter().filter(|(tool, _)| *tool == "retrieve_artifact");
    let artifacts: Vec<&Value> = artifacts
        .map(|(_, result)| &result["structuredContent"])
        .collect();
    assert_eq!(artifacts.len(), 4);
    for artifact in artifacts {
        let label = &artifact["synthesis_metadata"];
        assert!(
            label["synthesized"].is_boolean() && label["confidence_note"].is_string(),
            "{artifact}"
        );
        let staleness = label["staleness_indicator"].as_str().unwrap();
        assert!(
            ["fresh", "stale", "unknown"].contains(&staleness),
            "{artifact}"
        );
        assert!(label.get("last_refreshed").is_some(), "{artifact}");
        assert!(
            artifact["provenance"]["created_at"]
                .as_i64()
                .is_some_and(|time| time > 0)
        );
        let by = artifact["provenance"]["created_by"].as_str().unwrap();
        assert_eq!(
            label["synthesized"] == true,
            by == "synthesis_pipeline",
            "{artifact}"
        );
        let steps = artifact["provenance"]["transformation_steps"]
            .as_array()
            .unwrap();
        // Only one of them was added with a step, and nothing is invented for the others.
        let has_step = artifact["artifact_id"] == "one/summary.md";
        assert_eq!(steps.len(), usize::from(has_step), "{artifact}");
        assert!(
            steps.iter().all(|step| step["tool"].is_string()),
            "{artifact}"
        );
        let disclaimer = artifact["disclaimer"].as_str().unwrap();
        assert!(
            disclaimer.starts_with("This artifact is derived material."),
            "{artifact}"
        );
    }
}

#[test]
fn streaming_explains_each_chunk_says_what_changed_and_the_measured_reason() {
    let library = Library::rich();
    for query in ["glacier ice zzyzx", "zzyzx"] {
        let mut client = library.open(Era::Handshake);
        client.enter("lab");
        let begun = client.call("begin_result_stream", json!({ "query": query }));
        let token = &begun["stream_token"];
        let (mut done, mut said) = (Vec::new(), Vec::new());
        loop {
            let chunk = client.call("next_stream_chunk", json!({ "stream_token": token }));
            if chunk["continuation"]["has_more"] == false {
                break;
            }
            let metadata = &chunk["stream_metadata"];
            let progress = &metadata["progress"];
            let step = progress["current_step"].as_str().unwrap().to_owned();
            assert_eq!(chunk["chunk_type"], step);
            assert_eq!(progress["completed_steps"], json!(done));
            let left = progress["remaining_steps"].as_array().unwrap().len();
            assert_eq!(done.len() + 1 + left, 4, "{progress}");
            done.push(step);
            let what = metadata["what_changed"].as_str().unwrap();
            assert!(what.starts_with("Added "), "{what}");
            let why = metadata["why"].as_str().unwrap().to_owned();
            // A measured fact has a number in it.
            assert!(why.chars().any(|one| one.is_ascii_digit()), "{why}");
            said.push(why);
        }
        assert_eq!(done.len(), 4);
        assert!(
            said[0].contains("zzyzx"),
            "the unknown word is told: {said:?}"
        );
        let counts = begun["metadata"]["references"].as_u64().unwrap();
        assert_eq!(counts == 0, said[1].contains("0 references"), "{said:?}");
    }
}

#[test]
fn safe_server_starts_with_no_active_collection() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open(era);
        let world = client.call("describe_world", json!({}));
        assert_eq!(world["session"]["active_collection"], Value::Null);
        for (tool, arguments) in data_calls() {
            let error = client.error(tool, arguments);
            assert_eq!(error["type"], "no_collection_context", "{tool}, {era:?}");
            assert_eq!(
                error["message"],
                "No active collection. Invoke enter_collection first."
            );
            let recovery = error["recovery"].as_str().unwrap();
            assert!(recovery.starts_with("Call list_collections, then enter_collection"));
            let must_pass = recovery.contains("must pass context_handle");
            assert_eq!(must_pass, era == Era::Stateless, "{recovery}");
        }
    }
}

#[test]
fn context_nothing_loaded_until_explicit_enter_collection() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open(era);
        let listed = client.call("list_collections", json!({}));
        let ids: Vec<&Value> = listed["collections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|card| &card["collection_id"])
            .collect();
        assert_eq!(ids, ["journal", "physics"]);
        assert_eq!(listed["metadata"]["total_collections"], 2);
        assert_eq!(listed["metadata"]["next_refresh"], Value::Null);
        assert!(!listed.to_string().contains("thin"), "no content is listed");
        let entered = client.enter("journal");
        assert_eq!(entered["context_established"], true);
        assert_eq!(
            entered["scope_note"],
            "All subsequent operations restricted to this collection until exit or new enter_collection call"
        );
        assert_eq!(
            entered["preload_note"],
            "No data preloaded. Invoke retrieval tools explicitly."
        );
        assert_eq!(
            entered["available_operations"],
            json!([
                "list_artifact_sets",
                "semantic_search",
                "fetch_passage",
                "retrieve_artifact",
                "begin_result_stream"
            ])
        );
        let sets = client.call("list_artifact_sets", json!({}));
        assert_eq!(sets["collection_id"], "journal");
    }
}

#[test]
fn awareness_all_constraints_enumerable_via_list_constraints() {
    let library = Library::new();
    let settings = "[notebook.constraints]\nmax_passage_context = 7\nmax_search_results = 8\n\
                    stream_timeout_s = 9\nstream_chunk_size = 6\n";
    let mut client = library.open_with(Era::Handshake, settings);
    let constraints = client.call("list_constraints", json!({}));
    let count = |key: &str| constraints[key].as_array().map(Vec::len);
    assert_eq!(count("mutation_prohibitions"), Some(12));
    assert_eq!(count("refusal_conditions"), Some(6));
    assert_eq!(
        constraints["scope_limits"],
        json!({
            "world_type": "read-only knowledge jurisdiction",
            "authority_level": "none",
            "reasoning": "forbidden",
            "learning": "forbidden",
            "decisions": "forbidden",
        })
    );
    assert_eq!(
        constraints["citation_requirements"],
        json!({
            "passages": "must quote verbatim",
            "artifacts": "must include non-authoritative disclaimer",
            "synthesis": "must label as synthesized with metadata",
        })
    );
    assert_eq!(
        constraints["interpretation_rule"],
        json!({
            "when_ambiguous": [
                "reduce scope",
                "return less data",
                "prefer references over content",
                "prefer artifacts over synthesis",
            ],
            "when_in_doubt": ["do not answer", "explain why"],
        })
    );
    let limits = &constraints["limits"];
    assert_eq!(limits["max_passage_context"], 7);
    assert_eq!(limits["max_search_results"], 8);
    assert_eq!(limits["stream_timeout_s"], 9);
    assert_eq!(limits["stream_chunk_size"], 6);
    assert!(count("volatile_fields").is_some_and(|fields| fields > 0));
}

#[test]
fn exit_collection_context_clearable_no_persistent_state() {
    let library = Library::new();
    let before = library.vault.contents();
    for era in Era::BOTH {
        let mut client = library.open(era);
        client.enter("journal");
        let handle = client.handle.clone();
        drop(client);
        let mut again = library.open(era);
        again.handle = handle;
        let error = again.error("list_artifact_sets", json!({}));
        assert_eq!(error["type"], "no_collection_context", "{era:?}");
    }
    assert_eq!(library.vault.contents(), before);
}

#[test]
fn enumerated_affordances_exactly_11_tools_no_dynamic_invention() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open(era);
        for collection in ["journal", "physics"] {
            let listed = client
                .server
                .exchange(&era.request(1, "tools/list", json!({})));
            let tools = listed["result"]["tools"].as_array().unwrap();
            let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
            assert_eq!(names, TOOLS, "{era:?}");
            client.enter(collection);
        }
    }
}

#[test]
fn structural_mediation_all_data_access_via_mcp_tools() {
    let library = Library::new();
    let mut client = library.open(Era::Handshake);
    client.enter("journal");
    for method in [
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "prompts/list",
        "completion/complete",
    ] {
        let request = Era::Handshake.request(5, method, json!({ "uri": "x" }));
        let answer = client.server.exchange(&request);
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}

#[test]
fn inspectability_describe_world_exposes_all_capabilities() {
    let library = Library::new();
    let mut client = library.open(Era::Handshake);
    let world = client.call("describe_world", json!({}));
    assert_eq!(
        world["world"],
        json!({
            "name": "Open Notebook",
            "type": "read-only knowledge jurisdiction",
            "authority_level": "none",
            "mutation": "forbidden",
            "persistence": "external only (artifacts, vectors)",
        })
    );
    assert_eq!(
        world["purpose"],
        json!([
            "preserve human-authored cognition",
            "enable safe inspection and retrieval",
            "prevent ungoverned synthesis",
        ])
    );
    assert_eq!(
        world["boundaries"],
        json!({
            "scope": "previously authored notebooks and derived artifacts only",
            "reasoning": "forbidden",
            "learning": "forbidden",
            "decisions": "forbidden",
        })
    );
    assert_eq!(world["available_affordances"], json!(TOOLS));
    assert_eq!(
        world["citation_requirements"],
        json!({
            "passages_must_quote": true,
            "artifacts_must_disclaim": true,
            "synthesis_must_label": true,
        })
    );
    assert_eq!(world["provenance_available"], true);
}

#[test]
fn reversibility_declaration_all_tools_marked_reversible() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open(era);
        let listed = client
            .server
            .exchange(&era.request(1, "tools/list", json!({})));
        for tool in listed["result"]["tools"].as_array().unwrap() {
            assert_eq!(tool["_meta"]["reversible"], true, "{tool}");
            assert_eq!(tool["_meta"]["authority_level"], "none", "{tool}");
            assert_eq!(tool["_meta"]["mutation"], false, "{tool}");
            assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
            assert_eq!(tool["annotations"]["destructiveHint"], false, "{tool}");
            assert_eq!(tool["annotations"]["openWorldHint"], false, "{tool}");
        }
    }
}

#[test]
fn observability_surface_all_responses_include_metadata() {
    let library = Library::rich();
    for era in Era::BOTH {
        let mut client = library.open(era);
        for (tool, arguments) in [
            ("describe_world", json!({})),
            ("list_collections", json!({})),
            ("list_constraints", json!({})),
            ("enter_collection", json!({ "collection_id": "journal" })),
            ("enter_collection", json!({ "collection_id": "nowhere" })),
            ("fetch_passage", json!({ "source_id": "x" })),
            ("fetch_passage", json!({ "source_id": 5 })),
            ("write_notebook", json!({})),
        ] {
            let result = client.result(tool, arguments);
            assert_eq!(result["_meta"]["provenance_available"], true, "{result}");
            assert_eq!(result["_meta"]["constraints_checkable"], true, "{result}");
        }
        for (tool, result) in tour(&mut client, "lab") {
            assert_eq!(result["_meta"]["provenance_available"], true, "{tool}");
            assert_eq!(result["_meta"]["constraints_checkable"], true, "{tool}");
            let answer = &result["structuredContent"];
            // Whatever is content says where it comes from.
            let origin = match tool {
                "fetch_passage" => &answer["provenance"]["notebook_id"],
                "retrieve_artifact" => &answer["provenance"]["source_notebooks"],
                "explain_provenance" => &answer["provenance"]["confidence_notes"],
                "semantic_search" => &answer["results"][0]["source_pointer"]["notebook_id"],
                _ => continue,
            };
            assert!(!origin.is_null(), "{tool}: {answer}");
        }
    }
}

#[test]
fn no_implicit_memory_session_state_in_memory_only() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open(era);
        client.enter("journal");
        let accesses = |client: &mut super::Client<'_>| {
            let session = client.call("describe_world", json!({}))["session"].clone();
            assert_eq!(session["active_collection"], "journal");
            let last = &session["last_access"];
            assert_eq!(last["collection_id"], "journal");
            assert!(last["tool"].is_string() && last["reference_ids"].is_array());
            // It began before the last call in it.
            let (began, at) = (&session["created_at"], &last["timestamp"]);
            assert!(began.as_i64().unwrap() <= at.as_i64().unwrap(), "{session}");
            session["accesses"].as_u64().unwrap()
        };
        let first = accesses(&mut client);
        client.call("list_artifact_sets", json!({}));
        // The call that asked counts as well.
        assert_eq!(accesses(&mut client), first + 2);
    }
}

#[test]
fn no_silent_mutation_mutation_attempts_return_explicit_refusal() {
    let library = Library::new();
    let before = library.vault.contents();
    for era in Era::BOTH {
        let mut client = library.open(era);
        client.enter("journal");
        client.handle = None;
        for tool in ["write_notebook", "delete_notebook", "exit_collection", "x"] {
            let error = client.error(tool, json!({ "path": "one.md" }));
            assert_eq!(error["type"], "operation_forbidden", "{tool}");
            let recovery = error["recovery"].as_str().unwrap();
            assert!(
                recovery.starts_with("This world is read-only. Use external tools for mutation."),
                "{recovery}"
            );
            assert!(!error.to_string().contains(tool) || tool == "x");
        }
    }
    assert_eq!(library.vault.contents(), before);
}

#[test]
fn all_affordances_enumerable_tool_list_static_and_answers_keep_to_their_schemas() {
    let library = Library::rich();
    for era in Era::BOTH {
        let mut client = library.open(era);
        let request = era.request(1, "tools/list", json!({}));
        let listed = client.server.exchange(&request)["result"]["tools"].clone();
        let walk = tour(&mut client, "lab");
        for tool in TOOLS {
            assert!(walk.iter().any(|(walked, _)| *walked == tool), "{tool}");
        }
        for (tool, result) in walk {
            let listed = listed.as_array().unwrap();
            let schema = listed.iter().find(|listed| listed["name"] == tool).unwrap();
            let answer = &result["structuredContent"];
            assert_eq!(
                violation(&schema["outputSchema"], answer),
                None,
                "{tool}: {answer}"
            );
        }
    }
}
