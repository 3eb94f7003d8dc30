//! Paths that are unsafe by their text alone, and paths that only look so.

use std::fs;

use serde_json::json;

use super::{Client, INVALID_PATH, MARKER};
use crate::fixture::{TestVault, note_not_found};

/// A vault where a path that is taken the wrong way finds a note: beside the vault, and under a name with two dots.
fn vault() -> TestVault {
    let vault = TestVault::sample();
    vault.note("..x.md", "# Two dots\n");
    vault.note("a/b.md", "# B\n");
    fs::write(vault.root().join("../x.md"), "# Beside the vault\n").unwrap();
    vault
}

#[test]
fn unsafe_paths_are_refused_without_being_repeated() {
    let vault = vault();
    let absolute = vault.root().join("inbox/one.md");
    let cases = [
        "",
        ".",
        "./",
        "/",
        "a/..",
        "a\0.md",
        "inbox/one.md\0",
        "\0",
        "/etc/passwd",
        "/inbox/one.md",
        absolute.to_str().unwrap(),
        "\\inbox\\one.md",
        "C:\\x.md",
        "c:/x.md",
        "z:\\",
        "\\\\server\\share",
        "//server/share",
        "\\\\?\\C:\\x.md",
        "/\\server/share",
        "..",
        "../",
        "../x.md",
        "..\\x.md",
        "./../x.md",
        ".\\..\\x.md",
        "a/../../x.md",
        "a\\..\\..\\x.md",
        "a/..\\../x.md",
        "a//..//..//x.md",
        "a/./.././../x.md",
        "inbox/one.md/../../../x.md",
        "missing/../../x.md",
        "../vault/inbox/one.md",
        "../outside/secret.md",
        "..x.md",
        "a/../..x.md",
        "...",
        "....//x.md",
        "....\\\\x.md",
        "..%2fx.md",
        "../marker-5c1d",
        "/marker-5c1d",
        "C:/marker-5c1d",
        "marker-5c1d\0",
        "marker-5c1d/../../marker-5c1d",
    ];
    for mut client in Client::everywhere(&vault, &[]) {
        for path in cases {
            client.all_tools_fail(path, INVALID_PATH);
        }
        client.assert_log_keeps_out(&[MARKER, "x.md", "one.md", "secret.md", "passwd", "server"]);
    }
}

/// Nothing decodes a path a second time, so these are just names that lead nowhere.
#[test]
fn paths_that_only_look_unsafe_are_not_found() {
    let vault = vault();
    let cases = [
        "%2e%2e/x.md",
        "a/%2e%2e/%2e%2e/x.md",
        "a/..%2f..%2fx.md",
        "\u{ff0e}\u{ff0e}/x.md",
        "\u{2024}\u{2024}/x.md",
        "a/\u{2025}/x.md",
        "\u{ff0f}etc\u{ff0f}passwd",
        "a/..x.md",
        "a/...",
        "~/x.md",
        "~root/x.md",
        "$HOME/x.md",
        "C:x.md",
        " ../x.md",
        "inbox/one.md ",
        "INBOX/ONE.md",
        "x.md",
        "inbox/one.md/below.md",
    ];
    let mut client = Client::stdio(&vault, &[]);
    for path in cases {
        client.all_tools_fail(path, &note_not_found(path));
    }
    // What cannot be seen is shown as it is written, and what could be a path of this machine is not shown.
    for (path, shown) in [
        ("a\nb.md", "a\\nb.md"),
        ("a\u{1b}[31m.md", "a\\u{1b}[31m.md"),
        ("a\u{202e}dm.md", "a\\u{202e}dm.md"),
        ("\u{feff}inbox/one.md", "\\u{feff}inbox/one.md"),
    ] {
        client.all_tools_fail(path, &note_not_found(shown));
    }
    let unnamed = note_not_found("").replace(": .", ".");
    for path in [
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        "a/file:///etc/passwd",
    ] {
        client.all_tools_fail(path, &unnamed);
    }
    client.assert_log_keeps_out(&["x.md"]);
}

#[test]
fn a_long_path_is_repeated_only_in_part() {
    let vault = TestVault::sample();
    let mut client = Client::stdio(&vault, &[]);
    for (path, shown) in [
        ("x".repeat(256), "x".repeat(256)),
        ("x".repeat(257), format!("{}…", "x".repeat(255))),
        ("é".repeat(2000), format!("{}…", "é".repeat(255))),
        (
            "a/".repeat(100_000) + "x.md",
            format!("{}a…", "a/".repeat(127)),
        ),
        ("x".repeat(1 << 20), format!("{}…", "x".repeat(255))),
    ] {
        client.all_tools_fail(&path, &note_not_found(&shown));
    }
    client.fails(
        "get_note_outline",
        json!({ "path": "a/".repeat(100_000) + &"../".repeat(100_001) }),
        INVALID_PATH,
        "one step more up than down",
    );
}
