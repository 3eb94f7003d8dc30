//! Lists of links to pages: `llms.txt` as <https://llmstxt.org> describes it, and the `SUMMARY.md` of mdBook.

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::{Source, heading_text::collapse_whitespace, options::ParserInput};

/// The most links that are read of a list.
pub const MAX_LISTED_LINKS: usize = 20_000;
/// The most characters that are read of a title, a description or an address in a list.
pub const MAX_LISTED_CHARS: usize = 2_000;

/// The name that `llms.txt` gives to links which may be left out, and which come last.
const OPTIONAL: &str = "Optional";
/// The section of links that have none.
const DEFAULT_SECTION: &str = "Docs";

/// Links to the pages of a manual, in order. Texts are single lines without markup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkList {
    /// The title of the manual.
    pub title: String,
    /// What the manual is about. May be empty.
    pub summary: String,
    /// The links.
    pub links: Vec<ListedLink>,
    /// Whether there are more than [`MAX_LISTED_LINKS`].
    pub is_cut: bool,
}

/// A link of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedLink {
    /// The title of the page.
    pub title: String,
    /// The address as it is written. Empty for a page that is only planned.
    pub target: String,
    /// What is on the page. May be empty.
    pub description: String,
    /// The section of the list that has the link. Empty before the first.
    pub section: String,
}

impl LinkList {
    /// Reads an `llms.txt`: links that are the first thing in an item of a list.
    #[must_use]
    pub fn read(source: &Source<'_>) -> Self {
        ListReader::new(false).read(source)
    }

    /// Reads a `SUMMARY.md`, in which a link may also be a line of its own.
    #[must_use]
    pub fn read_summary(source: &Source<'_>) -> Self {
        ListReader::new(true).read(source)
    }

    /// Writes an `llms.txt`. Sections come in the order of their first links, and `Optional` comes last; links without a
    /// section are those of `Docs`.
    #[must_use]
    pub fn to_llms_txt(&self) -> String {
        let mut text = format!("# {}\n", inline(&self.title));
        if !self.summary.trim().is_empty() {
            text += &format!("\n> {}\n", block(&self.summary));
        }
        let mut sections: Vec<(String, Vec<&ListedLink>)> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for link in &self.links {
            let name = match one_line(&link.section) {
                name if name.is_empty() => DEFAULT_SECTION.to_owned(),
                name => name,
            };
            let place = *places.entry(name.clone()).or_insert_with(|| {
                sections.push((name, Vec::new()));
                sections.len() - 1
            });
            sections[place].1.push(link);
        }
        sections.sort_by_key(|(name, _)| name == OPTIONAL);
        for (name, links) in sections {
            text += &format!("\n## {}\n\n", inline(&name));
            for link in links {
                text += &format!("- [{}]({})", inline(&link.title), address(&link.target));
                if !link.description.trim().is_empty() {
                    text += &format!(": {}", inline(&link.description));
                }
                text.push('\n');
            }
        }
        text
    }
}

/// Reads a list from parser events.
struct ListReader {
    takes_lines: bool,
    list: LinkList,
    section: String,
    has_title: bool,
    item_depth: usize,
    /// The text of the part that is being read.
    text: String,
    part: Part,
    /// Whether nothing but white space came before in this item or line.
    is_at_start: bool,
}

/// What is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Other,
    Heading,
    Summary,
    Title,
    Description,
}

impl ListReader {
    fn new(takes_lines: bool) -> Self {
        Self {
            takes_lines,
            list: LinkList::default(),
            section: String::new(),
            has_title: false,
            item_depth: 0,
            text: String::new(),
            part: Part::Other,
            is_at_start: false,
        }
    }

