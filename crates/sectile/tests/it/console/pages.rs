//! What the pages show.

use serde_json::json;

use super::{Visitor, desk, serve};
use crate::fixture::{Era, TestDesk};

#[test]
fn a_document_has_its_text_sections_links_and_fields() {
    let desk = desk();
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    let page = visitor.page("/documents?id=projects/plan.md");
    for part in [
        "<h1 dir=\"auto\">plan</h1>",
        "The pilot costs 350 a day.",
        "id=\"section-budget-",
        "2 sections",
        "<dt><bdi>status</bdi></dt>",
        "#harbour",
        "href=\"/documents?id=people/ada.md\"",
        "(1 broken)",
        "no such document",
        "Works on the [[plan#Budget]].",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // A link to a heading leads to the section, wherever it is.
    let page = visitor.page("/documents?id=ada");
    assert!(
        page.contains("href=\"/documents?id=projects/plan.md#section-budget-"),
        "{page}"
    );
}

#[test]
fn names_that_lead_nowhere_are_answered_with_the_nearest() {
    let desk = desk();
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    let answer = visitor.get("/documents?id=projects/plam.md");
    assert_eq!(answer.status, 404);
    assert!(answer.body.contains("projects/plan.md"), "{answer:?}");
    for bad in [
        "/documents?id=../x",
        "/documents?id=%00",
        "/documents?id=%ff",
    ] {
        assert!(matches!(visitor.get(bad).status, 400 | 404), "{bad}");
    }
    assert_eq!(visitor.get("/no-such-page").status, 404);
}

#[test]
fn folders_are_listed_in_parts() {
    let notes: Vec<(String, String)> = (0..450)
        .map(|number| (format!("many/{number:03}.md"), format!("# Note {number}\n")))
        .collect();
    let notes: Vec<(&str, &str)> = notes
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    let desk = TestDesk::new(&notes);
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    let first = crate::fixture::wait_for("all notes", || {
        let page = visitor.page("/documents?id=many/");
        page.contains("450 documents").then_some(page)
    });
    assert!(
        first.contains(">199.md<") && !first.contains(">200.md<"),
        "{first}"
    );
    let last = visitor.page("/documents?id=many/&from=400");
    assert!(
        last.contains("<bdi>449.md</bdi>") && !last.contains("More documents"),
        "{last}"
    );
}

#[test]
fn changes_are_shown_with_author_tool_and_lines() {
    let desk = desk();
    let mut agent = desk.open_as(Era::Handshake, "agent <b>");
    agent.json(
        "edit",
        json!({ "id": "plan#Budget", "old": "350", "new": "400" }),
    );
    agent.json(
        "rename",
        json!({ "id": "people/ada.md", "to": "people/lovelace.md" }),
    );
    desk.overwrite(
        "projects/plan.md",
        desk.text("projects/plan.md") + "\nAdded outside.\n",
    );
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    let page = visitor.page("/changes");
    for part in [
        "costs <del>350</del> a day.",
        "costs <ins>400</ins> a day.",
        "Plan › Budget",
        "agent &lt;b&gt;",
        "by another program",
        "Added outside.",
        "people/ada.md</bdi> → ",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let by = visitor.page("/changes?by=another%20program");
    assert!(
        by.contains("Added outside.") && !by.contains("<del>350</del>"),
        "{by}"
    );
    let of_note = visitor.page("/changes?id=people/");
    assert!(
        of_note.contains("lovelace.md") && !of_note.contains("Added outside."),
        "{of_note}"
    );
    let none = visitor.page("/changes?since=2999-01-01");
    assert!(none.contains("Nothing was changed"), "{none}");
    assert_eq!(visitor.get("/changes?since=gestern").status, 400);
}

#[test]
fn everything_since_yesterday_is_one_view() {
    let desk = desk();
    let mut agent = desk.open();
    for (old, new) in [("350", "400"), ("400", "450"), ("450", "500")] {
        agent.json(
            "edit",
            json!({ "id": "plan#Budget", "old": old, "new": new }),
        );
    }
    agent.json(
        "edit",
        json!({ "id": "ada#Ada", "old": "Works", "new": "Rests" }),
    );
    agent.json(
        "edit",
        json!({ "id": "ada#Ada", "old": "Rests", "new": "Works" }),
    );
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    let page = visitor.page("/changes?since=1d&together=yes");
    assert!(page.contains("5 changes in 2 documents"), "{page}");
    assert!(
        page.contains("<del>350</del>") && page.contains("<ins>500</ins>"),
        "{page}"
    );
    assert!(
        !page.contains("400") && page.contains("It is as it was before."),
        "{page}"
    );
}

#[test]
fn a_search_says_why_each_result_is_there() {
    let desk = desk();
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    let page = visitor.page("/search?q=pilot%20costs");
    for part in [
        "The pilot costs 350 a day.",
        "ranked by words and the static model",
        "<span class=\"score-name\">Meaning</span>",
        "2 words of the query",
        "as written",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let compared = visitor.page("/search?q=pilot%20costs&ranking2=words");
    assert_eq!(
        compared.matches("<section class=\"results\"").count(),
        2,
        "{compared}"
    );
    assert!(compared.contains("ranked by words."), "{compared}");
    let none = visitor.page("/search?q=tag:nothing");
    assert!(none.contains("Nothing was found."), "{none}");
    assert_eq!(visitor.get("/search?q=before:nonsense").status, 400);
}

#[test]
fn calls_of_clients_appear_with_what_they_cost() {
    let desk = desk();
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    assert!(
        visitor
            .page("/calls")
            .contains("No client has called a tool")
    );
    for (tool, arguments) in [
        ("search", json!({ "query": "pilot" })),
        ("fetch", json!({ "id": "no such note" })),
    ] {
        let params = json!({ "name": tool, "arguments": arguments });
        let message = Era::Stateless.request(7, "tools/call", params);
        assert_eq!(server.post(Era::Stateless, &message).status, 200);
    }
    let answer = visitor.get("/calls?after=0");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let calls = answer.json();
    assert_eq!(calls["calls"][0]["cells"][1], "search");
    assert_eq!(calls["calls"][1]["cells"][2], "not found");
    assert_eq!(calls["calls"][1]["is_ok"], false);
    // Someone was looking, so tokens were counted.
    assert!(
        calls["calls"][0]["cells"][5]
            .as_str()
            .unwrap()
            .parse::<u32>()
            .unwrap()
            > 10
    );
    assert_eq!(visitor.get("/calls?after=2").json()["calls"], json!([]));
    let page = visitor.page("/calls");
    assert!(
        page.contains("<code>fetch</code>") && !page.contains("no such note"),
        "{page}"
    );
}

#[test]
fn calls_of_a_client_that_has_its_own_server_appear_too() {
    let desk = desk();
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    let mut before = desk.open_as(Era::Handshake, "early agent");
    before.json("search", json!({ "query": "pilot" }));
    assert!(
        visitor
            .page("/calls")
            .contains("No client has called a tool")
    );
    let mut agent = desk.open_as(Era::Handshake, "agent on pipes");
    agent.json("search", json!({ "query": "pilot" }));
    agent.text("fetch", json!({ "id": "plan" }));
    let calls = visitor.get("/calls?after=0").json();
    assert_eq!(calls["calls"][0]["cells"][1], "search", "{calls}");
    assert_eq!(calls["calls"][1]["cells"][1], "fetch", "{calls}");
    let client = calls["calls"][1]["cells"][0].as_str().unwrap();
    assert!(client.starts_with("agent on pipes"), "{calls}");
    // Another desk of the same user is not concerned.
    let other = super::desk();
    let server = serve(&other, "");
    let visitor = Visitor::enter(&server, &other);
    assert_eq!(visitor.get("/calls?after=0").json()["calls"], json!([]));
}

#[test]
fn a_draft_is_checked_passage_by_passage() {
    let desk = desk();
    desk.open().json(
        "edit",
        json!({ "id": "plan#Budget", "old": "350", "new": "400" }),
    );
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    let page = visitor.page("/quotes");
    assert!(
        page.contains("<textarea") && !page.contains("passages"),
        "{page}"
    );
    let draft = "> The pilot costs 400 a day.%0A%0A> The pilot costs 350 a day.%0A%0A> <script>alert(1)</script> nobody ever wrote this";
    let fields = format!(
        "form_token={}&draft={}",
        visitor.token(),
        draft.replace(' ', "+")
    );
    let answer = visitor.post("/quotes", &fields);
    assert_eq!(answer.status, 200, "{answer:?}");
    let page = answer.body;
    assert!(
        page.contains("3 passages: 1 verified, 1 changed, 1 nowhere"),
        "{page}"
    );
    assert!(
        page.contains("<del>") && page.contains("until change 1"),
        "{page}"
    );
    assert!(
        page.contains("SHA-256") && !page.contains("<script>alert"),
        "{page}"
    );
    // A form without the token is refused, although it changes nothing.
    assert_eq!(visitor.post("/quotes", "draft=x").status, 403);
}

#[test]
fn a_hostile_note_is_text() {
    let hostile = "# <img src=x onerror=alert(1)>\n\n<script>alert(1)</script>\n\n<svg onload=alert(1)>\n\n\
        [a](javascript:alert(1)) [b](&#106;avascript:alert(1)) <iframe src=//evil.example></iframe>\n\n\
        ![p](https://evil.example/p.png)\n\n[[<b>x</b>]] `<script>`\n";
    let name = "\"><script>alert(1)<!--.md".replace('/', "");
    let desk = TestDesk::new(&[("x.md", hostile), (&name, "# A\n")]);
    let mut agent = desk.open();
    agent.json(
        "edit",
        json!({ "id": "x.md", "new": "<script>more()</script>", "place": "append" }),
    );
    let server = serve(&desk, "");
    let visitor = Visitor::enter(&server, &desk);
    for path in [
        "/documents",
        "/documents?id=x.md",
        "/changes",
        "/changes?id=%3Cscript%3E",
        "/documents?id=%3Cscript%3E",
    ] {
        let page = visitor.get(path).body;
        let scripts = page.matches("<script").count();
        let own = page
            .matches("<script src=\"/console.js\" defer></script>")
            .count();
        assert_eq!((scripts, own), (1, 1), "{path}: {page}");
        for bad in [
            "<img src=x",
            "<svg",
            "<iframe",
            "href=\"javascript",
            "src=\"http",
            "<!--",
        ] {
            assert!(!page.contains(bad), "{path}: {bad}: {page}");
        }
    }
}
