//! Any note becomes a page of known elements only, within its limit, whose links lead where they may.

#![no_main]

#[path = "../../crates/markdown/src/html/check.rs"]
mod check;

use libfuzzer_sys::fuzz_target;
use sectile_markdown::{
    HrefResolution, HtmlOptions, LinkTarget, PageTargets, Source, render_html, section_anchor,
};

/// A page on which every section has an id, and links are found, broken or ambiguous.
struct FuzzedPage(Vec<String>);

impl PageTargets for FuzzedPage {
    fn section_id(&self, index: usize) -> Option<&str> {
        self.0.get(index).map(String::as_str)
    }

    fn href(&self, link: &LinkTarget<'_>) -> HrefResolution {
        assert!(!link.path.is_empty() || link.fragment.is_some());
        match link.path.len() % 5 {
            0 => HrefResolution::Broken,
            1 => HrefResolution::Ambiguous,
            // A page that passes names on is not trusted either.
            2 => HrefResolution::Href(link.path.to_owned()),
            _ => HrefResolution::Href("/to/a?note&x".to_owned()),
        }
    }
}

fuzz_target!(|input: (&[u8], u16)| {
    let (note, limit) = input;
    let source = Source::new(note);
    let document = source.parse();
    let sections = document.sections().len();
    let page = FuzzedPage((0..sections).map(|index| index.to_string()).collect());
    let whole = HtmlOptions {
        max_bytes: usize::MAX,
        ..HtmlOptions::default()
    };
    let whole = render_html(&source, &document, &page, whole);
    assert!(!whole.is_truncated);
    check(&whole.html);
    for index in 0..sections {
        let id = format!(" id=\"{}\"", section_anchor(&index.to_string()));
        assert_eq!(whole.html.matches(&id).count(), 1, "{}", whole.html);
    }
    let max_bytes = usize::from(limit);
    let options = HtmlOptions {
        max_bytes,
        heading_shift: 0,
    };
    let cut = render_html(&source, &document, &page, options);
    assert!(cut.html.len() <= max_bytes);
    check(&cut.html);
});

fn check(html: &str) {
    let is_of_page = |href: &str| {
        let is_local = href.starts_with(['/', '?', '#']);
        is_local && !href.starts_with("//") && !href.starts_with("/\\")
    };
    match check::check_html(html, &is_of_page) {
        Ok(checked) => {
            let hrefs: usize = checked.hrefs.iter().map(String::len).sum();
            assert!(checked.text.len() + hrefs <= html.len());
        }
        Err(wrong) => panic!("{wrong}\nin {html}"),
    }
}
