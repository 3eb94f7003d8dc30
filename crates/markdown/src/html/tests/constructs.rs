//! Each construct of Markdown as HTML.

use super::*;

#[test]
fn blocks() {
    for (note, expected) in [
        ("", ""),
        ("a\nb", "<p dir=\"auto\">a\nb</p>\n"),
        ("a  \nb\\\nc", "<p dir=\"auto\">a<br>\nb<br>\nc</p>\n"),
        (
            "> a",
            "<blockquote dir=\"auto\"><p dir=\"auto\">a</p>\n</blockquote>\n",
        ),
        (
            "- a\n- b",
            "<ul><li dir=\"auto\">a</li>\n<li dir=\"auto\">b</li>\n</ul>\n",
        ),
        (
            "- a\n\n- b",
            "<ul><li dir=\"auto\"><p dir=\"auto\">a</p>\n</li>\n<li dir=\"auto\"><p dir=\"auto\">b</p>\n</li>\n</ul>\n",
        ),
        ("1. a", "<ol><li dir=\"auto\">a</li>\n</ol>\n"),
        ("7) a", "<ol start=\"7\"><li dir=\"auto\">a</li>\n</ol>\n"),
        ("a\n\n***", "<p dir=\"auto\">a</p>\n<hr>"),
        ("    a\n\tb", "<pre dir=\"ltr\"><code>a\nb</code></pre>\n"),
        (
            "```rust,ignore\na < b\n```",
            "<pre dir=\"ltr\"><code class=\"language-rust\">a &lt; b\n</code></pre>\n",
        ),
        (
            "~~~ c++ x\na\n~~~",
            "<pre dir=\"ltr\"><code class=\"language-c++\">a\n</code></pre>\n",
        ),
        (
            "~~~ \"><b>\na\n~~~",
            "<pre dir=\"ltr\"><code>a\n</code></pre>\n",
        ),
        ("---\ntitle: x\n---\na", "<p dir=\"auto\">a</p>\n"),
        ("\u{feff}a", "<p dir=\"auto\">a</p>\n"),
    ] {
        assert_eq!(html(note), expected, "{note:?}");
    }
}

#[test]
fn inlines() {
    for (note, expected) in [
        (
            "*a* __b__ ~~c~~ `d`",
            "<em>a</em> <strong>b</strong> <del>c</del> <code>d</code>",
        ),
        ("a <br> b<br/>c <BR />", "a <br> b<br>c <br>"),
        ("&lt;b&gt; &amp; \\<i\\>", "&lt;b&gt; &amp; &lt;i&gt;"),
        ("#tag and ^block-id", "#tag and ^block-id"),
        ("==a== $b$ %%c%%", "==a== $b$ %%c%%"),
        ("a&#13;b&#1;c", "a&#13;b\u{fffd}c"),
    ] {
        assert_eq!(
            html(note),
            format!("<p dir=\"auto\">{expected}</p>\n"),
            "{note:?}"
        );
    }
}

#[test]
fn html_is_shown_as_it_is_written() {
    assert_eq!(
        html("a <b class=x>c</b> <!-- d -->"),
        "<p dir=\"auto\">a <code class=\"raw-html\">&lt;b class=x&gt;</code>c<code class=\"raw-html\">&lt;/b&gt;</code> <code class=\"raw-html\">&lt;!-- d --&gt;</code></p>\n"
    );
    assert_eq!(
        html("<div>\r\n*a*\r\n</div>\r\n"),
        "<pre class=\"raw-html\" dir=\"ltr\"><code>&lt;div&gt;\n*a*\n&lt;/div&gt;\n</code></pre>\n"
    );
    assert_eq!(
        html("a\n\n<br>\n\nb"),
        "<p dir=\"auto\">a</p>\n<br>\n<p dir=\"auto\">b</p>\n"
    );
    assert_eq!(
        seen("<!-- hidden from people -->"),
        "<!-- hidden from people -->"
    );
}

