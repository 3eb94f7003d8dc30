//! What happens to files: between search and fetch, to the collection, to its artifacts.

use std::{
    fs::{self, File, Permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::Command,
};

use serde_json::{Value, json};

use super::super::{Client, Library, data_calls, proof};
use crate::fixture::{Era, SECRET, wait_for};

const TEXT: &str = "# Thaw\n\nThe ice broke.\n";

/// What happens to a notebook, and why its passage cannot be fetched then.
type Change = (&'static str, fn(&Path), &'static str);

const CHANGES: [Change; 12] = [
    (
        "edited",
        |path| fs::write(path, TEXT.replace("broke", "froze")).unwrap(),
        "changed",
    ),
    ("emptied", |path| fs::write(path, "").unwrap(), "changed"),
    ("truncated", |path| set_length(path, 12), "changed"),
    (
        "grown at the front",
        |path| fs::write(path, format!("New.\n\n{TEXT}")).unwrap(),
        "moved",
    ),
    ("deleted", |path| fs::remove_file(path).unwrap(), "deleted"),
    (
        "renamed",
        |path| fs::rename(path, path.with_file_name("renamed.txt")).unwrap(),
        "deleted",
    ),
    (
        "replaced by a folder",
        |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        },
        "deleted",
    ),
    (
        "replaced by a link to the same text outside",
        |path| {
            let outside = path.ancestors().nth(4).unwrap().join("outside/two.md");
            fs::write(&outside, TEXT).unwrap();
            fs::remove_file(path).unwrap();
            symlink(outside, path).unwrap();
        },
        "deleted",
    ),
    (
        "its folder replaced by a link",
        |path| {
            let folder = path.parent().unwrap();
            let outside = path.ancestors().nth(4).unwrap().join("outside/deep");
            fs::rename(folder, &outside).unwrap();
            symlink(outside, folder).unwrap();
        },
        "deleted",
    ),
    (
        "replaced by a pipe",
        |path| {
            fs::remove_file(path).unwrap();
            let made = Command::new("mkfifo").arg(path).status().unwrap();
            assert!(made.success());
        },
        "deleted",
    ),
    (
        "made a gigabyte long",
        |path| set_length(path, 1 << 30),
        "too_large",
    ),
    (
        "no text any more",
        |path| fs::write(path, b"# Thaw\n\nThe ice \xff\xfeoke.\n").unwrap(),
        "changed",
    ),
];

fn set_length(path: &Path, length: u64) {
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(length)
        .unwrap();
}

#[test]
fn whatever_happens_between_search_and_fetch_is_told() {
    for (what, change, reason) in CHANGES {
        let library = Library::new();
        let root = library.vault.root();
        let path = root.join("journal/deep/two.md");
        let mut client = library.open(Era::Handshake);
        client.enter("journal");
        let found = client.search("the ice broke");
        let id = &found["results"][0]["reference_id"];
        assert_eq!(
            client.call("fetch_passage", json!({ "source_id": id }))["passage"]["exact_text"],
            "The ice broke."
        );
        let (token, first) = {
            let begun = client.call("begin_result_stream", json!({ "query": "the ice broke" }));
            let token = json!({ "stream_token": begun["stream_token"] });
            let first = client.call("next_stream_chunk", token.clone());
            (token, first)
        };
        assert_eq!(first["payload"]["items"][0]["verified"], true);
        change(&path);
        let error = client.error("fetch_passage", json!({ "source_id": id }));
        assert_eq!(error["type"], "source_not_found", "{what}: {error}");
        assert_eq!(error["context"]["reason"], reason, "{what}: {error}");
        assert_eq!(error["source_id"], *id, "{what}");
        let error = client.error(
            "explain_provenance",
            json!({ "id": id, "id_type": "source" }),
        );
        assert_eq!(error["context"]["reason"], reason, "{what}: {error}");
        let chunk = client.call("next_stream_chunk", token);
        // What is too large is not there, as far as this world goes.
        if !what.contains("gigabyte") {
            proof::assert_delivered(&root, "journal", &chunk);
        }
        assert_eq!(
            chunk["payload"]["items"][0]["gone"]["reason"], reason,
            "{what}: {chunk}"
        );
        let found = client.search("the ice broke");
        proof::assert_found(&root, "journal", &found);
        assert_ne!(found["results"][0]["reference_id"], *id, "{what}");
    }
}

