//! Desks of many tenants, in every store.

mod names;
mod restarts;
mod versions;

use std::{
    fs,
    net::SocketAddr,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use sectile_test_servers::Fault;
use serde_json::{Value, json};

use super::{
    NOTES,
    callers::{call, key_of},
};
use crate::{
    fixture::{
        DeskClient, Era, Http, STATIC, TestDesk, TestVault, sectile,
        tenants::{StoreServer, TENANT, TenantServers},
    },
    notebook::dice::Dice,
};

fn vault_of(notes: &[(&str, &str)]) -> TestVault {
    let vault = TestVault::empty();
    for (path, text) in notes {
        vault.note(path, text);
    }
    vault
}

/// A server of these settings.
fn server(vault: &TestVault, settings: &str) -> Command {
    let mut command = sectile();
    command.args(["serve", "desk", "--config"]).envs([STATIC]);
    command.arg(vault.config(settings));
    command
}

fn ok(store: &TenantServers, vault: &TestVault, arguments: &[&str]) -> String {
    let output = store.command(vault, arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(store: &TenantServers, vault: &TestVault, arguments: &[&str], words: &str) {
    let output = store.command(vault, arguments).output().unwrap();
    let told = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(!output.status.success(), "{arguments:?}: {output:?}");
    assert!(told.contains(words), "{arguments:?}: {told}");
}

/// All files of a folder but the private ones, with their text.
fn files(folder: &std::path::Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            match path.is_dir() {
                true if name == ".sectile" => {}
                true => folders.push(path),
                false => found.push((name, fs::read_to_string(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn tenants_are_created_imported_exported_and_removed_by_commands() {
    for kind in TenantServers::KINDS {
        let desk = TestDesk::new(NOTES);
        let vault = &desk.vault;
        let store = TenantServers::start(kind, vault);
        // A history and ids, by the key that the servers have too.
        let key = "[editor]\nkey_file = 'outside/history-key'\n";
        let section = {
            let mut client = desk.open_with(Era::Handshake, key);
            let edit = json!({ "id": "projects/plan.md#Budget", "old": "Forty", "new": "Fifty" });
            client.json("edit", edit)["id"].as_str().unwrap().to_owned()
        };
        if kind == "postgres" {
            refused(&store, vault, &["list"], "sectile tenant create");
        }
        ok(&store, vault, &["prepare"]);
        assert_eq!(
            ok(&store, vault, &["list", "--json"]).trim(),
            r#"{"tenants":[]}"#
        );
        refused(&store, vault, &["create", "../up"], "lower-case letters");
        refused(
            &store,
            vault,
            &["export", "nobody", "x"],
            "there is no tenant",
        );
        refused(
            &store,
            vault,
            &["remove", "nobody", "--yes"],
            "there is no tenant",
        );
        store.import(vault, TENANT);
        refused(&store, vault, &["import", TENANT, "vault"], "");
        ok(&store, vault, &["create", "empty-one"]);
        refused(&store, vault, &["create", "empty-one"], "exists already");
        let listed: Value = serde_json::from_str(&ok(&store, vault, &["list", "--json"])).unwrap();
        assert_eq!(listed["tenants"][0]["name"], TENANT);
        assert_eq!(listed["tenants"][0]["files"], 3);
        assert_eq!(listed["tenants"][1]["files"], 0);
        let exported = store.export(vault, TENANT);
        assert_eq!(files(exported.path()), files(&vault.root()));
        // The history came along: a server of the tenant knows the section by its id, and can undo the change.
        {
            let command = server(vault, &store.settings());
            let mut client = DeskClient::connect(&desk, Era::Handshake, command, "test");
            let text = client.text("fetch", json!({ "id": section }));
            assert!(text.contains("Fifty euros."), "{text}");
            client.json("undo", json!({ "change": "1" }));
        }
        assert!(
            store
                .text(vault, "projects/plan.md")
                .contains("Forty euros.")
        );
        refused(
            &store,
            vault,
            &["export", TENANT, &exported.path().display().to_string()],
            "is not empty",
        );
        refused(&store, vault, &["remove", TENANT], "--yes");
        ok(&store, vault, &["clean", TENANT, "--min-age", "0"]);
        assert!(
            store
                .text(vault, "projects/plan.md")
                .contains("Forty euros.")
        );
        ok(&store, vault, &["remove", TENANT, "--yes"]);
        refused(
            &store,
            vault,
            &["remove", TENANT, "--yes"],
            "there is no tenant",
        );
        if let StoreServer::S3(s3) = &store.server {
            let left = s3.keys("desks");
            assert!(left.iter().all(|key| key.contains("empty-one")), "{left:?}");
        }
    }
}

#[test]
fn a_tenant_cannot_tell_that_there_are_others() {
    for kind in TenantServers::KINDS {
        let vault = vault_of(&[("plan.md", "# Plan\n\nWork.\n")]);
        let store = TenantServers::start_with_notes(kind, &vault);
        vault.note("plan.md", "# Plan\n\nHome.\n");
        vault.note("garden.md", "# Garden\n\nRoses.\n");
        store.import(&vault, "globex");
        let keys = [
            key_of(&vault, "ada", &[TENANT]),
            key_of(&vault, "bob", &["globex"]),
            key_of(&vault, "eve", &["nobody"]),
            key_of(&vault, "mia", &[TENANT, "globex"]),
            key_of(&vault, "zoe", &["gone"]),
        ];
        ok(&store, &vault, &["create", "gone"]);
        let settings = format!(
            "[server.auth]\nkeys_file = 'keys.toml'\n[server.limits]\nrequests_per_minute = 0\n{}",
            store.settings_for(None)
        );
        let server = Http::spawn(&vault, server(&vault, &settings));
        let text = |key: &str, tool: &str, arguments: Value| {
            let result = call(&server, key, tool, &arguments);
            result["content"][0]["text"].as_str().unwrap().to_owned()
        };
        let [ada, bob, eve, mia, zoe] = &keys;
        assert!(text(ada, "fetch", json!({ "id": "plan.md" })).contains("Work."));
        assert!(text(bob, "fetch", json!({ "id": "plan.md" })).contains("Home."));
        assert!(text(bob, "search", json!({ "query": "roses" })).contains("garden.md"));
        for id in ["garden.md", "globex:garden.md", "globex:plan.md"] {
            let missing = text(ada, "fetch", json!({ "id": id }));
            let nobody = text(
                ada,
                "fetch",
                json!({ "id": id.replace("globex", "nobody") }),
            );
            assert!(missing.starts_with("not_found: "), "{missing}");
            assert_eq!(missing.replace("globex", "nobody"), nobody);
        }
        assert!(!text(ada, "search", json!({ "query": "roses" })).contains("garden.md"));
        let edit = json!({ "id": "plan.md", "old": "Work.", "new": "Done." });
        text(ada, "edit", edit);
        assert!(text(bob, "fetch", json!({ "id": "plan.md" })).contains("Home."));
        let nothing = text(eve, "fetch", json!({ "id": "plan.md" }));
        assert!(nothing.starts_with("not_found: "), "{nothing}");
        // One that was removed while the server had it open is like one that never was.
        let new = json!({ "path": "plan.md", "text": "# Plan\n" });
        text(zoe, "create", new);
        ok(&store, &vault, &["remove", "gone", "--yes"]);
        let removed = text(zoe, "fetch", json!({ "id": "plan.md" }));
        assert_eq!(removed, nothing);
        // A caller of two tenants names them, and a change of one is not one of the other.
        assert!(text(mia, "fetch", json!({ "id": "acme:plan.md" })).contains("Done."));
        let edit = json!({ "id": "globex:plan.md", "old": "Home.", "new": "Away." });
        text(mia, "edit", edit);
        assert!(text(bob, "fetch", json!({ "id": "plan.md" })).contains("Away."));
        assert!(text(ada, "fetch", json!({ "id": "plan.md" })).contains("Done."));
    }
}

#[test]
fn a_memory_is_kept_in_the_store_by_every_server() {
    for kind in TenantServers::KINDS {
        let vault = vault_of(&[]);
        let store = TenantServers::start(kind, &vault);
        ok(&store, &vault, &["create", TENANT]);
        ok(&store, &vault, &["create", "globex"]);
        let settings = format!(
            "[server.auth]\nkeys_file = 'keys.toml'\n{}",
            store.settings_for(None)
        );
        let keys = [
            key_of(&vault, "ada", &[TENANT]),
            key_of(&vault, "bob", &["globex"]),
            key_of(&vault, "mia", &[TENANT, "globex"]),
        ];
        let [one, other] = [(); 2].map(|()| {
            let mut command = server(&vault, &settings);
            command.args(["--preset", "memory"]);
            Http::spawn(&vault, command)
        });
        let [ada, bob, mia] = &keys;
        let text = |server: &Http<'_>, key: &str, tool: &str, arguments: Value| {
            let result = call(server, key, tool, &arguments);
            result["content"][0]["text"].as_str().unwrap().to_owned()
        };
        let create = json!({ "path": "/memories/one.txt", "file_text": "Ice.\n" });
        let made = text(&one, ada, "create", create);
        assert!(made.starts_with("File created"), "{made}");
        let view = json!({ "path": "/memories/one.txt" });
        assert!(text(&other, ada, "view", view.clone()).contains("Ice."));
        let missing = text(&other, bob, "view", view.clone());
        assert!(missing.contains("does not exist"), "{missing}");
        let several = text(&other, mia, "view", view);
        assert!(several.contains("A memory has one folder"), "{several}");
    }
}

#[test]
fn a_store_that_is_away_is_reported_and_comes_back() {
    for kind in TenantServers::KINDS {
        let desk = TestDesk::new(NOTES);
        let store = TenantServers::start_with_notes(kind, &desk.vault);
        let mut settings = store.settings();
        for (patient, quick) in [
            ("connect_timeout_ms = 2000", "connect_timeout_ms = 500"),
            ("statement_timeout_ms = 4000", "statement_timeout_ms = 700"),
            ("\ntimeout_ms = 3000", "\ntimeout_ms = 400"),
        ] {
            settings = settings.replace(patient, quick);
        }
        let command = server(&desk.vault, &settings);
        let mut client = DeskClient::connect(&desk, Era::Stateless, command, "test");
        let read = json!({ "id": "projects/plan.md" });
        let edit = json!({ "id": "projects/plan.md", "old": "Forty", "new": "Fifty" });
        assert!(client.text("fetch", read.clone()).contains("Forty"));
        for fault in [
            Fault::Refuse,
            Fault::Hang,
            Fault::Cut {
                after: 0,
                times: 1_000,
            },
        ] {
            store.proxy.set(fault.clone());
            let told = client.refused("fetch", read.clone(), "store_unavailable");
            assert!(
                !told.contains("127.0.0.1") && !told.contains("desks@"),
                "{told}"
            );
            client.refused("edit", edit.clone(), "store_unavailable");
            store.proxy.set(Fault::Pass);
            let text = client.text("fetch", read.clone());
            assert!(text.contains("Forty"), "{fault:?}: {text}");
        }
        // An answer that is cut off after some bytes: the change is made once, or not at all.
        for after in [1, 20, 60, 120, 200, 400, 800] {
            let word = format!("Cut{after}");
            store.proxy.set(Fault::Cut { after, times: 2 });
            let arguments = json!({
                "id": "index.md", "new": word, "place": "append", "request_id": word,
            });
            let mut tries = 0;
            while client.call("edit", arguments.clone())["isError"] == true {
                tries += 1;
                assert!(tries < 20);
            }
            store.proxy.set(Fault::Pass);
            let text = client.text("fetch", json!({ "id": "index.md" }));
            assert_eq!(text.matches(&format!("{word}\n")).count(), 1, "{text}");
        }
    }
}

#[test]
fn a_tenant_that_is_full_is_told_and_nothing_is_written() {
    for kind in TenantServers::KINDS {
        let desk = TestDesk::new(NOTES);
        let store = TenantServers::start_with_notes(kind, &desk.vault);
        let settings = store.settings().replace(
            "[desk.store]\n",
            "[desk.store]\nmax_files = 3\nmax_bytes = 400\n",
        );
        let command = server(&desk.vault, &settings);
        let mut client = DeskClient::connect(&desk, Era::Stateless, command, "test");
        let new = json!({ "path": "new.md", "text": "# New\n" });
        let told = client.refused("create", new, "over_quota");
        assert!(told.contains("3 files"), "{told}");
        let long = json!({ "id": "index.md", "new": "x".repeat(500), "place": "append" });
        client.refused("edit", long, "over_quota");
        client.refused("fetch", json!({ "id": "new.md" }), "not_found");
        let short = json!({ "id": "projects/plan.md", "old": "Forty", "new": "40" });
        client.json("edit", short);
        assert_eq!(files(store.export(&desk.vault, TENANT).path()).len(), 3);
    }
}

/// Servers are killed in the middle of what they do; callers repeat what was not answered, at another server.
#[test]
fn no_answered_edit_is_lost_or_made_twice_when_servers_are_killed() {
    const CALLERS: usize = 5;
    const EDITS: usize = 8;
    for kind in TenantServers::KINDS {
        let vault = vault_of(&[("a.md", "# A\n"), ("b.md", "# B\n")]);
        let store = TenantServers::start_with_notes(kind, &vault);
        let settings = format!(
            "[server.limits]\nrequests_per_minute = 0\n{}",
            store.settings()
        );
        let servers: Vec<Mutex<Http<'_>>> = (0..2)
            .map(|_| Mutex::new(Http::spawn(&vault, server(&vault, &settings))))
            .collect();
        let addresses: Vec<SocketAddr> = servers
            .iter()
            .map(|server| server.lock().unwrap().address())
            .collect();
        let is_over = AtomicBool::new(false);
        let mut kills = 0;
        thread::scope(|scope| {
            let callers: Vec<_> = (0..CALLERS)
                .map(|caller| {
                    let addresses = &addresses;
                    scope.spawn(move || {
                        let mut dice = Dice::new(caller as u64);
                        for edit in 0..EDITS {
                            append(&mut dice, addresses, caller, edit);
                        }
                    })
                })
                .collect();
            let killer = scope.spawn(|| {
                let mut dice = Dice::new(77);
                let mut kills = 0;
                while !is_over.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_millis(40 + dice.below(160) as u64));
                    let at = dice.below(servers.len());
                    let mut place = servers[at].lock().unwrap();
                    place.child().kill().unwrap();
                    place.child().wait().unwrap();
                    *place = Http::spawn_at(&vault, server(&vault, &settings), addresses[at]);
                    kills += 1;
                }
                kills
            });
            let ended: Vec<_> = callers.into_iter().map(|caller| caller.join()).collect();
            is_over.store(true, Ordering::SeqCst);
            kills = killer.join().unwrap();
            assert!(ended.iter().all(Result::is_ok));
        });
        let text = format!(
            "{}{}",
            store.text(&vault, "a.md"),
            store.text(&vault, "b.md")
        );
        for caller in 0..CALLERS {
            for edit in 0..EDITS {
                let line = format!("zz{caller}x{edit}.");
                assert_eq!(text.matches(&line).count(), 1, "{kind}: {line} in {text}");
            }
        }
        println!("{kind}: {} edits, {kills} kills", CALLERS * EDITS);
        assert!(kills > 0);
    }
}

/// Appends a line, and repeats that until it is answered.
fn append(dice: &mut Dice, addresses: &[SocketAddr], caller: usize, edit: usize) {
    let line = format!("zz{caller}x{edit}.");
    let arguments = json!({
        "id": *dice.pick(&["a.md", "b.md"]), "new": line, "place": "append", "request_id": line,
    });
    for attempt in 0..400 {
        let message = Era::Stateless.call(attempt, "edit", arguments.clone());
        let answer = Http::try_post(*dice.pick(addresses), &message);
        let result = answer.map(|answer| answer["result"].clone());
        match result {
            Some(result) if result["isError"] == false => return,
            Some(result) if result["isError"] == true => {
                let text = result["content"][0]["text"].as_str().unwrap();
                let code = text.split(':').next().unwrap();
                let passing = ["busy", "store_unavailable", "outcome_unknown"];
                assert!(passing.contains(&code), "{text}");
            }
            _ => thread::sleep(Duration::from_millis(10)),
        }
    }
    panic!("{line} was never answered");
}
