//! A strict reader of rendered notes, which accepts nothing but what a note may become. It shares no code and no list with
//! the renderer. The fuzz target `render_html` includes this file too.

use std::collections::HashSet;

/// What may be on a page: each element, what may contain it, and its attributes.
const ELEMENTS: &[(&str, Content, &[&str])] = &[
    (
        "a",
        Content::Phrase,
        &["href", "rel", "title", "class", "aria-label"],
    ),
    ("blockquote", Content::Flow, &["class", "dir"]),
    ("br", Content::Phrase, &[]),
    ("code", Content::Phrase, &["class"]),
    ("del", Content::Phrase, &[]),
    (
        "div",
        Content::Flow,
        &["class", "role", "tabindex", "aria-label", "id"],
    ),
    ("em", Content::Phrase, &[]),
    ("h1", Content::Flow, HEADING),
    ("h2", Content::Flow, HEADING),
    ("h3", Content::Flow, HEADING),
    ("h4", Content::Flow, HEADING),
    ("h5", Content::Flow, HEADING),
    ("h6", Content::Flow, HEADING),
    ("hr", Content::Flow, &[]),
    (
        "input",
        Content::Phrase,
        &["type", "disabled", "checked", "aria-label"],
    ),
    ("li", Content::Inside(&["ul", "ol"]), &["dir"]),
    ("ol", Content::Flow, &["start"]),
    ("p", Content::Flow, &["dir"]),
    ("pre", Content::Flow, &["class", "dir"]),
    (
        "span",
        Content::Phrase,
        &["class", "title", "role", "aria-label", "id"],
    ),
    ("strong", Content::Phrase, &[]),
    ("sup", Content::Phrase, &["id"]),
    ("table", Content::Inside(&["div"]), &[]),
    ("tbody", Content::Inside(&["table"]), &[]),
    ("td", Content::Inside(&["tr"]), &["class", "dir"]),
    ("th", Content::Inside(&["tr"]), &["class", "dir", "scope"]),
    ("thead", Content::Inside(&["table"]), &[]),
    ("tr", Content::Inside(&["thead", "tbody"]), &[]),
    ("ul", Content::Flow, &[]),
];
const HEADING: &[&str] = &["id", "aria-level", "dir"];
const VOID: &[&str] = &["br", "hr", "input"];
/// Elements that contain blocks; the page itself does as well.
const CONTAINERS: &[&str] = &["blockquote", "li", "div"];
/// Elements that contain only certain elements, and no text.
const STRUCTURES: &[&str] = &["ul", "ol", "table", "thead", "tbody", "tr"];
const REFERENCES: &[(&str, char)] = &[
    ("&amp;", '&'),
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&quot;", '"'),
    ("&#39;", '\''),
    ("&#13;", '\r'),
];
/// Twice what the renderer promises would still be fine for a browser.
const MAX_DEPTH: usize = 80;

/// The attributes of a tag, decoded.
type CheckedAttributes = Vec<(&'static str, String)>;

/// Where an element may be.
#[derive(Clone, Copy)]
enum Content {
    /// In the page or a container.
    Flow,
    /// Wherever there is text.
    Phrase,
    /// Directly in one of these.
    Inside(&'static [&'static str]),
}

/// A page that passed.
#[derive(Debug, Default)]
pub(crate) struct CheckedHtml {
    /// The text that a reader sees, decoded.
    pub(crate) text: String,
    /// The addresses of links, decoded.
    pub(crate) hrefs: Vec<String>,
}

/// Reads a rendered note. Every address has to be external, that of a footnote, or one that `is_of_page`
/// knows.
pub(crate) fn check_html(
    html: &str,
    is_of_page: &dyn Fn(&str) -> bool,
) -> Result<CheckedHtml, String> {
    let mut checked = CheckedHtml::default();
    let mut open: Vec<&'static str> = Vec::new();
    let mut ids = HashSet::new();
    let mut rest = html;
    while !rest.is_empty() {
        let tag = rest.find('<').unwrap_or(rest.len());
        let text = decoded(&rest[..tag])?;
        if open.last().is_some_and(|last| STRUCTURES.contains(last)) && !text.trim().is_empty() {
            return Err(format!("text {text:?} in {open:?}"));
        }
        checked.text.push_str(&text);
        rest = &rest[tag..];
        if rest.is_empty() {
            break;
        }
        let end = rest.find('>').ok_or("a tag without an end")?;
        let inside = &rest[1..end];
        rest = &rest[end + 1..];
        if let Some(name) = inside.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes another element"));
            }
            continue;
        }
        let (name, attributes) = parsed(inside)?;
        may_contain(&open, name)?;
        for (attribute, value) in &attributes {
            match *attribute {
                "id" if !ids.insert(value.clone()) => return Err(format!("a second {value:?}")),
                "id" if !value.starts_with("section-") && !value.starts_with("footnote-") => {
                    return Err(format!("the id {value:?}"));
                }
                "href" => {
                    check_href(value, &attributes, is_of_page)?;
                    checked.hrefs.push(value.clone());
                }
                _ => {}
            }
        }
        if !VOID.contains(&name) {
            open.push(name);
        }
        if open.len() > MAX_DEPTH {
            return Err(format!("{} elements in each other", open.len()));
        }
    }
    if open.is_empty() {
        Ok(checked)
    } else {
        Err(format!("{open:?} are not closed"))
    }
}

