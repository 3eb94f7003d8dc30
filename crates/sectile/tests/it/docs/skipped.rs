//! Nothing is left out silently: what is not loaded, hidden or missing is said to those who can do something about it.

use serde_json::{Value, json};

use super::{Desk, library::Library};
use crate::fixture::Era;

fn report(ran: &super::Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("no JSON: {ran:?}"))
}

#[test]
fn a_docs_folder_that_does_not_exist_is_an_error_at_start_and_in_docs_check() {
    let desk = Desk::new(&[
        ("a.md", "# A\n\ntext\n"),
        (
            "settings/extra.toml",
            "[docs]\nextra_paths = ['guides', '../a.md', 'more']\n",
        ),
        (
            "settings/root.toml",
            "[docs]\nroot = 'checkout'\n[[docs.documents]]\npath = 'a.md'\n",
        ),
    ]);
    let hint = "hint: correct or remove the path: docs.extra_paths or docs.root in the settings, or the command line\n";
    for (arguments, named) in [
        (&["nowhere"][..], "`nowhere` does"),
        (&["a.md", "nowhere/b.md"], "`nowhere/b.md` does"),
        (&["--config", "settings/extra.toml"], "`guides`, `more` do"),
        (&["--config", "settings/root.toml"], "`checkout` does"),
    ] {
        let expected = format!("error: {named} not exist.\n{hint}");
        let ran = desk.run(&[&["docs", "check", "--json"], arguments].concat());
        assert_eq!((ran.code, &ran.stderr), (Some(1), &expected), "{ran:?}");
        // The report comes first, whatever is wrong.
        assert!(report(&ran)["documents"].is_array());
        if arguments.contains(&"a.md") {
            continue; // `serve` takes one path.
        }
        let ran = desk.run(&[&["serve", "docs"], arguments].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
        assert!(ran.stderr.ends_with(&expected), "{ran:?}");
    }
    let ran = desk.run(&["docs", "search", "--path", "nowhere", "text"]);
    let expected = format!("error: `nowhere` does not exist.\n{hint}");
    assert_eq!((ran.code, ran.stderr), (Some(1), expected));
}

#[test]
fn ignored_and_hidden_files_are_reported_by_docs_check() {
    let desk = Desk::new(&[
        ("guides/.gitignore", "drafts/\n*.tmp.md\n"),
        ("guides/a.md", "# A\n\ntext\n"),
        ("guides/x.tmp.md", "# X\n"),
        ("guides/.secret.md", "# S\n"),
        ("guides/.hidden/y.md", "# Y\n"),
        ("guides/drafts/z.md", "# Z\n"),
        ("guides/.git/w.md", "# W\n"),
        ("guides/.note.txt", "x"),
    ]);
    let ran = desk.run(&["docs", "check", "guides", "--json", "--strict"]);
    // Somebody wants it so: that is worth a line, and no failure.
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let found = report(&ran);
    assert_eq!(
        found["left_out"],
        json!([
            {
                "path": "guides/.hidden/",
                "reason": "hidden",
                "message": "`guides/.hidden/` is hidden; rename it without the dot, or list it explicitly.",
            },
            {
                "path": "guides/.secret.md",
                "reason": "hidden",
                "message": "`guides/.secret.md` is hidden; rename it without the dot, or list it explicitly.",
            },
            {
                "path": "guides/drafts/",
                "reason": "ignored",
                "message": "`guides/drafts/` is excluded by a `.gitignore` or `.ignore` file; list it explicitly to load it.",
            },
            {
                "path": "guides/x.tmp.md",
                "reason": "ignored",
                "message": "`guides/x.tmp.md` is excluded by a `.gitignore` or `.ignore` file; list it explicitly to load it.",
            },
        ])
    );
    // What it says is true.
    let ran = desk.run(&[
        "docs",
        "check",
        "guides",
        "guides/.secret.md",
        "guides/drafts",
        "guides/.hidden",
        "guides/x.tmp.md",
        "--json",
    ]);
    let found = report(&ran);
    let paths: Vec<&str> = found["documents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|document| document["origin"] == "extra")
        .map(|document| document["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        [
            "guides/a.md",
            "guides/.secret.md",
            "guides/drafts/z.md",
            "guides/.hidden/y.md",
            "guides/x.tmp.md"
        ]
    );
    let left_out: Vec<&Value> = found["left_out"].as_array().unwrap().iter().collect();
    assert!(
        left_out
            .iter()
            .all(|one| one["path"].as_str().unwrap().ends_with('/')),
        "{left_out:?}"
    );
}

/// The sample, and two documents that cannot be loaded.
fn with_skipped(settings: &str) -> Library {
    let library = Library::sample(settings);
    library.vault().note("deep/large.md", "x\n".repeat(700_000));
    library.vault().note("latin.md", b"caf\xe9\n");
    library
}

#[test]
fn skipped_documents_are_reported_to_clients() {
    let library = with_skipped("");
    let mut client = library.open();
    let overview = client.search(json!({ "query": "" }));
    assert_eq!(overview["skipped_total"], 2);
    assert_eq!(
        overview["skipped_documents"],
        json!([
            { "name": "vault/deep/large.md", "reason": "max_doc_bytes" },
            { "name": "vault/latin.md", "reason": "not_utf8" },
        ])
    );
    let found = client.search(json!({ "query": "trust lanes" }));
    assert_eq!(found["skipped_total"], 2);
    assert!(found.get("skipped_documents").is_none(), "{found}");

    let all_there = Library::sample("");
    let mut other = all_there.open();
    let answer = other.search(json!({ "query": "" }));
    assert!(answer.get("skipped_total").is_none(), "{answer}");
    // The answer depends on it, and so does the receipt.
    assert_ne!(answer["receipt"]["corpus"], overview["receipt"]["corpus"]);
}

/// Clients that never ask for an overview are told too: by the list of resources and by every answer.
#[test]
fn meta_of_results_counts_skipped_documents() {
    let library = with_skipped("");
    for era in Era::BOTH {
        let mut client = library.open_in(era);
        let listed = client.ask("resources/list", json!({}));
        let meta = &listed["result"]["_meta"];
        assert_eq!(meta["sectile/skipped_total"], 2, "{era:?}: {listed}");
        assert_eq!(
            meta["sectile/skipped_documents"],
            client.search(json!({ "query": "" }))["skipped_documents"],
            "{era:?}"
        );
        for query in ["", "trust lanes", "xylophone"] {
            let answer = client.call(json!({ "query": query }));
            let meta = &answer["result"]["_meta"];
            assert_eq!(meta["sectile/skipped_total"], 2, "{era:?}: {answer}");
        }
        // What is loaded again is not reported any more.
        library.vault().note("latin.md", "# Latin\n\nCafé.\n");
        std::fs::remove_file(library.vault().root().join("deep/large.md")).unwrap();
        let listed = client.ask("resources/list", json!({}));
        let answer = client.call(json!({ "query": "" }));
        for result in [&listed["result"], &answer["result"]] {
            assert!(!result["_meta"].to_string().contains("skipped"), "{result}");
        }
        library.vault().note("latin.md", b"caf\xe9\n");
        library.vault().note("deep/large.md", "x\n".repeat(700_000));
    }
}

#[test]
fn a_long_list_of_skipped_documents_is_cut_and_counted() {
    let library = Library::sample("").and("max_docs = 4\n");
    for number in 0..30 {
        library.vault().note(&format!("z{number:02}.md"), "# Z\n");
    }
    let mut client = library.open();
    let overview = client.search(json!({ "query": "" }));
    assert_eq!(overview["skipped_total"], 30);
    let named = overview["skipped_documents"].as_array().unwrap();
    assert_eq!(named.len(), 20);
    assert_eq!(
        named[0],
        json!({ "name": "vault/z00.md", "reason": "max_docs" })
    );
}

/// A name of a document that is not even loaded could be one of those that a policy hides.
#[test]
fn skipped_documents_are_not_told_to_callers_who_may_not_see_every_document() {
    for (settings, told) in [
        ("", 2),
        ("[server.tools]\ndenylist = ['sectile://docs/large']\n", 1),
        ("[server.tools]\ndenylist = ['sectile://docs/why']\n", 0),
        (
            "[server.auth]\nallowed_tools = ['sectile_docs_search', 'sectile://docs/{slug}']\n",
            2,
        ),
        (
            "[server.auth]\nallowed_tools = ['sectile_docs_search', 'sectile://docs/why']\n",
            0,
        ),
        ("[server.tools]\nallowlist = ['sectile_docs_search']\n", 0),
    ] {
        let library = with_skipped(settings);
        let mut client = library.open();
        let overview = client.search(json!({ "query": "" }));
        let named = overview["skipped_documents"].as_array().map_or(0, Vec::len);
        assert_eq!(named, told, "{settings}: {overview}");
        let listed = client.ask("resources/list", json!({}));
        let answer = client.call(json!({ "query": "" }));
        for result in [&listed["result"], &answer["result"]] {
            let total = result["_meta"]["sectile/skipped_total"].as_u64();
            assert_eq!(total.unwrap_or(0), named as u64, "{settings}: {result}");
        }
        let meta = &listed["result"]["_meta"]["sectile/skipped_documents"];
        assert_eq!(
            meta.as_array().map_or(0, Vec::len),
            told,
            "{settings}: {listed}"
        );
    }
}
