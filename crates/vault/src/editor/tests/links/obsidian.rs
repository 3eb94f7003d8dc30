//! Obsidian's additions to links: blocks, comments, aliases.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sectile_markdown::{Source, Value, aliases, name_key};

use super::*;
use crate::work;

fn check(bench: &Bench) -> Vec<String> {
    let check = bench.editor.check_links(None, CallHooks::none()).unwrap();
    assert_eq!(check.more, 0);
    broken(&check.broken)
}

fn set_aliases(path: &str, aliases: &[&str]) -> Operation {
    let list = aliases
        .iter()
        .map(|alias| Value::String((*alias).to_owned()));
    Operation::SetFrontMatter(SetFrontMatter {
        path: Some(note(path)),
        key: "aliases".to_owned(),
        value: (!aliases.is_empty()).then(|| Value::List(list.collect())),
        expected_hash: None,
    })
}

#[test]
fn a_link_to_a_block_that_is_not_there_is_broken() {
    let bench = Bench::new(&[
        (
            "a.md",
            "# A\n\nA claim. ^claim\n\n[[#^claim]] [[#^none]]\n\n```\ncode ^code\n```\n",
        ),
        (
            "b.md",
            "[[a#^claim]] ![[a#^CLAIM]] [x](a.md#^claim)\n[[a#^nope]] [y](a.md#^gone) [[a#^code]] [[a#A#^claim]]\n",
        ),
    ]);
    assert_eq!(
        check(&bench),
        [
            "a.md:5 #^none: no such block",
            "b.md:2 a#^nope: no such block",
            "b.md:2 a.md#^gone: no such block",
            "b.md:2 a#^code: no such block",
        ]
    );
}

#[test]
fn an_edit_that_takes_a_block_away_names_the_links_to_it() {
    let text = "# A\n\n## Keep\n\nText. ^kept\n\n## Go\n\nA claim. ^claim\n";
    let linking = "# B\n\n[[a#^claim]] ![[a#^claim]]\n\n[[a#^kept]]\n";
    let go = || by_heading("Go");
    let edit_text = Operation::EditText(EditText {
        path: Some(note("a.md")),
        section: None,
        old_text: " ^claim".to_owned(),
        new_text: String::new(),
        expected_count: 1,
        scope: Scope::Body,
        expected_hash: None,
    });
    for operation in [
        delete("a.md", go()),
        update("a.md", go(), "No claim."),
        edit_text,
    ] {
        let bench = Bench::new(&[("a.md", text), ("b.md", linking)]);
        let report = bench.write(operation).unwrap();
        let line = "b.md:3 a#^claim: no such block";
        assert_eq!(broken(&report.broken_links), [line, line]);
        assert_eq!(bench.text("b.md"), linking);
        let report = bench.undo("a.md").unwrap();
        assert_eq!(broken(&report.broken_links), [""; 0]);
    }
    // One that stays somewhere in the document is not lost.
    let bench = Bench::new(&[("a.md", text), ("b.md", linking)]);
    let report = bench
        .write(update("a.md", go(), "Other words. ^claim"))
        .unwrap();
    assert_eq!(broken(&report.broken_links), [""; 0]);
    let report = bench
        .write(relocate(by_id(&bench.id("a.md", "Go")), None, 1))
        .unwrap();
    assert_eq!(broken(&report.broken_links), [""; 0]);
    // A new link to a missing block is reported at once.
    let report = bench
        .write(update("b.md", by_heading("B"), "[[a#^kept]] [[a#^new]]"))
        .unwrap();
    assert_eq!(
        broken(&report.broken_links),
        ["b.md:3 a#^new: no such block"]
    );
}

#[test]
fn links_follow_a_block_into_another_document() {
    let bench = Bench::new(&[
        (
            "a.md",
            "# A\n\n## Stay\n\nText. ^stay\n\n## Go\n\nA claim. ^claim See [[#^stay]].\n\nMore. ^claim\n",
        ),
        ("b.md", "# B\n"),
        ("c.md", "[[a#^claim|x]] [y](a.md#^claim) [[a#^stay]]\n"),
    ]);
    let go = bench.id("a.md", "Go");
    let report = bench.write(relocate(by_id(&go), Some("b.md"), 1)).unwrap();
    assert_eq!(broken(&report.broken_links), [""; 0]);
    assert_eq!(
        bench.text("c.md"),
        "[[b#^claim|x]] [y](b.md#^claim) [[a#^stay]]\n"
    );
    assert!(
        bench.text("b.md").contains("See [[a#^stay]]."),
        "{}",
        bench.text("b.md")
    );
    assert_eq!(check(&bench), [""; 0]);
    bench.undo("a.md").unwrap();
    assert_eq!(
        bench.text("c.md"),
        "[[a#^claim|x]] [y](a.md#^claim) [[a#^stay]]\n"
    );
}

