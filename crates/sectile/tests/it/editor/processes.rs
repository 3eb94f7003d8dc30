//! Many servers at once, and servers that are killed in the middle of a write.

use std::{collections::BTreeSet, os::unix::process::ExitStatusExt as _, thread};

use serde_json::{Value, json};

use super::SAMPLE;
use crate::fixture::{Editor, Era, TestDocuments};

const SERVERS: usize = 16;
const ROUNDS: usize = 6;

/// One section a server, and one that all of them add to.
fn shared_document() -> String {
    let sections: String = (0..SERVERS)
        .map(|number| format!("## S{number}\n\n0\n\n"))
        .collect();
    format!("# Shared\n\n{sections}")
}

/// What one server does: its own section, and lines and sections that others edit beside.
fn work(documents: &TestDocuments, number: usize) {
    let era = Era::BOTH[number % 2];
    let mut editor = documents.open_with(era, "[editor]\nlock_timeout_ms = 60000\n");
    let own = editor.id(&format!("S{number}"));
    for round in 1..=ROUNDS {
        let content = format!("{round}");
        editor.ok(
            "update_section",
            json!({ "section_id": own, "content": content }),
        );
        let heading = format!("New {number}.{round}");
        let child = json!({
            "heading": heading, "content": "n", "place": "last_child", "anchor": own,
        });
        editor.ok("insert_section", child);
    }
    editor.leave();
}

#[test]
fn no_update_of_sixteen_servers_is_lost() {
    let documents = TestDocuments::single(shared_document());
    let ids_before = documents.open().ids();
    thread::scope(|scope| {
        for number in 0..SERVERS {
            let documents = &documents;
            scope.spawn(move || work(documents, number));
        }
    });
    let text = documents.only();
    let mut editor = documents.open();
    for number in 0..SERVERS {
        let section = format!("## S{number}\n\n{ROUNDS}\n");
        assert!(text.contains(&section), "{section} in {text}");
        for round in 1..=ROUNDS {
            assert!(
                text.contains(&format!("### New {number}.{round}\n")),
                "{number}.{round}"
            );
        }
    }
    let ids = editor.ids();
    let expected = ids_before.len() + SERVERS * ROUNDS;
    assert_eq!(ids.len(), expected);
    assert_eq!(
        ids.iter().collect::<BTreeSet<_>>().len(),
        expected,
        "no id twice"
    );
    assert!(ids_before.iter().all(|id| ids.contains(id)));
    assert_history_is_whole(&mut editor, SERVERS * ROUNDS * 2, &text);
}

/// The history has so many entries, each number once, no foreign ones, and leads to the document as it is.
fn assert_history_is_whole(editor: &mut Editor<'_>, count: usize, text: &str) {
    let mut numbers = Vec::new();
    let mut arguments = json!({ "limit": 200 });
    loop {
        let part = editor.ok("history", arguments.clone());
        for entry in part["history"].as_array().unwrap() {
            assert!(entry["details"].get("external").is_none(), "{entry}");
            numbers.push(entry["details"]["entry"].as_u64().unwrap());
        }
        match part.get("next_before") {
            Some(next) => arguments["before"] = next.clone(),
            None => break,
        }
    }
    assert_eq!(numbers.len(), count);
    assert!(numbers.is_sorted_by(|one, next| one > next), "{numbers:?}");
    let last = editor.ok("get_revision", json!({ "entry": numbers[0] }));
    assert_eq!(last["total_bytes"], text.len());
    assert_eq!(
        last["document_hash"],
        editor.ok("list_sections", json!({}))["document_hash"]
    );
}

