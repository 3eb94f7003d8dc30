//! The card on which people review changes, and the plans that it applies.

use serde_json::{Value, json};

use super::{
    NOTES,
    callers::{key_with_role, serve},
};
use crate::fixture::{Era, Http, Stdio, TestDesk, TestVault, initialize};

const CARD: &str = "ui://sectile/change";
const EXTENSION: &str = "io.modelcontextprotocol/ui";
const DETAILS: &str = "sectile/change";
const TYPE: &str = "text/html;profile=mcp-app";

/// Sends a request and returns the whole answer.
type Ask<'d> = Box<dyn FnMut(&str, Value) -> Value + 'd>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Stdio,
    Http,
}

/// Every era on every transport.
const WAYS: [(Era, Transport); 4] = [
    (Era::Handshake, Transport::Stdio),
    (Era::Handshake, Transport::Http),
    (Era::Stateless, Transport::Stdio),
    (Era::Stateless, Transport::Http),
];

/// A client of the desk, and the capabilities that the server declared to it.
fn connect<'d>(
    desk: &'d TestDesk,
    settings: &str,
    (era, transport): (Era, Transport),
    shows_apps: bool,
) -> (Ask<'d>, Value) {
    let capabilities = match shows_apps {
        true => json!({ "extensions": { EXTENSION: { "mimeTypes": [TYPE] } } }),
        false => json!({}),
    };
    let mut greeting = initialize(0);
    greeting["params"]["capabilities"] = capabilities.clone();
    let mut next = 0;
    let mut request = move |method: &str, params: Value| {
        next += 1;
        let mut message = era.request(next, method, params);
        if era == Era::Stateless {
            message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                capabilities.clone();
        }
        message
    };
    let command = desk.command(settings);
    let mut greeted = Value::Null;
    let mut ask: Ask<'d> = match transport {
        Transport::Stdio => {
            let mut server = Stdio::spawn(&desk.vault, command);
            if era == Era::Handshake {
                greeted = server.exchange(&greeting);
                let initialized =
                    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
                server.send_line(&initialized.to_string());
            }
            Box::new(move |method, params| server.exchange(&request(method, params)))
        }
        Transport::Http => {
            let server = Http::spawn(&desk.vault, command);
            let mut session = None;
            if era == Era::Handshake {
                let opened = server.post(era, &greeting);
                session = opened.header("Mcp-Session-Id").map(str::to_owned);
                greeted = opened.events().pop().unwrap_or_else(|| opened.json());
            }
            Box::new(move |method, params| {
                let headers: Vec<(&str, &str)> = session
                    .iter()
                    .map(|session: &String| ("Mcp-Session-Id", session.as_str()))
                    .collect();
                let answer = server.post_with(era, &request(method, params), &headers);
                let mut events = answer.events();
                events.pop().unwrap_or_else(|| answer.json())
            })
        }
    };
    if era == Era::Stateless {
        greeted = ask("server/discover", json!({}));
    }
    (ask, greeted["result"]["capabilities"].clone())
}

/// Calls a tool and returns its result.
fn call(ask: &mut Ask<'_>, tool: &str, arguments: &Value) -> Value {
    let answer = ask(
        "tools/call",
        json!({ "name": tool, "arguments": arguments }),
    );
    assert!(answer["result"].is_object(), "{tool} {arguments}: {answer}");
    answer["result"].clone()
}

/// Calls a tool, which must succeed.
#[track_caller]
fn done(ask: &mut Ask<'_>, tool: &str, arguments: &Value) -> Value {
    let result = call(ask, tool, arguments);
    assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
    result["structuredContent"].clone()
}

/// Calls a tool, which must fail with this code.
#[track_caller]
fn refused(ask: &mut Ask<'_>, tool: &str, arguments: &Value, code: &str) -> String {
    let result = call(ask, tool, arguments);
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
    assert!(
        text.starts_with(&format!("{code}: ")),
        "{arguments}: {text}"
    );
    text
}

fn with(arguments: &Value, name: &str, value: Value) -> Value {
    let mut arguments = arguments.clone();
    arguments[name] = value;
    arguments
}