#[test]
fn a_block_that_is_deleted_here_and_written_there_takes_no_link_along() {
    let linking = "# C\n\n[[a#^claim]]\n";
    let bench = Bench::new(&[
        ("a.md", "# A\n\n## Go\n\nA claim. ^claim\n"),
        ("b.md", "# B\n"),
        ("c.md", linking),
    ]);
    let operations = vec![
        delete("a.md", by_heading("Go")),
        update("b.md", by_heading("B"), "Another claim. ^claim"),
    ];
    let report = write(&bench.editor, operations).unwrap();
    assert_eq!(
        broken(&report.broken_links),
        ["c.md:3 a#^claim: no such block"]
    );
    assert_eq!(bench.text("c.md"), linking);
}

#[test]
fn links_in_comments_are_neither_reported_nor_repaired() {
    let text = "# B\n\n%%[[none]] [[a#Old]]%% [[a#Old]]\n\n%%\n\n[[a#Old]]\n\n[[none]]\n\n%%\n\n[[a#Old]]\n";
    let bench = Bench::new(&[("a.md", "# A\n\n## Old\n"), ("b.md", text)]);
    assert_eq!(check(&bench), [""; 0]);
    let report = bench
        .write(rename("a.md", by_heading("Old"), "New"))
        .unwrap();
    assert_eq!(
        (report.repaired_links, broken(&report.broken_links)),
        (2, vec![])
    );
    assert_eq!(
        bench.text("b.md"),
        "# B\n\n%%[[none]] [[a#Old]]%% [[a#New]]\n\n%%\n\n[[a#Old]]\n\n[[none]]\n\n%%\n\n[[a#New]]\n"
    );
    let report = bench
        .write(update("b.md", by_heading("B"), "%%[[none]]%% [[nothing]]"))
        .unwrap();
    assert_eq!(
        broken(&report.broken_links),
        ["b.md:3 nothing: no such document"]
    );
}

#[test]
fn aliases_of_the_front_matter_are_names_of_a_document() {
    let bench = Bench::new(&[
        (
            "notes/long name.md",
            "---\naliases: [Short, \"Zwei Wörter\"]\n---\n# L\n\n## H\n",
        ),
        ("one.md", "---\nalias: Both\n---\n"),
        ("two.md", "---\naliases: Both, One\n---\n"),
        (
            "b.md",
            "[[Short]] [[short#H]] ![[ZWEI WO\u{308}RTER|x]]\n[[Short#None]] [x](Short) [[Both]] [[One]] [[Nobody]]\n",
        ),
    ]);
    assert_eq!(
        check(&bench),
        [
            // Only wiki links have such names.
            "b.md:2 Short: no such document",
            "b.md:2 Both: several documents have this alias",
            "b.md:2 Nobody: no such document",
            "b.md:2 Short#None: no such heading",
        ]
    );
    // `[[One]]` is the file of that name, not the alias: its heading is looked for there.
    let report = bench
        .write(with_section("b.md", "[[One#L]] [[Short#H]]\n"))
        .unwrap();
    assert_eq!(
        broken(&report.broken_links),
        ["b.md:6 One#L: no such heading"]
    );
}

/// A new section with this text.
fn with_section(path: &str, text: &str) -> Operation {
    Operation::Insert(InsertSection {
        path: Some(note(path)),
        heading: "New".to_owned(),
        content: text.to_owned(),
        at: Placement::Position(0),
        level: None,
        headings: PayloadHeadings::Inside,
        label: None,
    })
}

