//! What is hidden answers like what does not exist, byte for byte.

use std::fs;

use serde_json::json;

use super::READ_NOTES;
use crate::fixture::{DeskClient, Era, TestDesk};

const HIDING: &str =
    "[desk.roots.main]\npath = \"vault\"\nhide = [\"private/\", \"*.secret.md\"]\n";

/// Every kind of question about what is hidden, and about what is beside it.
fn asked(client: &mut DeskClient<'_>) -> Vec<String> {
    let mut answers = vec![client.instructions.clone()];
    for (tool, arguments) in [
        ("search", json!({ "query": "treasure" })),
        ("search", json!({ "query": "ropes" })),
        ("search", json!({ "query": "tag:hoard" })),
        ("search", json!({ "query": "vault:iron" })),
        ("search", json!({ "query": "path:private/" })),
        ("search", json!({ "query": "is:task", "limit": 20 })),
        ("search", json!({ "query": "sort:modified", "limit": 20 })),
        ("fetch", json!({ "id": "private/hoard.md" })),
        ("fetch", json!({ "id": "hoard" })),
        ("fetch", json!({ "id": "[[Hoard]]" })),
        ("fetch", json!({ "id": "inbox.md\nprivate/hoard.md" })),
        ("outline", json!({})),
        ("outline", json!({ "depth": 9 })),
        ("outline", json!({ "id": "private/" })),
        ("outline", json!({ "id": "private/hoard.md" })),
        ("links", json!({ "id": "." })),
        ("links", json!({ "id": ".", "broken": true })),
        ("links", json!({ "id": "inbox.md" })),
        ("links", json!({ "id": "private/hoard.md" })),
        ("changes", json!({})),
        ("changes", json!({ "id": "private/" })),
        ("changes", json!({ "id": "private/hoard.md" })),
    ] {
        answers.push(client.call(tool, arguments).to_string());
    }
    for value in ["", "hoard", "private/", "private/hoard.md#", "inbox"] {
        let params = json!({
            "ref": { "type": "ref/prompt", "name": "note" },
            "argument": { "name": "id", "value": value },
        });
        answers.push(client.ask("completion/complete", params)["result"].to_string());
    }
    let prompt = json!({ "name": "note", "arguments": { "id": "private/hoard.md" } });
    answers.push(client.ask("prompts/get", prompt)["error"].to_string());
    answers
}

#[test]
fn hidden_notes_answer_like_nonexistent_ones() {
    let desk = TestDesk::new(READ_NOTES);
    desk.overwrite(
        "inbox.md",
        "See [[hoard]] and [x](private/hoard.md), [[plain.secret]].\n",
    );
    desk.overwrite(
        "private/hoard.md",
        "---\ntags: [hoard]\nvault: iron\naliases: [Hoard]\n---\n# Hoard\n\nThe treasure. See [[inbox]] and [[plan]].\n\n- [ ] Count the treasure\n",
    );
    desk.overwrite("plain.secret.md", "# Plain\n\ntreasure ropes\n");
    // A history that is hidden too, made before it was hidden.
    let mut client = desk.open();
    client.json(
        "edit",
        json!({ "id": "private/hoard.md", "old": "The treasure", "new": "All treasure" }),
    );
    drop(client);
    for era in Era::BOTH {
        let mut client = desk.open_with(era, HIDING);
        // Sections get their ids when they are first seen.
        asked(&mut client);
        drop(client);
        let mut client = desk.open_with(era, HIDING);
        let hidden = asked(&mut client);
        drop(client);
        let aside = desk.vault.outside().join("aside");
        fs::create_dir_all(&aside).unwrap();
        for name in ["private", "plain.secret.md"] {
            fs::rename(desk.location(name), aside.join(name)).unwrap();
        }
        let mut client = desk.open_with(era, HIDING);
        let absent = asked(&mut client);
        drop(client);
        for name in ["private", "plain.secret.md"] {
            fs::rename(aside.join(name), desk.location(name)).unwrap();
        }
        for (hidden, absent) in hidden.iter().zip(&absent) {
            assert_eq!(hidden, absent);
        }
        for answer in &hidden {
            let leaks = ["All treasure", "Count the", "hoard-"];
            assert!(!leaks.iter().any(|leak| answer.contains(leak)), "{answer}");
        }
    }
}
