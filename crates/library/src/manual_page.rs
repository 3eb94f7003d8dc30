//! Pages of a manual: how they are cut into sections, and what is known about them without reading them again.

use sectile_markdown::{AnchorStyle, NotePath, PageFormat, PageSyntax, Properties, Source, Value};
use sectile_retrieval::{Section, sections};

use crate::{
    indexing::{CutNotebook, LONGEST_CHUNK},
    live_folder::{NoteDetails, NoteRecord},
    storage::{NotebookFile, NotebookStamp},
};

/// The most characters of a title.
pub const MAX_TITLE: usize = 200;
/// The most characters of a summary.
pub const MAX_SUMMARY: usize = 200;

/// How the files of a folder are cut into passages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoteCut {
    /// As notes, of which everything is known: short passages, links, tasks.
    #[default]
    Notes,
    /// As pages of a manual, which are found and read by section.
    Pages,
}

/// The facts about a page that its front matter does not give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageFacts {
    /// The first sentence of its text.
    pub summary: String,
    /// Whether its front matter is not valid YAML, so that nothing is known of it.
    pub has_invalid_front_matter: bool,
    /// The reason why there is nothing to read in it, if there is not.
    pub problem: Option<PageProblem>,
}

/// The reason why there is nothing to read in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageProblem {
    /// Its bytes are not UTF-8.
    NotUtf8,
    /// It is empty, or has nothing but white space.
    Empty,
}

impl NoteCut {
    /// Cuts a file into passages.
    pub(crate) fn cut(self, bytes: &[u8], notebook: &NotePath) -> CutNotebook {
        match self {
            Self::Notes => CutNotebook::new(bytes, notebook),
            Self::Pages => {
                let listed = NotebookFile {
                    notebook: notebook.clone(),
                    stamp: NotebookStamp::default(),
                };
                page(&listed, bytes, None).1
            }
        }
    }

    /// Returns the record of a file, and its passages.
    pub(crate) fn examined(self, listed: &NotebookFile, bytes: &[u8]) -> (NoteRecord, CutNotebook) {
        let path = listed.notebook.clone();
        match self {
            Self::Notes => {
                let facts = sectile_markdown::examine(&Source::new(bytes), LONGEST_CHUNK);
                let note = NoteRecord::examined(path, listed.stamp, bytes, &facts);
                let cut = CutNotebook::of(bytes, note.title.clone(), facts.chunks);
                (note, cut)
            }
            Self::Pages => page(listed, bytes, None),
        }
    }
}

/// Returns the record of a page, and its sections. `title` is its title if its front matter does not give one.
pub(crate) fn page(
    listed: &NotebookFile,
    bytes: &[u8],
    title: Option<&str>,
) -> (NoteRecord, CutNotebook) {
    let (path, source) = (listed.notebook.clone(), Source::new(bytes));
    let front_matter = source.front_matter_value();
    let written = match &front_matter {
        Some(Ok(Value::Map(values))) => values.get("title").and_then(as_line),
        _ => None,
    };
    let title = written.or_else(|| title.map(str::to_owned));
    let title = title.unwrap_or_else(|| derived_title(&source, path.file_name()));
    let format = PageFormat {
        syntax: PageSyntax::of_file(path.file_name()),
        // Anchors are made when a page is read. Here it matters that ids given to headings are not searched, which this
        // style knows in all ways in which they are written.
        anchors: AnchorStyle::MkDocs,
    };
    let problem = match std::str::from_utf8(bytes).map(sectile_markdown::trim) {
        Ok("") => Some(PageProblem::Empty),
        Ok(_) => None,
        Err(_) => Some(PageProblem::NotUtf8),
    };
    let sections = match problem {
        None => sections(bytes, &title, format),
        Some(_) => Vec::new(),
    };
    let summary = match format.syntax {
        PageSyntax::Markdown => source.first_paragraph(),
        // Its first paragraph may be a part of a program.
        PageSyntax::Mdx => searchable(&sections)
            .next()
            .map(|first| first.plain.clone()),
    };
    let summary = summary.and_then(|text| one_line(first_sentence(&text), MAX_SUMMARY));
    let page = PageFacts {
        summary: summary.unwrap_or_default(),
        has_invalid_front_matter: matches!(front_matter, Some(Err(_))),
        problem,
    };
    let details = NoteDetails {
        title,
        properties: Properties::of_front_matter(&source),
        page: Some(Box::new(page)),
        ..NoteDetails::default()
    };
    let note = NoteRecord::detailed(path, listed.stamp, bytes, details);
    (note, CutNotebook::of_page(bytes, sections))
}

