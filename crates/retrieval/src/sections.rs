//! The sections of a document, as they are searched and read.
//!
//! A heading of level 1 to 3 starts a section, which extends to the next such heading; deeper headings stay inside.
//! Everything before the second of them, including the title, is the introduction.

use sectile_markdown::{PageFormat, Passages, Source, Span, passages};

/// One section of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its heading; for the introduction, the title.
    pub heading: String,
    /// The title of the document and the headings above this one. Empty for the introduction.
    pub trail: Vec<String>,
    /// The fragment of its URI; `None` for the introduction.
    pub anchor: Option<String>,
    /// Its text, up to the next section.
    pub text: Span,
    /// Its heading with all subsections.
    pub whole: Span,
    /// Its text without markup. Empty if there is none.
    pub plain: String,
}

/// Headings of this level and above start sections.
pub const DEEPEST_HEADING: u8 = 3;

/// Returns all sections of the document `bytes`, titled `name`, including those without text. Their anchors are unique.
#[must_use]
pub fn sections(bytes: &[u8], name: &str, format: PageFormat) -> Vec<Section> {
    let Passages {
        document,
        mut anchors,
        mut texts,
    } = passages(&Source::new(bytes), DEEPEST_HEADING, format);
    let all = document.sections();
    let starts: Vec<usize> = document
        .top_level()
        .filter(|(_, section, _)| section.level <= DEEPEST_HEADING)
        .map(|(index, ..)| index)
        .collect();
    // A first heading of level 1 is the title.
    let title = starts
        .first()
        .copied()
        .filter(|first| all[*first].level == 1);
    let start_of = |at: usize| {
        starts
            .get(at)
            .map_or(bytes.len(), |index| all[*index].heading.start)
    };
    let body_start = document
        .front_matter()
        .map_or(0, |front_matter| front_matter.block.end);
    let mut sections = Vec::with_capacity(starts.len() + 1);
    let intro_end = start_of(usize::from(title.is_some()));
    let intro_start = title.map_or(body_start, |title| all[title].heading.end);
    let intro = Span::new(intro_start, intro_end);
    let mut plain_of = |at: usize| texts.get_mut(at).map(std::mem::take).unwrap_or_default();
    let mut intro_plain = plain_of(0);
    if title.is_some() {
        intro_plain.push('\n');
        intro_plain.push_str(&plain_of(1));
    }
    sections.push(Section {
        heading: name.to_owned(),
        trail: Vec::new(),
        anchor: None,
        text: intro,
        whole: Span::new(0, bytes.len()),
        plain: trimmed(intro_plain),
    });
    for (at, index) in starts.iter().enumerate() {
        if title == Some(*index) {
            continue;
        }
        let section = &all[*index];
        let Some(extent) = section.extent else {
            continue;
        };
        let text = Span::new(section.heading.end, start_of(at + 1));
        let above = std::iter::successors(extent.parent, |above| all[*above].extent?.parent);
        let mut trail: Vec<String> = above
            .filter(|above| title != Some(*above))
            .map(|above| all[above].text.clone())
            .collect();
        trail.push(name.to_owned());
        trail.reverse();
        sections.push(Section {
            heading: section.text.clone(),
            trail,
            anchor: anchors.get_mut(*index).map(std::mem::take),
            text,
            whole: extent.subtree,
            plain: trimmed(plain_of(at + 1)),
        });
    }
    sections
}

fn trimmed(mut text: String) -> String {
    text.truncate(text.trim_end().len());
    let start = text.len() - text.trim_start().len();
    text.drain(..start);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\nslug: x\n---\n<!-- banner -->\n\n# Guide\n\nIntro.\n\n## One\n\nFirst.\n\n```\n## not a heading\n```\n\n#### Deep\n\nInside.\n\n### Child\n\n## One\n\nSecond.\n\n# Part\n\n## Last\n\nEnd.\n";

    fn shown(text: &str) -> Vec<String> {
        sections(text.as_bytes(), "Guide", PageFormat::default())
            .iter()
            .map(|section| {
                let anchor = section.anchor.as_deref().unwrap_or_default();
                format!(
                    "{}>{}#{anchor}: {}",
                    section.trail.join(">"),
                    section.heading,
                    section.plain.replace('\n', " ")
                )
            })
            .collect()
    }

    #[test]
    fn sections_start_at_the_first_three_levels() {
        assert_eq!(
            shown(TEXT),
            [
                ">Guide#: Intro.",
                "Guide>One#one: First. ## not a heading Deep Inside.",
                "Guide>One>Child#child: ",
                "Guide>One#one-1: Second.",
                "Guide>Part#part: ",
                "Guide>Part>Last#last: End.",
            ]
        );
    }

    #[test]
    fn a_document_without_headings_is_one_section() {
        assert_eq!(shown("Just text.\n"), [">Guide#: Just text."]);
        assert_eq!(shown(""), [">Guide#: "]);
        assert_eq!(shown("## A\n\nx"), [">Guide#: ", "Guide>A#a: x"]);
    }

    #[test]
    fn a_section_is_read_with_all_that_is_below_it() {
        let one = &sections(TEXT.as_bytes(), "Guide", PageFormat::default())[1];
        let whole = String::from_utf8_lossy(one.whole.slice(TEXT.as_bytes())).into_owned();
        assert!(
            whole.starts_with("## One\n") && whole.ends_with("### Child\n\n"),
            "{whole}"
        );
    }
}
