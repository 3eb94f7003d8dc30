//! Pages that change while they are served: the next call sees them, whole, and subscribers are told without one.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::library::{Client, text};
use crate::fixture::{Era, PATIENCE, TestVault, sectile};

const UPDATED: &str = "notifications/resources/updated";
const LIST_CHANGED: &str = "notifications/resources/list_changed";

/// A server of a folder, whole.
fn serve(vault: &TestVault, era: Era) -> Client<'_> {
    let mut command = sectile();
    command.args(["serve", "docs"]).arg(vault.root());
    Client::new(vault, command, era)
}

fn listed(client: &mut Client<'_>) -> Vec<String> {
    let answer = client.ask("resources/list", json!({}));
    let resources = answer["result"]["resources"].as_array().unwrap().iter();
    resources.map(|one| text(&one["name"])).collect()
}

fn read(client: &mut Client<'_>, slug: &str) -> Option<String> {
    let uri = format!("sectile://docs/{slug}");
    let answer = client.ask("resources/read", json!({ "uri": uri }));
    answer["result"]["contents"][0]["text"]
        .as_str()
        .map(str::to_owned)
}

/// Waits for a notice, without calling anything.
fn hear(client: &mut Client<'_>, what: &str, wanted: impl Fn(&Value) -> bool) {
    let started = Instant::now();
    loop {
        if let Some(at) = client.notices.iter().position(&wanted) {
            client.notices.remove(at);
            return;
        }
        assert!(started.elapsed() < PATIENCE, "waited in vain for {what}");
        let line = client
            .server
            .receive_line_within(Duration::from_millis(100));
        let notice = line.and_then(|line| serde_json::from_str(&line).ok());
        client.notices.extend(notice);
    }
}

/// Asks to be told about changes of a document, in the way of the era.
fn subscribe(client: &mut Client<'_>, era: Era, uri: &str) {
    match era {
        Era::Handshake => {
            let answer = client.ask("resources/subscribe", json!({ "uri": uri }));
            assert!(answer["result"].is_object(), "{answer}");
        }
        Era::Stateless => {
            let wanted = json!({ "resourceSubscriptions": [uri], "resourcesListChanged": true });
            let params = json!({ "notifications": wanted });
            let message = era.request(9, "subscriptions/listen", params);
            client.server.send_line(&message.to_string());
            hear(client, "the acknowledgement", |message| {
                message["method"] == "notifications/subscriptions/acknowledged"
            });
        }
    }
}

#[test]
fn the_next_call_sees_what_changed() {
    for era in Era::BOTH {
        let vault = TestVault::empty();
        vault.note("guide/a.md", "# Ay\n\nAbout walruses.\n");
        let mut client = serve(&vault, era);
        assert_eq!(client.found("walruses"), ["sectile://docs/guide-a"]);
        vault.note("guide/a.md", "# Ay\n\nAbout quaggas.\n");
        assert_eq!(client.found("quaggas"), ["sectile://docs/guide-a"]);
        assert_eq!(
            read(&mut client, "guide-a").as_deref(),
            Some("# Ay\n\nAbout quaggas.\n")
        );
        vault.note("b.md", "# Bee\n\nAbout pangolins.\n");
        assert_eq!(client.found("pangolins"), ["sectile://docs/b"]);
        assert_eq!(listed(&mut client), ["b", "guide-a"]);
        std::fs::remove_file(vault.root().join("guide/a.md")).unwrap();
        assert_eq!(read(&mut client, "guide-a"), None);
        assert_eq!(listed(&mut client), ["b"]);
        let answer = client.search(json!({ "query": "quaggas" }));
        assert!(!answer.to_string().contains("guide-a"), "{answer}");
    }
}

/// A site, and two versions of the file that says in which order its pages come.
struct Navigation {
    name: &'static str,
    /// The other files.
    files: &'static [(&'static str, &'static str)],
    forwards: &'static str,
    backwards: &'static str,
}

const PAGES: &[(&str, &str)] = &[("a.md", "# Ay\n"), ("b.md", "# Bee\n")];

