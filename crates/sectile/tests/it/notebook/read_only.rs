//! The read-only promise: after every tool was used, every file and folder is what it was, times included.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use serde_json::json;

use super::{Library, TOOLS, data_calls, proof::sha256, tour::tour};
use crate::fixture::Era;

/// Every file and folder below a place: name, kind, mode, times of change, and what it holds.
fn state(place: &Path) -> Vec<String> {
    fn collect(place: &Path, found: &mut Vec<String>) {
        let metadata = fs::symlink_metadata(place).unwrap();
        let content = if metadata.is_file() {
            sha256(&fs::read(place).unwrap())
        } else {
            String::new()
        };
        let times = (
            metadata.mtime(),
            metadata.mtime_nsec(),
            metadata.ctime(),
            metadata.ctime_nsec(),
        );
        found.push(format!(
            "{place:?} {:o} {} {times:?} {content}",
            metadata.mode(),
            metadata.ino()
        ));
        if metadata.is_dir() {
            for entry in fs::read_dir(place).unwrap() {
                collect(&entry.unwrap().path(), found);
            }
        }
    }
    let mut found = Vec::new();
    collect(place, &mut found);
    found.sort();
    found
}

#[test]
fn a_whole_session_over_every_tool_changes_nothing() {
    for with_index in [false, true] {
        let library = Library::rich();
        if with_index {
            library.index(&[]);
        }
        let before = state(&library.vault.root());
        for era in Era::BOTH {
            let mut client = library.open(era);
            let mut used: Vec<&str> = tour(&mut client, "lab")
                .into_iter()
                .map(|(tool, _)| tool)
                .collect();
            used.sort_unstable();
            used.dedup();
            let mut all = TOOLS;
            all.sort_unstable();
            assert_eq!(used, all);
            // What fails changes nothing either.
            for (tool, arguments) in data_calls() {
                client.result(tool, arguments);
            }
            for tool in ["write_notebook", "index", "exit_collection"] {
                client.error(tool, json!({ "path": "lab/plain.md", "content": "x" }));
            }
            assert!(client.server.finish().success());
        }
        assert_eq!(
            state(&library.vault.root()),
            before,
            "with an index: {with_index}"
        );
    }
}
