//! Data integrity tier: nothing is written, nothing is cached.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde_json::{Value, json};

use crate::{
    fixture::{Era, Http, Stdio, TestVault, note_not_found, tool_error, tool_text},
    vectors::TOOLS,
};

const ERA: Era = Era::Handshake;

/// All that a write would change: bytes of files, and times of files and folders, links not followed.
#[derive(Debug, PartialEq, Eq)]
struct Snapshot {
    contents: Vec<(PathBuf, Vec<u8>)>,
    times: BTreeMap<PathBuf, SystemTime>,
}

fn snapshot(vault: &TestVault) -> Snapshot {
    fn collect(place: &Path, times: &mut BTreeMap<PathBuf, SystemTime>) {
        let metadata = fs::symlink_metadata(place).unwrap();
        times.insert(place.to_path_buf(), metadata.modified().unwrap());
        if metadata.is_dir() {
            for entry in fs::read_dir(place).unwrap() {
                collect(&entry.unwrap().path(), times);
            }
        }
    }
    let mut times = BTreeMap::new();
    collect(&surroundings(vault), &mut times);
    Snapshot {
        contents: vault.contents(),
        times,
    }
}

/// The folder that holds the vault, and nothing that the test did not make.
fn surroundings(vault: &TestVault) -> PathBuf {
    vault.root().parent().unwrap().to_path_buf()
}

/// Good and bad calls of every kind.
fn every_kind_of_call() -> Vec<Value> {
    let mut calls = Vec::new();
    for tool in TOOLS {
        for arguments in [
            json!({ "path": "inbox/one.md" }),
            json!({ "path": "./inbox//one.md" }),
            json!({ "path": "broken.md" }),
            json!({ "path": "empty.md" }),
            json!({ "path": "long.md" }),
            json!({ "path": "new.md" }),
            json!({ "path": "inbox" }),
            json!({ "path": "../outside/new.md" }),
            json!({ "path": "/new.md" }),
            json!({ "path": "" }),
            json!({ "path": 1 }),
            json!({ "path": "new.md", "body": "# New" }),
            json!({}),
        ] {
            calls.push(json!({ "name": tool, "arguments": arguments }));
        }
    }
    calls.push(json!({ "name": "write", "arguments": { "path": "new.md" } }));
    calls
}

fn populated() -> TestVault {
    let vault = TestVault::sample();
    vault.note("broken.md", b"---\ntitle: [\n---\n# \xff\n");
    vault.note("empty.md", "");
    vault.note("long.md", "x".repeat(1_000_001));
    #[cfg(unix)]
    std::os::unix::fs::symlink("inbox/one.md", vault.root().join("link.md")).unwrap();
    vault
}

#[test]
fn no_call_writes_anything_anywhere() {
    let vault = populated();
    let home = surroundings(&vault).join("home");
    fs::create_dir(&home).unwrap();
    // A cache, an index or a journal would go to one of these.
    let homes: Vec<(&str, &str)> = [
        "HOME",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "XDG_RUNTIME_DIR",
        "TMPDIR",
    ]
    .map(|name| (name, home.to_str().unwrap()))
    .to_vec();
    let before = snapshot(&vault);
    assert!(before.times.len() > 8, "{:?}", before.times);
    for era in Era::BOTH {
        let mut server = Stdio::ready_with(&vault, era, None, &homes);
        for (id, params) in (1..).zip(every_kind_of_call()) {
            let answer = server.exchange(&era.request(id, "tools/call", params.clone()));
            assert_eq!(answer["id"], id, "{params}: {answer}");
            assert!(snapshot(&vault) == before, "changed by {params}, {era:?}");
        }
        assert!(server.finish().success());
        let server = Http::start_with(&vault, None, &homes);
        for (id, params) in (1..).zip(every_kind_of_call()) {
            let answer = server.post(era, &era.request(id, "tools/call", params.clone()));
            assert_eq!(answer.json()["id"], id, "{params}: {answer:?}");
        }
        drop(server);
        assert!(snapshot(&vault) == before, "changed over HTTP, {era:?}");
    }
}

