//! Anchors of published sites.
//!
//! The table holds what the programs themselves made of these headings: mdBook 0.5.4, Python-Markdown 3.11.3 with `toc` and
//! `attr_list` (as in MkDocs 1.6), the heading plugin of Docusaurus 3.10 over remark, and VitePress 1.6.4.

use proptest::prelude::*;

use crate::{AnchorStyle, PageFormat, Passages, Source, passages, work};

const STYLES: [AnchorStyle; 4] = [
    AnchorStyle::MdBook,
    AnchorStyle::MkDocs,
    AnchorStyle::Docusaurus,
    AnchorStyle::VitePress,
];

/// Headings, and their anchors by style.
const OBSERVED: &[(&[&str], [&str; 4])] = &[
    (
        &[
            "## Install the CLI",
            "## Install the CLI",
            "## Install the CLI 1",
            "## Install the CLI",
        ],
        [
            "install-the-cli|install-the-cli-1|install-the-cli-1-1|install-the-cli-2",
            "install-the-cli|install-the-cli_1|install-the-cli-1|install-the-cli_2",
            "install-the-cli|install-the-cli-1|install-the-cli-1-1|install-the-cli-2",
            "install-the-cli|install-the-cli-1|install-the-cli-1-1|install-the-cli-2",
        ],
    ),
    (
        &[
            "## Don't panic: C++ & Rust!",
            "## `--all` and --force",
            "## a -- b --- c",
            "## 1. First steps",
            "## 2024 in review",
        ],
        [
            "dont-panic-c--rust|--all-and-force|a--b--c|1-first-steps|2024-in-review",
            "dont-panic-c-rust|-all-and-force|a-b-c|1-first-steps|2024-in-review",
            "dont-panic-c--rust|--all-and---force|a----b-----c|1-first-steps|2024-in-review",
            "don-t-panic-c-rust|all-and-force|a-b-c|_1-first-steps|_2024-in-review",
        ],
    ),
    (
        &[
            "## Über café",
            "## 中文 标题",
            "## Привет мир",
            "## Ⅳ ﬁne ½ ²",
            "## Straße ÀÉ",
        ],
        [
            "über-café|中文-标题|привет-мир|ⅳ-ﬁne-½-²|straße-àé",
            "uber-cafe|_1|_2|iv-fine-12-2|strae-ae",
            "über-café|中文-标题|привет-мир|ⅳ-ﬁne--|straße-àé",
            "uber-cafe|中文-标题|привет-мир|iv-fine-1⁄2-2|straße-ae",
        ],
    ),
    (
        &[
            "## snake_case and CamelCase",
            "## __init__",
            "## *Em* and **strong**text",
            "## [A link](x.md) here",
            "## a/b.c:d;e",
        ],
        [
            "snake_case-and-camelcase|init|em-and-strongtext|a-link-here|abcde",
            "snake_case-and-camelcase|init|em-and-strongtext|a-link-here|abcde",
            "snake_case-and-camelcase|init|em-and-strongtext|a-link-here|abcde",
            "snake-case-and-camelcase|init|em-and-strongtext|a-link-here|a-b-c-d-e",
        ],
    ),
    (
        &[
            "## !!!",
            "## !!!",
            "## 🎉 Party 🎉",
            "## a  b   c",
            "## -dash-",
        ],
        [
            "|-1|-party-|a--b---c|-dash-",
            "_1|_2|party|a-b-c|-dash-",
            "|-1|-party-|a--b---c|-dash-",
            "|-1|🎉-party-🎉|a-b-c|dash",
        ],
    ),
    (
        &["## foo_1", "## foo_1", "## foo", "## foo", "## foo_1"],
        [
            "foo_1|foo_1-1|foo|foo-1|foo_1-2",
            "foo_1|foo_2|foo|foo_3|foo_4",
            "foo_1|foo_1-1|foo|foo-1|foo_1-2",
            "foo-1|foo-1-1|foo|foo-2|foo-1-2",
        ],
    ),
    (
        &[
            "## a &amp; b &lt;c&gt;",
            "## Tab\there",
            "## nb\u{a0}sp",
            "## a&nbsp;b",
        ],
        [
            "a--b-c|tab-here|nb-sp|a-b",
            "a-b-c|tab-here|nb-sp|a-b",
            "a--b-c|tabhere|nbsp|ab",
            "a-amp-b-lt-c-gt|tabhere|nb-sp|a-nbsp-b",
        ],
    ),
    (
        &[
            "## C#",
            "## F# and C#",
            "## .NET",
            "## v1.2.3",
            "## what's \"this\"?",
        ],
        [
            "c|f-and-c|net|v123|whats-this",
            "c|f-and-c|net|v123|whats-this",
            "c|f-and-c|net|v123|whats-this",
            "c|f-and-c|net|v1-2-3|what-s-this",
        ],
    ),
    (
        &[
            "## Tag <a id=\"x\"></a>",
            "## <a name=\"y\"></a>Named",
            "## B<b>old</b> text",
            "## ![Alt text](i.png) Picture",
        ],
        [
            "tag|named|bold-text|picture",
            "tag|named|bold-text|picture",
            "tag-|named|bold-text|alt-text-picture",
            "tag|named|bold-text|picture",
        ],
    ),
    (
        &[
            "## Foo {#custom}",
            "## Code `x<y>` {#code-id}",
            "## Under {#a_b_c}",
        ],
        ["custom|code-id|a_b_c"; 4],
    ),
    (
        &[
            "## Foo { #spaced }",
            "## Foo {: #colon }",
            "## Foo {#with .class}",
            "## Foo {.only-class}",
            "## Foo",
            "## x {key=v}",
        ],
        [
            "spaced|colon|with|foo|foo-1|x",
            "spaced|colon|with|foo|foo_1|x",
            // This would not build: the braces would be a program.
            "spaced|foo--colon-|with|foo-only-class|foo|x-keyv",
            "spaced|colon|with|foo|foo-1|x",
        ],
    ),
    (
        &["## Closed {#closed} ##", "## Trailing ## {#trailing}"],
        [
            "closed-closed|trailing",
            "closed|trailing",
            "closed|trailing",
            "closed|trailing",
        ],
    ),
    (
        &[
            "Setext {#set}\n---",
            "## Level \\{#escaped}",
            "## z { .c #last }",
        ],
        [
            "set|escaped|last",
            "set|level-escaped|last",
            "set|escaped|z--c-last-",
            "set|level-escaped|last",
        ],
    ),
    (
        &["## Other {#foo-1}", "## Foo", "## Foo"],
        // mdBook and Docusaurus have `foo-1` twice; the second of them is not an address.
        [
            "foo-1|foo|foo-1-1",
            "foo-1|foo|foo_1",
            "foo-1|foo|foo-1-1",
            "foo-1|foo|foo-2",
        ],
    ),
    (
        &["## Foo", "## Other {#foo}", "## foo"],
        // VitePress refuses to build this.
        [
            "foo|foo-2|foo-1",
            "foo_1|foo|foo_2",
            "foo|foo-2|foo-1",
            "foo|foo-2|foo-1",
        ],
    ),
];