/// Returns the sections of a page that can be found, in the order in which they are numbered in an index.
pub fn searchable(sections: &[Section]) -> impl Iterator<Item = &Section> {
    sections.iter().filter(|section| !section.plain.is_empty())
}

/// Returns the text of a page without its front matter, below its title if it does not have a heading of level 1 itself.
pub fn text_with_title(bytes: &[u8], title: &str) -> String {
    let source = Source::new(bytes);
    let body = source.front_matter().map_or(0, |found| found.block.end);
    let text = String::from_utf8_lossy(&bytes[body..]);
    let text = sectile_markdown::trim(text.trim_start_matches('\u{feff}'));
    let document = source.parse();
    let has_title = document
        .top_level()
        .any(|(_, section, _)| section.level == 1);
    match has_title {
        true => text.to_owned(),
        false => format!("# {title}\n\n{text}"),
    }
}

/// Returns the title of a page that does not give one: its first heading of level 1, else its file name without the ending.
fn derived_title(source: &Source<'_>, file_name: &str) -> String {
    let document = source.parse();
    let heading = document
        .top_level()
        .find(|(_, section, _)| section.level == 1)
        .and_then(|(_, section, _)| one_line(without_attributes(&section.text), MAX_TITLE));
    heading
        .or_else(|| one_line(stem(file_name), MAX_TITLE))
        .unwrap_or_else(|| "Untitled".to_owned())
}

