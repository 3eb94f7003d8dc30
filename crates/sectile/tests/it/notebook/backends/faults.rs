//! Faults of the servers that a library is in, one by one: each is told by its type, nothing stale is quoted, and it passes without
//! anybody's help where it can.

use std::{fs, time::Duration};

use sectile_test_servers::Fault;
use serde_json::{Value, json};

use super::{
    super::{Client, Library, proof},
    client,
};
use crate::fixture::{Backends, Era, IndexHome, Where};

/// Where something went wrong upstream, and what is said of it: sentences, and nothing of where or who.
fn assert_upstream(library: &Library, error: &Value) {
    assert_eq!(error["type"], "upstream_failure", "{error}");
    let text = error.to_string();
    let secrets = [
        "127.0.0.1",
        "vault/",
        "secret-key",
        "TESTACCESSKEY",
        "a password",
        "postgres://",
        "SELECT",
    ];
    for secret in secrets {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    for path in library.vault.absolute_paths() {
        assert!(!text.contains(&path), "{text}");
    }
    assert!(error["message"].as_str().unwrap().ends_with('.'), "{error}");
}

/// A client that has entered a collection and found a passage there.
fn found<'a>(library: &'a Library, backends: &Backends) -> (Client<'a>, Value) {
    let mut client = client(library, backends, Era::Handshake);
    client.enter("lab");
    let found = client.search("ice on the lake");
    let id = found["results"][0]["reference_id"].clone();
    assert!(id.is_string(), "{found}");
    (client, id)
}

#[test]
fn a_bucket_that_cannot_be_reached_is_told_and_comes_back() {
    let library = Library::rich();
    let backends = Backends::start(Where::new(true, IndexHome::Folder), &library.vault);
    let (_, proxy) = backends.bucket.as_ref().unwrap();
    let (mut client, id) = found(&library, &backends);
    let quote = json!({ "source_id": id });
    proxy.set(Fault::Refuse);
    assert_upstream(&library, &client.error("fetch_passage", quote.clone()));
    assert_upstream(&library, &client.error("list_collections", json!({})));
    proxy.set(Fault::Pass);
    client.call("fetch_passage", quote.clone());
    // Throttled for a moment: nobody notices. Throttled for good: it is told.
    let throttled = |times| Fault::Answer {
        status: 503,
        retry_after: None,
        times,
    };
    proxy.set(throttled(2));
    client.call("fetch_passage", quote.clone());
    proxy.set(throttled(usize::MAX));
    assert_upstream(&library, &client.error("fetch_passage", quote.clone()));
    proxy.set(Fault::Cut {
        after: 60,
        times: usize::MAX,
    });
    assert_upstream(&library, &client.error("fetch_passage", quote.clone()));
    proxy.set(Fault::Pass);
    client.call("fetch_passage", quote);
}

/// What an error says to look at.
fn looked_at(error: &Value) -> String {
    let recovery = error["recovery"].as_str().unwrap();
    let (_, what) = recovery.split_once("look at the ").unwrap();
    what.trim_end_matches('.').to_owned()
}

#[test]
fn recovery_texts_name_the_storage_that_is_really_used() {
    let library = Library::rich();
    let backends = Backends::start(Where::new(true, IndexHome::Postgres), &library.vault);
    backends.fill(&library.vault);
    let (_, bucket) = backends.bucket.as_ref().unwrap();
    let (_, database) = backends.database.as_ref().unwrap();
    let (mut client, id) = found(&library, &backends);
    bucket.set(Fault::Refuse);
    let error = client.error("fetch_passage", json!({ "source_id": id }));
    assert_eq!(looked_at(&error), "bucket of the notebooks");
    let artifact = json!({ "artifact_id": "one/summary.md" });
    let error = client.error("retrieve_artifact", artifact);
    assert_eq!(looked_at(&error), "bucket of the artifacts");
    bucket.set(Fault::Pass);
    database.set(Fault::Refuse);
    let error = client.error("semantic_search", json!({ "query": "ice" }));
    assert_eq!(looked_at(&error), "database of the index");
    // And a folder is called a folder.
    let mut client = library.open(Era::Handshake);
    client.enter("lab");
    let payload = library.vault.root().join("lab/_artifacts/one/summary.md");
    fs::write(payload, "changed").unwrap();
    let artifact = json!({ "artifact_id": "one/summary.md" });
    let error = client.error("retrieve_artifact", artifact);
    assert_eq!(looked_at(&error), "folder of the artifacts");
}

