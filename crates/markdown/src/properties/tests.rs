//! Tests of the properties of notes.

use super::*;

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
}
