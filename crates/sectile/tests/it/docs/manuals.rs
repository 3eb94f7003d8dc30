//! A folder served whole: every page of it and nothing else, whatever is in it, in answers that fit.

use serde_json::{Value, json};

use super::library::{Client, text, uris};
use crate::fixture::{Era, TestVault, sectile};

/// A folder of pages.
fn manual(pages: &[(&str, &str)]) -> TestVault {
    let vault = TestVault::empty();
    for (path, text) in pages {
        vault.note(path, text);
    }
    vault
}

/// A client of a server of the whole folder, with more settings of the `[docs]` table.
fn open<'a>(vault: &'a TestVault, docs: &str) -> Client<'a> {
    let mut command = sectile();
    command.args(["serve", "docs"]).arg(vault.root());
    if !docs.is_empty() {
        command.arg("--config");
        command.arg(vault.config(&format!("[docs]\n{docs}")));
    }
    Client::new(vault, command, Era::Handshake)
}

/// The addresses of all resources, page by page.
fn listed(client: &mut Client<'_>) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = match &cursor {
            Value::Null => json!({}),
            cursor => json!({ "cursor": cursor }),
        };
        let result = client.ask("resources/list", params)["result"].clone();
        let page = result["resources"].as_array().unwrap();
        all.extend(page.iter().map(|one| text(&one["uri"])));
        cursor = result["nextCursor"].clone();
        if cursor.is_null() {
            return all;
        }
    }
}

#[test]
fn a_folder_is_served_whole_and_alone() {
    let vault = manual(&[]);
    for number in 0..120 {
        let text = format!("# Page {number}\n\nAbout thing{number} and more.\n");
        vault.note(&format!("part{}/page-{number}.md", number % 7), text);
    }
    let mut client = open(&vault, "");
    let all = listed(&mut client);
    assert_eq!(all.len(), 120);
    assert!(
        all.iter().all(|uri| uri.starts_with("sectile://docs/part")),
        "{all:?}"
    );
    for number in [0, 77, 119] {
        let found = client.found(&format!("thing{number}"));
        let part = number % 7;
        assert_eq!(found[0], format!("sectile://docs/part{part}-page-{number}"));
    }
    // Settings that are given count as well.
    let mut few = open(&vault, "max_docs = 5\n");
    assert_eq!(listed(&mut few).len(), 5);
    let overview = few.search(json!({ "query": "" }));
    assert_eq!(overview["skipped_total"], 115);
    let mut more = open(&vault, "include_default_docs = true\n");
    assert!(listed(&mut more).contains(&"sectile://docs/recipes".to_owned()));
}

#[test]
fn pages_of_every_kind_are_served_or_named_with_the_reason() {
    let vault = manual(&[
        ("plain.md", "No heading at all, but a pangolin.\n"),
        (
            "twice.md",
            "# Twice\n\n## Same\n\nfirst okapi\n\n## Same\n\nsecond okapi\n",
        ),
        ("a/same.md", "# One\n\nnumbat here\n"),
        ("a-same.md", "# Two\n\nnumbat there\n"),
        ("cycle.md", "# Cycle\n\n[back](cycle.md) to the axolotl\n"),
        ("empty.md", "\n\n"),
        ("kana.md", "# 設定\n\n設定ファイルの場所を説明します。\n"),
        (
            "page.mdx",
            "import X from './x';\n\nexport const hiddenword = 1;\n\n# Component\n\n<X prop=\"hiddenprop\">\n\nThe quokka is prose.\n\n</X>\n",
        ),
    ]);
    vault.note("binary.md", b"\x00\xff\xfe\x80binary");
    vault.note(
        "large.md",
        format!(
            "# Large\n\n{}\n\n## Needle\n\nkakapo\n",
            "word ".repeat(2 << 20)
        ),
    );
    let mut client = open(&vault, "");
    for (query, expected) in [
        ("pangolin", "sectile://docs/plain"),
        ("\"second okapi\"", "sectile://docs/twice#same-1"),
        ("axolotl", "sectile://docs/cycle"),
        ("設定ファイル", "sectile://docs/kana"),
        ("quokka", "sectile://docs/page"),
        ("kakapo", "sectile://docs/large#needle"),
    ] {
        assert_eq!(client.found(query)[0], expected, "{query}");
    }
    for query in ["hiddenword", "hiddenprop"] {
        let answer = client.search(json!({ "query": query }));
        assert_eq!(answer["unknown_terms"], json!([query]), "{answer}");
    }
    let mut found = client.found("numbat");
    found.sort_unstable();
    assert_eq!(found, ["sectile://docs/a-same", "sectile://docs/a-same-2"]);
    let overview = client.search(json!({ "query": "" }));
    let folder = vault
        .root()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    assert_eq!(
        overview["skipped_documents"],
        json!([
            { "name": format!("{folder}/binary.md"), "reason": "not_utf8" },
            { "name": format!("{folder}/empty.md"), "reason": "empty" },
        ])
    );
    for query in [
        "the of and a",
        "???",
        "\u{1f980}\u{1f980}",
        "где находится файл",
    ] {
        let answer = client.search(json!({ "query": query }));
        assert!(answer["sections"].is_array(), "{query}: {answer}");
    }
}

