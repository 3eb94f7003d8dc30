//! Text that a caller wants to put into a document: prepared, and inspected before it is written.

use pulldown_cmark::{CodeBlockKind, Event, Tag};

use super::{EditError, Escape, TopSection, content_span, heading, spacing::with_line_ends, tops};
use crate::{Change, Changes, LineIndex, Source, Span, options::ParserInput};

/// How to treat headings in a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PayloadHeadings {
    /// They must be deeper than the section; others are refused.
    #[default]
    Inside,
    /// They are all shifted by the same number of levels, so that the highest is one below the section.
    Rebase,
    /// They stay as they are, even if that ends the section.
    AsWritten,
}

/// A payload, ready to be written.
#[derive(Debug)]
pub(super) struct Payload {
    /// Without blank lines around it and without a line ending.
    pub(super) text: String,
    /// The levels of its headings.
    pub(super) levels: Vec<u8>,
}

impl Payload {
    /// Prepares the body of a section of level `section_level`.
    pub(super) fn body(
        text: &str,
        section_level: u8,
        headings: PayloadHeadings,
        line_end: &str,
        may_stay_open: bool,
    ) -> Result<Self, EditError> {
        let text = with_line_ends(core(text), line_end);
        let tops = tops(&Source::fragment(&text).parse());
        let shift = match headings {
            PayloadHeadings::Rebase => {
                tops.iter().map(|top| top.level).min().map_or(0, |highest| {
                    i16::from(section_level) + 1 - i16::from(highest)
                })
            }
            PayloadHeadings::Inside => {
                let escaping = tops.iter().find(|top| top.level <= section_level);
                if let Some(top) = escaping {
                    return Err(EditError::Escapes(Escape::Heading {
                        line: LineIndex::new(text.as_bytes())
                            .position(top.heading.start)
                            .line,
                        level: top.level,
                        section_level,
                    }));
                }
                0
            }
            PayloadHeadings::AsWritten => 0,
        };
        let payload = Self::shifted(&text, &tops, shift)?;
        if !may_stay_open && let Some(escape) = open_end(&payload.text) {
            return Err(EditError::Escapes(escape));
        }
        Ok(payload)
    }

    /// Prepares a section with its subsections, whose first heading gets `level`.
    pub(super) fn subtree(text: &str, level: u8, line_end: &str) -> Result<Self, EditError> {
        let text = with_line_ends(core(text), line_end);
        let tops = tops(&Source::fragment(&text).parse());
        let first = tops.first().ok_or(EditError::NoSuchSection)?;
        let shift = i16::from(level) - i16::from(first.level);
        let payload = Self::shifted(&text, &tops, shift)?;
        match open_end(&payload.text) {
            Some(escape) => Err(EditError::Escapes(escape)),
            None => Ok(payload),
        }
    }

    fn shifted(text: &str, tops: &[TopSection], shift: i16) -> Result<Self, EditError> {
        let levels = tops
            .iter()
            .map(|top| shifted_level(top.level, shift))
            .collect::<Result<Vec<u8>, _>>()?;
        if shift == 0 {
            return Ok(Self {
                text: text.to_owned(),
                levels,
            });
        }
        let changes = relevel(text.as_bytes(), tops, shift)?;
        let bytes = Changes::new(changes)
            .and_then(|changes| changes.apply(text.as_bytes()))
            .ok_or(EditError::HeadingCannotBeWritten)?;
        let text = String::from_utf8(bytes).map_err(|_| EditError::NotUtf8)?;
        Ok(Self { text, levels })
    }
}

/// Returns the changes that shift the levels of the headings of `tops`.
pub(super) fn relevel(
    bytes: &[u8],
    tops: &[TopSection],
    shift: i16,
) -> Result<Vec<Change>, EditError> {
    let mut changes = Vec::new();
    for top in tops {
        let level = shifted_level(top.level, shift)?;
        if level != top.level {
            changes.extend(heading::with_level(bytes, top.heading, level)?);
        }
    }
    Ok(changes)
}

pub(super) fn shifted_level(level: u8, shift: i16) -> Result<u8, EditError> {
    u8::try_from(i16::from(level) + shift)
        .ok()
        .filter(|level| (1..=6).contains(level))
        .ok_or(EditError::LevelOutOfRange)
}

fn core(text: &str) -> &str {
    let all = Span::new(0, text.len());
    &text[content_span(text.as_bytes(), all).range()]
}

/// Returns the construct that `text` leaves open, which would keep a following heading from being one.
pub(super) fn open_end(text: &str) -> Option<Escape> {
    const PROBE: &str = "\n\n# x\n";
    let probed = format!("{text}{PROBE}");
    let heading_start = probed.len() - PROBE.len() + 2;
    let found = Source::fragment(&probed)
        .parse()
        .top_level()
        .any(|(_, section, _)| section.heading.start == heading_start);
    if found {
        return None;
    }
    let mut depth = 0_usize;
    let mut last = Escape::Open;
    for (event, _) in ParserInput::of(text).all_events() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    last = match tag {
                        Tag::CodeBlock(CodeBlockKind::Fenced(_)) => Escape::OpenFence,
                        Tag::HtmlBlock => Escape::OpenHtml,
                        _ => Escape::Open,
                    };
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    Some(last)
}