#[test]
fn a_renamed_document_keeps_links_by_alias_as_they_are() {
    let linking = "[[Short]] [[long]] [[short#Old|x]]\n";
    let bench = Bench::new(&[
        ("long.md", "---\naliases: [Short]\n---\n# L\n\n## Old\n"),
        ("b.md", linking),
    ]);
    let report = bench
        .write(rename_document("long.md", "sub/longer.md"))
        .unwrap();
    assert_eq!(
        (report.repaired_links, broken(&report.broken_links)),
        (1, vec![])
    );
    assert_eq!(bench.text("b.md"), "[[Short]] [[longer]] [[short#Old|x]]\n");
    let report = bench
        .write(rename("sub/longer.md", by_heading("Old"), "New"))
        .unwrap();
    assert_eq!(
        (report.repaired_links, broken(&report.broken_links)),
        (1, vec![])
    );
    assert_eq!(bench.text("b.md"), "[[Short]] [[longer]] [[short#New|x]]\n");
    // A file that takes the name takes the links, which are then made to lead where they led.
    let bench = Bench::new(&[
        ("long.md", "---\naliases: [Short]\n---\n"),
        ("other.md", "# O\n"),
        ("b.md", "[[Short]]\n"),
    ]);
    let report = bench
        .write(rename_document("other.md", "short.md"))
        .unwrap();
    assert_eq!(
        (report.repaired_links, broken(&report.broken_links)),
        (1, vec![])
    );
    assert_eq!(bench.text("b.md"), "[[long]]\n");
}

#[test]
fn an_alias_that_goes_breaks_its_links_and_says_so() {
    let documents = [
        ("a.md", "---\naliases: [Short]\n---\n# A\n"),
        ("c.md", "# C\n"),
        ("b.md", "[[Short]]\n"),
    ];
    let gone = ["b.md:1 Short: no such document"];
    let bench = Bench::new(&documents);
    let report = bench.write(set_aliases("a.md", &["Other"])).unwrap();
    assert_eq!(broken(&report.broken_links), gone);
    bench.undo("a.md").unwrap();
    let report = bench.write(set_aliases("c.md", &["short"])).unwrap();
    assert_eq!(
        broken(&report.broken_links),
        ["b.md:1 Short: several documents have this alias"]
    );
    bench.undo("c.md").unwrap();
    let path = note("a.md");
    let operation = Operation::DeleteDocument(DeleteDocument {
        path,
        expected_hash: None,
    });
    let report = bench.write(operation).unwrap();
    assert_eq!(broken(&report.broken_links), gone);
}

#[test]
fn aliases_are_found_behind_long_front_matter_and_read_once() {
    const DOCUMENTS: usize = 64;
    let long = format!("---\nnote: {}\naliases: [Far]\n---\n", "x".repeat(20_000));
    let bench = Bench::new(&[("far.md", &long), ("b.md", "[[far]] [[Far]]\n")]);
    assert_eq!(check(&bench), [""; 0]);

    let names: Vec<String> = (0..DOCUMENTS)
        .map(|number| format!("n{number}.md"))
        .collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x\n")).collect();
    let bench = Bench::new(&many);
    let steps = |links: usize| {
        let text: String = (0..links)
            .map(|number| format!("[[no{number}]] "))
            .collect();
        fs::write(bench.path("b.md"), text).unwrap();
        work::steps_of(|| bench.editor.check_links(None, CallHooks::none()).unwrap())
    };
    let (few, more) = (steps(10), steps(1000));
    assert!(more - few <= 2 * 990, "{few} steps, then {more}");
}

const PATHS: [&str; 4] = ["a.md", "b.md", "sub/c.md", "sub/d.md"];
const ALIASES: [&str; 4] = ["Ann", "Bob", "c", "Dee Dee"];
const BLOCKS: [&str; 3] = ["x", "y-1", "Z"];
const SPELLINGS: [&str; 6] = [
    "[[ALIAS]]",
    "[[ALIAS|shown]]",
    "[[NAME#^BLOCK]]",
    "![[ALIAS#^BLOCK]]",
    "%%[[ALIAS]] [[NAME#^BLOCK]]%%",
    "[[#^BLOCK]]",
];

/// A document: its aliases, its blocks, and its links by spelling, alias, name and block.
type Note = (Vec<usize>, Vec<usize>, Vec<(usize, usize, usize, usize)>);