const NAVIGATIONS: [Navigation; 5] = [
    Navigation {
        name: "mkdocs.yml",
        files: PAGES,
        forwards: "docs_dir: .\nnav: [a.md, b.md]\n",
        backwards: "docs_dir: .\nnav: [b.md, a.md]\n",
    },
    Navigation {
        name: "SUMMARY.md",
        files: PAGES,
        forwards: "# Summary\n\n- [Ay](a.md)\n- [Bee](b.md)\n",
        backwards: "# Summary\n\n- [Bee](b.md)\n- [Ay](a.md)\n",
    },
    Navigation {
        name: "llms.txt",
        files: PAGES,
        forwards: "# Site\n\n## Docs\n\n- [Ay](a.md)\n- [Bee](b.md)\n",
        backwards: "# Site\n\n## Docs\n\n- [Bee](b.md)\n- [Ay](a.md)\n",
    },
    Navigation {
        name: "sidebars.json",
        files: &[
            ("docusaurus.config.js", ""),
            ("a.md", "# Ay\n"),
            ("b.md", "# Bee\n"),
        ],
        forwards: r#"{"all": ["a", "b"]}"#,
        backwards: r#"{"all": ["b", "a"]}"#,
    },
    Navigation {
        name: "one/_category_.json",
        files: &[
            ("two/_category_.yml", "position: 5\n"),
            ("one/a.md", "# Ay\n"),
            ("two/b.md", "# Bee\n"),
        ],
        forwards: r#"{"position": 1}"#,
        backwards: r#"{"position": 9}"#,
    },
];

impl Navigation {
    /// A folder with the site, and the first version of the order.
    fn vault(&self) -> TestVault {
        let vault = TestVault::empty();
        for (name, text) in self.files {
            vault.note(name, text);
        }
        vault.note(self.name, self.forwards);
        vault
    }
}

#[test]
fn a_changed_navigation_counts_at_the_next_call() {
    for navigation in NAVIGATIONS {
        let vault = navigation.vault();
        let Navigation {
            name,
            forwards,
            backwards,
            ..
        } = navigation;
        let mut client = serve(&vault, Era::Handshake);
        let mut in_order = listed(&mut client);
        let without = match name.contains("_category_") {
            // A folder without a position comes last.
            true => in_order.iter().rev().cloned().collect(),
            false => in_order.clone(),
        };
        // The versions have the same length, and all changes come within one tick of the clock of files.
        for version in [backwards, forwards, backwards] {
            vault.note(name, version);
            in_order.reverse();
            assert_eq!(listed(&mut client), in_order, "{name}: {version}");
        }
        std::fs::remove_file(vault.root().join(name)).unwrap();
        assert_eq!(listed(&mut client), without, "{name} is removed");
        vault.note(name, backwards);
        assert_eq!(listed(&mut client), in_order, "{name} is added");
    }
}

#[test]
fn subscribers_are_told_about_another_order() {
    let [navigation, ..] = NAVIGATIONS;
    let vault = navigation.vault();
    let mut client = serve(&vault, Era::Handshake);
    assert_eq!(listed(&mut client), ["a", "b"]);
    subscribe(&mut client, Era::Handshake, "sectile://docs/a");
    vault.note(navigation.name, navigation.backwards);
    hear(&mut client, "another order", |message| {
        message["method"] == LIST_CHANGED
    });
    assert_eq!(listed(&mut client), ["b", "a"]);
}

/// Front matter that says where a page is published counts as a navigation does.
#[test]
fn changed_front_matter_of_a_site_counts_at_the_next_call() {
    let vault = TestVault::empty();
    let page =
        |position: usize| format!("---\nsidebar_position: {position}\n---\n\n# Ay\n\nText.\n");
    vault.note("docusaurus.config.js", "");
    vault.note("a.md", page(1));
    vault.note("b.md", "---\nsidebar_position: 2\n---\n\n# Bee\n\nText.\n");
    let mut client = serve(&vault, Era::Handshake);
    assert_eq!(listed(&mut client), ["a", "b"]);
    vault.note("a.md", page(3));
    assert_eq!(listed(&mut client), ["b", "a"]);
}

