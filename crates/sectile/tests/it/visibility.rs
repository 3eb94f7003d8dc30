//! What is hidden cannot be told from what does not exist.

use std::process::Stdio as Pipe;

use serde_json::{Value, json};

use crate::fixture::{Era, Http, Stdio, TestVault, initialize, run_with_input, sectile, wait_for};

/// The tool that the settings below hide.
const HIDDEN: &str = "get_note_outline";

/// Names that no version of the product ever had: as long as the hidden one, shorter, longer, and the form that
/// settings use.
const NONEXISTENT: [&str; 4] = [
    "get_note_outlinx",
    "nope",
    "a_tool_that_was_never_there",
    "vault/get_note_outline",
];

const ALL: [&str; 4] = [
    "get_section_source",
    "get_note_outline",
    "get_document_tree",
    "get_metadata_facets",
];
const WITHOUT_HIDDEN: [&str; 3] = [
    "get_section_source",
    "get_document_tree",
    "get_metadata_facets",
];

/// Settings that hide [`HIDDEN`], and what a listing shows with them.
const HIDING: [(&str, &str, &[&str]); 8] = [
    (
        "denied",
        "[server.tools]\ndenylist = ['get_note_outline']",
        &WITHOUT_HIDDEN,
    ),
    (
        "denied as world/tool",
        "[server.tools]\ndenylist = ['vault/get_note_outline']",
        &WITHOUT_HIDDEN,
    ),
    (
        "not allowed",
        "[server.tools]\nallowlist = ['get_section_source', 'vault/get_document_tree']",
        &["get_section_source", "get_document_tree"],
    ),
    (
        "allowed and denied",
        "[server.tools]\nallowlist = ['get_note_outline', 'get_section_source']\n\
         denylist = ['get_note_outline']",
        &["get_section_source"],
    ),
    (
        "denied, and the caller may only use another",
        "[server.tools]\ndenylist = ['get_note_outline']\n\
         [server.auth]\nallowed_tools = ['get_section_source']",
        &WITHOUT_HIDDEN,
    ),
    (
        "denied, although the caller may use it",
        "[server.tools]\ndenylist = ['get_note_outline']\n\
         [server.auth]\nallowed_tools = ['get_section_source', 'get_note_outline']",
        &WITHOUT_HIDDEN,
    ),
    (
        "denied, listings not filtered",
        "[server.tools]\nmode = 'passthrough'\ndenylist = ['get_note_outline']",
        &ALL,
    ),
    (
        "denied, listings not filtered, and the caller may only use another",
        "[server.tools]\nmode = 'passthrough'\ndenylist = ['get_note_outline']\n\
         [server.auth]\nallowed_tools = ['get_section_source']",
        &ALL,
    ),
];

/// Visible with all settings above, and every caller may use it.
const VISIBLE: &str = "get_section_source";

