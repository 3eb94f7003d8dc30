//! Notes at the top of a library: a collection like any other, for clients too.

use serde_json::{Value, json};

use super::{Client, Library, proof};
use crate::fixture::{Era, sectile, wait_for};

fn cards(client: &mut Client<'_>) -> Vec<Value> {
    let listed = client.call("list_collections", json!({}));
    listed["collections"].as_array().unwrap().clone()
}

#[test]
fn notes_at_the_top_of_a_library_are_listed_searched_and_quoted() {
    let library = Library::new();
    for era in Era::BOTH {
        let mut client = library.open(era);
        let before = cards(&mut client);
        library
            .vault
            .note("MOC.md", "# Map\n\nThe zeppelin is in the hangar.\n");
        let after = cards(&mut client);
        assert_eq!(after[1..], before, "nothing else changed");
        assert_eq!(after[0]["collection_id"], ".");
        assert_eq!(after[0]["title"], "vault", "named after the folder");
        assert_eq!(after[0]["notebook_count"], 1);
        client.enter(".");
        let found = client.search("zeppelin");
        let hit = &found["results"][0];
        let id = hit["reference_id"].as_str().unwrap();
        assert!(id.starts_with("./MOC.md@"), "{id}");
        let quote = client.call("fetch_passage", json!({ "source_id": id }));
        assert_eq!(
            quote["passage"]["exact_text"],
            "The zeppelin is in the hangar."
        );
        let bytes = proof::bytes_of(&library.vault.root(), "MOC.md").unwrap();
        assert_eq!(
            quote["provenance"]["notebook_checksum"],
            json!(proof::sha256(&bytes))
        );
        let chain = client.call(
            "explain_provenance",
            json!({ "id": id, "id_type": "source" }),
        );
        assert!(
            chain.to_string().contains(&proof::sha256(&bytes)),
            "{chain}"
        );
        let constraints = client.call("describe_world", json!({}));
        assert!(constraints.to_string().contains("\".\""), "{constraints}");
        std::fs::remove_file(library.vault.root().join("MOC.md")).unwrap();
    }
}

/// What lies in a folder is of that folder's collection, and of no other.
#[test]
fn the_top_reaches_into_no_folder_and_no_folder_reaches_the_top() {
    let library = Library::new();
    library
        .vault
        .note("MOC.md", "# Map\n\nThe zeppelin is in the hangar.\n");
    library
        .vault
        .note("_drafts/x.md", "# Draft\n\nA zeppelin.\n");
    let water = proof::bytes_of(&library.vault.root(), "physics/water.md").unwrap();
    let digest = &proof::sha256(&water[10..14])[..16];
    let mut client = library.open(Era::Handshake);
    client.enter(".");
    for id in [
        format!("./physics/water.md@10-14:{digest}"),
        format!("./_drafts/x.md@9-10:{digest}"),
        format!("./../outside/secret.md@0-4:{digest}"),
        format!("././MOC.md@0-4:{digest}"),
    ] {
        let error = client.error("fetch_passage", json!({ "source_id": id }));
        assert_eq!(error["type"], "source_not_found", "{id}: {error}");
    }
    let found = client.search("ice water snow lake");
    assert_eq!(found["results"], json!([]), "{found}");
    let other = client.error(
        "fetch_passage",
        json!({ "source_id": format!("physics/water.md@10-14:{digest}") }),
    );
    assert_eq!(other["type"], "source_outside_collection", "{other}");
    client.enter("physics");
    let of_top = client.error(
        "fetch_passage",
        json!({ "source_id": format!("./MOC.md@0-4:{digest}") }),
    );
    assert_eq!(of_top["type"], "source_outside_collection", "{of_top}");
    let found = client.search("zeppelin hangar");
    assert!(!found.to_string().contains("MOC"), "{found}");
    for name in ["./", "", "vault", "..", "MOC.md", "_drafts"] {
        let error = client.error("enter_collection", json!({ "collection_id": name }));
        let kind = error["type"].as_str().unwrap();
        assert!(
            ["collection_not_found", "ambiguous_request"].contains(&kind),
            "{name:?}: {error}"
        );
    }
}

/// Changes are noticed as in a folder, with an index and without.
#[test]
fn changes_at_the_top_are_followed() {
    for with_index in [false, true] {
        let library = Library::new();
        library
            .vault
            .note("MOC.md", "# Map\n\nThe zeppelin is in the hangar.\n");
        library.vault.note("collection.toml", "title = 'Maps'\n");
        if with_index {
            assert_eq!(library.index(&[])[0]["collection_id"], ".");
            assert!(library.index_folder(".").is_dir());
        }
        let mut client = library.open(Era::Handshake);
        assert_eq!(client.enter(".")["title"], "Maps");
        let found = |client: &mut Client<'_>| {
            let found = client.search("zeppelin");
            found["results"].as_array().unwrap().len()
        };
        assert_eq!(found(&mut client), 1);
        library.vault.note("new.md", "# New\n\nAnother zeppelin.\n");
        wait_for("the new note", || (found(&mut client) == 2).then_some(()));
    }
}

/// Artifacts may be kept elsewhere. A collection from which nothing was derived is not known there, and is listed all the same.
#[test]
fn a_collection_without_artifacts_is_there_when_artifacts_are_kept_elsewhere() {
    let library = Library::new();
    library
        .vault
        .note("MOC.md", "# Map\n\nThe zeppelin is in the hangar.\n");
    let settings = library.vault.config(
        "[notebook]\nroot = 'vault'\n[notebook.artifact_storage]\ntype = 'filesystem'\npath = 'outside'\n",
    );
    let mut command = sectile();
    command.args(["serve", "--config"]).arg(settings);
    let http = crate::fixture::Http::spawn(&library.vault, command);
    let list = Era::Stateless.call(7, "list_collections", json!({}));
    let answer = http.post(Era::Stateless, &list).json();
    let cards = answer["result"]["structuredContent"]["collections"].as_array();
    let names: Vec<&Value> = cards
        .unwrap()
        .iter()
        .map(|card| &card["collection_id"])
        .collect();
    assert_eq!(names, [".", "journal", "physics"]);
}