    fn read(mut self, source: &Source<'_>) -> LinkList {
        let markdown = ParserInput::of(&source.text);
        for (event, _) in markdown.events(source.body_start..source.text.len()) {
            self.event(&event);
            if self.list.is_cut {
                break;
            }
        }
        self.end_part();
        self.list
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(Tag::Heading { .. }) => self.start(Part::Heading),
            Event::End(TagEnd::Heading(_)) | Event::Start(Tag::List(_)) => self.end_part(),
            Event::Start(Tag::BlockQuote(_)) if self.expects_summary() => self.start(Part::Summary),
            Event::End(TagEnd::BlockQuote(_)) if self.part == Part::Summary => self.end_part(),
            Event::Start(Tag::Item) => {
                self.end_part();
                self.item_depth += 1;
                self.is_at_start = true;
            }
            Event::End(TagEnd::Item) => {
                self.end_part();
                self.item_depth -= 1;
            }
            Event::Start(Tag::Paragraph) if self.part != Part::Summary => {
                self.is_at_start |= self.takes_lines;
            }
            Event::End(TagEnd::Paragraph) if self.part != Part::Summary => self.end_part(),
            Event::Start(Tag::Link { dest_url, .. }) if self.starts_link() => {
                self.start(Part::Title);
                self.list.links.push(ListedLink {
                    target: cut(dest_url),
                    section: self.section.clone(),
                    ..ListedLink::default()
                });
            }
            Event::End(TagEnd::Link) if self.part == Part::Title => {
                self.end_part();
                self.part = Part::Description;
            }
            Event::SoftBreak | Event::HardBreak => self.line_end(),
            Event::Text(text) | Event::Code(text) => {
                self.is_at_start &= text.trim().is_empty();
                if self.part != Part::Other && self.text.len() < 4 * MAX_LISTED_CHARS {
                    self.text.push_str(text);
                }
            }
            _ => {}
        }
    }

    fn expects_summary(&self) -> bool {
        self.has_title && self.section.is_empty() && self.list.summary.is_empty()
    }

    fn starts_link(&mut self) -> bool {
        let starts = self.is_at_start && self.part == Part::Other;
        self.list.is_cut |= starts && self.list.links.len() == MAX_LISTED_LINKS;
        starts && !self.list.is_cut
    }

    fn line_end(&mut self) {
        let ends_entry = self.takes_lines && self.item_depth == 0;
        if ends_entry && matches!(self.part, Part::Other | Part::Description) {
            self.end_part();
            self.is_at_start = true;
        }
        self.text.push(' ');
    }

    fn start(&mut self, part: Part) {
        self.end_part();
        self.part = part;
    }

    /// Keeps the text of the part that ends here.
    fn end_part(&mut self) {
        let text = std::mem::take(&mut self.text);
        let last = self.list.links.last_mut();
        match (std::mem::replace(&mut self.part, Part::Other), last) {
            (Part::Heading, _) if !self.has_title => {
                self.list.title = cut(&one_line(&text));
                self.has_title = true;
            }
            (Part::Heading, _) => self.section = cut(&one_line(&text)),
            (Part::Summary, _) => self.list.summary = cut(&one_line(&text)),
            (Part::Title, Some(link)) => link.title = cut(&one_line(&text)),
            (Part::Description, Some(link)) => {
                let text = one_line(&text);
                let description = text.strip_prefix(':').unwrap_or(&text);
                link.description = cut(description.trim_start());
            }
            _ => {}
        }
        self.is_at_start = false;
    }
}

fn one_line(text: &str) -> String {
    let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    collapse_whitespace(visible, text.len())
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_LISTED_CHARS).collect()
}

/// Writes a text in a line of Markdown, so that it is read as it is.
fn inline(text: &str) -> String {
    let text = one_line(text);
    let mut written = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let after = rest.peek().copied().unwrap_or(' ');
        let is_markup = match c {
            '\\' | '`' | '*' | '[' | ']' | '<' => true,
            '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
            '&' => after.is_ascii_alphanumeric() || after == '#',
            // It could close a heading.
            '#' => before == ' ',
            _ => false,
        };
        if is_markup {
            written.push('\\');
        }
        written.push(c);
        before = c;
    }
    written
}

/// Writes a text that starts a block.
fn block(text: &str) -> String {
    let written = inline(text);
    let digits = written.len()
        - written
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .len();
    let at = match written[digits..].chars().next() {
        Some('.' | ')') if digits > 0 => digits,
        Some('-' | '+' | '>' | '=' | '~') if digits == 0 => 0,
        _ => return written,
    };
    format!("{}\\{}", &written[..at], &written[at..])
}