/// The notes with their bytes.
fn tools_of(ask: &mut Ask<'_>) -> Vec<Value> {
    let listing = ask("tools/list", json!({}));
    listing["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn only_clients_that_show_apps_are_told_about_the_card() {
    let desk = TestDesk::new(NOTES);
    let mut plain_listing = None;
    for way in WAYS {
        let (mut ask, capabilities) = connect(&desk, "", way, true);
        assert_eq!(
            capabilities["extensions"][EXTENSION]["mimeTypes"],
            json!([TYPE])
        );
        assert_eq!(capabilities["resources"], json!({}), "{way:?}");
        let mut tools = tools_of(&mut ask);
        let mut named = Vec::new();
        for tool in &mut tools {
            if let Some(meta) = tool.as_object_mut().unwrap().remove("_meta") {
                assert_eq!(meta, json!({ "ui": { "resourceUri": CARD } }), "{way:?}");
                named.push(tool["name"].clone());
            }
        }
        assert_eq!(named, ["edit", "rename", "delete"], "{way:?}");
        let (mut ask, _) = connect(&desk, "", way, false);
        let plain = tools_of(&mut ask);
        assert_eq!(tools, plain, "{way:?}");
        let resources = ask("resources/list", json!({}));
        assert!(!resources.to_string().contains("ui://"), "{resources}");
        assert_eq!(*plain_listing.get_or_insert(plain.clone()), plain);
    }
}

#[test]
fn the_card_is_one_page_that_loads_nothing() {
    let desk = TestDesk::new(NOTES);
    let mut pages = Vec::new();
    for way in WAYS {
        let (mut ask, _) = connect(&desk, "", way, true);
        let listed = ask("resources/list", json!({}))["result"]["resources"].clone();
        let read = ask("resources/read", json!({ "uri": CARD }));
        let content = read["result"]["contents"][0].clone();
        let text = content["text"].as_str().unwrap();
        let card = listed.as_array().unwrap().iter();
        let card = card.clone().find(|one| one["uri"] == CARD).unwrap();
        assert_eq!(card["size"], text.len());
        for one in [card, &content] {
            assert_eq!(one["mimeType"], TYPE);
            let ui = &one["_meta"]["ui"];
            for domains in ["connectDomains", "resourceDomains", "frameDomains"] {
                assert_eq!(ui["csp"][domains], json!([]), "{way:?}");
            }
        }
        for wrong in [
            "ui://sectile/",
            "ui://sectile/change/",
            "ui://sectile/change#x",
            "UI://sectile/change",
        ] {
            let answer = ask("resources/read", json!({ "uri": wrong }));
            assert!(answer["error"].is_object(), "{wrong}: {answer}");
        }
        pages.push(text.to_owned());
    }
    assert!(pages.iter().all(|page| *page == pages[0]));
}

/// Changes of every kind that can be previewed.
fn changes(ask: &mut Ask<'_>) -> Vec<(&'static str, Value)> {
    let mut base = |id: &str| {
        let result = call(ask, "fetch", &json!({ "id": id }));
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        let base = text.split(" | base ").nth(1).unwrap();
        base.split(' ').next().unwrap().to_owned()
    };
    let (budget, other) = (base("plan.md#Budget"), base("projects/other.md"));
    vec![
        (
            "edit",
            json!({ "id": "plan.md#Budget", "old": "Forty", "new": "Fifty" }),
        ),
        (
            "edit",
            json!({ "id": "plan.md", "place": "append", "new": "## New\n\nSee [[nothing]].\n" }),
        ),
        (
            "edit",
            json!({ "id": "plan.md#Budget", "new": "Sixty.", "base": budget, "request_id": "one" }),
        ),
        ("rename", json!({ "id": "plan.md#Budget", "to": "Money" })),
        (
            "rename",
            json!({ "id": "projects/plan.md", "to": "archive/" }),
        ),
        ("rename", json!({ "id": "projects/", "to": "work" })),
        (
            "rename",
            json!({ "id": "plan.md#Dates", "to": "other.md#Notes" }),
        ),
        ("delete", json!({ "id": "plan.md#Budget", "base": budget })),
        (
            "delete",
            json!({ "id": "projects/other.md", "base": other }),
        ),
    ]
}

#[test]
fn a_plan_applies_what_the_preview_showed() {
    for (at, way) in WAYS.into_iter().enumerate() {
        let shows_apps = at % 2 == 0;
        // What the same calls do without a preview.
        let (desk, twin) = (TestDesk::new(NOTES), TestDesk::new(NOTES));
        let (mut ask, _) = connect(&desk, "", way, shows_apps);
        let (mut direct, _) = connect(&twin, "", way, shows_apps);
        let before = desk.all();
        let all = changes(&mut ask).into_iter().zip(changes(&mut direct));
        for ((tool, arguments), (_, directly)) in all {
            let case = format!("{way:?} {tool} {arguments}");
            let preview = with(&arguments, "preview", json!(true));
            let result = call(&mut ask, tool, &preview);
            assert_eq!(result["isError"], false, "{case}: {result}");
            assert_eq!(desk.all(), before, "{case}");
            let shown = &result["structuredContent"];
            assert_eq!(shown.get("change"), None, "{case}: {shown}");
            assert_eq!(shown["notes"][0], "preview: nothing was written");
            // Only a client with a card pays for what the card shows.
            let details = result["_meta"].get(DETAILS);
            assert_eq!(details.is_some(), shows_apps, "{case}: {result}");
            if let Some(details) = details {
                assert_eq!(details["tool"], tool, "{case}");
                let shown = details["documents"].as_array().unwrap();
                assert!(!shown.is_empty(), "{case}: {details}");
                assert!(shown.iter().all(|one| one["left_out"] == 0), "{case}");
            }
            let apply = with(&arguments, "plan", shown["plan"].clone());
            let applied = done(&mut ask, tool, &apply);
            assert!(applied["change"].is_string(), "{case}: {applied}");
            assert_eq!(applied.get("plan"), None, "{case}");
            assert_eq!(applied["repaired"], shown["repaired"], "{case}");
            assert_eq!(applied["broken"], shown["broken"], "{case}");
            assert_ne!(desk.all(), before, "{case}");
            done(&mut direct, tool, &directly);
            assert_eq!(desk.all(), twin.all(), "{case}");
            for ask in [&mut ask, &mut direct] {
                done(ask, "undo", &json!({}));
            }
            assert_eq!(desk.all(), before, "{case}");
        }
    }
}

#[test]
fn a_plan_that_was_overtaken_is_refused_and_nothing_is_written() {
    for way in WAYS {
        let desk = TestDesk::new(NOTES);
        let (mut ask, _) = connect(&desk, "", way, true);
        let edit = json!({ "id": "plan.md#Budget", "old": "Forty", "new": "Fifty" });
        let plan_of = |ask: &mut Ask<'_>, tool: &str, arguments: &Value| {
            let shown = done(ask, tool, &with(arguments, "preview", json!(true)));
            shown["plan"].clone()
        };
        // Another program.
        let plan = plan_of(&mut ask, "edit", &edit);
        desk.overwrite(
            "projects/plan.md",
            format!("{}\nMore.\n", desk.text("projects/plan.md")),
        );
        let before = desk.all();
        let apply = with(&edit, "plan", plan);
        let text = refused(&mut ask, "edit", &apply, "plan_outdated");
        assert!(text.contains("Preview the change again"), "{text}");
        assert_eq!(desk.all(), before, "{way:?}");
        // Another edit of the desk, of a document that the rename only repairs.
        let rename = json!({ "id": "projects/plan.md", "to": "archive/plan.md" });
        let plan = plan_of(&mut ask, "rename", &rename);
        done(
            &mut ask,
            "edit",
            &json!({ "id": "index.md", "place": "append", "new": "More." }),
        );
        let before = desk.all();
        refused(
            &mut ask,
            "rename",
            &with(&rename, "plan", plan),
            "plan_outdated",
        );
        // Other arguments, and another document.
        let plan = plan_of(&mut ask, "edit", &edit);
        let other = with(&with(&edit, "new", json!("Sixty")), "plan", plan.clone());
        let text = refused(&mut ask, "edit", &other, "plan_outdated");
        assert!(text.contains("arguments differ"), "{text}");
        let elsewhere = json!({ "id": "other.md#Notes", "new": "Something.", "plan": plan });
        refused(&mut ask, "edit", &elsewhere, "plan_outdated");
        let rename = with(&rename, "plan", plan.clone());
        refused(&mut ask, "rename", &rename, "plan_outdated");
        assert_eq!(desk.all(), before, "{way:?}");
        // Another server, on the same folder.
        drop(ask);
        let (mut ask, _) = connect(&desk, "", way, true);
        let apply = with(&edit, "plan", plan);
        done(&mut ask, "edit", &apply);
        assert!(desk.text("projects/plan.md").contains("Fifty euros."));
        refused(&mut ask, "edit", &apply, "text_not_found");
    }
}