#[test]
fn an_object_that_changed_after_the_search_is_not_quoted() {
    let library = Library::rich();
    let backends = Backends::start(Where::new(true, IndexHome::Postgres), &library.vault);
    backends.fill(&library.vault);
    let (mut client, id) = found(&library, &backends);
    let quote = json!({ "source_id": id });
    client.call("fetch_passage", quote.clone());
    let path = id.as_str().unwrap().split_once('@').unwrap().0;
    let old = fs::read(library.vault.root().join(path)).unwrap();
    library
        .vault
        .note(path, "# Other\n\nSomething else altogether.\n");
    let error = client.error("fetch_passage", quote.clone());
    assert_eq!(error["type"], "source_not_found", "{error}");
    assert_eq!(error["context"]["reason"], "changed", "{error}");
    let search = client.search("ice on the lake");
    assert!(
        !search.to_string().contains(id.as_str().unwrap()),
        "{search}"
    );
    // Moved to another notebook, where the index does not know it yet, and then does.
    library.vault.note("lab/elsewhere.md", &old);
    backends.fill(&library.vault);
    let error = client.error("fetch_passage", quote.clone());
    assert_eq!(error["context"]["reason"], "moved", "{error}");
    let new = error["context"]["new_source_id"].clone();
    assert!(
        new.as_str().unwrap().starts_with("lab/elsewhere.md@"),
        "{new}"
    );
    client.call("fetch_passage", json!({ "source_id": new }));
    fs::remove_file(library.vault.root().join(path)).unwrap();
    let error = client.error("fetch_passage", quote);
    assert_eq!(error["context"]["reason"], "moved", "{error}");
}

#[test]
fn wrong_credentials_and_missing_buckets_are_told() {
    let library = Library::rich();
    let backends = Backends::start(Where::new(true, IndexHome::Folder), &library.vault);
    fs::write(library.vault.outside().join("secret"), "another secret").unwrap();
    let mut refused = client(&library, &backends, Era::Handshake);
    let error = refused.error("list_collections", json!({}));
    assert_upstream(&library, &error);
    assert!(
        error["message"].as_str().unwrap().contains("credentials"),
        "{error}"
    );
    let (server, _) = backends.bucket.as_ref().unwrap();
    fs::write(library.vault.outside().join("secret"), server.secret_key()).unwrap();
    fs::rename(
        library.vault.root(),
        library.vault.root().with_file_name("renamed"),
    )
    .unwrap();
    let mut missing = client(&library, &backends, Era::Handshake);
    let error = missing.error("list_collections", json!({}));
    assert_upstream(&library, &error);
    assert!(
        error["message"].as_str().unwrap().contains("bucket"),
        "{error}"
    );
}