fn any_note() -> impl Strategy<Value = Note> {
    use proptest::collection::vec;
    let link = (
        0..SPELLINGS.len(),
        0..ALIASES.len(),
        0..PATHS.len(),
        0..BLOCKS.len(),
    );
    (
        vec(0..ALIASES.len(), 0..2),
        vec(0..BLOCKS.len(), 0..3),
        vec(link, 0..5),
    )
}

fn name(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap();
    file.strip_suffix(".md").unwrap()
}

fn text_of((aliases, blocks, links): &Note) -> String {
    let mut text = String::from("---\naliases:\n");
    for alias in aliases {
        text += &format!("  - {}\n", ALIASES[*alias]);
    }
    text += "---\n# Links\n";
    for (spelling, alias, path, block) in links {
        let link = SPELLINGS[*spelling]
            .replace("ALIAS", ALIASES[*alias])
            .replace("NAME", name(PATHS[*path]))
            .replace("BLOCK", BLOCKS[*block]);
        text += &format!("\n{link}\n");
    }
    text += "\n# Blocks\n";
    for block in blocks {
        text += &format!("\nA block. ^{}\n", BLOCKS[*block]);
    }
    text
}

/// The links of a line and the target of each, computed from the text alone: `None` for nowhere, or several.
fn leads(texts: &BTreeMap<String, String>, path: &str, target: &str) -> Option<String> {
    let (named, block) = match target.split_once("#^") {
        Some((named, block)) => (named, Some(block)),
        None => (target, None),
    };
    let all = |fits: &dyn Fn(&str, &str) -> bool| -> Vec<&String> {
        let found = texts.iter().filter(|(path, text)| fits(path, text));
        found.map(|(path, _)| path).collect()
    };
    let has_alias = |_: &str, text: &str| {
        let own = aliases(&Source::new(text.as_bytes()));
        own.iter().any(|alias| name_key(alias) == name_key(named))
    };
    let has_name = |path: &str, _: &str| name_key(name(path)) == name_key(named);
    let to = match (named, all(&has_name).as_slice(), all(&has_alias).as_slice()) {
        ("", ..) => path.to_owned(),
        (_, [only], _) | (_, [], [only]) => (*only).clone(),
        _ => return None,
    };
    let has_block = |block: &str| {
        let mut lines = texts[&to].lines();
        lines.any(|line| {
            line.to_lowercase()
                .ends_with(&format!(" ^{}", block.to_lowercase()))
        })
    };
    block.is_none_or(has_block).then_some(to)
}

/// Every link outside of comments, by document and in order.
fn targets(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with("%%"));
    let links = lines.filter_map(|line| line.split_once("[[")?.1.split_once("]]"));
    let target = |link: &str| link.split('|').next().unwrap_or_default().to_owned();
    links.map(|(link, _)| target(link)).collect()
}

