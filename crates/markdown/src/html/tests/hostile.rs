//! Notes that try to be more than text.

use super::*;

/// Destinations that must not become links, in every place where a destination can be.
const DESTINATIONS: &[&str] = &[
    "javascript:alert(1)",
    "JAVASCRIPT:alert(1)",
    "JaVaScRiPt:alert(1)",
    "&#106;avascript:alert(1)",
    "&#x6A;avascript:alert(1)",
    "&#0000106avascript:alert(1)",
    "javascript&colon;alert(1)",
    "javascript&#58;alert(1)",
    "java&Tab;script:alert(1)",
    "java&NewLine;script:alert(1)",
    "java&#10;script:alert(1)",
    "java&#13;script:alert(1)",
    "java&#0;script:alert(1)",
    "&#1;javascript:alert(1)",
    "&#32;javascript:alert(1)",
    "&nbsp;javascript:alert(1)",
    "java\\script:alert(1)",
    "javascript\\:alert(1)",
    "javascript://a.example/%0aalert(1)",
    "data:text/html,<script>alert(1)</script>",
    "data:text/html;base64,PHNjcmlwdD4=",
    "vbscript:msgbox(1)",
    "file:///etc/passwd",
    "//evil.example/",
    "https:evil.example",
    "http:/evil.example",
    "https:\\\\evil.example",
];

#[test]
fn no_disguise_makes_a_destination_a_link() {
    for destination in DESTINATIONS {
        for note in [
            format!("[a]({destination})"),
            format!("[a](<{destination}>)"),
            format!("[a](< {destination} > \"t\")"),
            format!("[a]({destination} 'x\" onclick=\"alert(1)')"),
            format!("![a]({destination})"),
            format!("[![a]({destination})]({destination})"),
            format!("<{destination}>"),
            format!("[a][b]\n\n[b]: {destination}\n"),
            format!("[b]\n\n[b]: <{destination}> \"t\"\n"),
            format!("a[^1]\n\n[^1]: [b]({destination})\n"),
            format!("|[a]({destination})|\n|-|\n|<{destination}>|\n"),
            format!("<a href={destination}>a</a>"),
            format!("<a href=\"{destination}\">a</a>"),
            format!("<div>\n<img src='{destination}'>\n</div>"),
            format!("# [a]({destination})\n"),
            format!("- [ ] [a]({destination})\n"),
        ] {
            let html = html(&note);
            let hrefs = checked(note.as_bytes(), &html).hrefs;
            let own = |href: &String| href.starts_with("#footnote-") || href.starts_with("/to/");
            assert!(hrefs.iter().all(own), "{note:?}: {html}");
            let of_page: String = hrefs
                .into_iter()
                .filter(|href| href.starts_with("/to/"))
                .collect();
            // These are names of files to a browser too, and the page may look for them.
            let is_name = ["\\", "&#0;", "&#0000106a"];
            let is_name = is_name.iter().any(|part| destination.contains(part));
            assert!(of_page.is_empty() || is_name, "{note:?}: {html}");
        }
    }
}

#[test]
fn a_percent_sign_does_not_make_a_scheme() {
    let html = html("[a](javascript%3Aalert(1))");
    assert_eq!(
        html,
        "<p dir=\"auto\"><a href=\"/to/javascript:alert(1)#-\" class=\"note-link\">a</a></p>\n"
    );
}

#[test]
fn markup_stays_text() {
    for note in [
        "<script>alert(1)</script>",
        "a <script>alert(1)</script> b",
        "<svg onload=alert(1)>",
        "<img src=x onerror=alert(1)>",
        "<iframe src=\"https://evil.example\"></iframe>",
        "<style>* { background: url(https://evil.example) }</style>",
        "<meta http-equiv=refresh content=\"0;url=https://evil.example\">",
        "<base href=\"https://evil.example/\">",
        "<form action=\"https://evil.example\"><button>",
        "<!--><script>alert(1)</script>-->",
        "<?php x ?>",
        "<![CDATA[<script>]]>",
        "<math><mtext></p><script>",
        "</p></div></main><script>",
        "<br onclick=alert(1)>",
        "<br/ /onclick=alert(1)>",
        "a <br\nclass=x> b",
        "<a\nhref=\"javascript:alert(1)\"\nx>x</a>",
        "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
    ] {
        let decoded = note.replace("&lt;", "<").replace("&gt;", ">");
        assert_eq!(seen(note), decoded, "{note:?}");
    }
}

#[test]
fn attributes_cannot_be_left() {
    let breakout = "\"'><img src=x onerror=alert(1) x=\"";
    let entity = "&quot;&gt;&lt;img src=x onerror=alert(1)&gt;";
    for text in [
        breakout,
        entity,
        "\\\"\\>\\<img\\>",
        "{#id onclick=x}",
        "&#34; onclick=&#34;x",
    ] {
        for note in [
            format!("[a](https://b.example (({text})))"),
            format!("[a](https://b.example '{text}')"),
            format!("[a](<https://b.example/{text}>)"),
            format!("[a](https://b.example/{text})"),
            format!("![{text}](x)"),
            format!("![a]({text})"),
            format!("![a](<{text}> (t))"),
            format!("[a](missing.md#{text})"),
            format!("[a](<b {text}>)"),
            format!("[[{text}]]"),
            format!("[[missing#{text}|{text}]]"),
            format!("![[{text}]]"),
            format!("```{text}\ncode\n```"),
            format!("``` language{text}\ncode\n```"),
            format!("# {text} {{#x\" onclick=\"y}}"),
            format!("[^{text}]\n\n[^{text}]: a"),
            format!("> [!{text}] a"),
            format!("<https://b.example/{text}>"),
            format!("[{text}]\n\n[{text}]: missing.md"),
            format!("|{text}|\n|-|\n|{text}|"),
        ] {
            assert!(!html(&note).contains("<img"), "{note:?}");
        }
    }
}

#[test]
fn brackets_in_each_other() {
    for note in [
        "[[[[a]]]]",
        "[a [b [c](d) e](f) g](h)",
        "[![[[a]]](b)](c)",
        "![[a](b)](c)",
        "[[a](javascript:alert(1))]",
        "[[a|[b](javascript:alert(1))]]",
        "[[a|b](https://c)]]",
        "[a]([[b]])",
        "[a](<[[b]]>)",
        "*[[a*]]*",
        "~~[[a~~b]]~~",
        "[[a`b]]`",
        "[[a<b>c]]",
        "[[a]](https://b)",
        "![a [[b]]](c)",
        "[^[[a]]]",
        "[[^1]] [^1]\n\n[^1]: [[a]]",
        "[[a|\\]]]",
        "> [[a\n> b]]",
        "- [[a]]\n  - ![[b]]\n    > [[c]]",
    ] {
        html(note);
    }
}
