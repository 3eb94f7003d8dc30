//! Tests of the properties of notes.

use proptest::prelude::*;

use super::*;
use crate::{AnchorNames, chunks, examine, links, testing::cases};

fn read(text: &str) -> Properties {
    properties(&Source::new(text.as_bytes()))
}

fn tags(text: &str) -> Vec<String> {
    read(text).tags
}

fn shown_fields(text: &str) -> Vec<String> {
    let fields = read(text).fields.into_iter();
    let shown = fields.map(|field| format!("{}={}", field.name, field.values.join("|")));
    shown.collect()
}

/// Returns the line of each task, with `!` before those that are done.
fn tasks(text: &str) -> Vec<String> {
    let tasks = read(text).tasks.into_iter();
    tasks
        .map(|task| {
            let done = if task.is_done { "!" } else { "" };
            format!("{done}{}", &text[task.span.range()])
        })
        .collect()
}

#[test]
fn fields_are_those_of_the_front_matter() {
    let text = "---\ntitle: Winter feed\nversion: 1.10\nid: 007\ndate: 2026-01-05\ndone: true\nlist: [a, 2, [b]]\nempty:\nnone: []\nauthor:\n  name: Ada\n  at: {place: \"York, UK\"}\nparts:\n  - kind: x\n  - kind: y\nup: [[Barn]]\n---\ntext\n";
    assert_eq!(
        shown_fields(text),
        [
            "title=Winter feed",
            "version=1.10",
            "id=007",
            "date=2026-01-05",
            "done=true",
            "list=a|2|b",
            "empty=",
            "none=",
            "author.name=Ada",
            "author.at.place=York, UK",
            "parts.kind=x|y",
            "up=Barn",
        ]
    );
    assert_eq!(shown_fields("---\na: [\n---\n"), [""; 0]);
    assert_eq!(shown_fields("---\n- a\n---\n"), [""; 0]);
    assert_eq!(shown_fields("a: b\n"), [""; 0]);
}

#[test]
fn tags_are_declared_or_written_in_the_text() {
    for (text, expected) in [
        (
            "---\ntags: [a, '#b', c/d, 2026, two words]\n---\n",
            &["a", "b", "c/d", "2026", "two words"][..],
        ),
        (
            "---\nTags: a, b c,,d\n---\n#A #e",
            &["a", "b", "c", "d", "e"],
        ),
        ("---\ntag: one\n---\n", &["one"]),
        (
            "#start and #mid-dle, #a/b/ (#c) *#d* **#e_f** \"#g\".",
            &["start", "mid-dle", "a/b", "c", "d", "e_f", "g"],
        ),
        (
            "#snake_case_ and #x1 and #2026-01 and #été and #标签，#もう #🚀",
            &["snake_case_", "x1", "2026-01", "été", "标签", "もう", "🚀"],
        ),
        (
            "# Heading #in-it\n\n## #two ##\n\nOther #three\n===\n",
            &["in-it", "two", "three"],
        ),
        (
            "- #item\n- [ ] #task\n\n> #quoted\n>#tight\n\n| a | #cell |\n|#narrow|",
            &["item", "task", "quoted", "tight", "cell", "narrow"],
        ),
        ("[^1]: #note\n\n[^2]: more #words here", &["note", "words"]),
        ("#Work #work #WORK #other", &["Work", "other"]),
    ] {
        assert_eq!(tags(text), expected, "{text}");
    }
}

#[test]
fn what_only_looks_like_a_tag_is_not_one() {
    for text in [
        "a#b x/#c https://x.y/#d http://x.y/?z=#e &#35;f &#102; \\#g #12 # h ##i #, #/j #- #__",
        "`#a` ``#b ` #c`` and `x\n#d`",
        "```\n#a\n```\n\n    #b\n\n~~~ #c\n#d\n~~~\n",
        "%%#a%%\n\n%%\n#b\n\n#c\n%%\n",
        "<!-- #a -->\n\nx <!-- #b --> <i title=\"#c\">\n\n<div>\n#d\n</div>\n",
        "[#a](#b) ![#c](x#d \"#e\") <https://x #f> [[#g]] [[x#h|#i]] ![[y#j| #k ]] [ #l ][r]\n\n[r]: #m\n[#n]: o",
    ] {
        let found = tags(text);
        // `<https://x #f>` is not an address to CommonMark, because of the space.
        let found: Vec<String> = found.into_iter().filter(|tag| tag != "f").collect();
        assert_eq!(found, [""; 0], "{text}");
    }
}