/// Who may read everything cannot see this.
#[test]
fn a_notebook_that_cannot_be_read_is_an_upstream_failure_and_hides_no_other() {
    let library = Library::new();
    let path = library.vault.root().join("journal/deep/two.md");
    let mut client = library.open(Era::Handshake);
    client.enter("journal");
    let id = client.search("the ice broke")["results"][0]["reference_id"].clone();
    fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        return;
    }
    let error = client.error("fetch_passage", json!({ "source_id": id }));
    assert_eq!(error["type"], "upstream_failure", "{error}");
    let found = client.search("ice");
    assert!(!found.to_string().contains("two.md"), "{found}");
    assert_eq!(
        found["results"][0]["source_pointer"]["notebook_id"], "one.md",
        "{found}"
    );
}

#[test]
fn a_gigabyte_does_no_harm() {
    let library = Library::new();
    let path = library.vault.root().join("journal/huge.md");
    File::create(&path).unwrap().set_len(1 << 30).unwrap();
    let rows = library.index(&["journal"]);
    assert_eq!(
        (&rows[0]["notebooks"], &rows[0]["unreadable"]),
        (&json!(3), &json!(1)),
        "{rows:?}"
    );
    let mut client = library.open(Era::Handshake);
    let listed = client.call("list_collections", json!({}));
    assert_eq!(listed["collections"][0]["notebook_count"], 3);
    client.enter("journal");
    let found = client.search("ice");
    assert_eq!(found["metadata"]["returned"], 3, "{found}");
    let error = client.error(
        "fetch_passage",
        json!({ "source_id": "journal/huge.md@0-1000000000:0123456789abcdef" }),
    );
    assert_eq!(error["type"], "ambiguous_request", "{error}");
    let error = client.error(
        "fetch_passage",
        json!({ "source_id": "journal/huge.md@0-4:0123456789abcdef" }),
    );
    assert_eq!(error["type"], "source_not_found", "{error}");
    let id = &found["results"][0]["reference_id"];
    let explained = client.call(
        "explain_provenance",
        json!({ "id": id, "id_type": "source" }),
    );
    let root = explained["chain"][2]["statement"].as_str().unwrap();
    assert!(
        root.contains("covers 2 notebooks. 1 more cannot be read"),
        "{root}"
    );
}

#[test]
fn text_that_is_no_utf_8_is_neither_found_nor_quoted_and_the_rest_is() {
    let library = Library::new();
    let bytes = b"# Mixed\n\nA \xff quince of no encoding.\n\n# Sound\n\nA medlar is text.\n";
    library.vault.note("journal/mixed.md", bytes);
    let mut client = library.open(Era::Handshake);
    client.enter("journal");
    for query in ["quince", "medlar"] {
        let found = client.search(query);
        proof::assert_found(&library.vault.root(), "journal", &found);
        assert!(!found.to_string().contains('\u{fffd}'), "{found}");
        let is_found = found["results"][0]["source_pointer"]["notebook_id"] == "mixed.md";
        assert!(is_found || query == "quince", "{query}: {found}");
    }
    let id = proof::id_of("journal/mixed.md", bytes, 9, 20);
    let error = client.error("fetch_passage", json!({ "source_id": id }));
    assert_eq!(error["context"]["reason"], "changed", "{error}");
    let start = bytes
        .windows(8)
        .position(|part| part == b"A medlar")
        .unwrap();
    let id = proof::id_of("journal/mixed.md", bytes, start, start + 17);
    let fetched = client.call("fetch_passage", json!({ "source_id": id }));
    proof::assert_fetched(&library.vault.root(), &fetched);
}