/// Writes an address between parentheses.
fn address(target: &str) -> String {
    let mut written = String::with_capacity(target.len());
    for c in target.trim().chars() {
        match c {
            '(' | ')' | '<' | '>' | ' ' | '\\' => written += &format!("%{:02X}", u32::from(c)),
            c if c.is_control() || c.is_whitespace() => written += "%20",
            '&' => written += "&amp;",
            c => written.push(c),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LLMS: &str = "# Sample\n\n> A tool for\n> samples.\n\nDetails with [a link](x.md).\n\n- [not in a section](y.md)\n\n## Docs\n\n- [Start](https://example.org/start.md): How to *start*, see [more](m.md)\n- [API](api.md)\n- text first [no](n.md)\n\n  ```\n  code\n  ```\n\n## Optional\n\n* [Old `news`](<old news.md>) : News\n";

    fn read(text: &str) -> LinkList {
        LinkList::read(&Source::new(text.as_bytes()))
    }

    fn rows(list: &LinkList) -> Vec<String> {
        let row = |link: &ListedLink| {
            let ListedLink {
                title,
                target,
                description,
                section,
            } = link;
            format!("{section}|{title}|{target}|{description}")
        };
        list.links.iter().map(row).collect()
    }

    #[test]
    fn a_list_is_read() {
        let list = read(LLMS);
        assert_eq!(list.title, "Sample");
        assert_eq!(list.summary, "A tool for samples.");
        assert_eq!(
            rows(&list),
            [
                "|not in a section|y.md|",
                "Docs|Start|https://example.org/start.md|How to start, see more",
                "Docs|API|api.md|",
                "Optional|Old news|old news.md|News",
            ]
        );
        assert_eq!(read(""), LinkList::default());
        assert_eq!(read("text only").links, []);
    }

    #[test]
    fn a_summary_is_read() {
        let summary = "# Summary\n\n[Introduction](README.md)\n[Preface](pre.md)\n\n# Guide\n\n- [One](one.md)\n  - [Nested *part*](one/nested.md)\n- [Draft]()\n\n---\n\n[Contributors](people.md)\n";
        let list = LinkList::read_summary(&Source::new(summary.as_bytes()));
        assert_eq!(
            rows(&list),
            [
                "|Introduction|README.md|",
                "|Preface|pre.md|",
                "Guide|One|one.md|",
                "Guide|Nested part|one/nested.md|",
                "Guide|Draft||",
                "Guide|Contributors|people.md|",
            ]
        );
    }

    #[test]
    fn a_list_is_written() {
        let link = |title: &str, target: &str, description: &str, section: &str| ListedLink {
            title: title.to_owned(),
            target: target.to_owned(),
            description: description.to_owned(),
            section: section.to_owned(),
        };
        let list = LinkList {
            title: "My\nmanual".to_owned(),
            summary: "1. What it is".to_owned(),
            links: vec![
                link("Old", "old.html", "", "Optional"),
                link(
                    "The [x] of C#",
                    "a b(c).html#d",
                    "Uses `*` and\nsnake_case",
                    "",
                ),
                link("B", "b/", "", "Guide"),
            ],
            is_cut: false,
        };
        assert_eq!(
            list.to_llms_txt(),
            "# My manual\n\n> 1\\. What it is\n\n## Docs\n\n- [The \\[x\\] of C#](a%20b%28c%29.html#d): Uses \\`\\*\\` and snake_case\n\n## Guide\n\n- [B](b/)\n\n## Optional\n\n- [Old](old.html)\n"
        );
    }

    #[test]
    fn a_list_is_bounded() {
        let many = format!(
            "# T\n\n## S\n\n{}",
            "- [a](b)\n".repeat(MAX_LISTED_LINKS + 5)
        );
        let list = read(&many);
        assert_eq!((list.links.len(), list.is_cut), (MAX_LISTED_LINKS, true));
        let long = format!("# T\n\n## S\n\n- [{0}]({0}): {0}\n", "x".repeat(50_000));
        let list = read(&long);
        assert_eq!(list.links[0].title.len(), MAX_LISTED_CHARS);
        assert_eq!(list.links[0].description.len(), MAX_LISTED_CHARS);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            title in "[a-z_*`<>&;#\\[\\]\\\\!|~é.:0-9()-]{1,6}( [a-z_*`&#!.)=+>-]{1,6}){0,3}",
            summary in "([a-z_*`<>&;#!|~é.0-9()=+-]{1,5} ?){0,4}",
            links in proptest::collection::vec(("[a-z_*&#!\\[\\]é]{1,8}( [#_a*])?", "[a-z./&()# -]{1,12}", "([a-z_*`<>&;#:!é-]{1,5} ?){0,4}", "[A-C]"), 0..6),
        ) {
            let text = |text: &str| one_line(text);
            let mut written = LinkList { title: text(&title), summary: text(&summary), ..LinkList::default() };
            for (title, target, description, section) in links {
                let target = target.trim().replace(' ', "%20").replace('(', "%28").replace(')', "%29");
                let description = text(&description).trim_start_matches([':', ' ']).to_owned();
                written.links.push(ListedLink { title: text(&title), target, description, section });
            }
            let read = read(&written.to_llms_txt());
            let mut grouped = written.clone();
            let mut order = Vec::new();
            for link in &written.links {
                if !order.contains(&link.section) {
                    order.push(link.section.clone());
                }
            }
            grouped.links.sort_by_key(|link| order.iter().position(|one| *one == link.section));
            prop_assert_eq!(read, grouped);
        }
    }
}