#[test]
fn headings_have_the_anchors_of_their_sections() {
    let note = "# A\n\n### B *c*\n\nD\n---\n\n> # E\n\n###### F\n";
    assert_eq!(
        html(note),
        "<h2 id=\"section-id-1\" dir=\"auto\">A</h2>\n\
         <h4 id=\"section-id-2\" dir=\"auto\">B <em>c</em></h4>\n\
         <h3 id=\"section-id-3\" dir=\"auto\">D</h3>\n\
         <blockquote dir=\"auto\"><h2 id=\"section-id-4\" dir=\"auto\">E</h2>\n</blockquote>\n\
         <h6 id=\"section-id-5\" aria-level=\"7\" dir=\"auto\">F</h6>\n"
    );
    let unshifted = HtmlOptions {
        heading_shift: 0,
        ..HtmlOptions::default()
    };
    let html = rendered_within(b"# A", unshifted).html;
    assert_eq!(html, "<h1 id=\"section-id-1\" dir=\"auto\">A</h1>\n");
}

#[test]
fn anchors_are_found_whatever_precedes_the_heading() {
    for note in [
        &b"\xef\xbb\xbf# A\r\n\r\n## B\r\n"[..],
        b"---\nx: \xff\n---\n\xfe\0\n\n# A\r\r  ## B ##\r",
        b"\xff\xff *a* \xff\n\nA\xff\n===\n- x\n\n  ## B\n",
    ] {
        let html = rendered(note).html;
        let first = html.find("<h2 id=\"section-id-1\"").unwrap();
        assert!(html[first..].contains("<h3 id=\"section-id-2\""), "{html}");
        checked(note, &html);
    }
}

#[test]
fn a_heading_that_only_one_parser_knows_does_no_harm() {
    // To the section model it is a heading, to a reader a table.
    let html = html("|a|\n-\n\ntext\n\n# B\n\n[^1]: # C\n\n# D\n\n[^1] x");
    let count = html.matches("id=\"section-").count();
    let source = "|a|\n-\n\ntext\n\n# B\n\n[^1]: # C\n\n# D\n\n[^1] x";
    assert_eq!(
        count,
        Source::new(source.as_bytes()).parse().sections().len(),
        "{html}"
    );
    assert!(
        html.contains("<h2 id=\"section-id-2\" dir=\"auto\">B</h2>"),
        "{html}"
    );
    assert!(html.contains("<h2 dir=\"auto\">C</h2>"), "{html}");
}

#[test]
fn section_ids_that_are_not_ids_are_left_out() {
    let source = Source::new(b"# A\n# B\n# C\n# D");
    let ids = ["", "a b", "x\"y", "d\n"].map(str::to_owned).to_vec();
    let html = render_html(
        &source,
        &source.parse(),
        &TestPage(ids),
        HtmlOptions::default(),
    )
    .html;
    assert_eq!(
        html,
        "<h2 dir=\"auto\">A</h2>\n<h2 dir=\"auto\">B</h2>\n<h2 id=\"section-x&quot;y\" dir=\"auto\">C</h2>\n<h2 dir=\"auto\">D</h2>\n"
    );
}

#[test]
fn links_to_other_servers() {
    for (note, expected) in [
        (
            "[a](https://b.example/c?d&amp;e \"f\")",
            "<a href=\"https://b.example/c?d&amp;e\" rel=\"noopener noreferrer nofollow\" title=\"f\">a</a>",
        ),
        (
            "<https://b.example>",
            "<a href=\"https://b.example\" rel=\"noopener noreferrer nofollow\">https://b.example</a>",
        ),
        (
            "<a@b.example>",
            "<a href=\"mailto:a@b.example\" rel=\"noopener noreferrer nofollow\">a@b.example</a>",
        ),
        (
            "[a][b]\n\n[b]: <http://c d>",
            "<a href=\"http://c%20d\" rel=\"noopener noreferrer nofollow\">a</a>",
        ),
        (
            "[a <https://b.example> *c*](https://d)",
            "<a href=\"https://d\" rel=\"noopener noreferrer nofollow\">a https://b.example <em>c</em></a>",
        ),
    ] {
        assert_eq!(
            html(note),
            format!("<p dir=\"auto\">{expected}</p>\n"),
            "{note:?}"
        );
    }
}