/// Where nothing else says what publishes a folder, the syntax of its pages does, as it is now.
#[test]
fn changed_syntax_of_pages_gives_other_anchors() {
    let vault = TestVault::empty();
    vault.note("a.md", "# Ay\n\n## One\n\nFirst.\n\n## One\n\nWalrus.\n");
    let mut client = serve(&vault, Era::Handshake);
    assert_eq!(client.found("walrus"), ["sectile://docs/a#one-1"]);
    vault.note(
        "a.md",
        "# Ay\n\n!!! note\n\n## One\n\nFirst.\n\n## One\n\nWalrus.\n",
    );
    assert_eq!(client.found("walrus"), ["sectile://docs/a#one_1"]);
}

#[test]
fn subscribers_are_told_without_a_call() {
    for era in Era::BOTH {
        let vault = TestVault::empty();
        vault.note("a.md", "# Ay\n\nA page.\n\nOne.\n");
        let mut client = serve(&vault, era);
        assert_eq!(listed(&mut client), ["a"]);
        let uri = "sectile://docs/a";
        subscribe(&mut client, era, uri);
        // At once, and with the same title and description, so that the list stays as it is.
        let draft = vault.outside().join("draft");
        std::fs::write(&draft, "# Ay\n\nA page.\n\nTwo.\n").unwrap();
        std::fs::rename(&draft, vault.root().join("a.md")).unwrap();
        hear(&mut client, "an update", |message| {
            message["method"] == UPDATED && message["params"]["uri"] == uri
        });
        client.notices.clear();
        vault.note("b.md", "# Bee\n\nNew.\n");
        hear(&mut client, "a page more", |message| {
            message["method"] == LIST_CHANGED
        });
        client.notices.clear();
        std::fs::remove_file(vault.root().join("b.md")).unwrap();
        hear(&mut client, "a page less", |message| {
            message["method"] == LIST_CHANGED
        });
        assert_eq!(listed(&mut client), ["a"]);
    }
}

/// Says that something is over, when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Every answer is one version, whole, however fast the pages change.
#[test]
fn versions_are_never_mixed() {
    let version = |number: usize| {
        let filler = format!("Word{number} and no other. ").repeat(40 + number);
        format!(
            "# Page\n\nIntro{number}.\n\n## Part\n\nVersion{number} of walruses. {filler}\n\n## End\n\nEnd{number}.\n"
        )
    };
    let versions: Vec<String> = (0..3).map(version).collect();
    let vault = TestVault::empty();
    vault.note("page.md", &versions[0]);
    let mut client = serve(&vault, Era::Handshake);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Also when the test fails.
        let over = Over(&is_over);
        let editor = scope.spawn(|| {
            let draft = vault.outside().join("draft");
            let mut edits = 0;
            while !is_over.load(Ordering::Relaxed) {
                edits += 1;
                std::fs::write(&draft, &versions[edits % versions.len()]).unwrap();
                std::fs::rename(&draft, vault.root().join("page.md")).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
            edits
        });
        let mut whole = 0;
        for _ in 0..30 {
            let answer = client.call(json!({ "query": "walruses", "max_sections": 1 }));
            if answer["result"]["isError"] == false {
                let section = &answer["result"]["structuredContent"]["sections"][0];
                let content = text(&section["content"]);
                let is_one = |version: &String| version.contains(&content);
                assert!(
                    !content.is_empty() && versions.iter().any(is_one),
                    "{content}"
                );
                whole += 1;
            } else {
                // Pages that change all the time may be refused, but never mixed.
                assert!(answer.to_string().contains("change"), "{answer}");
            }
            if let Some(read) = read(&mut client, "page") {
                assert!(versions.contains(&read), "{read}");
                whole += 1;
            }
        }
        drop(over);
        assert!(editor.join().unwrap() > 3);
        assert!(whole > 0);
    });
}