#[test]
fn what_is_not_a_plan_is_refused() {
    let desk = TestDesk::new(NOTES);
    let before = desk.all();
    let (mut ask, _) = connect(&desk, "", WAYS[0], true);
    let all = changes(&mut ask);
    let hex = "0123456789abcdef".repeat(2);
    for (tool, arguments) in &all {
        for wrong in [
            "",
            "x",
            &hex[1..],
            &format!("{hex}0"),
            &hex.to_uppercase(),
            "é",
            "\u{0}",
            &"0".repeat(100_000),
        ] {
            let text = refused(
                &mut ask,
                tool,
                &with(arguments, "plan", json!(wrong)),
                "invalid_plan",
            );
            assert!(text.len() < 400, "{text}");
        }
        let forged = with(arguments, "plan", json!(hex));
        refused(&mut ask, tool, &forged, "plan_outdated");
        let both = with(&forged, "preview", json!(true));
        refused(&mut ask, tool, &both, "invalid_arguments");
    }
    assert_eq!(desk.all(), before);
    // Nothing would change, so there is nothing to agree to.
    let same = json!({ "id": "plan.md#Budget", "old": "Forty", "new": "Forty", "preview": true });
    assert_eq!(done(&mut ask, "edit", &same).get("plan"), None);
}

#[test]
fn an_empty_folder_has_nothing_to_preview() {
    let desk = TestDesk::in_folder(NOTES);
    let (mut ask, _) = connect(&desk, "", WAYS[2], true);
    std::fs::create_dir(desk.location("empty")).unwrap();
    let folder = json!({ "id": "empty/", "base": "x" });
    let text = refused(
        &mut ask,
        "delete",
        &with(&folder, "preview", json!(true)),
        "invalid_arguments",
    );
    assert!(text.contains("nothing to preview"), "{text}");
    refused(
        &mut ask,
        "delete",
        &with(&folder, "plan", json!("0123456789abcdef")),
        "invalid_arguments",
    );
    assert!(desk.location("empty").exists());
    done(&mut ask, "delete", &folder);
}