#[test]
fn links_to_notes() {
    for (note, expected) in [
        (
            "[a](b.md)",
            "<a href=\"/to/b.md#-\" class=\"note-link\">a</a>",
        ),
        (
            "[a](<b c.md#d>)",
            "<a href=\"/to/b%20c.md#d\" class=\"note-link\">a</a>",
        ),
        (
            "[a](b%20c.md?q#d%2fe)",
            "<a href=\"/to/b%20c.md#d/e\" class=\"note-link\">a</a>",
        ),
        (
            "[a](b&amp;c\\#d.md)",
            "<a href=\"/to/b&amp;c#d.md\" class=\"note-link\">a</a>",
        ),
        ("[a](#b)", "<a href=\"/to/#b\" class=\"note-link\">a</a>"),
        ("[a]()", "a"),
        (
            "[a][b]\n\n[b]: c.md",
            "<a href=\"/to/c.md#-\" class=\"note-link\">a</a>",
        ),
        (
            "[*a*](missing.md#b)",
            "<span class=\"broken-link\" title=\"Not found: missing.md#b\"><em>a</em><span class=\"link-remark\"> (broken link)</span></span>",
        ),
        (
            "[a](several)",
            "<span class=\"ambiguous-link\" title=\"Several matches: several\">a<span class=\"link-remark\"> (ambiguous link)</span></span>",
        ),
        (
            "[a](wrong)",
            "<span class=\"refused-link\" title=\"Not followed: wrong\">a</span>",
        ),
    ] {
        assert_eq!(
            html(note),
            format!("<p dir=\"auto\">{expected}</p>\n"),
            "{note:?}"
        );
    }
}

#[test]
fn wiki_links() {
    for (note, expected) in [
        (
            "x [[A]] y",
            "x <a href=\"/to/A#-\" class=\"note-link\">A</a> y",
        ),
        (
            "[[A#B|c *d* <e>]]",
            "<a href=\"/to/A#B\" class=\"note-link\">c *d* &lt;e&gt;</a>",
        ),
        (
            "[[A b]][[c]]",
            "<a href=\"/to/A%20b#-\" class=\"note-link\">A b</a><a href=\"/to/c#-\" class=\"note-link\">c</a>",
        ),
        (
            "![[pic.png|300]]!",
            "<a href=\"/to/!pic.png#-\" class=\"note-link embed\">pic.png</a>!",
        ),
        (
            "*[[A*b]] c",
            "<em><a href=\"/to/A*b#-\" class=\"note-link\">A*b</a></em> c",
        ),
        (
            "[[A*b]] c*",
            "<a href=\"/to/A*b#-\" class=\"note-link\">A*b</a><em> c</em>",
        ),
        (
            "[[missing]]",
            "<span class=\"broken-link\" title=\"Not found: missing\">missing<span class=\"link-remark\"> (broken link)</span></span>",
        ),
        (
            "[[A]] and [A]\n\n[A]: b.md",
            "<a href=\"/to/A#-\" class=\"note-link\">A</a> and <a href=\"/to/b.md#-\" class=\"note-link\">A</a>",
        ),
        (
            "`[[A]]` %%[[B]]%% \\[[C]]",
            "<code>[[A]]</code> %%[[B]]%% [[C]]",
        ),
        (
            "[see [[A]]](https://b)",
            "<a href=\"https://b\" rel=\"noopener noreferrer nofollow\">see [[A]]</a>",
        ),
        ("[[https://a]] [[]] [[|b]]", "[[https://a]] [[]] [[|b]]"),
        (
            "[[A&amp;b]]&amp;",
            "<a href=\"/to/A&amp;amp;b#-\" class=\"note-link\">A&amp;amp;b</a>&amp;",
        ),
    ] {
        assert_eq!(
            html(note),
            format!("<p dir=\"auto\">{expected}</p>\n"),
            "{note:?}"
        );
    }
    assert_eq!(
        seen("    [[A]]\n\n~~~\n[[B]]\n~~~\n\n<p>[[C]]"),
        "[[A]]\n\n[[B]]\n\n<p>[[C]]"
    );
}

#[test]
fn a_wiki_link_stays_in_its_cell() {
    let note = "|a|b|\n|-|-|\n|[[A\\|b]]|[[C|d]]|\n";
    let html = html(note);
    assert!(
        html.contains("<td dir=\"auto\"><a href=\"/to/A#-\" class=\"note-link\">b</a></td>"),
        "{html}"
    );
    assert!(html.contains("<td dir=\"auto\">[[C</td>"), "{html}");
}

