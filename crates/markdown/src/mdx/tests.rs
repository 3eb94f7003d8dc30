//! Tests of what is prose and what is a program in MDX.

use proptest::prelude::*;

use super::*;
use crate::{AnchorStyle, PageFormat, PageSyntax, Passages, Source, passages};

fn read(page: &str) -> Passages {
    let format = PageFormat {
        syntax: PageSyntax::Mdx,
        anchors: AnchorStyle::Docusaurus,
    };
    passages(&Source::new(page.as_bytes()), 6, format)
}

/// The words before the first heading and after each, and the headings between them.
fn shown(page: &str) -> String {
    let Passages {
        document,
        anchors,
        texts,
    } = read(page);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown = words(&texts[0]);
    for (index, section) in document.sections().iter().enumerate() {
        let text = texts.get(index + 1).map(String::as_str).unwrap_or_default();
        shown += &format!(" [{}#{}] {}", section.text, anchors[index], words(text));
    }
    shown.trim().to_owned()
}

#[test]
fn prose_stays_and_programs_go() {
    for (page, expected) in [
        // Statements.
        ("import A from 'a'\nimport B from 'b'\n\nText.\n", "Text."),
        ("export const a = 1;\n\n# Title\n", "[Title#title]"),
        (
            "export const f = () => {\n\n  return '# x'\n}\n\n## After\n",
            "[After#after]",
        ),
        ("export const broken = /[{]/\n\nText\n", "Text"),
        (
            "Prose about an\nimport of goods.\n",
            "Prose about an import of goods.",
        ),
        ("- import a\n\n    export b\n", "import a export b"),
        // Tags.
        (
            "<Tabs>\n<TabItem value=\"a\" label={'x > y'}>\n\n## In a tab\n\nText *here*.\n\n</TabItem>\n</Tabs>\n",
            "[In a tab#in-a-tab] Text here.",
        ),
        ("<Note>Some **bold** text</Note>\n", "Some bold text"),
        (
            "<Card\n  title=\"Not prose\"\n  href={`/a/${b}`}\n/>\n\nText\n",
            "Text",
        ),
        ("A <b>bold</b> word<br/>break\n", "A bold word break"),
        ("<>\nText\n</>\n", "Text"),
        ("**<b>x</b>** and a < b, 1 <2\n", "x and a < b, 1 <2"),
        (
            "<https://example.org/a> <me@example.org>\n",
            "https://example.org/a me@example.org",
        ),
        (
            "Text <b and c, then\n\nmore > text\n",
            "Text <b and c, then more > text",
        ),
        ("text\n<Foo>---</Foo>\n", "text ---"),
        // Expressions.
        ("Version {props.version} of {'}'} x\n", "Version of x"),
        ("{/* a comment\n\nwith # lines */}\n\nText\n", "Text"),
        ("{items.map(i => <li>{i}</li>)}\n\nText\n", "Text"),
        ("{`template ${a + `inner }`} }`} Text\n", "Text"),
        (
            "A { brace alone\n\n# Title\n",
            "A { brace alone [Title#title]",
        ),
        ("Escaped \\{text} stays\n", "Escaped {text} stays"),
        // Headings.
        ("## Foo <Badge text=\"new\"/> {#foo-id}\n", "[Foo#foo-id]"),
        ("## Why {/* #because */}\n", "[Why#because]"),
        ("## A<b>b</b>\n", "[A b#ab]"),
        ("<h2>Not a heading</h2>\n", "Not a heading"),
        // Code.
        ("`{a}` and ``<B> ` ``\n", "{a} and <B> `"),
        (
            "```jsx\nimport x\n<Foo>{a}</Foo>\n```\n",
            "import x <Foo>{a}</Foo>",
        ),
        (
            "- item\n\n  ~~~\n  {a}\n  ~~~\n\n  <B>text</B>\n",
            "item {a} text",
        ),
        ("> ```\n> {a}\n> ```\n", "{a}"),
        ("<!-- {not seen} -->\n\nText\n", "Text"),
        // Front matter.
        (
            "---\ntitle: '{x}'\n---\nimport a from 'b'\n\nText\n",
            "Text",
        ),
        // Line ends.
        ("import a from 'b'\r\n\r\nText {x} <B/>\r\n", "Text"),
        (
            "import a from 'b'\r\r# Title\r\rText\r",
            "[Title#title] Text",
        ),
        ("", ""),
    ] {
        assert_eq!(shown(page), expected, "{page:?}");
    }
}

#[test]
fn what_never_ends_is_read_a_few_times() {
    const LENGTH: usize = 60_000;
    for piece in [
        "{",
        "<a ",
        "<a b=\"",
        "<a b={",
        "{/*",
        "`",
        "{`",
        "{`${",
        "export {\n\n",
        "{'",
        "<a\n\n",
        "x {\n\n",
        "<!--",
        "`a``b```",
        "{<a b={\"",
        "(",
    ] {
        let page = piece.repeat(LENGTH / piece.len());
        let steps = work::steps_of(|| without_programs(&page, 0).len());
        assert!(steps <= (READS_IN_VAIN + 4) * LENGTH, "{piece:?}: {steps}");
    }
}

proptest! {
    #[test]
    fn the_text_keeps_its_length_and_its_lines(
        page in "(import a|export \\{|<A|<b c=\"|/>|>|</A>|\\{|\\}|`|```\n|\\$\\{|'|\"|/\\*|\\*/|//|<!--|-->|\\\\|# |- |> |é|x| |\n|\n\n|\r){0,40}",
    ) {
        let read = without_programs(&page, 0);
        prop_assert_eq!(read.len(), page.len());
        for (one, other) in page.bytes().zip(read.bytes()) {
            prop_assert!(one == other || matches!(other, b' ' | 1) && one != b'\n');
        }
        let Passages { document, .. } = super::tests::read(&page);
        let mut rebuilt = document.preamble().slice(page.as_bytes()).to_vec();
        for (_, section, extent) in document.top_level() {
            rebuilt.extend_from_slice(section.heading.slice(page.as_bytes()));
            rebuilt.extend_from_slice(extent.own_body.slice(page.as_bytes()));
        }
        prop_assert_eq!(rebuilt, page.as_bytes());
    }
}
