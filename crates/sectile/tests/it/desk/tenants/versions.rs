//! A store that a newer program has changed, and folders that are larger than a tenant may be.

use std::process::Output;

use serde_json::json;

use super::{files, ok, refused, server, vault_of};
use crate::{
    desk::NOTES,
    fixture::{
        DeskClient, Era, Http, TestDesk, TestVault, sectile,
        tenants::{BUCKET, DATABASE, StoreServer, TENANT, TenantServers},
    },
};

/// Everything that a store has of its tenants, as text.
fn contents(store: &StoreServer) -> String {
    match store {
        StoreServer::Postgres(postgres) => {
            let tables = ["migration", "tenant", "file", "log", "log_part", "made"];
            let all = tables.map(|table| {
                let rows = format!("SELECT t::text FROM sectile_desk.{table} t ORDER BY 1");
                postgres.sql(DATABASE, &rows)
            });
            all.join("\n")
        }
        StoreServer::S3(s3) => {
            let object = |key: &String| format!("{key} {:?}", s3.object(BUCKET, key));
            let all: Vec<String> = s3.keys(BUCKET).iter().map(object).collect();
            all.join("\n")
        }
    }
}

/// Makes the store what a newer program would leave, or takes that back.
fn set_newer(store: &StoreServer, is_newer: bool) {
    match store {
        StoreServer::Postgres(postgres) => {
            let change = match is_newer {
                true => "INSERT INTO sectile_desk.migration (version) VALUES (1000)",
                false => "DELETE FROM sectile_desk.migration WHERE version = 1000",
            };
            postgres.sql(DATABASE, change);
        }
        StoreServer::S3(s3) => {
            let keys = s3.keys(BUCKET);
            let head = keys.iter().find(|key| key.contains("heads/")).unwrap();
            let text = String::from_utf8(s3.object(BUCKET, head).unwrap().to_vec()).unwrap();
            let (old, new) = ("\"version\":1,", "\"version\":1000,");
            let text = match is_newer {
                true => text.replace(old, new),
                false => text.replace(new, old),
            };
            s3.put(BUCKET, head, text);
        }
    }
}

#[test]
fn a_store_that_a_newer_program_has_changed_is_refused_and_left_alone() {
    for kind in TenantServers::KINDS {
        let desk = TestDesk::new(NOTES);
        let store = TenantServers::start_with_notes(kind, &desk.vault);
        let command = || server(&desk.vault, &store.settings());
        let mut running = DeskClient::connect(&desk, Era::Handshake, command(), "test");
        let edit = |new: &str| json!({ "id": "index.md", "new": new, "place": "append" });
        running.json("edit", edit("Before."));
        set_newer(&store.server, true);
        let before = contents(&store.server);
        for mut client in [
            running,
            DeskClient::connect(&desk, Era::Stateless, command(), "test"),
        ] {
            for (tool, arguments) in [
                ("fetch", json!({ "id": "index.md" })),
                ("search", json!({ "query": "plan" })),
                ("edit", edit("Never.")),
                ("create", json!({ "path": "new.md", "text": "# New\n" })),
            ] {
                let told = client.refused(tool, arguments, "store_unavailable");
                assert!(told.contains("newer than this program"), "{kind}: {told}");
            }
        }
        let folder = desk.vault.outside().join("exported");
        let folder = folder.display().to_string();
        let notes = desk.vault.root().display().to_string();
        for arguments in [
            &["export", TENANT, &folder][..],
            &["import", TENANT, &notes],
            &["list"],
            &["remove", TENANT, "--yes"],
        ] {
            refused(&store, &desk.vault, arguments, "newer than this program");
        }
        // Of a database, the version is that of all tenants; in a bucket, each has its own.
        let others = match kind {
            "postgres" => [&["create", "another"][..], &["prepare"]],
            _ => [&["clean", TENANT][..], &["clean", TENANT, "--min-age", "0"]],
        };
        for arguments in others {
            refused(&store, &desk.vault, arguments, "newer than this program");
        }
        if kind == "postgres" {
            let http = Http::spawn(&desk.vault, command());
            assert_eq!(http.request("GET", "/readyz", &[], b"").status, 503);
        }
        assert_eq!(contents(&store.server), before, "{kind}");
        set_newer(&store.server, false);
        let mut client = DeskClient::connect(&desk, Era::Handshake, command(), "test");
        client.json("edit", edit("After."));
        let text = store.text(&desk.vault, "index.md");
        assert!(
            text.ends_with("Before.\n\nAfter.\n") && !text.contains("Never"),
            "{text}"
        );
    }
}

/// Imports the notes of the vault with a quota.
fn import(store: &TenantServers, vault: &TestVault, quota: &str) -> Output {
    let settings = store.settings();
    let settings = settings.replace("[desk.store]\n", &format!("[desk.store]\n{quota}\n"));
    let mut command = sectile();
    command
        .args(["tenant", "import", "large"])
        .arg(vault.root());
    command.arg("--config").arg(vault.config(&settings));
    command.output().unwrap()
}

#[test]
fn a_folder_that_is_larger_than_a_tenant_may_be_is_not_imported() {
    for kind in TenantServers::KINDS {
        let vault = vault_of(&[("a.md", "# A\n"), ("b/c.md", "# C\n")]);
        vault.note("picture.png", [0; 100]);
        // What is hidden does not count.
        vault.note(".hidden/d.md", "# D\n");
        let store = TenantServers::start(kind, &vault);
        ok(&store, &vault, &["prepare"]);
        for (quota, words) in [
            ("max_files = 2", "quota of 2 files"),
            ("max_bytes = 107", "quota of 107 bytes"),
        ] {
            let output = import(&store, &vault, quota);
            let told = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{told}");
            assert!(
                told.contains("over_quota: ") && told.contains(words),
                "{told}"
            );
            let listed = ok(&store, &vault, &["list", "--json"]);
            assert!(!listed.contains("large"), "{listed}");
        }
        let output = import(&store, &vault, "max_files = 3\nmax_bytes = 108");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(files(store.export(&vault, "large").path()).len(), 3);
    }
}
