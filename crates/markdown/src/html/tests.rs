//! Tests of rendered notes: each construct, hostile notes, and any text at all.

mod constructs;
mod hostile;
mod limits;
mod properties;

use super::{
    HrefResolution, HtmlOptions, LinkTarget, PageTargets, RenderedHtml,
    check::{CheckedHtml, check_html},
    render_html,
};
use crate::{LinkForm, Source};

/// A page on which every section has an id, and a link is found by its name.
struct TestPage(Vec<String>);

impl PageTargets for TestPage {
    fn section_id(&self, index: usize) -> Option<&str> {
        self.0.get(index).map(String::as_str)
    }

    fn href(&self, link: &LinkTarget<'_>) -> HrefResolution {
        assert!(!link.path.is_empty() || link.fragment.is_some());
        match link.path {
            "missing" | "missing.md" => HrefResolution::Broken,
            "several" => HrefResolution::Ambiguous,
            "wrong" => HrefResolution::Href("https://elsewhere.example/".to_owned()),
            _ => {
                let embed = if link.form == LinkForm::WikiEmbed {
                    "!"
                } else {
                    ""
                };
                let fragment = link.fragment.unwrap_or("-");
                let name = format!("{embed}{}#{fragment}", link.path);
                let hex = name.bytes().map(|byte| match byte {
                    byte if byte.is_ascii_graphic() => char::from(byte).to_string(),
                    byte => format!("%{byte:02x}"),
                });
                HrefResolution::Href(format!("/to/{}", hex.collect::<String>()))
            }
        }
    }
}

fn rendered_within(note: &[u8], options: HtmlOptions) -> RenderedHtml {
    let source = Source::new(note);
    let document = source.parse();
    let ids = (1..=document.sections().len()).map(|number| format!("id-{number}"));
    render_html(&source, &document, &TestPage(ids.collect()), options)
}

fn rendered(note: &[u8]) -> RenderedHtml {
    rendered_within(note, HtmlOptions::default())
}

/// Renders a note, and checks what every page promises.
fn html(note: &str) -> String {
    let html = rendered(note.as_bytes()).html;
    checked(note.as_bytes(), &html);
    html
}

fn checked(note: &[u8], html: &str) -> CheckedHtml {
    let is_of_page = |href: &str| href.starts_with("/to/");
    match check_html(html, &is_of_page) {
        Ok(checked) => checked,
        Err(wrong) => panic!("{wrong}\nin {html}\nof {:?}", String::from_utf8_lossy(note)),
    }
}

/// Returns what a reader of the rendered note sees, without white space around it.
fn seen(note: &str) -> String {
    checked(note.as_bytes(), &html(note)).text.trim().to_owned()
}