#[test]
fn tasks_are_items_with_a_box() {
    for (text, expected) in [
        (" - [ ] ", &["- [ ] "][..]),
        (
            "- [ ] a\n- [x] b\n* [X] c  \n+ [-] d\n1. [/] e\n2) [ ]\n",
            &[
                "- [ ] a",
                "!- [x] b",
                "!* [X] c  ",
                "!+ [-] d",
                "1. [/] e",
                "2) [ ]",
            ][..],
        ),
        (
            "- [ ] a\n\n  more\n- [x]\tb\r\n  - [ ] c\n    over lines\n",
            &["- [ ] a", "!- [x]\tb", "- [ ] c"],
        ),
        (
            "> - [ ] quoted\n>   more\n\n1. - [ ] nested\n",
            &["- [ ] quoted", "- [ ] nested"],
        ),
        ("- [x] linked\n\n[x]: y.md\n", &["!- [x] linked"]),
        ("- [ ] [[Note#^b|c]] `d`\n", &["- [ ] [[Note#^b|c]] `d`"]),
        (
            "[ ] a\n\n- [] b\n- [ ]c\n- [x](d)\n- [xx] e\n- [1] f\n- [a] g\n- \\[ ] h\n- `[ ]` i\n- # [ ] j\n- *[ ] k*\n",
            &[],
        ),
        (
            "```\n- [ ] a\n```\n\n    - [ ] b\n\n-     [ ] c\n\n<!--\n- [ ] d\n-->\n\n%%\n- [ ] e\n%%\n",
            &[],
        ),
    ] {
        assert_eq!(tasks(text), expected, "{text}");
    }
}

#[test]
fn aliases_are_those_of_links() {
    let text = "---\naliases: [Feed, 007, 2026-01-05]\n---\n";
    let expected = crate::aliases(&Source::new(text.as_bytes()));
    assert_eq!(expected, ["Feed", "007", "2026-01-05"]);
    assert_eq!(read(text).aliases, expected);
    let many: Vec<String> = (0..100_000).map(|alias| format!("a{alias}")).collect();
    let many = read(&format!("---\naliases: \"{}\"\n---\n", many.join(",")));
    assert_eq!(many.aliases.len(), MAX_ALIASES);
    assert_eq!(many.aliases[255], "a255");
    let long = "x".repeat(MAX_VALUE_CHARS + 1);
    let long = read(&format!("---\naliases: [{long}, ok]\n---\n"));
    assert_eq!(long.aliases, ["ok"]);
}

#[test]
fn numbers_and_lengths_are_bounded() {
    let keys =
        |number: usize| -> String { (0..number).map(|key| format!("k{key}: v\n")).collect() };
    assert_eq!(
        read(&format!("---\n{}---\n", keys(1_000))).fields.len(),
        MAX_FIELDS
    );
    // More than YAML may have: the block is not read at all.
    assert_eq!(read(&format!("---\n{}---\n", keys(100_000))).fields, []);
    let items = "- v\n".repeat(1_000);
    assert_eq!(
        read(&format!("---\na:\n{items}---\n")).fields[0]
            .values
            .len(),
        MAX_FIELD_VALUES
    );
    let long = "é".repeat(1_000);
    let found = read(&format!(
        "---\nok: {long}\n{long}: no\na: {{{long}: no}}\ntags: [{long}]\n---\n#{long} #ok\n"
    ));
    let [ok, tags] = found.fields.as_slice() else {
        panic!("two fields: {:?}", found.fields);
    };
    assert_eq!(ok.values, ["é".repeat(MAX_VALUE_CHARS)]);
    assert_eq!(tags.name, "tags");
    assert_eq!(found.tags, ["ok"]);
    let tag = "x".repeat(1 << 20);
    assert_eq!(
        tags_of_words(&format!(
            "#{tag} #{}y #{}",
            tag.replace('x', "x_"),
            "z".repeat(MAX_NAME_CHARS)
        )),
        1
    );
    let many: String = (0..1_000)
        .map(|tag| format!("#t{tag}\n- [ ] x\n"))
        .collect();
    let found = read(&many);
    assert_eq!((found.tags.len(), found.tasks.len()), (MAX_TAGS, 1_000));
    assert_eq!(
        read(&"- [ ]\n".repeat(MAX_TASKS + 1)).tasks.len(),
        MAX_TASKS
    );
}

fn tags_of_words(text: &str) -> usize {
    tags(text).len()
}

#[test]
fn an_alias_cannot_repeat_a_long_value_at_will() {
    let long = "x".repeat(1 << 16);
    let text = format!("---\na: &a {long}\nb: [{}]\n---\n", "*a, ".repeat(50_000));
    assert_eq!(read(&text).fields, []);
    let text = format!("---\na: &a {long}\nb: [{}]\n---\n", "*a, ".repeat(50));
    assert_eq!(read(&text).fields[1].values.len(), 50);
}

#[test]
fn one_pass_finds_what_the_single_functions_find() {
    let text = "---\ntags: a\nup: \"[[x]]\"\nalias: y\n---\n# T #b\n\n- [ ] [c](d.md#e) ^f\n- %% #g [[h]] %%\n\n[r]: s.md\n";
    same_facts(text.as_bytes()).unwrap();
    let facts = examine(&Source::new(text.as_bytes()), 100);
    assert_eq!(facts.properties.tags, ["a", "b"]);
    let blocks = facts.anchors.blocks.iter();
    let blocks: Vec<&str> = blocks.map(|block| &text[block.start..]).collect();
    assert_eq!(facts.links.len(), 3);
    assert!(matches!(blocks.as_slice(), [one] if one.starts_with(" ^f\n")));
}

