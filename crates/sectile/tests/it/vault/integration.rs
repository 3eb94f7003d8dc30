//! Integration tier: settings, path rules and note reading work together.

use serde_json::{Value, json};

use crate::{
    fixture::{
        Era, SECRET, Stdio, TestVault, initialize, run_with_input, sectile, tool_error, tool_text,
    },
    vectors::TOOLS,
};

const ERA: Era = Era::Handshake;

fn view(server: &mut Stdio<'_>, tool: &str, path: &str) -> Value {
    let answer = server.call(ERA, tool, json!({ "path": path }));
    assert_eq!(
        answer["result"]["isError"], false,
        "{tool}, {path}: {answer}"
    );
    serde_json::from_str(tool_text(&answer)).unwrap()
}

#[test]
fn missing_and_unsafe_paths_fail_alike_in_all_tools() {
    let vault = TestVault::sample();
    for era in Era::BOTH {
        let mut server = Stdio::ready(&vault, era);
        for path in [
            "inbox/none.md",
            "../outside/secret.md",
            "/etc/passwd",
            "inbox",
            "",
        ] {
            let results = TOOLS.map(|tool| {
                let answer = server.call(era, tool, json!({ "path": path }));
                assert_eq!(tool_error(&answer)["code"], "RUNTIME_ERROR", "{path}");
                answer["result"].to_string()
            });
            for (tool, result) in TOOLS.iter().zip(&results) {
                assert_eq!(*result, results[0], "{tool}, {path}");
            }
        }
        assert!(server.finish().success());
    }
}

#[test]
fn spellings_of_one_path_give_one_answer() {
    let vault = TestVault::sample();
    vault.note("a/b.md", "# B\n");
    let mut server = Stdio::ready(&vault, ERA);
    for tool in TOOLS {
        let plain = view(&mut server, tool, "inbox/one.md");
        assert_eq!(plain["path"], "inbox/one.md", "{tool}");
        for spelling in [
            "./inbox//one.md/",
            "inbox\\one.md",
            "a/../inbox/one.md",
            "missing/../inbox/one.md",
            "inbox/./one.md",
            "inbox/../inbox/one.md",
            ".\\inbox\\.\\one.md",
            "a/b.md/../../inbox/one.md",
        ] {
            assert_eq!(
                view(&mut server, tool, spelling).to_string(),
                plain.to_string(),
                "{tool}, {spelling}"
            );
        }
    }
    assert!(server.finish().success());
}

#[test]
fn names_are_taken_as_they_are() {
    let vault = TestVault::empty();
    let mut server = Stdio::ready(&vault, ERA);
    for path in [
        " blanks .md",
        "日本/語",
        ".hidden.md",
        "no-extension",
        "notes.txt",
        "a/..dots.md",
        "C:x.md",
        "~/x.md",
        "%2e%2e/x.md",
        "-rf.md",
        "a\nb.md",
    ] {
        vault.note(path, "# Here\n");
        for tool in TOOLS {
            assert_eq!(view(&mut server, tool, path)["path"], path, "{tool}");
        }
    }
    assert!(server.finish().success());
}

#[cfg(unix)]
#[test]
fn links_that_stay_inside_are_followed_and_keep_their_own_path() {
    use std::os::unix::fs::symlink;
    let vault = TestVault::sample();
    let root = vault.root();
    symlink("inbox/one.md", root.join("relative.md")).unwrap();
    symlink(root.join("inbox/one.md"), root.join("absolute.md")).unwrap();
    symlink("inbox", root.join("folder")).unwrap();
    symlink(root.join("inbox"), root.join("absolute-folder")).unwrap();
    symlink("relative.md", root.join("chain.md")).unwrap();
    symlink("../relative.md", root.join("inbox/up.md")).unwrap();
    symlink("../vault/inbox/one.md", root.join("out-and-back.md")).unwrap();
    let mut server = Stdio::ready(&vault, ERA);
    for (path, slug) in [
        ("relative.md", "relative-md"),
        ("absolute.md", "absolute-md"),
        ("folder/one.md", "folder-one-md"),
        ("absolute-folder/one.md", "absolute-folder-one-md"),
        ("chain.md", "chain-md"),
        ("inbox/up.md", "inbox-up-md"),
        ("out-and-back.md", "out-and-back-md"),
    ] {
        for tool in TOOLS {
            assert_eq!(view(&mut server, tool, path)["path"], path, "{tool}");
        }
        let source = view(&mut server, "get_section_source", path);
        assert_eq!(
            source["sections"][0]["section_id"],
            format!("{slug}:h1-inbox-one-0001"),
            "{path}"
        );
    }
    assert!(server.finish().success());
}

