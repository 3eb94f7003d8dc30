//! Artifacts, their ids, digests and freshness, and provenance.

use std::fs;

use serde_json::{Value, json};

use super::super::{Client, Library, proof};
use crate::fixture::Era;

const DISCLAIMER: &str = "This artifact is derived material. It is offered for inspection only and carries no authority. Verify against source notebooks for authoritative content.";

fn staleness(client: &mut Client<'_>, id: &str) -> Value {
    let artifact = client.call("retrieve_artifact", json!({ "artifact_id": id }));
    artifact["synthesis_metadata"]["staleness_indicator"].clone()
}

#[test]
fn artifact_ids_are_listed_and_can_be_retrieved() {
    let library = Library::rich();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let listed = client.call("list_artifact_sets", json!({}));
    let sets = listed["artifact_sets"].as_array().unwrap();
    let ids = sets.iter().map(|set| set["artifact_ids"].clone());
    let ids: Vec<Value> = ids.collect();
    assert_eq!(
        ids,
        [
            json!(["one/summary.md"]),
            json!(["own/review.md"]),
            json!(["two/facts.json", "two/notes.txt"])
        ]
    );
    for set in sets {
        let ids = set["artifact_ids"].as_array().unwrap();
        assert_eq!(set["artifact_count"], ids.len());
        for id in ids {
            let artifact = client.call("retrieve_artifact", json!({ "artifact_id": id }));
            assert_eq!(artifact["artifact_id"], *id);
            assert_eq!(artifact["status"], set["status"]);
            assert_eq!(
                artifact["provenance"]["source_notebooks"],
                set["source_notebooks"]
            );
        }
    }
    let facts = client.call(
        "retrieve_artifact",
        json!({ "artifact_id": "two/facts.json" }),
    );
    assert_eq!(facts["contents"], json!({ "n": 1 }));
}

#[test]
fn the_id_of_a_set_stands_for_its_only_artifact_and_for_no_one_of_several() {
    let library = Library::rich();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let artifact = client.call("retrieve_artifact", json!({ "artifact_id": "one" }));
    assert_eq!(artifact["artifact_id"], "one/summary.md");
    for (tool, arguments) in [
        ("retrieve_artifact", json!({ "artifact_id": "two" })),
        (
            "explain_provenance",
            json!({ "id": "two", "id_type": "artifact" }),
        ),
    ] {
        let error = client.error(tool, arguments);
        assert_eq!(error["type"], "ambiguous_request", "{error}");
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("`two/facts.json`"),
            "{error}"
        );
    }
}

#[test]
fn a_payload_that_is_not_as_recorded_is_not_answered() {
    let library = Library::rich();
    let payload = library.vault.root().join("lab/_artifacts/one/summary.md");
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let retrieve = json!({ "artifact_id": "one/summary.md" });
    let artifact = client.call("retrieve_artifact", retrieve.clone());
    assert_eq!(
        artifact["integrity"],
        json!({ "checksum": proof::sha256(b"They measured.\n"), "verified": true })
    );
    for bytes in [&b"They invented.\n"[..], b"", b"They measured.\n\n"] {
        fs::write(&payload, bytes).unwrap();
        let error = client.error("retrieve_artifact", retrieve.clone());
        assert_eq!(error["type"], "upstream_failure", "{error}");
        assert!(!error.to_string().contains("invented"), "{error}");
        let explained = client.call(
            "explain_provenance",
            json!({ "id": "one", "id_type": "artifact" }),
        );
        proof::assert_chain(&library.vault.root(), "lab", &explained);
        assert_eq!(explained["chain"][0]["holds"], false, "{explained}");
    }
    fs::write(&payload, "They measured.\n").unwrap();
    client.call("retrieve_artifact", retrieve);
}

