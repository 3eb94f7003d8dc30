//! What is hidden answers like what does not exist: every byte is compared with that of a desk where it is not there.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use super::{
    callers::{call, key_of, key_with_role, serve},
    settled,
};
use crate::fixture::{DeskClient, Era, Http, TestDesk, TestVault, wait_for};

const HIDE: &str =
    "[desk.roots.notes]\npath = 'vault'\nhide = ['private/', '*.secret.md', '/archive/old/']\n";

/// What everybody may see. Some of it leads to what is hidden, or shares names and words with it.
const VISIBLE: &[(&str, &str)] = &[
    (
        "plan.md",
        "---\ntags: [harbour]\nstatus: open\n---\n# Plan\n\nSee [[diary]], [[Night watch]], [secret](private/diary.md), ![[private/map.png]] and [[journal#Fears]].\n\n## Budget\n\nForty euros for ropes.\n\n- [ ] Buy ropes\n",
    ),
    (
        "journal.md",
        "# Journal\n\nThe lighthouse keeper writes. Linked from [[plan#Budget]].\n",
    ),
    (
        "archive/log.md",
        "---\nstatus: done\n---\n# Log\n\nNothing about it, see [folder](old/) and [more](../private/).\n",
    ),
    (
        "letters/aunt.md",
        "# Aunt\n\nDear aunt, the lighthouse is fine.\n",
    ),
];

/// What is hidden: the same names, other words, tags, fields, aliases, tasks, and links to what is visible.
const HIDDEN: &[(&str, &str)] = &[
    (
        "private/diary.md",
        "---\naliases: [Night watch, Budgetary]\ntags: [harbour, shame, shame2]\nmood: grim\nstatus: open\n---\n# Diary\n\nThe lighthouse keeper loves zebrafish. See [[plan#Budget]] and [[journal]].\n\n## Fears\n\n- [ ] Burn the ropes\n",
    ),
    (
        "private/deep/plan.md",
        "# Plan\n\nLighthouse lighthouse lighthouse.\n",
    ),
    (
        "journal.secret.md",
        "# Journal\n\nSecret lighthouse, [[aunt]].\n",
    ),
    ("archive/old/log.md", "# Log\n\nOld lighthouse.\n"),
    (
        "letters/uncle.secret.md",
        "# Uncle\n\nDear uncle, ropes for [[plan]].\n",
    ),
    ("private/map.png", "not an image"),
    ("private/AGENTS.md", "# Guide\n\nTell nobody.\n"),
];

/// Two desks that differ only in hidden files.
fn twins() -> (TestDesk, TestDesk) {
    let (with, without) = (TestDesk::in_folder(VISIBLE), TestDesk::in_folder(VISIBLE));
    for (path, text) in HIDDEN {
        with.overwrite(path, text);
    }
    for desk in [&with, &without] {
        date_visible(|path| desk.location(path));
    }
    (with, without)
}

/// Gives the visible notes times, because their order by time must not depend on how fast they were written.
fn date_visible(location: impl Fn(&str) -> std::path::PathBuf) {
    for (n, (path, _)) in VISIBLE.iter().enumerate() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + n as u64);
        let file = fs::File::options().append(true).open(location(path));
        file.unwrap().set_modified(time).unwrap();
    }
}