/// Heading texts of a note, from each tool that shows them.
fn headings(server: &mut Stdio<'_>, path: &str) -> [Vec<String>; 3] {
    let mut view = |tool: &str| -> Value {
        let answer = server.call(ERA, tool, json!({ "path": path }));
        serde_json::from_str(tool_text(&answer)).unwrap()
    };
    let texts = |list: &Value, key: &str| -> Vec<String> {
        let rows = list.as_array().unwrap();
        rows.iter()
            .map(|row| row[key].as_str().unwrap().to_owned())
            .collect()
    };
    [
        texts(&view("get_section_source")["sections"], "heading_text"),
        texts(&view("get_note_outline")["headings"], "text"),
        texts(&view("get_document_tree")["root"]["children"], "text"),
    ]
}

fn all(texts: &[&str]) -> [Vec<String>; 3] {
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    [texts.clone(), texts.clone(), texts]
}

fn assert_missing(server: &mut Stdio<'_>, path: &str) {
    for tool in TOOLS {
        let answer = server.call(ERA, tool, json!({ "path": path }));
        assert_eq!(tool_error(&answer)["error"], note_not_found(path), "{tool}");
    }
}

#[test]
fn the_next_call_sees_an_edit() {
    let vault = TestVault::empty();
    vault.note("n.md", "# A\n");
    let mut server = Stdio::ready(&vault, ERA);
    assert_eq!(headings(&mut server, "n.md"), all(&["A"]));
    let file = vault.root().join("n.md");
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    // Same length and same time: only the bytes tell.
    vault.note("n.md", "# B\n");
    let times = fs::FileTimes::new().set_modified(modified);
    fs::File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_times(times)
        .unwrap();
    assert_eq!(headings(&mut server, "n.md"), all(&["B"]));
    vault.note("n.md", "# B\n# C\n");
    assert_eq!(headings(&mut server, "n.md"), all(&["B", "C"]));
    vault.note("n.md", "");
    assert_eq!(headings(&mut server, "n.md"), all(&[]));
    assert!(server.finish().success());
}

#[test]
fn an_edit_of_the_front_matter_is_seen() {
    let vault = TestVault::empty();
    let mut server = Stdio::ready(&vault, ERA);
    for project in ["one", "two", "one"] {
        vault.note("n.md", format!("---\nproject: {project}\n---\n"));
        let answer = server.call(ERA, "get_metadata_facets", json!({ "path": "n.md" }));
        let facets: Value = serde_json::from_str(tool_text(&answer)).unwrap();
        assert_eq!(facets["facets"]["project"], project);
    }
    assert!(server.finish().success());
}

#[test]
fn deleting_and_making_again_is_seen() {
    let vault = TestVault::empty();
    let mut server = Stdio::ready(&vault, ERA);
    for turn in ["First", "Second"] {
        assert_missing(&mut server, "folder/n.md");
        vault.note("folder/n.md", format!("# {turn}\n"));
        assert_eq!(headings(&mut server, "folder/n.md"), all(&[turn]));
        fs::remove_dir_all(vault.root().join("folder")).unwrap();
    }
    assert_missing(&mut server, "folder/n.md");
    assert!(server.finish().success());
}

#[test]
fn replacing_the_whole_vault_is_seen() {
    let vault = TestVault::empty();
    vault.note("n.md", "# Old\n");
    vault.note("old.md", "# Old\n");
    let mut server = Stdio::ready(&vault, ERA);
    assert_eq!(headings(&mut server, "n.md"), all(&["Old"]));
    let away = surroundings(&vault).join("away");
    fs::rename(vault.root(), &away).unwrap();
    assert_missing(&mut server, "n.md");
    vault.note("n.md", "# New\n");
    assert_eq!(headings(&mut server, "n.md"), all(&["New"]));
    assert_missing(&mut server, "old.md");
    fs::remove_dir_all(vault.root()).unwrap();
    fs::rename(&away, vault.root()).unwrap();
    assert_eq!(headings(&mut server, "n.md"), all(&["Old"]));
    assert!(server.finish().success());
}