fn check_href(
    href: &str,
    attributes: &[(&str, String)],
    is_of_page: &dyn Fn(&str) -> bool,
) -> Result<(), String> {
    let lower = href.to_ascii_lowercase();
    let is_external = ["https://", "http://", "mailto:"]
        .iter()
        .any(|scheme| lower.starts_with(scheme));
    let rel = ("rel", "noopener noreferrer nofollow".to_owned());
    if href.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(format!("white space in the address {href:?}"));
    }
    if is_external && !attributes.contains(&rel) {
        return Err(format!("the address {href:?} without a relation"));
    }
    if is_external || href.starts_with("#footnote-") || is_of_page(href) {
        Ok(())
    } else {
        Err(format!("the address {href:?}"))
    }
}

/// Checks that the innermost element may contain `name`, so that a browser builds the same tree.
fn may_contain(open: &[&str], name: &str) -> Result<(), String> {
    let content = ELEMENTS.iter().find(|(known, ..)| *known == name);
    let Some((_, content, _)) = content else {
        return Err(format!("the element {name:?}"));
    };
    let last = open.last().copied();
    let is_fine = match content {
        Content::Flow => last.is_none_or(|last| CONTAINERS.contains(&last)),
        Content::Phrase => last.is_none_or(|last| !STRUCTURES.contains(&last)),
        Content::Inside(parents) => last.is_some_and(|last| parents.contains(&last)),
    };
    let is_link_in_link = name == "a" && open.contains(&"a");
    if is_fine && !is_link_in_link {
        Ok(())
    } else {
        Err(format!("{name} in {open:?}"))
    }
}

/// Reads a tag: its name, and attributes in double quotes.
fn parsed(tag: &str) -> Result<(&'static str, CheckedAttributes), String> {
    let (name, mut rest) = tag.split_at(tag.find(' ').unwrap_or(tag.len()));
    let element = ELEMENTS.iter().find(|(known, ..)| *known == name);
    let Some((name, _, allowed)) = element else {
        return Err(format!("the element {name:?}"));
    };
    let mut attributes = CheckedAttributes::new();
    while !rest.is_empty() {
        let attribute = rest
            .strip_prefix(' ')
            .ok_or("no space before an attribute")?;
        let (attribute, value) = attribute
            .split_once("=\"")
            .ok_or("an attribute without a value")?;
        let (value, behind) = value.split_once('"').ok_or("a value without an end")?;
        let known = allowed.iter().find(|known| **known == attribute);
        let Some(known) = known else {
            return Err(format!("the attribute {attribute:?} of {name}"));
        };
        if attributes.iter().any(|(other, _)| other == known) {
            return Err(format!("{attribute:?} twice"));
        }
        attributes.push((*known, decoded(value)?));
        rest = behind;
    }
    Ok((*name, attributes))
}

/// Decodes text, which has no markup and no control characters.
fn decoded(text: &str) -> Result<String, String> {
    if let Some(odd) = text.chars().find(|c| {
        matches!(c, '<' | '>' | '"' | '\'') || (c.is_ascii_control() && !matches!(c, '\t' | '\n'))
    }) {
        return Err(format!("{odd:?} in {text:?}"));
    }
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        result.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = REFERENCES
            .iter()
            .find(|(written, _)| rest.starts_with(written));
        let Some((written, c)) = known else {
            return Err(format!("an ampersand in {text:?}"));
        };
        result.push(*c);
        rest = &rest[written.len()..];
    }
    result.push_str(rest);
    Ok(result)
}