#[test]
fn definitions_know_their_uses() {
    let text = "A [first][Ref  one] and [ref one][] and [Ref One].\n\n%% [ref one] %%\n\n[other]\n\n\
                [ref one]: x.md\n[other]: https://x.y\n[unused]: y.md\n";
    let facts = examine(&Source::new(text.as_bytes()), 100);
    let found = facts.links.iter();
    let found: Vec<(&str, Vec<&str>)> = found
        .map(|link| {
            let uses = link.uses.iter().map(|span| &text[span.range()]);
            (link.path.text.as_str(), uses.collect())
        })
        .collect();
    let uses = vec!["[first][Ref  one]", "[ref one][]", "[Ref One]"];
    assert_eq!(found, [("x.md", uses), ("y.md", vec![])]);
}

/// Compares what [`examine`] finds with what each function finds by itself.
fn same_facts(bytes: &[u8]) -> Result<(), TestCaseError> {
    let source = Source::new(bytes);
    let facts = examine(&source, 40);
    let cut = chunks(&source, 40);
    prop_assert_eq!(facts.chunks.document, cut.document);
    prop_assert_eq!(facts.chunks.chunks, cut.chunks);
    let found = facts.links;
    let is_inside = |link: &crate::Link| link.uses.iter().all(|span| span.end <= bytes.len());
    prop_assert!(found.iter().all(is_inside));
    prop_assert_eq!(found, links(&source));
    prop_assert_eq!(
        facts.anchors.headings.len(),
        source.parse().sections().len()
    );
    prop_assert_eq!(facts.anchors, AnchorNames::new(&source));
    prop_assert_eq!(&facts.properties.aliases, &crate::aliases(&source));
    prop_assert_eq!(facts.properties, properties(&source));
    Ok(())
}

/// Generates the pieces of Markdown that properties are made of, with any characters between them.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            "#",
            "#a",
            "#b/c",
            "_",
            "*",
            "-",
            "- ",
            "1. ",
            "[ ] ",
            "[x]",
            "[[",
            "]]",
            "](",
            ")",
            "|",
            "%%",
            "`",
            "```\n",
            "~~~\n",
            "\n",
            "\r\n",
            "\r",
            "\n\n",
            "    ",
            "> ",
            "# ",
            "<!--",
            "-->",
            "<b>",
            "\\",
            "&#35;",
            "[r]: ",
            "[^1]: ",
            "\0",
            "é",
            "---\n",
            "tags: ",
            "aliases: [",
            "]",
            "a:\n",
            "  b: ",
            "&x ",
            "*x",
            "---\ntags: [a]\n---\n",
            ", ",
            " ",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
        "[a-c ]{0,3}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(512)))]

    #[test]
    fn any_bytes_have_properties_within_bounds(
        bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..120),
            markdown().prop_map(String::into_bytes),
        ],
    ) {
        same_facts(&bytes)?;
        let found = properties(&Source::new(&bytes));
        for task in &found.tasks {
            let line = task.span.slice(&bytes);
            prop_assert_eq!(line.len(), task.span.len());
            prop_assert!(!line.contains(&b'\n') && !line.contains(&b'\r'), "{:?}", line);
            let text = String::from_utf8_lossy(&bytes);
            if text.len() == bytes.len() && !bytes.contains(&0) {
                prop_assert!(text.is_char_boundary(task.span.start) && text.is_char_boundary(task.span.end));
                let words = text[task.span.range()].split_once('[').map(|(marker, _)| marker);
                prop_assert!(words.is_some_and(|marker| marker.starts_with(|c: char| "-*+".contains(c) || c.is_ascii_digit())));
            }
        }
        for tag in &found.tags {
            prop_assert!(!tag.is_empty() && !tag.starts_with('#') && tag.chars().count() <= MAX_NAME_CHARS);
        }
        for (index, tag) in found.tags.iter().enumerate() {
            prop_assert!(found.tags[..index].iter().all(|other| other.to_lowercase() != tag.to_lowercase()));
        }
    }

    #[test]
    fn a_tag_or_task_in_code_is_never_found(before in "([a-z#\\-> ]{0,8}\n){0,4}", inside in markdown(), after in markdown()) {
        // Neither a fence nor a line end that the fence would not see.
        let inside = inside.replace(['`', '\r'], "");
        let code = format!("#hidden\n- [ ] hidden\n{inside} #hidden");
        // A first line of three dashes would start front matter, which may end inside of the code.
        let fenced = format!("\n{before}\n\n\n````\n{code}\n````\n\n{after}");
        prop_assert!(!tags(&fenced).iter().any(|tag| tag == "hidden"), "{}", fenced);
        prop_assert!(!tasks(&fenced).iter().any(|task| task.contains("hidden")), "{}", fenced);
        let words = inside.replace('\n', " ").replace(['<', '[', '\\', '&', '%', '\0'], "");
        let span = format!("x ```{words} #hidden``` y");
        prop_assert!(!tags(&span).iter().any(|tag| tag == "hidden"), "{}", span);
    }
}