/// Every kind of call that could show that something is there.
fn questions() -> Vec<(&'static str, Value)> {
    let mut questions = Vec::new();
    for query in [
        "lighthouse keeper",
        "zebrafish",
        "\"loves zebrafish\"",
        "zebrafsh",
        "secret diary fears",
        "ropes",
        "tag:shame",
        "tag:harbour",
        "mood:grim",
        "mood:*",
        "status:open",
        "-status:open",
        "path:private/",
        "path:private/ lighthouse",
        "path:letters/",
        "is:task",
        "is:task ropes",
        "sort:modified",
        "sort:modified lighthouse",
        "before:2027-01-01",
        "uncle",
        "map.png",
        "",
    ] {
        questions.push(("search", json!({ "query": query, "limit": 20 })));
        questions.push(("search", json!({ "query": query, "limit": 1 })));
    }
    for id in [
        "private/diary.md",
        "private/diary.md#Fears",
        "private/nothing.md",
        "private",
        "private/",
        "private/deep/",
        "diary",
        "Diary",
        "[[diary]]",
        "[[diary#Fears]]",
        "Night watch",
        "night watc",
        "Budgetary",
        "fears-1kebc1",
        "journal",
        "journal.secret",
        "journal.secret.md",
        "plan",
        "uncle",
        "letters/uncle.secret.md",
        "archive/old",
        "archive/old/log.md",
        "log",
        "private/map.png",
        "map.png",
        "zebrafish",
        "plan.md",
        "plan.md#Budget",
        "journal.md",
        "letters/aunt.md",
        "archive/",
        "",
        ".",
    ] {
        for tool in ["fetch", "outline", "changes"] {
            questions.push((tool, json!({ "id": id })));
        }
        for direction in ["in", "out", "both"] {
            questions.push(("links", json!({ "id": id, "direction": direction })));
        }
        questions.push(("links", json!({ "id": id, "broken": true })));
        questions.push(("edit", json!({ "id": id, "old": "zebrafish", "new": "x" })));
        questions.push((
            "edit",
            json!({ "id": id, "old": "Forty", "new": "x", "preview": true }),
        ));
        questions.push((
            "set_fields",
            json!({ "id": id, "set": { "a": 1 }, "base": "0123456789abcdef" }),
        ));
        questions.push(("delete", json!({ "id": id, "base": "0123456789abcdef" })));
        questions.push(("rename", json!({ "id": id, "to": "private/x.md" })));
    }
    questions.push(("outline", json!({ "depth": 9 })));
    questions
}

/// Writes that meet hidden names on their way. They change both desks alike.
fn writes() -> Vec<(&'static str, Value)> {
    vec![
        ("create", json!({ "path": "private/diary.md", "text": "x" })),
        ("create", json!({ "path": "private/other.md", "text": "x" })),
        ("create", json!({ "path": "new.secret.md", "text": "x" })),
        (
            "create",
            json!({ "path": "archive/old/log.md", "text": "x" }),
        ),
        (
            "create",
            json!({ "path": "diary.md", "text": "# Diary\n\nMine. See [[plan#Budget]].\n" }),
        ),
        ("links", json!({ "id": "diary" })),
        (
            "rename",
            json!({ "id": "journal.md", "to": "journal.secret.md" }),
        ),
        (
            "rename",
            json!({ "id": "journal.md", "to": "private/diary.md" }),
        ),
        ("rename", json!({ "id": "letters/", "to": "private" })),
        ("rename", json!({ "id": "plan.md#Budget", "to": "Money" })),
        (
            "rename",
            json!({ "id": "plan.md#Money", "to": "private/diary.md" }),
        ),
        ("rename", json!({ "id": "plan.md", "to": "plans/plan.md" })),
        ("links", json!({ "id": "plans/plan.md" })),
        (
            "edit",
            json!({ "id": "journal.md#Journal", "new": "See [[diary]] and [[uncle.secret]]." }),
        ),
        ("links", json!({ "id": "journal.md" })),
        ("changes", json!({ "diff": true })),
        ("undo", json!({})),
        ("undo", json!({ "change": "3" })),
        ("undo", json!({ "change": "99" })),
        ("changes", json!({})),
        ("delete", json!({ "id": "private/", "base": "" })),
        ("search", json!({ "query": "diary lighthouse" })),
    ]
}

/// A client of a server that has read all notes before it introduced itself.
fn introduced<'a>(desk: &'a TestDesk, era: Era, settings: &str) -> DeskClient<'a> {
    wait_for("the notes to be read", || {
        let client = desk.open_with(era, settings).until_read();
        let is_early = client.instructions.contains("still being read");
        (!is_early).then_some(client)
    })
}

