//! Things in a vault that are no notes, and links that lead out of it.

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt as _, symlink},
        net::UnixListener,
    },
    process::Command,
};

use serde_json::json;

use super::{Client, INVALID_PATH};
use crate::{
    fixture::{TestVault, note_not_found},
    vectors::TOOLS,
};

#[test]
fn links_that_lead_out_are_refused_whether_or_not_the_target_exists() {
    let vault = TestVault::sample();
    let (root, outside) = (vault.root(), vault.outside());
    symlink("../outside/secret.md", root.join("relative.md")).unwrap();
    symlink(outside.join("secret.md"), root.join("absolute.md")).unwrap();
    symlink("../outside", root.join("folder")).unwrap();
    symlink(&outside, root.join("absolute-folder")).unwrap();
    symlink("../outside/missing.md", root.join("missing.md")).unwrap();
    symlink("/nowhere/missing.md", root.join("absolute-missing.md")).unwrap();
    symlink("relative.md", root.join("chain.md")).unwrap();
    symlink("..", root.join("up")).unwrap();
    symlink("/", root.join("system")).unwrap();
    symlink("/dev/zero", root.join("device.md")).unwrap();
    symlink("/proc/self/environ", root.join("process.md")).unwrap();
    for mut client in Client::everywhere(&vault, &[]) {
        for path in [
            "relative.md",
            "absolute.md",
            "folder/secret.md",
            "folder/missing.md",
            "absolute-folder/secret.md",
            "missing.md",
            "absolute-missing.md",
            "chain.md",
            "up/outside/secret.md",
            "system/etc/passwd",
            "device.md",
            "process.md",
        ] {
            client.all_tools_fail(path, INVALID_PATH);
        }
        client.assert_log_keeps_out(&["relative.md", "secret.md", "passwd", "device.md"]);
    }
}

#[test]
fn what_is_no_regular_file_is_not_found_and_does_not_block() {
    let vault = TestVault::sample();
    let root = vault.root();
    symlink("loop.md", root.join("loop.md")).unwrap();
    symlink("ping.md", root.join("pong.md")).unwrap();
    symlink("pong.md", root.join("ping.md")).unwrap();
    symlink("nowhere.md", root.join("dangling.md")).unwrap();
    fs::create_dir(root.join("folder.md")).unwrap();
    let _listener = UnixListener::bind(root.join("socket.md")).unwrap();
    symlink("socket.md", root.join("link-to-socket.md")).unwrap();
    let made = Command::new("mkfifo")
        .arg(root.join("pipe.md"))
        .status()
        .unwrap();
    assert!(made.success());
    symlink("pipe.md", root.join("link-to-pipe.md")).unwrap();
    vault.note(".sectile/journal.md", "# Ours\n");
    for mut client in Client::everywhere(&vault, &[]) {
        for path in [
            "loop.md",
            "ping.md",
            "dangling.md",
            "folder.md",
            "inbox",
            "socket.md",
            "link-to-socket.md",
            "pipe.md",
            "link-to-pipe.md",
            "pipe.md/below.md",
            ".sectile/journal.md",
            ".SECTILE/journal.md",
            "a/../.sectile/journal.md",
        ] {
            client.all_tools_fail(path, &note_not_found(path));
        }
    }
}

#[test]
fn a_note_without_read_permission_says_so() {
    let vault = TestVault::sample();
    vault.note("locked.md", "# Locked\n");
    let file = vault.root().join("locked.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    let mut client = Client::stdio(&vault, &[]);
    if fs::read(&file).is_err() {
        client.all_tools_fail(
            "locked.md",
            "Note cannot be read: the system refused access.",
        );
    } else {
        // The superuser may read everything.
        let outline = client.view("get_note_outline", "locked.md");
        assert_eq!(outline["headings"][0]["text"], "Locked");
    }
}

#[test]
fn a_deleted_note_is_not_found() {
    let vault = TestVault::sample();
    vault.note("gone.md", "# Gone\n");
    for mut client in Client::everywhere(&vault, &[]) {
        vault.note("gone.md", "# Gone\n");
        client.view("get_section_source", "gone.md");
        fs::remove_file(vault.root().join("gone.md")).unwrap();
        client.all_tools_fail("gone.md", &note_not_found("gone.md"));
    }
}

#[test]
fn a_file_larger_than_the_setting_is_refused_by_every_tool() {
    const LIMIT: usize = 1000;
    let vault = TestVault::sample();
    vault.note("fits.md", "x".repeat(LIMIT));
    vault.note("large.md", "x".repeat(LIMIT + 1));
    let sparse = fs::File::create(vault.root().join("sparse.md")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let limit = LIMIT.to_string();
    let mut client = Client::stdio(&vault, &[("SECTILE_VAULT__MAX_NOTE_BYTES", &limit)]);
    let message =
        format!("Note is larger than {LIMIT} bytes; refusing to read unbounded Markdown.");
    for tool in TOOLS {
        client.view(tool, "fits.md");
        client.fails(
            tool,
            json!({ "path": "large.md" }),
            &message,
            "one byte more",
        );
        client.fails(tool, json!({ "path": "sparse.md" }), &message, "a terabyte");
    }
}
