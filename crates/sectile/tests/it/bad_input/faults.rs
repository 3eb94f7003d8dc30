//! A handler that panics.

use serde_json::json;

use super::Client;
use crate::fixture::TestVault;

/// What the armed fault panics with.
const PANIC_MESSAGE: &str = "SENTINEL-PANIC-MESSAGE";

#[test]
fn a_panicking_handler_is_an_internal_error_and_the_other_tools_go_on() {
    let vault = TestVault::sample();
    for format in ["text", "json"] {
        let environment = [
            ("SECTILE_FAULT", "panic:get_document_tree"),
            ("SECTILE_LOG__FORMAT", format),
            ("SECTILE_LOG__LEVEL", "debug"),
        ];
        for mut client in Client::everywhere(&vault, &environment) {
            for turn in 0..3 {
                let case = format!("turn {turn}, {}", client.name());
                let answer = client.read("get_document_tree", "inbox/one.md");
                assert_eq!(answer["error"]["code"], -32603, "{case}: {answer}");
                assert!(
                    !answer.to_string().contains(PANIC_MESSAGE),
                    "{case}: {answer}"
                );
                client.still_answers(&case);
                for tool in ["get_section_source", "get_metadata_facets"] {
                    client.view(tool, "inbox/one.md");
                }
            }
            client.fails(
                "get_document_tree",
                json!({ "path": 1 }),
                "Invalid arguments: path must be a JSON string.",
                "before the fault",
            );
            let log = client.whole_log();
            assert!(!log.contains(PANIC_MESSAGE), "{log}");
            assert_eq!(log.matches("a handler panicked").count(), 3, "{log}");
        }
    }
}