#[test]
fn a_book_is_listed_in_the_order_of_its_contents() {
    let vault = manual(&[
        ("book.toml", "[book]\ntitle = \"Millrace\"\n"),
        (
            "src/SUMMARY.md",
            "# Summary\n\n[Start](start.md)\n\n- [Zebra](zebra.md)\n- [Gone](gone.md)\n  - [Apple](deep/apple.md)\n",
        ),
        ("src/deep/apple.md", "# Apple\n\nfruit\n"),
        ("src/start.md", "# Start\n\nhere\n"),
        ("src/unlisted.md", "# Unlisted\n\nbeside\n"),
        (
            "src/zebra.md",
            "# Zebra\n\n## Don't `panic!()`\n\nstripes\n",
        ),
    ]);
    let mut client = open(&vault, "url_template = 'https://docs.example.org/{url}'\n");
    let all = listed(&mut client);
    let names: Vec<&str> = all
        .iter()
        .map(|uri| uri.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(
        names,
        ["src-start", "src-zebra", "src-deep-apple", "src-unlisted"]
    );
    let answer = client.search(json!({ "query": "stripes" }));
    let section = &answer["sections"][0];
    let url = text(&section["url"]);
    let anchor = url.split_once('#').unwrap().1;
    assert!(
        url.starts_with("https://docs.example.org/zebra.html#"),
        "{url}"
    );
    // Both addresses have the anchor that the book has.
    let decoded = percent_encoding::percent_decode_str(anchor)
        .decode_utf8()
        .unwrap();
    assert_eq!(
        text(&section["uri"]),
        format!("sectile://docs/src-zebra#{decoded}")
    );
    // The table of contents is not a page.
    assert!(
        client
            .found("Summary")
            .iter()
            .all(|uri| !uri.contains("summary"))
    );
}

#[test]
fn answers_keep_to_a_budget_and_lead_on() {
    let section = |number: usize| {
        let text = format!("The walrus{} swims. ", number % 3).repeat(10 + number * 25);
        format!("## Part {number}\n\n{text}\n\n")
    };
    let page: String = (0..12).map(section).collect();
    let vault = manual(&[("walrus.md", &format!("# Walrus\n\nAll about it.\n\n{page}"))]);
    let mut client = open(&vault, "");
    for budget in [300, 500, 1_000, 3_000, 20_000] {
        for max_sections in [1, 3, 10] {
            let arguments =
                json!({ "query": "walrus1 swims", "budget": budget, "max_sections": max_sections });
            let answer = client.search(arguments);
            let tokens = sectile_markdown::estimate_tokens(&answer.to_string());
            // Addresses and headings are always there; what is left is for texts.
            let least = 260 + 150 * max_sections;
            assert!(
                tokens <= budget.max(least),
                "{tokens} of {budget}, {max_sections}: {answer}"
            );
            for section in answer["sections"].as_array().unwrap() {
                let (content, is_part) = (text(&section["content"]), section["truncated"] == true);
                let read = client.ask("resources/read", json!({ "uri": section["uri"] }));
                let whole = text(&read["result"]["contents"][0]["text"]);
                let shown = content.trim_matches('…');
                assert!(whole.contains(shown), "{content}");
                assert!(is_part || whole.trim_end().ends_with(shown), "{content}");
                for uri in section["around"].as_object().unwrap().values() {
                    let read = client.ask("resources/read", json!({ "uri": uri }));
                    assert!(read["result"]["contents"].is_array(), "{uri}: {read}");
                }
            }
        }
    }
    // Without a limit in the preset, sections have no neighbours, as before.
    let library = super::library::Library::sample("");
    let mut preset = library.open();
    let answer = preset.search(json!({ "query": "lane" }));
    assert!(answer["sections"][0].get("around").is_none(), "{answer}");
    assert!(!uris(&answer).is_empty());
}