/// Returns a value of the front matter as one line of text, if it is not a list or a mapping.
fn as_line(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => one_line(text, MAX_TITLE),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(switch) => Some(switch.to_string()),
        Value::Timestamp(time) => Some(time.as_written().to_owned()),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

/// Returns the text of a heading without the `{#id}` at its end.
fn without_attributes(text: &str) -> &str {
    let is_attributes = |rest: &str| {
        let inside = rest
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'));
        inside.is_some_and(|inside| {
            inside
                .trim_start_matches([' ', ':'])
                .starts_with(['#', '.'])
        })
    };
    match text.rfind('{') {
        Some(at) if is_attributes(&text[at..]) => text[..at].trim_end(),
        _ => text,
    }
}

/// Returns the name of a file without its ending.
pub fn stem(file_name: &str) -> &str {
    file_name
        .rsplit_once('.')
        .map_or(file_name, |(stem, _)| stem)
}

/// Returns the text up to the first mark that ends a sentence, or the first hard line break.
fn first_sentence(text: &str) -> &str {
    for (at, mark) in text.char_indices() {
        let end = at + mark.len_utf8();
        let before_space = || text[end..].chars().next().is_none_or(char::is_whitespace);
        let ends = match mark {
            '\n' | '。' | '！' | '？' => true,
            '!' | '?' => before_space(),
            '.' => before_space() && !is_abbreviation(&text[..at]),
            _ => false,
        };
        if ends {
            return &text[..end];
        }
    }
    text
}

/// Returns whether the dot after `text` belongs to its last word, as in `e.g.`.
fn is_abbreviation(text: &str) -> bool {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or(text);
    let word = word.trim_start_matches(['(', '"', '\'']);
    let is_initials = word.split('.').all(|part| part.chars().count() == 1);
    is_initials || ["approx", "cf", "etc", "resp", "vs"].contains(&word)
}

/// Returns `text` as one line of at most `most` characters; `None` if it is empty.
pub fn one_line(text: &str, most: usize) -> Option<String> {
    let words = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return None;
    }
    let Some((end, _)) = line.char_indices().nth(most) else {
        return Some(line);
    };
    // One character less, to leave room for the ellipsis.
    let kept = line[..end]
        .char_indices()
        .next_back()
        .map_or(0, |(at, _)| at);
    let kept = &line[..kept];
    let kept = kept.rsplit_once(' ').map_or(kept, |(before, _)| before);
    Some(format!("{kept}…"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sentences() {
        for (text, expected) in [
            ("One. Two.", "One."),
            ("No end", "No end"),
            (
                "Version 1.2 of sectile.toml is here. Next",
                "Version 1.2 of sectile.toml is here.",
            ),
            (
                "Tools, e.g. this one, work. And more.",
                "Tools, e.g. this one, work.",
            ),
            (
                "It edits (e.g. this). sectile does.",
                "It edits (e.g. this).",
            ),
            ("A vs. B, i.e. two. Two.", "A vs. B, i.e. two."),
            ("What: a thing\nWhy: so.", "What: a thing\n"),
            ("Really? Yes.", "Really?"),
            ("文です。次。", "文です。"),
            ("Ends here.", "Ends here."),
        ] {
            assert_eq!(first_sentence(text), expected);
        }
    }

    #[test]
    fn lines_are_cut_between_words() {
        assert_eq!(one_line(" a\n\tb\u{0} c ", 10).as_deref(), Some("a b c"));
        assert_eq!(one_line(" \n\u{0}", 10), None);
        assert_eq!(one_line("abcde fghij", 11).as_deref(), Some("abcde fghij"));
        assert_eq!(one_line("abcde fghij", 10).as_deref(), Some("abcde…"));
        assert_eq!(one_line("ééééé", 4).as_deref(), Some("ééé…"));
    }

    #[test]
    fn a_page_of_mdx_is_known_by_its_prose() {
        let text = b"import Tabs from '@theme/Tabs';\n\n# Set up {#setup}\n\n<Tabs>\n\nFirst sentence. Second.\n\n</Tabs>\n";
        let listed = NotebookFile {
            notebook: NotePath::parse_vault("guide/setup.mdx").unwrap(),
            stamp: NotebookStamp::default(),
        };
        let (record, cut) = page(&listed, text, None);
        let facts = record.page.as_ref().unwrap();
        assert_eq!(record.title, "Set up");
        assert_eq!(facts.summary, "First sentence.");
        assert_eq!(cut.chunks.chunks.len(), 1);
        assert_eq!(cut.chunks.chunks[0].plain, "First sentence. Second.");
        assert_eq!(cut.path_of(0), ["Set up"]);
    }

    #[test]
    fn a_page_is_shown_below_its_title() {
        for (bytes, expected) in [
            (&b"---\ntitle: T\n---\n\nText.\n"[..], "# T\n\nText."),
            (b"---\ntitle: T\n---\n# Own\n\nText.\n\n", "# Own\n\nText."),
            (b"\xef\xbb\xbfText.\n\n## Part\n", "# T\n\nText.\n\n## Part"),
            (b"Text.\n\n# Late\n", "Text.\n\n# Late"),
        ] {
            assert_eq!(text_with_title(bytes, "T"), expected);
        }
    }

    #[test]
    fn nothing_of_a_page_that_is_not_text_is_searched() {
        for (bytes, problem) in [
            (&b"caf\xe9 words\n"[..], PageProblem::NotUtf8),
            (b" \n\t\n", PageProblem::Empty),
        ] {
            let listed = NotebookFile {
                notebook: NotePath::parse_vault("a.md").unwrap(),
                stamp: NotebookStamp::default(),
            };
            let (record, cut) = page(&listed, bytes, None);
            let facts = record.page.as_ref().unwrap();
            assert_eq!(facts.problem, Some(problem));
            assert!(cut.chunks.chunks.is_empty());
        }
    }
}