/// Every tool that needs the collection says that it is gone, and works again when it is back.
fn assert_gone_and_back(
    client: &mut Client<'_>,
    id: &Value,
    gone: impl FnOnce(),
    back: impl FnOnce(),
) {
    let token =
        client.call("begin_result_stream", json!({ "query": "ice" }))["stream_token"].clone();
    gone();
    for (tool, arguments) in [
        ("list_artifact_sets", json!({})),
        ("semantic_search", json!({ "query": "ice" })),
        ("fetch_passage", json!({ "source_id": id })),
        ("retrieve_artifact", json!({ "artifact_id": "x" })),
        ("begin_result_stream", json!({ "query": "ice" })),
        ("next_stream_chunk", json!({ "stream_token": token })),
        (
            "explain_provenance",
            json!({ "id": id, "id_type": "source" }),
        ),
        (
            "explain_provenance",
            json!({ "id": "x", "id_type": "artifact" }),
        ),
        ("enter_collection", json!({ "collection_id": "journal" })),
    ] {
        let error = client.error(tool, arguments);
        assert_eq!(error["type"], "collection_not_found", "{tool}: {error}");
    }
    back();
    let fetched = client.call("fetch_passage", json!({ "source_id": id }));
    assert_eq!(fetched["integrity"]["verified"], true);
    client.call("next_stream_chunk", json!({ "stream_token": token }));
    wait_for("the collection to be found again", || {
        let found = client.search("ice");
        (found["results"][0]["reference_id"] == *id).then_some(())
    });
}

#[test]
fn a_collection_that_goes_away_while_it_is_entered_is_told_and_may_come_back() {
    let library = Library::new();
    let root = library.vault.root();
    let (place, aside) = (root.join("journal"), library.vault.outside().join("aside"));
    library
        .vault
        .note("physics/one.md", format!("# Ice\n\n{SECRET} ice\n"));
    let mut client = library.open(Era::Handshake);
    client.enter("journal");
    let id = client.search("ice")["results"][0]["reference_id"].clone();
    let park = || fs::rename(&place, &aside).unwrap();
    let back = || fs::rename(&aside, &place).unwrap();
    assert_gone_and_back(&mut client, &id, park, back);
    for target in [library.vault.outside(), root.join("physics"), aside.clone()] {
        let link = || {
            park();
            symlink(&target, &place).unwrap();
        };
        let unlink = || {
            fs::remove_file(&place).unwrap();
            back();
        };
        assert_gone_and_back(&mut client, &id, link, unlink);
    }
    let file = || {
        park();
        fs::write(&place, "a file").unwrap();
    };
    let no_file = || {
        fs::remove_file(&place).unwrap();
        back();
    };
    assert_gone_and_back(&mut client, &id, file, no_file);
    // The whole library goes away.
    let elsewhere = library.vault.outside().join("library");
    fs::rename(&root, &elsewhere).unwrap();
    for (tool, arguments) in data_calls() {
        let result = client.result(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
    }
    fs::rename(&elsewhere, &root).unwrap();
    client.call("fetch_passage", json!({ "source_id": id }));
}

#[test]
fn a_damaged_record_is_told_and_hides_no_other_set() {
    let library = Library::rich();
    let sidecar = library.vault.root().join("lab/_artifacts/one/set.toml");
    let sound = fs::read_to_string(&sidecar).unwrap();
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let digest = proof::sha256(b"They measured.\n");
    let bad: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"format = 2\n".to_vec(),
        b"\xff\xfe".to_vec(),
        b"[".to_vec(),
        sound.as_bytes()[..sound.len() / 2].to_vec(),
        sound
            .replace("type = \"summary\"", "type = \"poem\"")
            .into_bytes(),
        sound.replace(&digest, "12ab").into_bytes(),
        sound
            .replace("file = \"summary.md\"", "file = \"../../dated.md\"")
            .into_bytes(),
        sound
            .replace(
                "notebook = \"dated.md\"",
                "notebook = \"../journal/one.md\"",
            )
            .into_bytes(),
        format!("{sound}\nunknown = 1\n").into_bytes(),
        vec![b'#'; 2 << 20],
    ];
    for bytes in bad {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        fs::write(&sidecar, &bytes).unwrap();
        let listed = client.call("list_artifact_sets", json!({}));
        let sets: Vec<&Value> = listed["artifact_sets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|set| &set["artifact_set_id"])
            .collect();
        assert_eq!(sets, ["own", "two"], "{start}");
        assert_eq!(
            listed["problems"][0]["artifact_set_id"], "one",
            "{start}: {listed}"
        );
        for (tool, arguments) in [
            (
                "retrieve_artifact",
                json!({ "artifact_id": "one/summary.md" }),
            ),
            (
                "explain_provenance",
                json!({ "id": "one", "id_type": "artifact" }),
            ),
        ] {
            let error = client.error(tool, arguments);
            assert_eq!(error["type"], "upstream_failure", "{start}: {error}");
        }
        client.call(
            "retrieve_artifact",
            json!({ "artifact_id": "two/notes.txt" }),
        );
    }
}