#[test]
fn one_server_with_many_calls_at_once_loses_none() {
    let documents = TestDocuments::single(shared_document());
    let mut editor = documents.open_with(Era::Handshake, "[editor]\nlock_timeout_ms = 60000\n");
    let ids = editor.ids();
    let sent: Vec<u64> = (0..SERVERS)
        .map(|number| {
            let arguments =
                json!({ "section_id": ids[number + 1], "content": format!("at once {number}") });
            editor.send(
                "tools/call",
                json!({ "name": "update_section", "arguments": arguments }),
            )
        })
        .collect();
    for id in sent {
        let answer = editor.answer(id);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    let text = documents.only();
    for number in 0..SERVERS {
        assert!(
            text.contains(&format!("## S{number}\n\nat once {number}\n")),
            "{text}"
        );
    }
}

/// Steps of a commit, each before it is taken: nothing written yet, half of it, all but the end.
const STEPS: [&str; 9] = [
    "kill:write_journal:0",
    "tear:write_journal:0",
    "kill:flush_journal:0",
    "kill:create_temporary:0",
    "kill:write_temporary:0",
    "kill:place:0",
    "kill:read_back:0",
    "kill:write_journal:1",
    "tear:write_journal:1",
];

/// Sends an edit to a server that dies of it.
fn killed_by(documents: &TestDocuments, fault: &str, call: &Value) {
    let mut command = documents.command("");
    command.env("SECTILE_FAULT", fault);
    let mut editor = Editor::connect(documents, Era::Handshake, command, &json!({}));
    editor.send("tools/call", call.clone());
    let status = editor.server.wait_for_end();
    assert!(
        status.signal().is_some(),
        "{fault} did not inject: {status}"
    );
}

#[test]
fn a_server_that_dies_in_a_write_leaves_the_old_or_the_new() {
    let new_text = SAMPLE.replace("Beta body.", "New.");
    let mut seen = BTreeSet::new();
    for fault in STEPS {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open();
        let ids = editor.ids();
        // A first entry, so that the journal has something to be damaged.
        editor.ok(
            "update_section",
            json!({ "section_id": ids[1], "content": "Before." }),
        );
        editor.leave();
        let (old, new) = (
            SAMPLE.replace("Alpha body.", "Before."),
            new_text.replace("Alpha body.", "Before."),
        );
        let arguments = json!({ "section_id": ids[3], "content": "New.", "request_id": "r" });
        let call = json!({ "name": "update_section", "arguments": arguments });
        killed_by(&documents, fault, &call);
        let left = documents.only();
        assert!(left == old || left == new, "{fault}: {left}");
        let mut editor = documents.open();
        assert_eq!(editor.ids(), ids, "{fault}");
        let settled = documents.only();
        assert!(settled == old || settled == new, "{fault}: {settled}");
        seen.insert(settled == new);
        let entries = if settled == new { 2 } else { 1 };
        let history = editor.ok("history", json!({}));
        assert_eq!(
            history["history"].as_array().unwrap().len(),
            entries,
            "{fault}: {history}"
        );
        // A client that got no answer asks again, and it is done once.
        let again = editor.ok("update_section", call["arguments"].clone());
        assert_eq!(
            again.get("replayed").is_some(),
            settled == new,
            "{fault}: {again}"
        );
        assert_eq!(documents.only(), new, "{fault}");
        editor.ok("undo", json!({}));
        assert_eq!(documents.only(), old, "{fault}");
    }
    assert_eq!(seen, BTreeSet::from([false, true]), "both outcomes are met");
}

#[test]
fn a_batch_of_two_documents_is_never_half_done() {
    for fault in [
        "kill:place:0",
        "kill:place:1",
        "kill:flush_folder:1",
        "kill:write_journal:1",
    ] {
        let documents =
            TestDocuments::folder(&[("a.md", "# A\n\nold\n"), ("b.md", "# B\n\nold\n")]);
        let mut editor = documents.open();
        let ids = ["a.md", "b.md"].map(|path| editor.ids_of(path).remove(0));
        editor.leave();
        let edits: Vec<Value> = ids
            .iter()
            .map(|id| json!({ "operation": "update_section", "section_id": id, "content": "new" }))
            .collect();
        let call = json!({ "name": "apply_edits", "arguments": { "edits": edits } });
        killed_by(&documents, fault, &call);
        let mut editor = documents.open();
        let texts = ["a.md", "b.md"].map(|path| {
            let document = editor.ok("get_document", json!({ "path": path }))["document"].clone();
            assert_eq!(document, documents.text(path));
            document.as_str().unwrap().contains("new")
        });
        assert_eq!(texts[0], texts[1], "{fault}");
        for (path, id) in ["a.md", "b.md"].into_iter().zip(&ids) {
            assert_eq!(editor.ids_of(path), std::slice::from_ref(id), "{fault}");
        }
    }
}

#[test]
fn a_server_that_is_killed_while_it_writes_again_and_again_loses_nothing_it_answered() {
    let documents = TestDocuments::single(SAMPLE);
    let beta = documents.open().id("Beta");
    let mut answered = 0;
    for _ in 0..5 {
        let mut editor = documents.open();
        let sent: Vec<u64> = (1..=20)
            .map(|number| {
                let content = format!("{}", answered + number);
                let arguments = json!({ "section_id": beta, "content": content });
                editor.send(
                    "tools/call",
                    json!({ "name": "update_section", "arguments": arguments }),
                )
            })
            .collect();
        editor.answer(sent[0]);
        editor.server.kill();
        drop(editor);
        let mut editor = documents.open();
        let text = editor.ok("get_section", json!({ "section_id": beta }));
        let now: usize = text["content"].as_str().unwrap().parse().unwrap();
        let is_one_of_them = (answered + 1..=answered + 20).contains(&now);
        assert!(is_one_of_them, "{now} after {answered}");
        let history = editor.ok("history", json!({ "limit": 200 }));
        let entries = history["history"].as_array().unwrap();
        assert!(
            entries
                .iter()
                .all(|one| one["details"].get("external").is_none())
        );
        let last = json!({ "entry": entries[0]["details"]["entry"] });
        assert_eq!(
            editor.ok("get_revision", last)["document"],
            documents.only()
        );
        editor.leave();
        answered += 20;
    }
}