#[test]
fn a_database_that_is_not_ready_is_told_step_by_step() {
    let library = Library::rich();
    let backends = Backends::start(Where::new(false, IndexHome::Postgres), &library.vault);
    let (server, proxy) = backends.database.as_ref().unwrap();
    let mut client = client(&library, &backends, Era::Handshake);
    client.enter("lab");
    let query = json!({ "query": "ice" });
    let told = |client: &mut Client<'_>, what: &str| {
        let error = client.error("semantic_search", query.clone());
        assert_upstream(&library, &error);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(what), "{what}: {message}");
    };
    proxy.set(Fault::Refuse);
    told(&mut client, "cannot be reached");
    proxy.set(Fault::Pass);
    // Nothing was put there yet.
    told(&mut client, "sectile notebook index --to postgres");
    server.sql("notebooks", "DROP EXTENSION vector");
    let output = backends.index(&library.vault).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("CREATE EXTENSION"), "{said}");
    server.sql("notebooks", "CREATE EXTENSION vector");
    backends.fill(&library.vault);
    client.call("semantic_search", query.clone());
    // A collection that came later is not there; the others are.
    library
        .vault
        .note("later/one.md", "# Ice\n\nThe ice came late.\n");
    client.enter("later");
    told(&mut client, "does not have this collection");
    client.enter("lab");
    client.call("semantic_search", query.clone());
    // Vectors of another model are not mixed with ours, but made anew.
    server.sql(
        "notebooks",
        "UPDATE sectile.collection SET rules = 'words x\nmodel y\n'",
    );
    told(&mut client, "another model");
    let output = backends.index(&library.vault).output().unwrap();
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lab = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["collection_id"] == "lab")
        .unwrap();
    assert!(lab["remade"].is_string(), "{rows}");
    client.call("semantic_search", query.clone());
    fs::write(library.vault.outside().join("password"), "wrong").unwrap();
    let output = backends.index(&library.vault).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("refused the user"), "{said}");
}

#[test]
fn a_database_that_restarts_under_load_is_back_without_help() {
    let library = Library::rich();
    let mut backends = Backends::start(Where::new(false, IndexHome::Postgres), &library.vault);
    backends.fill(&library.vault);
    let (mut client, id) = found(&library, &backends);
    let (server, _) = backends.database.as_mut().unwrap();
    for round in 0..3 {
        if round % 2 == 0 {
            server.stop()
        } else {
            server.kill()
        }
        let error = client.error("semantic_search", json!({ "query": "ice" }));
        assert_upstream(&library, &error);
        // What does not need the index does not mind.
        client.call("fetch_passage", json!({ "source_id": id }));
        server.start_again();
        std::thread::sleep(Duration::from_millis(50));
        let answer = client.search("ice on the lake");
        assert_eq!(answer["results"][0]["reference_id"], id, "{answer}");
    }
}

#[test]
fn a_collection_named_like_a_statement_is_only_a_name() {
    let library = Library::new();
    let name = "x'; DROP TABLE sectile.chunk; --";
    library
        .vault
        .note(&format!("{name}/one.md"), "# Ice\n\nThe ice holds.\n");
    let backends = Backends::start(Where::new(true, IndexHome::Postgres), &library.vault);
    backends.fill(&library.vault);
    let mut client = client(&library, &backends, Era::Stateless);
    client.enter(name);
    let answer = client.search("ice");
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results.len(), 1, "{answer}");
    assert!(
        results[0]["reference_id"]
            .as_str()
            .unwrap()
            .starts_with(name),
        "{answer}"
    );
    client.enter("journal");
    assert!(!client.search("ice").to_string().contains("holds"));
}

#[test]
fn an_index_run_that_was_killed_leaves_the_old_state_or_the_new_one() {
    let library = Library::new();
    let backends = Backends::start(Where::new(false, IndexHome::Postgres), &library.vault);
    backends.fill(&library.vault);
    let mut client = client(&library, &backends, Era::Handshake);
    client.enter("journal");
    for round in 0..12_u64 {
        for number in 0..8 {
            let text = format!("# Round {round}\n\nThe ice of round {round}, notebook {number}.\n");
            library.vault.note(&format!("journal/n{number}.md"), text);
        }
        let mut run = backends.index(&library.vault);
        run.stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        let mut run = run.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round * 25));
        run.kill().unwrap();
        run.wait().unwrap();
        // Whatever is in the index, what is found is there.
        let answer = client.search("ice of round");
        proof::assert_found(&library.vault.root(), "journal", &answer);
    }
    backends.fill(&library.vault);
    let answer = client.search("ice of round 11");
    assert!(answer["results"].as_array().unwrap().len() >= 8, "{answer}");
}