fn read(markdown: &str, style: AnchorStyle) -> Passages {
    let format = PageFormat {
        anchors: style,
        ..PageFormat::default()
    };
    passages(&Source::new(markdown.as_bytes()), 6, format)
}

#[test]
fn anchors_are_those_that_the_programs_make() {
    for (headings, expected) in OBSERVED {
        let markdown = headings.join("\n\n") + "\n";
        for (style, expected) in STYLES.iter().zip(expected) {
            let anchors = read(&markdown, *style).anchors.join("|");
            assert_eq!(&anchors, expected, "{style:?} of {markdown}");
        }
    }
}

#[test]
fn neither_attributes_nor_tags_are_part_of_a_heading() {
    let texts = |markdown: &str, style| {
        let sections = read(markdown, style).document;
        let texts = sections
            .sections()
            .iter()
            .map(|section| section.text.clone());
        texts.collect::<Vec<_>>()
    };
    let markdown = "## Foo *bar* {#x_y_z}\n\n## Sum {: #id .c } ##\n\n## `a{b}` <a id=\"q\"></a>end\n\nLow {#low}\n---\n\n> ## In {#quote}\n";
    for style in [AnchorStyle::MkDocs, AnchorStyle::VitePress] {
        assert_eq!(
            texts(markdown, style),
            ["Foo bar", "Sum", "a{b} end", "Low", "In"],
            "{style:?}"
        );
    }
    assert_eq!(
        texts("## Foo {#x}\n\n## B<b>old</b>\n", AnchorStyle::GitHub),
        ["Foo {#x}", "B <b> old </b>"]
    );
    assert_eq!(
        texts("## GET /users/{id}\n\n## Set {a, b}\n", AnchorStyle::MdBook),
        ["GET /users/{id}", "Set {a, b}"]
    );
    assert_eq!(
        texts("## Why {/* #why */}\n", AnchorStyle::Docusaurus),
        ["Why"]
    );
    assert_eq!(
        read("## Why {/* #why */}\n", AnchorStyle::Docusaurus).anchors,
        ["why"]
    );
}

#[test]
fn many_equal_headings_take_steps_in_proportion() {
    const HEADINGS: usize = 8_000;
    let equal: String = "# a\n".repeat(HEADINGS);
    let numbered: String = (0..HEADINGS)
        .map(|number| format!("# a_{}\n", number % (HEADINGS / 2)))
        .collect();
    for style in AnchorStyle::ALL {
        for markdown in [&equal, &numbered] {
            let steps = work::steps_of(|| read(markdown, style));
            // One number after another would be millions.
            assert!(steps < 20 * HEADINGS, "{style:?}: {steps}");
        }
    }
}

proptest! {
    #[test]
    fn anchors_are_unique_and_no_text_is_lost(
        markdown in "((#{1,3} |> # |- )?(foo|Foo|foo_1|foo-1|\\{#foo\\}|\\{#foo-1\\}|\\{: #foo_1 \\}|é|!|`c`|<a id=x>|_| |\\\\){0,4}(\n|\n\n|\n===\n)){0,12}",
    ) {
        for style in AnchorStyle::ALL {
            let Passages { document, anchors, .. } = read(&markdown, style);
            prop_assert_eq!(anchors.len(), document.sections().len());
            let mut sorted = anchors.clone();
            sorted.sort_unstable();
            sorted.dedup();
            prop_assert_eq!(sorted.len(), anchors.len(), "{:?} {:?}", style, anchors);
            // Only texts and anchors depend on the style.
            let plain = read(&markdown, AnchorStyle::GitHub).document;
            for (one, other) in document.sections().iter().zip(plain.sections()) {
                prop_assert_eq!(one.heading, other.heading);
                prop_assert_eq!(one.extent, other.extent);
            }
        }
    }
}