/// A server on one of the two transports.
enum Wire<'a> {
    Stdio(Stdio<'a>),
    Http(Http<'a>),
}

impl<'a> Wire<'a> {
    fn both(vault: &'a TestVault, era: Era, settings: &str) -> [Self; 2] {
        let config = vault.config(&format!("[log]\nformat = 'json'\n{settings}\n"));
        [
            Self::Stdio(Stdio::ready_with(vault, era, Some(&config), &[])),
            Self::Http(Http::start_with(vault, Some(&config), &[])),
        ]
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "HTTP",
        }
    }

    /// Every byte that a client can see of an answer (the date aside), and the message in it.
    fn ask(&mut self, era: Era, message: &Value) -> (String, Value) {
        match self {
            Self::Stdio(server) => {
                server.send_line(&message.to_string());
                let line = server.receive_line();
                let answer = serde_json::from_str(&line).unwrap();
                (line, answer)
            }
            Self::Http(server) => {
                let answer = server.post(era, message);
                let seen = format!(
                    "{}\n{}\n\n{}",
                    answer.status,
                    answer.headers.join("\n"),
                    answer.body
                );
                (seen, answer.json())
            }
        }
    }

    fn tool_names(&mut self, era: Era) -> Vec<String> {
        let (_, answer) = self.ask(era, &era.request(3, "tools/list", json!({})));
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    fn log(&self) -> String {
        match self {
            Self::Stdio(server) => server.log(),
            Self::Http(server) => server.log(),
        }
    }
}

/// Parameters of a call besides the name, good and bad.
fn call_params() -> Vec<Value> {
    vec![
        json!({ "arguments": { "path": "inbox/one.md" } }),
        json!({ "arguments": { "path": "missing.md" } }),
        json!({ "arguments": { "path": "../outside/secret.md" } }),
        json!({ "arguments": { "path": 5 } }),
        json!({ "arguments": { "path": "inbox/one.md", "extra": true } }),
        json!({ "arguments": {} }),
        json!({}),
    ]
}

fn call(era: Era, name: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["name"] = json!(name);
    era.request(7, "tools/call", params)
}

#[test]
fn a_hidden_tool_answers_byte_for_byte_like_one_that_never_existed() {
    let vault = TestVault::sample();
    for (case, settings, _) in HIDING {
        for era in Era::BOTH {
            for mut wire in Wire::both(&vault, era, settings) {
                let case = format!("{case}, {era:?}, {}", wire.name());
                for params in call_params() {
                    let (hidden, answer) = wire.ask(era, &call(era, HIDDEN, &params));
                    assert_eq!(answer["error"]["code"], -32602, "{case}, {params}");
                    assert_eq!(
                        answer["error"]["data"]["kind"], "unknown_tool",
                        "{case}, {params}"
                    );
                    assert!(!hidden.contains(HIDDEN), "{case}, {params}: {hidden}");
                    for name in NONEXISTENT {
                        let (nonexistent, _) = wire.ask(era, &call(era, name, &params));
                        assert_eq!(hidden, nonexistent, "{case}, {params}, {name}");
                    }
                }
                let (_, answer) = wire.ask(era, &call(era, VISIBLE, &call_params()[0]));
                assert_eq!(answer["result"]["isError"], false, "{case}: {answer}");
            }
        }
    }
}

#[test]
fn arguments_that_cannot_be_decoded_do_not_tell_a_hidden_tool_either() {
    let vault = TestVault::sample();
    let (_, settings, _) = HIDING[0];
    for era in Era::BOTH {
        for mut wire in Wire::both(&vault, era, settings) {
            for arguments in [json!([1]), json!("path"), json!(5)] {
                let params = json!({ "arguments": arguments });
                let (hidden, answer) = wire.ask(era, &call(era, HIDDEN, &params));
                assert_eq!(answer["error"]["code"], -32602, "{answer}");
                let (nonexistent, _) = wire.ask(era, &call(era, NONEXISTENT[0], &params));
                assert_eq!(hidden, nonexistent, "{params}, {era:?}, {}", wire.name());
            }
        }
    }
}

#[test]
fn listings_leave_hidden_tools_out_unless_the_mode_is_passthrough() {
    let vault = TestVault::sample();
    for (case, settings, listed) in HIDING {
        for era in Era::BOTH {
            for mut wire in Wire::both(&vault, era, settings) {
                let case = format!("{case}, {era:?}, {}", wire.name());
                assert_eq!(wire.tool_names(era), listed, "{case}");
            }
        }
    }
}

#[test]
fn authorisation_changes_no_listing_and_refuses_the_same_way_everywhere() {
    let vault = TestVault::sample();
    for (case, allowed) in [
        ("by name", "get_section_source"),
        ("as world/tool", "vault/get_section_source"),
    ] {
        let settings = format!("[server.auth]\nallowed_tools = ['{allowed}']");
        let mut refusals = Vec::new();
        for era in Era::BOTH {
            for mut wire in Wire::both(&vault, era, &settings) {
                let case = format!("{case}, {era:?}, {}", wire.name());
                assert_eq!(wire.tool_names(era), ALL, "{case}");
                for params in call_params() {
                    let (seen, answer) = wire.ask(era, &call(era, HIDDEN, &params));
                    assert_eq!(answer["error"]["code"], -32003, "{case}, {params}");
                    assert_eq!(
                        answer["error"]["data"]["kind"], "forbidden",
                        "{case}, {params}"
                    );
                    if let Wire::Http(_) = wire {
                        assert!(seen.starts_with("200\n"), "{case}, {params}: {seen}");
                    }
                    refusals.push((case.clone(), answer.to_string()));
                }
                let (_, answer) = wire.ask(era, &call(era, VISIBLE, &call_params()[0]));
                assert_eq!(answer["result"]["isError"], false, "{case}: {answer}");
            }
        }
        for (case, refusal) in &refusals {
            assert_eq!(refusal, &refusals[0].1, "{case}");
        }
    }
}

#[test]
fn the_log_cannot_tell_hidden_and_unknown_apart() {
    let vault = TestVault::sample();
    let settings = "[server.tools]\ndenylist = ['get_note_outline']\n\
                    [server.auth]\nallowed_tools = ['get_section_source']";
    let expected = [
        (HIDDEN, "vault/unknown", "unknown_tool"),
        ("get_document_tree", "vault/get_document_tree", "forbidden"),
        ("nope", "vault/unknown", "unknown_tool"),
        (VISIBLE, "vault/get_section_source", "ok"),
    ];
    for era in Era::BOTH {
        for mut wire in Wire::both(&vault, era, settings) {
            for (name, _, _) in expected {
                wire.ask(era, &call(era, name, &call_params()[0]));
            }
            let logged = wait_for("a line for each call", || {
                let lines = call_lines(&wire.log());
                (lines.len() == expected.len()).then_some(lines)
            });
            for (line, (name, label, outcome)) in logged.iter().zip(expected) {
                let case = format!("{name}, {era:?}, {}: {line}", wire.name());
                assert_eq!(line["outcome"], outcome, "{case}");
                assert_eq!(line["tool"], label, "{case}");
            }
            assert!(!wire.log().contains("nope"), "an unknown name is logged");
        }
    }
}

fn call_lines(log: &str) -> Vec<Value> {
    log.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line["target"] == "sectile::call")
        .collect()
}