#[test]
fn images_are_not_loaded() {
    for (note, expected) in [
        (
            "![a *b* `c` ![d](e)](https://f.example/g.png \"h\")",
            "<span class=\"image\" role=\"img\" aria-label=\"Image: a b c d\">a b c d <span class=\"image-source\">https://f.example/g.png</span></span>",
        ),
        (
            "![](g.png)",
            "<span class=\"image\" role=\"img\" aria-label=\"Image\"><span class=\"image-source\">g.png</span></span>",
        ),
        (
            "![\"><script>](x)",
            "<span class=\"image\" role=\"img\" aria-label=\"Image: &quot;&gt;&lt;script&gt;\">&quot;&gt;&lt;script&gt; <span class=\"image-source\">x</span></span>",
        ),
        (
            "[![a](b)](https://c)",
            "<a href=\"https://c\" rel=\"noopener noreferrer nofollow\"><span class=\"image\" role=\"img\" aria-label=\"Image: a\">a <span class=\"image-source\">b</span></span></a>",
        ),
    ] {
        assert_eq!(
            html(note),
            format!("<p dir=\"auto\">{expected}</p>\n"),
            "{note:?}"
        );
    }
    let note = format!("![a](data:image/png;base64,{})", "A".repeat(10_000));
    assert!(html(&note).len() < 1_000);
}

#[test]
fn tables() {
    assert_eq!(
        html("|a|b|c\n|:-|-:|:-:|\n|1|2\n"),
        "<div class=\"table\" role=\"region\" tabindex=\"0\" aria-label=\"Table\"><table><thead><tr>\
         <th scope=\"col\" class=\"align-left\" dir=\"auto\">a</th>\n\
         <th scope=\"col\" class=\"align-right\" dir=\"auto\">b</th>\n\
         <th scope=\"col\" class=\"align-center\" dir=\"auto\">c</th>\n</tr></thead><tbody>\n\
         <tr><td class=\"align-left\" dir=\"auto\">1</td>\n\
         <td class=\"align-right\" dir=\"auto\">2</td>\n\
         <td class=\"align-center\" dir=\"auto\"></td>\n</tr>\n</tbody></table></div>\n"
    );
}

#[test]
fn tasks() {
    assert_eq!(
        html("- [ ] a\n- [x] b\n- [?] c"),
        "<ul><li dir=\"auto\"><input type=\"checkbox\" disabled=\"\" aria-label=\"Not done\"> a</li>\n\
         <li dir=\"auto\"><input type=\"checkbox\" disabled=\"\" aria-label=\"Done\" checked=\"\"> b</li>\n\
         <li dir=\"auto\">[?] c</li>\n</ul>\n"
    );
}

#[test]
fn callouts() {
    for (note, class) in [
        ("> [!Note] Title\n> a", "class=\"callout callout-note\""),
        (">[!my-kind]- a", "class=\"callout callout-my-kind\""),
        ("> [!no\"te] a", ""),
        ("> [!] a", ""),
        ("> [!aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa] a", ""),
        ("> a [!note]", ""),
    ] {
        let html = html(note);
        assert!(
            html.starts_with(&format!("<blockquote {class}").trim_end().to_owned()),
            "{html}"
        );
        assert_eq!(html.contains("callout-"), !class.is_empty(), "{html}");
        assert!(html.contains("[!"), "the text stays: {html}");
    }
}

#[test]
fn footnotes() {
    let note = "a[^x] b[^x] [^none]\n\n[^x]: *e*\n\n[^x]: twice\n\n[^\"><b>]: f\n\ng[^\"><b>]";
    assert_eq!(
        html(note),
        "<p dir=\"auto\">a<sup id=\"footnote-reference-1-1\"><a href=\"#footnote-1\" aria-label=\"Footnote 1\">1</a></sup> \
         b<sup id=\"footnote-reference-1-2\"><a href=\"#footnote-1\" aria-label=\"Footnote 1\">1</a></sup> \
         [^none]</p>\n\
         <div class=\"footnote\" role=\"note\" id=\"footnote-1\"><sup><a href=\"#footnote-reference-1-1\" aria-label=\"Footnote 1, back to the text\">1</a></sup> <p dir=\"auto\"><em>e</em></p>\n</div>\n\
         <div class=\"footnote\" role=\"note\"><sup><a href=\"#footnote-reference-1-1\" aria-label=\"Footnote 1, back to the text\">1</a></sup> <p dir=\"auto\">twice</p>\n</div>\n\
         <div class=\"footnote\" role=\"note\" id=\"footnote-2\"><sup>2</sup> <p dir=\"auto\">f</p>\n</div>\n\
         <p dir=\"auto\">g<sup id=\"footnote-reference-2-1\"><a href=\"#footnote-2\" aria-label=\"Footnote 2\">2</a></sup></p>\n"
    );
}
