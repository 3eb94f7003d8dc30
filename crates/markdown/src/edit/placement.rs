//! Target positions of inserted and moved sections.

use super::{EditError, TopSection};

/// Where to put a section. All variants but the first name another section by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionPlacement {
    /// At this index in the list of all sections: 0 is before the first, their number is the end.
    Position(usize),
    /// Before this section.
    Before(usize),
    /// After this section and its subsections.
    After(usize),
    /// As the first subsection of this section.
    FirstChild(usize),
    /// As the last subsection of this section.
    LastChild(usize),
}

/// A resolved place: the position of the section that will follow, and the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResolvedPlacement {
    pub(super) position: usize,
    pub(super) level: u8,
}

/// Resolves `place` in the list `tops`. The level is `level`, or the one that the place implies.
pub(super) fn find(
    tops: &[TopSection],
    place: SectionPlacement,
    level: Option<u8>,
) -> Result<ResolvedPlacement, EditError> {
    let anchor = |position: usize| tops.get(position).ok_or(EditError::NoSuchSection);
    let (position, suggested) = match place {
        SectionPlacement::Position(position) => {
            if position > tops.len() {
                return Err(EditError::PositionOutOfRange { max: tops.len() });
            }
            let neighbour = tops.get(position).or(tops.last());
            (position, neighbour.map_or(1, |top| top.level))
        }
        SectionPlacement::Before(section) => (section, anchor(section)?.level),
        SectionPlacement::After(section) => (anchor(section)?.subtree_end, anchor(section)?.level),
        SectionPlacement::FirstChild(section) => {
            let first = children(tops, section).next();
            (
                section + 1,
                first.map_or(anchor(section)?.level + 1, |top| top.level),
            )
        }
        SectionPlacement::LastChild(section) => {
            let last = children(tops, section).last();
            let end = anchor(section)?.subtree_end;
            (
                end,
                last.map_or(anchor(section)?.level + 1, |top| top.level),
            )
        }
    };
    let level = level.unwrap_or(suggested);
    let as_child = match place {
        SectionPlacement::FirstChild(section) | SectionPlacement::LastChild(section) => {
            Some(anchor(section)?.level)
        }
        _ => None,
    };
    if !(1..=6).contains(&level) || as_child.is_some_and(|parent| level <= parent) {
        return Err(EditError::LevelOutOfRange);
    }
    Ok(ResolvedPlacement { position, level })
}

fn children(tops: &[TopSection], section: usize) -> impl Iterator<Item = &TopSection> {
    let end = tops.get(section).map_or(0, |top| top.subtree_end);
    tops.get(section + 1..end)
        .unwrap_or_default()
        .iter()
        .filter(move |top| top.parent == Some(section))
}
