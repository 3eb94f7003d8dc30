//! `sectile docs index`: the better model is ready before a server starts.

use serde_json::{Value, json};

use super::{
    Desk, Ran,
    library::{Client, SEARCH, text},
};
use crate::fixture::{Era, TestVault, sectile};

const PAGES: [(&str, &str); 2] = [
    (
        "guide/cars.md",
        "# Cars\n\nAll about cars.\n\n## Repair\n\nReplace the engine of an automobile.\n",
    ),
    ("guide/cake.md", "# Cake\n\nFlour, sugar and apples.\n"),
];
const STATIC: &str =
    "[docs]\ninclude_default_docs = false\nextra_paths = ['guide']\nranking = 'static'\n";

fn json_of(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("no JSON: {ran:?}"))
}

fn search(desk: &Desk, source: &[&str]) -> String {
    let ran = desk.run(&[&["docs", "search", "fix a car", "--json"], source].concat());
    json_of(&ran);
    ran.stdout
}

fn ranking(answer: &str) -> String {
    let answer: Value = serde_json::from_str(answer).unwrap();
    text(&answer["receipt"]["ranking"])
}

#[test]
fn after_it_the_better_model_answers() {
    let desk = Desk::new(&PAGES);
    desk.write("static.toml", STATIC.as_bytes());
    let (whole, fixed) = (["--path", "guide"], ["--config", "static.toml"]);
    let index = |source: &[&str]| desk.run(&[&["docs", "index", "--json"], source].concat());
    let before = search(&desk, &whole);
    assert!(ranking(&before).contains("+static-"), "{before}");

    // What the settings do not want is not made.
    let row = &json_of(&index(&fixed))[0];
    assert_eq!(
        (&row["pages"], &row["transformer"]),
        (&json!(2), &json!(null))
    );
    let by_static = search(&desk, &fixed);
    assert!(ranking(&search(&desk, &whole)).contains("+static-"));

    let row = &json_of(&index(&whole))[0]["transformer"];
    assert_eq!(
        (&row["embedded"], &row["complete"]),
        (&json!(3), &json!(true))
    );
    let after = search(&desk, &whole);
    assert!(ranking(&after).contains("+transformer-"), "{after}");
    assert_eq!(search(&desk, &whole), after);
    assert_eq!(search(&desk, &fixed), by_static);
    assert!(ranking(&by_static).contains("+static-"), "{by_static}");

    // A server answers with the same bytes, from its first call on.
    let vault = TestVault::empty();
    let mut command = sectile();
    command
        .args(["serve", "docs", "guide"])
        .env("XDG_CACHE_HOME", desk.cache.path())
        .current_dir(desk.path(""));
    let mut client = Client::new(&vault, command, Era::Stateless);
    let call = json!({ "name": SEARCH, "arguments": { "query": "fix a car" } });
    let answer: Value = serde_json::from_str(&client.bytes("tools/call", call)).unwrap();
    let printed: Value = serde_json::from_str(&after).unwrap();
    assert_eq!(answer["result"]["structuredContent"], printed);
}

#[test]
fn only_what_is_new_is_embedded() {
    let desk = Desk::new(&PAGES[1..]);
    let index = || desk.run(&["docs", "index", "--path", "guide"]);
    let first = index();
    assert_eq!(first.code, Some(0), "{first:?}");
    assert_eq!(
        first.stdout,
        "guide  1 page  1 section, transformer tier complete: 1 embedded now\n"
    );
    let again = index();
    assert_eq!(
        again.stdout,
        "guide  1 page  1 section, nothing to do: the transformer tier is complete\n"
    );
    desk.write("guide/new.md", b"# New\n\nA page more.\n");
    let more = index();
    assert_eq!(
        more.stdout,
        "guide  2 pages  2 sections, transformer tier complete: 1 embedded now\n"
    );
    assert_eq!(more.stderr, "");
}

#[test]
fn what_cannot_be_indexed_ahead_is_said() {
    let desk = Desk::new(&PAGES[1..]);
    let manual = desk.run(&["docs", "index"]);
    assert_eq!((manual.code, manual.stdout.as_str()), (Some(0), ""));
    assert!(manual.stderr.starts_with("nothing to do"), "{manual:?}");
    desk.write("static.toml", STATIC.as_bytes());
    let fixed = desk.run(&["docs", "index", "--config", "static.toml"]);
    assert_eq!(fixed.stdout, "guide  1 page\n", "{fixed:?}");
    assert!(fixed.stderr.contains("`docs.ranking`"), "{fixed:?}");
    let both = "[docs]\nextra_paths = ['guide']\nranking = 'meaning'\n";
    desk.write("both.toml", both.as_bytes());
    let both = desk.run(&["docs", "index", "--config", "both.toml"]);
    assert_eq!(both.code, Some(0), "{both:?}");
    assert!(both.stderr.contains("include_default_docs"), "{both:?}");
    let missing = desk.run(&["docs", "index", "--path", "nowhere"]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(
        missing.stderr.contains("`nowhere` does not exist"),
        "{missing:?}"
    );
}