/// A folder beside the vault whose name begins like the vault's is still outside.
#[cfg(unix)]
#[test]
fn a_sibling_with_the_vaults_name_as_prefix_is_outside() {
    let vault = TestVault::sample();
    let sibling = vault.root().join("../vault-secret");
    std::fs::create_dir(&sibling).unwrap();
    std::fs::write(sibling.join("s.md"), format!("# {SECRET}\n")).unwrap();
    std::os::unix::fs::symlink(&sibling, vault.root().join("link")).unwrap();
    let mut server = Stdio::ready(&vault, ERA);
    for path in ["../vault-secret/s.md", "link/s.md"] {
        for tool in TOOLS {
            let answer = server.call(ERA, tool, json!({ "path": path }));
            assert_eq!(
                tool_error(&answer)["error"],
                "Invalid path: path must be vault-relative and cannot escape vault",
                "{tool}, {path}"
            );
        }
    }
    assert!(server.finish().success());
}

/// Ids of a tree's nodes in document order.
fn tree_ids(node: &Value, ids: &mut Vec<String>) {
    for child in node["children"].as_array().unwrap() {
        ids.push(child["id"].as_str().unwrap().to_owned());
        tree_ids(child, ids);
    }
}

#[test]
fn outline_tree_and_section_source_agree_on_ids_and_places() {
    let vault = TestVault::sample();
    vault.note(
        "mixed.md",
        "### Deep first\n# A\n### Skips\n## B\n# A\n> ## Quoted\n\n- # Listed\n\nSet\n===\n#\n###### Six\n",
    );
    vault.note("many.md", "# H\n## C\n".repeat(300));
    let mut server = Stdio::ready(&vault, ERA);
    for path in ["inbox/one.md", "mixed.md", "many.md"] {
        let source = view(&mut server, "get_section_source", path);
        let outline = view(&mut server, "get_note_outline", path);
        let tree = view(&mut server, "get_document_tree", path);
        let sections = source["sections"].as_array().unwrap();
        let headings = outline["headings"].as_array().unwrap();
        let mut nodes = Vec::new();
        tree_ids(&tree["root"], &mut nodes);
        assert!(sections.len() >= 3, "{path}");
        assert_eq!(sections.len(), headings.len(), "{path}");
        assert_eq!(sections.len(), nodes.len(), "{path}");
        for ((section, heading), node) in sections.iter().zip(headings).zip(&nodes) {
            assert_eq!(section["heading_id"], heading["id"], "{path}");
            assert_eq!(section["heading_id"], **node, "{path}");
            assert_eq!(section["level"], heading["level"], "{path}");
            assert_eq!(section["heading_text"], heading["text"], "{path}");
            assert_eq!(
                section["heading_path"].as_array().unwrap().last(),
                heading.get("text"),
                "{path}"
            );
            assert_eq!(
                section["section_id"],
                format!("{}:{node}", path.replace(['/', '.'], "-")),
                "{path}"
            );
        }
        assert_eq!(source["truncated"], outline["truncated"], "{path}");
        assert_eq!(source["truncated"], tree["truncated"], "{path}");
    }
    assert!(server.finish().success());
}

#[test]
fn the_command_line_prints_the_same_bytes() {
    let vault = TestVault::sample();
    vault.note("日本/語.md", "---\ntags: [ä]\n---\n# 見出し 🚀\n\ntext\n");
    let mut server = Stdio::ready(&vault, ERA);
    let commands = [
        ("get_section_source", "sections"),
        ("get_document_tree", "tree"),
        ("get_metadata_facets", "facets"),
    ];
    for (tool, command) in commands {
        for path in ["inbox/one.md", "./inbox//one.md", "日本/語.md"] {
            let answer = server.call(ERA, tool, json!({ "path": path }));
            let output = sectile()
                .args([command, path, "--json", "--root"])
                .arg(vault.root())
                .output()
                .unwrap();
            assert!(output.status.success(), "{command}: {output:?}");
            assert_eq!(
                String::from_utf8(output.stdout).unwrap(),
                format!("{}\n", tool_text(&answer)),
                "{command}, {path}"
            );
        }
    }
    assert!(server.finish().success());
}

#[test]
fn the_root_of_a_settings_file_counts_from_its_folder() {
    let vault = TestVault::sample();
    let config = vault.config("[vault]\nroot = \"vault\"\n");
    let arguments = ["serve", "vault", "--config"].map(std::ffi::OsStr::new);
    let output = run_with_input(
        &vault,
        [&arguments[..], &[config.as_os_str()]].concat(),
        &[
            initialize(1),
            ERA.call(2, "get_note_outline", json!({ "path": "inbox/one.md" })),
        ],
    );
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("h1-inbox-one-0001"), "{text}");
}

#[test]
fn the_size_limit_of_a_settings_file_holds_in_all_tools() {
    let vault = TestVault::sample();
    vault.note("small.md", "# S\n");
    let config = vault.config("[vault]\nmax_note_bytes = 100\n");
    let mut server = Stdio::ready_with(&vault, ERA, Some(&config), &[]);
    for tool in TOOLS {
        view(&mut server, tool, "small.md");
        let answer = server.call(ERA, tool, json!({ "path": "inbox/one.md" }));
        assert_eq!(
            tool_error(&answer)["error"],
            "Note is larger than 100 bytes; refusing to read unbounded Markdown.",
            "{tool}"
        );
    }
    assert!(server.finish().success());
}
