//! What all pages have in common: the frame around them, addresses, forms and lists in parts.

use maud::{DOCTYPE, Markup, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sectile_markdown::section_anchor;
use sectile_mcp::{FORM_TOKEN, PageAnswer, PageRequest, SIGN_OUT};

/// Paths of the pages.
pub(super) const DOCUMENTS: &str = "documents";
pub(super) const CHANGES: &str = "changes";
pub(super) const SEARCH: &str = "search";
pub(super) const QUOTES: &str = "quotes";
pub(super) const CALLS: &str = "calls";
pub(super) const UNDO: &str = "undo";

/// The characters of a value that an address keeps as they are: those that cannot mean anything else in a query.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// Returns the page with this title and content.
pub(super) fn page(request: &PageRequest, title: &str, content: &Markup) -> PageAnswer {
    PageAnswer::Html(document(Some(request), title, content))
}

/// Returns a whole document. Without a request it has no menu: the person was not let in.
pub(super) fn document(request: Option<&PageRequest>, title: &str, content: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Sectile" }
                link rel="stylesheet" href="/console.css";
                link rel="icon" type="image/svg+xml" href="/icon.svg";
                script src="/console.js" defer {}
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header.top {
                    a.brand href="/" { img src="/icon.svg" alt="" width="22" height="22"; "Sectile" }
                    @if let Some(request) = request { (menu(request)) }
                }
                main #main tabindex="-1" { (content) }
            }
        }
    };
    markup.into_string()
}

fn menu(request: &PageRequest) -> Markup {
    html! {
        nav.menu aria-label="Pages" {
            ul {
                @for entry in &request.menu {
                    @let is_current = entry.path == request.path;
                    li {
                        a href={ "/" (entry.path) } aria-current=[is_current.then_some("page")] { (entry.title) }
                    }
                }
            }
        }
        @if let Some(user) = &request.user {
            form.person method="post" action=(SIGN_OUT) {
                (form_token(request))
                span { (user) }
                button.plain type="submit" { "Sign out" }
            }
        }
    }
}

/// Returns the hidden field that every form has to contain.
pub(super) fn form_token(request: &PageRequest) -> Markup {
    html! { input type="hidden" name=(FORM_TOKEN) value=(request.form_token); }
}

/// Returns the address of a page with these fields, without the empty ones.
pub(super) fn address(page: &str, fields: &[(&str, &str)]) -> String {
    let mut address = format!("/{page}");
    let given = fields.iter().filter(|(_, value)| !value.is_empty());
    for (index, (name, value)) in given.enumerate() {
        address.push(if index == 0 { '?' } else { '&' });
        address += name;
        address.push('=');
        address.extend(utf8_percent_encode(value, KEPT));
    }
    address
}

/// Returns the address of a document or folder, or of a section in it.
pub(super) fn address_of(id: &str) -> String {
    // The name of a document may have the sign too. It ends with an extension, which the id of a section does not have.
    let parts = id.rsplit_once('#');
    match parts.filter(|(_, section)| !section.contains(['.', '/'])) {
        Some((document, section)) => {
            let anchor = section_anchor(section);
            let anchor = utf8_percent_encode(&anchor, KEPT);
            format!("{}#{anchor}", address(DOCUMENTS, &[("id", document)]))
        }
        None => address(DOCUMENTS, &[("id", id)]),
    }
}

/// Returns a link to a document, folder or section, by its id.
pub(super) fn id_link(id: &str) -> Markup {
    html! { a href=(address_of(id)) { bdi { (id) } } }
}

/// Formats a number with separators between thousands.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Formats a number with the noun that it counts.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_encoded_and_leave_out_what_is_empty() {
        for (id, expected) in [
            ("a b/c&d.md", "/documents?id=a%20b/c%26d.md"),
            (
                "plan.md#budget-1kebc1",
                "/documents?id=plan.md#section-budget-1kebc1",
            ),
            ("x\"<y>%.md", "/documents?id=x%22%3Cy%3E%25.md"),
            ("a#b/c # d.md", "/documents?id=a%23b/c%20%23%20d.md"),
            (
                "c # d.md#e-1kebc1",
                "/documents?id=c%20%23%20d.md#section-e-1kebc1",
            ),
            ("", "/documents"),
        ] {
            assert_eq!(address_of(id), expected);
        }
        let fields = [("id", ""), ("by", "a=b"), ("since", "1d")];
        assert_eq!(address(CHANGES, &fields), "/changes?by=a%3Db&since=1d");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(counted(1, "note", "notes"), "1 note");
    }

    #[test]
    fn text_of_a_request_is_escaped() {
        let request = PageRequest {
            user: Some("<script>alert(1)</script>".to_owned()),
            ..PageRequest::default()
        };
        let page = document(Some(&request), "<b>\"", &html! {});
        assert!(
            !page.contains("<script>") && !page.contains("<b>"),
            "{page}"
        );
    }
}