#[test]
fn hidden_notes_leave_no_trace_in_any_answer() {
    let (with, without) = twins();
    for era in Era::BOTH {
        let mut one = introduced(&with, era, HIDE);
        let mut other = introduced(&without, era, HIDE);
        assert_eq!(one.instructions, other.instructions);
        for (tool, arguments) in questions() {
            let seen = settled(&one.call(tool, arguments.clone()));
            let expected = settled(&other.call(tool, arguments.clone()));
            assert_eq!(seen, expected, "{tool} {arguments}");
            for word in [
                "zebrafish loves",
                "loves zebrafish.",
                "Tell nobody",
                "Dear uncle",
            ] {
                assert!(!seen.contains(word), "{tool} {arguments}: {seen}");
            }
        }
        for (method, params) in methods() {
            let [seen, expected] = [&mut one, &mut other].map(|client| {
                let answer = client.ask(method, params.clone());
                (settled(&answer["result"]), settled(&answer["error"]))
            });
            assert_eq!(seen, expected, "{method} {params}");
        }
    }
    let mut one = introduced(&with, Era::Handshake, HIDE);
    let mut other = introduced(&without, Era::Handshake, HIDE);
    for (tool, arguments) in writes() {
        let seen = settled(&one.call(tool, arguments.clone()));
        let expected = settled(&other.call(tool, arguments.clone()));
        assert_eq!(seen, expected, "{tool} {arguments}");
    }
    // Links of hidden notes follow what they lead to, and nobody is told; nothing else in them changes.
    for (path, text) in HIDDEN {
        let now = with.text(path).replace("plan#Money", "plan#Budget");
        assert_eq!(now, *text, "{path}");
    }
}

/// Requests besides calls of tools.
fn methods() -> Vec<(&'static str, Value)> {
    let mut methods = vec![
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        ("server/discover", json!({})),
    ];
    for value in [
        "",
        "d",
        "diary",
        "pri",
        "Night",
        "j",
        "journal.md#",
        "plan.md#b",
        "home:",
        "work:",
        "uncle",
    ] {
        let reference = json!({ "type": "ref/prompt", "name": "note" });
        let argument = json!({ "name": "id", "value": value });
        let params = json!({ "ref": reference, "argument": argument });
        methods.push(("completion/complete", params));
        let params = json!({ "name": "note", "arguments": { "id": value } });
        methods.push(("prompts/get", params));
    }
    methods
}

/// Entries of the history that are only about hidden notes are not there, and those that touched some name only the rest.
#[test]
fn changes_of_hidden_notes_are_not_listed_or_undone() {
    let (desk, _) = twins();
    let (hidden, both) = {
        let mut open = desk.open();
        let edit =
            json!({ "id": "private/diary.md", "old": "zebrafish", "new": "zebrafish and eels" });
        let hidden = open.json("edit", edit)["change"].clone();
        let rename = json!({ "id": "plan.md#Budget", "to": "Money" });
        let both = open.json("rename", rename);
        assert_eq!(both["documents"], 3, "{both}");
        (hidden, both["change"].clone())
    };
    assert!(desk.text("private/diary.md").contains("[[plan#Money]]"));
    let mut client = desk.open_with(Era::Handshake, HIDE);
    let answer = client.json("changes", json!({ "diff": true, "limit": 100 }));
    let text = answer.to_string();
    for word in ["eels", "zebrafish", "private/diary.md#"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    let ids = answer["changes"].as_array().unwrap().iter();
    let ids: Vec<String> = ids.map(|change| change["ids"].to_string()).collect();
    assert!(ids.iter().all(|ids| !ids.contains("private")), "{ids:?}");
    let listed = answer["changes"].as_array().unwrap();
    assert!(
        listed.iter().all(|change| change["change"] != hidden),
        "{answer}"
    );
    assert!(
        listed.iter().any(|change| change["change"] == both),
        "{answer}"
    );
    let refused = client.refused("undo", json!({ "change": hidden }), "change_not_found");
    let unknown = client.refused("undo", json!({ "change": "99" }), "change_not_found");
    let number = hidden.as_str().unwrap();
    assert_eq!(refused.replace(number, "[n]"), unknown.replace("99", "[n]"));
    // Half of a change cannot be undone.
    let before = desk.vault.contents();
    let result = client.call("undo", json!({ "change": both }));
    assert_eq!(result["isError"], true, "{result}");
    assert!(!result.to_string().contains("diary"), "{result}");
    // It is listed, so it is not denied; a rule for writing is refused with the same text, so it says nothing of hidden notes.
    let name = both.as_str().unwrap();
    let refusal = format!(
        "not_writable: The rules of this root do not allow undoing change {name}. Nothing was written.\n"
    );
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with(&refusal), "{text}");
    let rule = "[desk.roots.notes]\npath = 'vault'\nwrite = ['/letters/']\n";
    let unwritable = desk
        .open_with(Era::Handshake, rule)
        .call("undo", json!({ "change": both }));
    assert_eq!(unwritable["content"][0]["text"], text);
    let notes = |contents: Vec<(std::path::PathBuf, Vec<u8>)>| {
        let is_note = |(path, _): &(std::path::PathBuf, Vec<u8>)| {
            path.extension().is_some_and(|end| end == "md")
        };
        contents.into_iter().filter(is_note).collect::<Vec<_>>()
    };
    assert_eq!(notes(before), notes(desk.vault.contents()));
}