#[test]
fn a_variable_hides_as_a_settings_file_does() {
    let vault = TestVault::sample();
    let environment = [("SECTILE_SERVER__TOOLS__DENYLIST", HIDDEN)];
    let server = Stdio::ready_with(&vault, Era::Stateless, None, &environment);
    let mut wire = Wire::Stdio(server);
    assert_eq!(wire.tool_names(Era::Stateless), WITHOUT_HIDDEN);
    let params = &call_params()[0];
    let (hidden, answer) = wire.ask(Era::Stateless, &call(Era::Stateless, HIDDEN, params));
    let (nonexistent, _) = wire.ask(Era::Stateless, &call(Era::Stateless, "nope", params));
    assert_eq!(answer["error"]["data"]["kind"], "unknown_tool");
    assert_eq!(hidden, nonexistent);
}

#[test]
fn a_misspelt_name_keeps_the_server_from_starting() {
    let vault = TestVault::sample();
    for (key, settings) in [
        ("server.tools.denylist", "[server.tools]\ndenylist"),
        ("server.tools.allowlist", "[server.tools]\nallowlist"),
        ("server.auth.allowed_tools", "[server.auth]\nallowed_tools"),
    ] {
        for (name, nearest) in [
            ("get_note_outlines", Some("get_note_outline")),
            ("valt/get_document_tree", Some("vault/get_document_tree")),
            ("1234567890", None),
        ] {
            let config = vault.config(&format!("{settings} = ['{name}']\n"));
            let output = sectile()
                .args(["serve", "vault"])
                .arg(vault.root())
                .arg("--config")
                .arg(&config)
                .stdin(Pipe::null())
                .output()
                .unwrap();
            let column = settings.lines().last().unwrap().len() + " = [".len() + 1;
            let suggestion = nearest
                .map(|nearest| format!(" Did you mean `{nearest}`?"))
                .unwrap_or_default();
            assert_eq!(
                String::from_utf8_lossy(&output.stderr),
                format!(
                    "error: sectile.toml, line 2, column {column}: `{key}` names `{name}`, which no world has.{suggestion}\n"
                ),
            );
            assert_eq!(output.status.code(), Some(1), "{key}, {name}");
            assert_eq!(output.stdout, b"", "{key}, {name}");
        }
    }
}

#[test]
fn a_read_only_server_keeps_the_tools_that_only_read() {
    let vault = TestVault::sample();
    let messages = [
        initialize(0),
        Era::Handshake.request(1, "tools/list", json!({})),
    ];
    let root = vault.root();
    let arguments = ["serve", "vault", "--read-only"].map(std::ffi::OsStr::new);
    let output = run_with_input(
        &vault,
        [&arguments[..], &[root.as_os_str()]].concat(),
        &messages,
    );
    let last = String::from_utf8(output.stdout).unwrap();
    let listing: Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    let names: Vec<&str> = listing["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ALL);
}