fn on_disk(bench: &Bench) -> BTreeMap<String, String> {
    let all = texts(bench).into_iter();
    all.map(|(path, bytes)| (path, String::from_utf8(bytes).unwrap()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// A check reports exactly the links that lead nowhere.
    #[test]
    fn broken_links_to_blocks_and_aliases_are_all_reported(notes in proptest::collection::vec(any_note(), PATHS.len())) {
        let written: Vec<String> = notes.iter().map(text_of).collect();
        let documents: Vec<(&str, &str)> = PATHS.into_iter().zip(written.iter().map(String::as_str)).collect();
        let bench = Bench::new(&documents);
        let texts = on_disk(&bench);
        let expected: Vec<(String, String)> = texts.iter().flat_map(|(path, text)| {
            let broken = targets(text).into_iter().filter(|target| leads(&texts, path, target).is_none());
            broken.map(|target| (path.clone(), target)).collect::<Vec<_>>()
        }).collect();
        let check = bench.editor.check_links(None, CallHooks::none()).unwrap();
        let found: Vec<(String, String)> = check.broken.into_iter().map(|link| (link.path, link.target)).collect();
        prop_assert_eq!(found, expected, "{:#?}", texts);
    }

    /// After any change a link leads where it led, or the answer says that it does not. A link that still leads there
    /// by its alias is not touched.
    #[test]
    fn links_by_alias_and_to_blocks_lead_where_they_led_or_are_told(
        notes in proptest::collection::vec(any_note(), PATHS.len()),
        which in 0..PATHS.len(),
        change in 0..4_usize,
        alias in 0..ALIASES.len(),
    ) {
        let written: Vec<String> = notes.iter().map(text_of).collect();
        let documents: Vec<(&str, &str)> = PATHS.into_iter().zip(written.iter().map(String::as_str)).collect();
        let bench = Bench::new(&documents);
        let before = on_disk(&bench);
        let path = PATHS[which];
        let (operation, now) = match change {
            0 => (rename_document(path, "sub/new.md"), "sub/new.md"),
            1 => (delete(path, by_heading("Blocks")), path),
            2 => (set_aliases(path, &[ALIASES[alias]]), path),
            _ => (rename_document(path, "sub/bob.md"), "sub/bob.md"),
        };
        let report = bench.write(operation).unwrap();
        let after = on_disk(&bench);
        let moved = |at: &str| if at == path { now.to_owned() } else { at.to_owned() };
        let mut told: Vec<(String, String)> = report.broken_links.iter().map(|link| (link.path.clone(), link.target.clone())).collect();
        for (at, text) in &before {
            let here = moved(at);
            let (was, is) = (targets(text), targets(&after[&here]));
            prop_assert_eq!(was.len(), is.len());
            for (old, new) in was.iter().zip(&is) {
                let led = leads(&before, at, old).map(|to| moved(&to));
                let lead = leads(&after, &here, new);
                if led.is_some() && led == leads(&after, &here, old) {
                    prop_assert_eq!(old, new, "a link that needs nothing is not touched");
                } else if led.is_some() && led != lead {
                    let at = told.iter().position(|link| *link == (here.clone(), new.clone()));
                    prop_assert!(at.is_some(), "{} in {}: {:?}, {:?}, {:#?}", new, here, led, lead, report.broken_links);
                    told.remove(at.unwrap());
                }
            }
        }
        // Any other link reported as broken is broken, and was: a block of an unchanged document is not looked up
        // again.
        for (at, target) in told {
            prop_assert_eq!(leads(&after, &at, &target), None, "{} in {}", target, at);
        }
        if report.entry.is_some() {
            bench.undo(now).unwrap();
        }
        prop_assert_eq!(on_disk(&bench), before);
    }
}

/// An index that says what it is told to say.
struct Told {
    aliased: Option<Vec<NotePath>>,
    linking: Option<Vec<NotePath>>,
}

impl NameSource for Told {
    fn documents_with_alias(&self, _: &str, _: &[NotePath]) -> Option<Vec<NotePath>> {
        self.aliased.clone()
    }

    fn documents_with_links(&self, names: &[String], all: &[NotePath]) -> Option<Vec<NotePath>> {
        assert_eq!(names, ["c", "c.md", "z", "z.md"]);
        assert_eq!(all, ["a.md", "b.md", "c.md", "d.md"].map(note));
        self.linking.clone()
    }
}

#[test]
fn an_index_says_where_to_look_and_its_word_is_checked() {
    let aliased = "---\naliases: [Winter]\n---\n# A\n";
    let documents = [
        ("a.md", aliased),
        ("b.md", "# B\n\n[c](c.md)\n"),
        ("c.md", "# C\n"),
        ("d.md", "# D\n\n[c](c.md)\n"),
    ];
    let written = |aliased: Option<&[&str]>, linking: Option<&[&str]>| {
        let notes = |paths: &[&str]| paths.iter().map(|path| note(path)).collect();
        let told = Told {
            aliased: aliased.map(notes),
            linking: linking.map(notes),
        };
        let bench = Bench::new(&documents);
        let hooks = CallHooks {
            names: Some(&told),
            ..CallHooks::none()
        };
        let new = update("d.md", by_heading("D"), "[[winter]] [c](c.md)");
        let broken = bench.editor.write(&request(vec![new]), hooks).unwrap();
        let rename = request(vec![rename_document("c.md", "z.md")]);
        let repaired = bench.editor.write(&rename, hooks).unwrap();
        (broken.broken_links.len(), repaired.repaired_links)
    };
    assert_eq!(written(None, None), (0, 2));
    let aliased = ["a.md", "b.md", "gone.md"];
    assert_eq!(
        written(Some(&aliased), Some(&["b.md", "d.md", "gone.md"])),
        (0, 2)
    );
    // What it does not name is not read, and what it names wrongly does not count.
    assert_eq!(written(Some(&["b.md"]), Some(&["d.md"])), (1, 1));
}