/// A desk with two roots and one with only the first, each with a key of the same person.
fn two_servers() -> (TestVault, TestVault) {
    let (both, alone) = (TestVault::empty(), TestVault::empty());
    for vault in [&both, &alone] {
        for (path, text) in VISIBLE {
            vault.note(&format!("work/{path}"), text);
        }
        date_visible(|path| vault.root().join("work").join(path));
    }
    for (path, text) in HIDDEN.iter().chain(VISIBLE) {
        both.note(&format!("home/{path}"), text);
    }
    (both, alone)
}

#[test]
fn a_key_that_names_a_root_sees_what_it_would_see_if_there_were_no_other() {
    let (both, alone) = two_servers();
    let bound = key_of(&both, "ada", &["work"]);
    sees_only_work(&both, &alone, &bound, "");
}

#[test]
fn a_role_that_is_bound_to_a_root_sees_what_it_would_see_if_there_were_no_other() {
    let (both, alone) = two_servers();
    let bound = key_of(&both, "ada", &[]);
    let roles = "[server.auth.role_roots]\neditor = ['work']\n";
    sees_only_work(&both, &alone, &bound, roles);
}

/// Compares all that the key `bound` can learn from a desk with two roots with what it could learn if the root `work`
/// were alone.
fn sees_only_work(both: &TestVault, alone: &TestVault, bound: &str, roles: &str) {
    let only = key_of(alone, "ada", &[]);
    let everything = key_with_role(both, "admin", "eve", &[]);
    let roots = format!("home = 'vault/home'\nwork = 'vault/work'\n{roles}");
    let server = serve(both, &roots);
    let single = serve(alone, "work = 'vault/work'\n");
    // The index of both roots is complete, and somebody has used the other one.
    let search = json!({ "query": "zebrafish" });
    let read = |server: &Http<'_>, key: &str| {
        wait_for("the notes to be read", || {
            let found = call(server, key, "search", &search);
            let is_read = found["structuredContent"].get("index").is_none();
            is_read.then_some(found)
        })
    };
    read(&single, &only);
    let found = read(&server, &everything);
    assert!(
        found.to_string().contains("home:private/diary.md"),
        "{found}"
    );
    let edit = json!({ "id": "home:journal.md", "place": "append", "new": "More." });
    assert_eq!(call(&server, &everything, "edit", &edit)["isError"], false);
    let mut all = questions();
    for id in [
        "home:plan.md",
        "home:",
        "home:private/",
        "work:plan.md",
        "work:",
        "nowhere:plan.md",
        "HOME:plan.md",
    ] {
        for tool in ["fetch", "outline", "links", "changes"] {
            all.push((tool, json!({ "id": id })));
        }
    }
    for change in ["home:1", "work:1", "1", "nowhere:1"] {
        all.push(("undo", json!({ "change": change })));
        all.push(("changes", json!({ "since": change })));
    }
    all.extend(writes());
    for (tool, arguments) in all {
        let seen = settled(&call(&server, bound, tool, &arguments));
        let expected = settled(&call(&single, &only, tool, &arguments));
        assert_eq!(seen, expected, "{tool} {arguments}");
    }
    for (method, params) in methods() {
        let ask = |server: &Http<'_>, key: &str| {
            let message = Era::Stateless.request(7, method, params.clone());
            let answer = server.post_with(Era::Stateless, &message, &[("X-Api-Key", key)]);
            let body = answer.json();
            (answer.status, settled(&body))
        };
        assert_eq!(
            ask(&server, bound),
            ask(&single, &only),
            "{method} {params}"
        );
    }
}