#[test]
fn a_chain_leads_up_to_the_root_of_the_collection() {
    let library = Library::rich();
    let root = library.vault.root();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let id = client.search("thin")["results"][0]["reference_id"].clone();
    for (id, kind, levels) in [
        (id, "source", vec!["passage", "notebook", "collection"]),
        (
            json!("one/summary.md"),
            "artifact",
            vec!["payload", "step", "source", "collection"],
        ),
    ] {
        let explained = client.call("explain_provenance", json!({ "id": id, "id_type": kind }));
        proof::assert_chain(&root, "lab", &explained);
        let chain = explained["chain"].as_array().unwrap();
        let said: Vec<&Value> = chain.iter().map(|link| &link["level"]).collect();
        assert_eq!(said, levels);
        assert!(
            chain.iter().all(|link| link["holds"] == true),
            "{explained}"
        );
        let origin = &explained["provenance"]["origin_notebook"];
        assert_eq!(
            *origin,
            json!({ "notebook_id": "dated.md", "title": "Field book", "author": "Ada", "created_at": 1_714_953_600_000_i64 })
        );
    }
}

#[test]
fn steps_are_recorded_with_digests_that_fit_together() {
    let library = Library::rich();
    let root = library.vault.root();
    let source = proof::bytes_of(&root, "lab/dated.md").unwrap();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let explained = client.call(
        "explain_provenance",
        json!({ "id": "one", "id_type": "artifact" }),
    );
    let steps = &explained["provenance"]["transformation_steps"];
    let step = &steps[0];
    assert_eq!(steps.as_array().unwrap().len(), 1);
    assert_eq!(
        (&step["step_order"], &step["tool"]),
        (&json!(1), &json!("summarise"))
    );
    assert_eq!(step["parameters"], json!({ "model": "small" }));
    assert_eq!(step["inputs"], json!([proof::sha256(&source)]));
    assert_eq!(step["outputs"], json!([proof::sha256(b"They measured.\n")]));
    assert_eq!(
        explained["provenance"]["tools_involved"],
        json!(["summarise"])
    );
    assert!(step["timestamp"].as_i64().is_some_and(|time| time > 0));
    // A record whose digests do not fit together says so.
    let sidecar = root.join("lab/_artifacts/one/set.toml");
    let record = fs::read_to_string(&sidecar).unwrap();
    let record = record.replace(
        &format!("inputs = [\"{}\"]", proof::sha256(&source)),
        &format!("inputs = [\"{}\"]", proof::sha256(b"x")),
    );
    fs::write(&sidecar, record).unwrap();
    let explained = client.call(
        "explain_provenance",
        json!({ "id": "one", "id_type": "artifact" }),
    );
    let chain = explained["chain"].as_array().unwrap();
    let step = chain.iter().find(|link| link["level"] == "step").unwrap();
    assert_eq!(step["holds"], false, "{explained}");
}

#[test]
fn staleness_is_a_matter_of_content_and_not_of_age() {
    let library = Library::rich();
    let path = library.vault.root().join("lab/dated.md");
    let text = fs::read_to_string(&path).unwrap();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    assert_eq!(staleness(&mut client, "one"), "fresh");
    assert_eq!(
        staleness(&mut client, "own"),
        "unknown",
        "no sources are recorded"
    );
    // Another age, the same content.
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    assert_eq!(staleness(&mut client, "one"), "fresh");
    fs::write(&path, text.replace("thin", "THIN")).unwrap();
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    assert_eq!(staleness(&mut client, "one"), "stale");
    fs::remove_file(&path).unwrap();
    assert_eq!(staleness(&mut client, "one"), "stale");
    fs::write(&path, text).unwrap();
    assert_eq!(staleness(&mut client, "one"), "fresh");
    assert_eq!(
        staleness(&mut client, "two/notes.txt"),
        "fresh",
        "it has another source"
    );
}

#[test]
fn canonical_and_offered_are_kept_apart_and_both_carry_the_disclaimer() {
    let library = Library::rich();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    for (id, status, by, synthesized) in [
        ("one", "offered", "synthesis_pipeline", true),
        ("own", "canonical", "human_export", false),
    ] {
        let artifact = client.call("retrieve_artifact", json!({ "artifact_id": id }));
        assert_eq!(artifact["status"], status);
        assert_eq!(artifact["provenance"]["created_by"], by);
        assert_eq!(artifact["synthesis_metadata"]["synthesized"], synthesized);
        assert_eq!(artifact["disclaimer"], DISCLAIMER);
        assert_eq!(artifact["immutable"], true);
    }
}