#[test]
fn a_long_change_is_bounded_and_says_what_is_missing() {
    let desk = TestDesk::new(NOTES);
    let (mut ask, _) = connect(&desk, "", WAYS[2], true);
    let lines: String = (0..8_000).map(|n| format!("Line {n} of many.\n")).collect();
    let arguments = json!({ "id": "plan.md#Budget", "new": lines, "preview": true });
    let result = call(&mut ask, "edit", &arguments);
    let details = &result["_meta"][DETAILS]["documents"][0];
    let diff = details["diff"].as_str().unwrap();
    let shown = diff.lines().filter(|line| line.starts_with(['+', '-']));
    // The two lines with names are not changes.
    let shown = shown.count() - 2;
    let removed = 1;
    assert_eq!(
        shown as u64 + details["left_out"].as_u64().unwrap(),
        8_000 + removed
    );
    assert!(diff.len() <= 64 << 10, "{}", diff.len());
    // The model reads the same, whatever the client shows.
    let (mut plain, _) = connect(&desk, "", WAYS[2], false);
    let other = call(&mut plain, "edit", &arguments);
    assert_eq!(other["content"], result["content"]);
    assert_eq!(other["structuredContent"], result["structuredContent"]);
    assert!(other["_meta"].get(DETAILS).is_none());
}

/// Whether a client can tell that there is a card.
fn knows_card(ask: &mut Ask<'_>, capabilities: &Value) -> bool {
    let read = ask("resources/read", json!({ "uri": CARD }));
    let listed = ask("resources/list", json!({})).to_string();
    let tools = json!(tools_of(ask)).to_string();
    let all = [
        read["result"].is_object(),
        listed.contains("ui://"),
        tools.contains("ui://"),
        capabilities["extensions"].get(EXTENSION).is_some(),
    ];
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    all[0]
}

#[test]
fn without_its_tools_there_is_no_card() {
    let hide = |names: &str| format!("[server.tools]\ndenylist = [{names}]\n");
    for (settings, has_card) in [
        (String::new(), true),
        (hide("'edit', 'delete'"), true),
        (hide("'edit', 'rename', 'delete'"), false),
        (hide("'ui://sectile/change'"), false),
        ("[desk]\nread_only = true\n".to_owned(), false),
    ] {
        for way in WAYS {
            let desk = TestDesk::new(NOTES);
            let (mut ask, capabilities) = connect(&desk, &settings, way, true);
            let knows = knows_card(&mut ask, &capabilities);
            assert_eq!(knows, has_card, "{way:?} {settings}");
            let gone = ask("resources/read", json!({ "uri": "ui://sectile/nothing" }));
            let card = ask("resources/read", json!({ "uri": CARD }));
            let same = gone["error"] == card["error"];
            assert_eq!(same, !has_card, "{way:?} {settings}: {card} {gone}");
        }
    }
}

#[test]
fn a_role_that_cannot_write_has_no_card() {
    let vault = TestVault::empty();
    vault.note("work/plan.md", "# Plan\n\nWork.\n");
    for (role, has_card) in [("viewer", false), ("editor", true)] {
        let key = key_with_role(&vault, role, role, &[]);
        let server = serve(&vault, "work = 'vault/work'\n");
        let ask = |method: &str, params: Value| {
            let mut message = Era::Stateless.request(7, method, params);
            message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                json!({ "extensions": { EXTENSION: {} } });
            let answer = server.post_with(Era::Stateless, &message, &[("X-Api-Key", &key)]);
            answer.json()
        };
        let capabilities = ask("server/discover", json!({}))["result"]["capabilities"].clone();
        let mut ask: Ask<'_> = Box::new(ask);
        assert_eq!(knows_card(&mut ask, &capabilities), has_card, "{role}");
    }
}