/// Without this, desks that answer nothing at all would pass the tests above.
#[test]
fn what_is_not_hidden_is_seen() {
    let (with, without) = twins();
    let mut open = introduced(&with, Era::Handshake, "");
    let mut other = introduced(&without, Era::Handshake, HIDE);
    let found = open.json("search", json!({ "query": "zebrafish" }));
    assert!(found.to_string().contains("private/diary.md"), "{found}");
    assert_ne!(open.instructions, other.instructions);
    let links = open.json("links", json!({ "id": "plan.md", "direction": "in" }));
    assert!(links.to_string().contains("private/diary.md"), "{links}");
    let links = other.json("links", json!({ "id": "plan.md", "direction": "in" }));
    assert_eq!(links["total"], 1, "{links}");
}

/// Where only some paths may be read, a folder without any of them does not exist either.
#[test]
fn folders_in_which_nothing_may_be_read_leave_no_trace() {
    const READ: &str = "[desk.roots.notes]\npath = 'vault'\nread = ['inbox/']\n";
    let note = "# A\n\nSee [them](../layoffs-2027/) and [[layoffs-2027/names]].\n";
    let notes = [("inbox/a.md", note), ("inbox/deep/b.md", "# B\n")];
    let (with, without) = (TestDesk::in_folder(&notes), TestDesk::in_folder(&notes));
    with.overwrite("layoffs-2027/names.md", "# Names\n\nEverybody.\n");
    with.overwrite("layoffs-2027/deep/faces.png", "png");
    fs::create_dir_all(with.location("layoffs-2027/empty")).unwrap();
    for desk in [&with, &without] {
        for (path, _) in notes {
            let file = fs::File::options().append(true).open(desk.location(path));
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
            file.unwrap().set_modified(time).unwrap();
        }
    }
    let mut one = introduced(&with, Era::Handshake, READ);
    let mut other = introduced(&without, Era::Handshake, READ);
    assert_eq!(one.instructions, other.instructions);
    let mut calls = vec![
        ("outline", json!({})),
        ("outline", json!({ "depth": 9 })),
        ("search", json!({ "query": "path:layoffs-2027/" })),
        ("links", json!({ "id": "inbox/a.md", "direction": "both" })),
        ("links", json!({ "broken": true })),
        (
            "rename",
            json!({ "id": "inbox/deep/", "to": "layoffs-2027" }),
        ),
        ("rename", json!({ "id": "inbox/deep/", "to": "inbox/flat" })),
        (
            "rename",
            json!({ "id": "inbox/a.md", "to": "inbox/flat/a.md" }),
        ),
        ("links", json!({ "id": "inbox/flat/a.md" })),
    ];
    for id in [
        "layoffs-2027",
        "layoffs-2027/",
        "layoffs-2027/deep/",
        "layoffs-2027/empty/",
        "layoffs",
        "empty",
        "faces.png",
    ] {
        for tool in ["fetch", "outline", "changes", "links"] {
            calls.push((tool, json!({ "id": id })));
        }
        calls.push(("rename", json!({ "id": id, "to": "inbox/x" })));
    }
    for (tool, arguments) in calls {
        let seen = settled(&one.call(tool, arguments.clone()));
        let expected = settled(&other.call(tool, arguments.clone()));
        assert_eq!(seen, expected, "{tool} {arguments}");
    }
    // What was not there when the server started is not seen either, nor is what comes into a folder that was.
    fs::create_dir_all(with.location("takeover/deep")).unwrap();
    with.overwrite("takeover/deep/price.md", "# Price\n");
    with.overwrite("layoffs-2027/more.md", "# More\n");
    for (tool, arguments) in [
        ("outline", json!({ "depth": 9 })),
        ("outline", json!({ "id": "takeover/" })),
    ] {
        let seen = settled(&one.call(tool, arguments.clone()));
        let expected = settled(&other.call(tool, arguments.clone()));
        assert_eq!(seen, expected, "{tool} {arguments}");
    }
}
