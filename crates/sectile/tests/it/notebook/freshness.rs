//! What is found follows the files while the server runs, with an index on disk and without, wherever that is kept.

use std::fs;

use serde_json::{Value, json};

use super::{Client, Library, proof, stable};
use crate::fixture::{Era, wait_for};

/// Searches until the answer is one that is waited for. Every answer on the way must be true.
fn wait_until(
    client: &mut Client<'_>,
    library: &Library,
    query: &str,
    what: &str,
    is_so: impl Fn(&Value) -> bool,
) -> Value {
    let root = library.vault.root();
    wait_for(what, || {
        let answer = client.search(query);
        proof::assert_found(&root, "journal", &answer);
        is_so(&answer).then_some(answer)
    })
}

fn is_fresh(answer: &Value) -> bool {
    answer["metadata"]["changed_not_indexed"] == 0
}

/// The notebooks of the results.
fn notebooks(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().unwrap().iter();
    let names = results.map(|result| result["source_pointer"]["notebook_id"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

fn has(notebook: &str) -> impl Fn(&Value) -> bool {
    move |answer| is_fresh(answer) && notebooks(answer).iter().any(|name| name == notebook)
}

/// Edits, adds, deletes and renames notebooks under a running server.
fn follow(library: &Library, client: &mut Client<'_>) {
    let root = library.vault.root();
    let first = wait_until(client, library, "snow", "the first look", is_fresh);
    let as_of = first["metadata"]["index_as_of"].clone();
    let snow = first["results"][0]["reference_id"].clone();
    library
        .vault
        .note("journal/new/quince.md", "# Quince\n\nA quince is yellow.\n");
    wait_until(
        client,
        library,
        "quince",
        "what was added",
        has("new/quince.md"),
    );
    library
        .vault
        .note("journal/one.md", "# Fog\n\nFog came instead.\n");
    // At once: what is not there any more is never found again.
    let gone = client.search("snow fell");
    proof::assert_found(&root, "journal", &gone);
    assert!(!gone.to_string().contains("Snow fell"), "{gone}");
    wait_until(client, library, "fog", "what was edited", has("one.md"));
    let error = client.error("fetch_passage", json!({ "source_id": snow }));
    assert_eq!(error["context"]["reason"], "changed", "{error}");
    let quince = client.search("quince")["results"][0]["reference_id"].clone();
    fs::rename(
        root.join("journal/new/quince.md"),
        root.join("journal/fruit.md"),
    )
    .unwrap();
    let answer = client.search("quince");
    assert!(
        !notebooks(&answer).contains(&"new/quince.md".to_owned()),
        "{answer}"
    );
    wait_until(
        client,
        library,
        "quince",
        "what was renamed",
        has("fruit.md"),
    );
    let error = client.error("fetch_passage", json!({ "source_id": quince }));
    assert_eq!(error["context"]["reason"], "moved", "{error}");
    let new = error["context"]["new_source_id"].clone();
    let fetched = client.call("fetch_passage", json!({ "source_id": new }));
    proof::assert_fetched(&root, &fetched);
    fs::remove_file(root.join("journal/fruit.md")).unwrap();
    let answer = client.search("quince yellow");
    assert!(!answer.to_string().contains("fruit.md"), "{answer}");
    let last = wait_until(client, library, "quince", "the last look", |answer| {
        is_fresh(answer) && answer["metadata"]["unknown_words"] == json!(["quince"])
    });
    assert_eq!(
        last["metadata"]["index_as_of"], as_of,
        "the index on disk is the same"
    );
    assert_eq!(
        last["metadata"]["index_location"],
        first["metadata"]["index_location"]
    );
}

/// As a server answers that has read everything just now.
fn assert_as_afresh(library: &Library, client: &mut Client<'_>) {
    let elsewhere = library.vault.outside().join("none");
    let settings = format!("[notebook]\nindex = {elsewhere:?}\n");
    let mut afresh = library.open_with(Era::Handshake, &settings);
    afresh.enter("journal");
    for query in [
        "ice",
        "fog came",
        "thaw of the lake",
        "quince",
        "something cold",
    ] {
        let (grown, fresh) = (client.search(query), afresh.search(query));
        assert_eq!(fresh["metadata"]["index_location"], "memory");
        assert_eq!(
            stable("semantic_search", &grown),
            stable("semantic_search", &fresh),
            "{query}"
        );
    }
}

#[test]
fn without_an_index_on_disk_what_is_found_follows_the_files() {
    let library = Library::new();
    let mut client = library.open(Era::Handshake);
    client.enter("journal");
    assert_eq!(client.search("ice")["metadata"]["index_location"], "memory");
    follow(&library, &mut client);
    assert_as_afresh(&library, &mut client);
}

#[test]
fn with_an_index_on_disk_what_is_found_follows_the_files() {
    let library = Library::new();
    library.index(&[]);
    let mut client = library.open(Era::Handshake);
    client.enter("journal");
    let first = client.search("ice");
    assert_eq!(first["metadata"]["index_location"], "disk");
    follow(&library, &mut client);
    assert_as_afresh(&library, &mut client);
}

#[test]
fn what_changed_while_no_server_ran_is_noticed() {
    let library = Library::new();
    let rows = library.index(&[]);
    assert_eq!(rows[0]["indexed"], 2, "{rows:?}");
    library
        .vault
        .note("journal/quince.md", "# Quince\n\nA quince is yellow.\n");
    fs::remove_file(library.vault.root().join("journal/deep/two.md")).unwrap();
    let mut client = library.open(Era::Handshake);
    client.enter("journal");
    let first = client.search("the ice broke");
    proof::assert_found(&library.vault.root(), "journal", &first);
    assert_eq!(first["metadata"]["index_location"], "disk");
    let changed = &first["metadata"]["changed_not_indexed"];
    assert!(
        [json!(null), json!(2), json!(0)].contains(changed),
        "{first}"
    );
    wait_until(
        &mut client,
        &library,
        "quince",
        "what was added",
        has("quince.md"),
    );
    let rows = library.index(&[]);
    assert_eq!(
        (&rows[0]["indexed"], &rows[0]["removed"]),
        (&json!(1), &json!(1)),
        "{rows:?}"
    );
    let rows = library.index(&[]);
    assert_eq!(
        (&rows[0]["indexed"], &rows[0]["written"]),
        (&json!(0), &json!(false)),
        "{rows:?}"
    );
}

#[test]
fn an_index_that_is_made_while_the_server_runs_is_taken_up() {
    let library = Library::new();
    let mut client = library.open(Era::Handshake);
    client.enter("journal");
    let first = client.search("ice");
    assert_eq!(first["metadata"]["index_location"], "memory");
    let mut as_of = first["metadata"]["index_as_of"].as_i64().unwrap();
    for number in 0..2 {
        library.vault.note(
            &format!("journal/{number}.md"),
            format!("# Plum {number}\n"),
        );
        library.index(&["journal"]);
        // Anything that happens in the collection makes the server look.
        library
            .vault
            .note("journal/wake.md", format!("# Awake {number}\n"));
        let taken = wait_until(&mut client, &library, "plum", "the new index", |answer| {
            let metadata = &answer["metadata"];
            is_fresh(answer)
                && metadata["index_location"] == "disk"
                && metadata["index_as_of"].as_i64() > Some(as_of)
        });
        as_of = taken["metadata"]["index_as_of"].as_i64().unwrap();
        assert!(
            notebooks(&taken).contains(&format!("{number}.md")),
            "{taken}"
        );
    }
    assert_as_afresh(&library, &mut client);
}

#[test]
fn an_index_that_is_removed_while_the_server_runs_is_not_missed() {
    let library = Library::new();
    library.index(&[]);
    let mut client = library.open(Era::Handshake);
    client.enter("journal");
    client.search("ice");
    fs::remove_dir_all(library.vault.root().join(".sectile")).unwrap();
    library
        .vault
        .note("journal/quince.md", "# Quince\n\nA quince is yellow.\n");
    wait_until(
        &mut client,
        &library,
        "quince",
        "what was added",
        has("quince.md"),
    );
    assert_as_afresh(&library, &mut client);
}

#[test]
fn the_index_may_be_kept_elsewhere() {
    let library = Library::new();
    let folder = library.vault.outside().join("cache/indexes");
    library.index(&["--index", folder.to_str().unwrap()]);
    let private = library.vault.root().join(".sectile");
    assert!(!private.exists(), "nothing is written into the library");
    for (settings, location) in [
        (format!("[notebook]\nindex = {folder:?}\n"), "disk"),
        (
            "[notebook]\nindex = \"outside/cache/indexes\"\n".to_owned(),
            "disk",
        ),
        (String::new(), "memory"),
    ] {
        let mut client = library.open_with(Era::Handshake, &settings);
        client.enter("journal");
        let found = client.search("ice");
        assert_eq!(found["metadata"]["index_location"], location, "{settings}");
        proof::assert_found(&library.vault.root(), "journal", &found);
        assert_eq!(found["metadata"]["returned"], 3, "{found}");
    }
    assert!(!private.exists(), "a server writes no index");
    let mut command = crate::fixture::sectile();
    command
        .args(["notebook", "search"])
        .arg(library.vault.root());
    let output = command
        .args(["journal", "ice", "--json", "--index"])
        .arg(&folder)
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["index_on_disk"], true, "{found}");
}

#[test]
fn the_index_of_another_library_gives_no_wrong_answer() {
    let (library, other) = (Library::new(), Library::new());
    other.vault.note(
        "journal/one.md",
        "# Ice\n\nAnother library says this of ice.\n",
    );
    let folder = other.vault.outside().join("indexes");
    other.index(&["--index", folder.to_str().unwrap()]);
    let copy = library.vault.outside().join("indexes");
    fs::rename(folder, &copy).unwrap();
    let settings = format!("[notebook]\nindex = {copy:?}\n");
    let mut client = library.open_with(Era::Handshake, &settings);
    client.enter("journal");
    let first = client.search("ice");
    proof::assert_found(&library.vault.root(), "journal", &first);
    assert!(!first.to_string().contains("Another library"), "{first}");
    wait_until(&mut client, &library, "ice", "its own notebooks", is_fresh);
    assert_as_afresh(&library, &mut client);
}
