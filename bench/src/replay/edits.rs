//! Commits as edits of sections: each block of changed lines becomes an edit in the narrowest section that it fits, and all
//! of a commit's edits of one document are one request to the editor.

use std::collections::BTreeMap;

use anyhow::Result;
use sectile_markdown::{
    Change, Document, Mapping, NotePath, Source, Span, Value,
    edit::{Edit, EditScope, EditableDocument},
    line_changes, remove_key, set_key,
};
use sectile_vault::{
    Editor,
    editor::{
        CallHooks, EditText, Operation, RenameSection, Scope, SectionRef, SetFrontMatter,
        WriteRequest,
    },
};

use super::{Figures, Replay, git::Repository};
use crate::editor::options;

/// What an edit names, from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    FrontMatter,
    Heading,
    Body,
    Subtree,
    Document,
}

const REACHES: [(Reach, &str); 5] = [
    (Reach::Body, "in a section"),
    (Reach::Heading, "of headings"),
    (Reach::Subtree, "in a section with its subsections"),
    (Reach::Document, "in the whole document"),
    (Reach::FrontMatter, "of the front matter, by key"),
];

/// An edit that makes one block of changed lines.
struct PlannedEdit {
    reach: Reach,
    /// Position, before all edits, of the section that it names.
    section: Option<usize>,
    /// The lines to replace, or the key of the front matter. Empty for a heading, which is named by its section.
    old: String,
    new: String,
    /// The new value of the key.
    value: Option<Value>,
}

/// How often a passage occurs that is to be replaced.
#[derive(Default)]
struct Occurrences {
    once_in_the_document: usize,
    once_in_the_section: usize,
    more_often: usize,
}

#[derive(Default)]
struct EditCounts {
    documents: usize,
    expressed: usize,
    whole: BTreeMap<String, usize>,
    reaches: BTreeMap<Reach, usize>,
    passages: Occurrences,
    section_bytes: usize,
    replace_bytes: usize,
    whole_bytes: usize,
}

pub(super) fn replay(
    replay: &Replay,
    repository: &mut Repository,
    figures: &mut Figures,
) -> Result<()> {
    let folder = tempfile::tempdir_in(&replay.place)?;
    let editor = Editor::folder(folder.path(), options())?;
    let mut counts = EditCounts::default();
    // Documents get a name of their own: not every path of a repository is a document's.
    let mut names = BTreeMap::new();
    for change in repository.changes(replay.most)? {
        let (Some(before), Some(after)) = (change.before, change.after) else {
            continue;
        };
        let objects = (repository.object(&before)?, repository.object(&after)?);
        let (Some(before), Some(after)) = objects else {
            continue;
        };
        // Its mode changed, and nothing else.
        if before == after {
            continue;
        }
        let number = names.len();
        let name = names
            .entry(change.path.clone())
            .or_insert_with(|| format!("{number}.md"));
        let file = folder.path().join(&*name);
        // The parent of a commit need not be the commit before it.
        if std::fs::read(&file).ok().as_ref() != Some(&before) {
            std::fs::write(&file, &before)?;
        }
        let outcome = counts.edit(&editor, &NotePath::parse_vault(name)?, &before, &after);
        let now = std::fs::read(&file)?;
        let is_right = match &outcome {
            Ok(()) => now == after,
            Err(_) => now == before,
        };
        if !is_right {
            let (path, commit) = (&change.path, &change.commit);
            figures
                .failures
                .push(format!("{commit} {path}: other bytes than in the commit"));
        }
        if let Err(why) = outcome {
            let (path, commit) = (&change.path, &change.commit);
            figures.remarks.push(format!("{commit} {path}: {why}"));
            *counts.whole.entry(why).or_default() += 1;
            std::fs::write(&file, &after)?;
        }
    }
    counts.report(figures);
    Ok(())
}

impl EditCounts {
    /// Makes the document `before` into `after` by edits of sections, or says why that cannot be done.
    fn edit(
        &mut self,
        editor: &Editor,
        note: &NotePath,
        before: &[u8],
        after: &[u8],
    ) -> Result<(), String> {
        self.documents += 1;
        let text = std::str::from_utf8(before).map_err(|_| "not UTF-8")?;
        let mut passages = Occurrences::default();
        let edits = plan(before, after, &mut passages)?;
        let failed = |error: &dyn std::fmt::Display| format!("refused by the editor: {error}");
        let view = editor.view(note).map_err(|error| failed(&error))?;
        let operations: Vec<Operation> = edits
            .iter()
            .map(|edit| operation(edit, note, view.ids()))
            .collect();
        let request = WriteRequest::new(operations, "apply_edits", "replay");
        editor
            .write(&request, CallHooks::none())
            .map_err(|error| failed(&error))?;
        self.expressed += 1;
        for edit in &edits {
            *self.reaches.entry(edit.reach).or_default() += 1;
            let id = edit.section.and_then(|section| view.ids().get(section));
            let name = id.map_or(note.as_str().len(), String::len);
            self.section_bytes += name + edit.old.len() + edit.new.len();
        }
        self.replace_bytes += line_changes(before, after)
            .iter()
            .filter_map(|change| {
                let all = Span::new(0, before.len());
                let passage = passage(text, all, change, |passage| {
                    text.matches(passage).count() == 1
                })?;
                Some(
                    note.as_str().len() + 2 * passage.len() + change.text.len() - change.span.len(),
                )
            })
            .sum::<usize>();
        self.whole_bytes += note.as_str().len() + after.len();
        self.passages.once_in_the_document += passages.once_in_the_document;
        self.passages.once_in_the_section += passages.once_in_the_section;
        self.passages.more_often += passages.more_often;
        Ok(())
    }

    fn report(&self, figures: &mut Figures) {
        figures.row("documents changed by commits", self.documents);
        figures.share(
            "of these, made by edits of sections, equal to the byte",
            self.expressed,
            self.documents,
        );
        for (why, count) in &self.whole {
            figures.row(format!("written whole: {why}"), count);
        }
        let blocks: usize = self.reaches.values().sum();
        figures.row("edits", blocks);
        for (reach, what) in REACHES {
            figures.share(
                what,
                self.reaches.get(&reach).copied().unwrap_or_default(),
                blocks,
            );
        }
        let passages = &self.passages;
        let all =
            passages.once_in_the_document + passages.once_in_the_section + passages.more_often;
        figures.share(
            "changed passages that occur once in the document",
            passages.once_in_the_document,
            all,
        );
        figures.share(
            "once in their section, but more often in the document",
            passages.once_in_the_section,
            all,
        );
        figures.share(
            "more than once in their section too",
            passages.more_often,
            all,
        );
        figures.row("bytes sent as edits of sections", self.section_bytes);
        figures.row(
            "bytes sent to replace text in whole files",
            self.replace_bytes,
        );
        figures.row("bytes sent to write whole files", self.whole_bytes);
    }
}

/// Returns edits that make `before` into `after`. Those of text are made from the last to the first, so that what is before
/// an edit is still as it was.
fn plan(
    before: &[u8],
    after: &[u8],
    passages: &mut Occurrences,
) -> Result<Vec<PlannedEdit>, String> {
    let mut edits = Vec::new();
    let mut now = before.to_vec();
    if front_matter(before) != front_matter(after) {
        now = plan_keys(before, after, &mut edits)?;
    }
    let changes = line_changes(&now, after);
    let sections = Source::new(&now).parse().top_level().count();
    let mut planned = Planned {
        now,
        origins: (0..sections).map(Some).collect(),
    };
    for change in changes.iter().rev() {
        edits.push(planned.make(change, passages)?);
    }
    Ok(edits)
}

fn front_matter(bytes: &[u8]) -> &[u8] {
    let front_matter = Source::new(bytes).front_matter();
    front_matter.map_or(&[], |found| found.block.slice(bytes))
}

/// Plans edits of the keys that differ, and returns the bytes after them.
fn plan_keys(before: &[u8], after: &[u8], edits: &mut Vec<PlannedEdit>) -> Result<Vec<u8>, String> {
    let mapping = |bytes| match Source::new(bytes).front_matter_value() {
        Some(Ok(Value::Map(mapping))) => mapping,
        _ => Mapping::default(),
    };
    let (old, new) = (mapping(before), mapping(after));
    let removed = old
        .iter()
        .map(|(key, _)| key)
        .filter(|key| new.get(key).is_none());
    let set = new
        .iter()
        .filter(|(key, value)| old.get(key) != Some(value));
    let keys = removed
        .map(|key| (key, None))
        .chain(set.map(|(key, value)| (key, Some(value))));
    let mut now = before.to_vec();
    for (key, value) in keys {
        let changes = match value {
            Some(value) => set_key(&now, key, value),
            None => remove_key(&now, key),
        };
        let changes = changes.map_err(|error| error.to_string())?;
        now = changes.apply(&now).ok_or("the change does not fit")?;
        edits.push(PlannedEdit {
            reach: Reach::FrontMatter,
            section: None,
            old: key.to_owned(),
            // As long as what is sent.
            new: changes
                .iter()
                .map(|change| String::from_utf8_lossy(&change.text))
                .collect(),
            value: value.cloned(),
        });
    }
    if front_matter(&now) != front_matter(after) {
        return Err("the front matter is laid out in another way".to_owned());
    }
    Ok(now)
}

/// A document after the edits so far.
struct Planned {
    now: Vec<u8>,
    /// For each section, its position before all edits.
    origins: Vec<Option<usize>>,
}

impl Planned {
    /// Makes the narrowest edit that has exactly this change as its result.
    fn make(&mut self, change: &Change, passages: &mut Occurrences) -> Result<PlannedEdit, String> {
        let now = &self.now;
        let document = Source::new(now).parse();
        let wanted = [
            &now[..change.span.start],
            &change.text,
            &now[change.span.end..],
        ]
        .concat();
        let text = std::str::from_utf8(now).map_err(|_| "not UTF-8")?;
        let new = std::str::from_utf8(&change.text).map_err(|_| "not UTF-8")?;
        let editable = EditableDocument::new(now, &document).map_err(|error| error.to_string())?;
        let mut why = String::from("no line to hold on to");
        for (reach, section, region) in reaches(&document, change.span, now.len()) {
            let in_region = &text[region.range()];
            let is_found = |passage: &str| in_region.matches(passage).count() == 1;
            let (old, new) = if reach == Reach::Heading {
                let Some(heading) = heading_of(new) else {
                    continue;
                };
                (String::new(), heading)
            } else {
                let Some(span) = passage(text, region, change, is_found) else {
                    continue;
                };
                let head = &text[span.start..change.span.start];
                let tail = &text[change.span.end..span.end];
                (text[span.range()].to_owned(), format!("{head}{new}{tail}"))
            };
            let edit = match (reach, section) {
                (Reach::Heading, Some(section)) => Edit::Rename {
                    section,
                    heading: &new,
                },
                _ => Edit::ReplaceText {
                    within: match (reach, section) {
                        (Reach::Body, Some(section)) => EditScope::Body(section),
                        (Reach::Subtree, Some(section)) => EditScope::Subtree(section),
                        _ => EditScope::Document,
                    },
                    old: &old,
                    new: &new,
                    expected: 1,
                },
            };
            // A section that one of these edits made has no name before them.
            let origin = section.map(|section| self.origins[section]);
            match editable.edit(&edit) {
                _ if origin == Some(None) => "a new section is edited again".clone_into(&mut why),
                Ok(outcome) if outcome.bytes == wanted => {
                    if reach != Reach::Heading {
                        passages.count(text, region, change);
                    }
                    let origins = outcome.lineage.iter().map(|old| self.origins[(*old)?]);
                    self.origins = origins.collect();
                    self.now = outcome.bytes;
                    return Ok(PlannedEdit {
                        reach,
                        section: origin.flatten(),
                        old,
                        new,
                        value: None,
                    });
                }
                Ok(_) => "the line endings are mixed".clone_into(&mut why),
                Err(error) => why = error.to_string(),
            }
        }
        Err(why)
    }
}

/// Returns what an edit of these lines may name, the narrowest first, with the bytes that it searches.
fn reaches(document: &Document, span: Span, length: usize) -> Vec<(Reach, Option<usize>, Span)> {
    let mut reaches = Vec::new();
    for (position, (_, section, extent)) in document.top_level().enumerate() {
        let below = Span::new(section.heading.end, extent.subtree.end);
        if section.heading == span {
            reaches.push((Reach::Heading, Some(position), span));
        }
        if extent.own_body.contains(span) {
            reaches.push((Reach::Body, Some(position), extent.own_body));
        }
        if below.contains(span) && extent.own_body != below {
            reaches.push((Reach::Subtree, Some(position), below));
        }
    }
    reaches.push((Reach::Document, None, Span::new(0, length)));
    reaches.sort_by_key(|(reach, _, region)| (*reach, region.len()));
    reaches
}

/// Returns the text of a heading, if the lines are one heading and nothing else.
fn heading_of(lines: &str) -> Option<String> {
    let document = Source::new(lines.as_bytes()).parse();
    match document.sections() {
        [only] if only.heading == Span::new(0, lines.len()) => {
            let line = lines.trim().trim_start_matches('#').trim();
            Some(line.to_owned())
        }
        _ => None,
    }
}

/// Returns where the changed lines are, with as many around them as it takes to find them again, all of `region`.
fn passage(
    text: &str,
    region: Span,
    change: &Change,
    is_found: impl Fn(&str) -> bool,
) -> Option<Span> {
    let mut span = change.span;
    let mut is_above = true;
    loop {
        let passage = &text[span.range()];
        if !passage.trim().is_empty() && is_found(passage) {
            return Some(span);
        }
        let above = line_before(text, span.start).max(region.start);
        let below = line_after(text, span.end).min(region.end);
        let (can_above, can_below) = (above < span.start, below > span.end);
        if can_above && (is_above || !can_below) {
            span.start = above;
        } else if can_below {
            span.end = below;
        } else {
            return None;
        }
        is_above = !is_above;
    }
}

fn line_before(text: &str, offset: usize) -> usize {
    let before = &text[..offset];
    let before = before.strip_suffix('\n').unwrap_or(before);
    before.rfind('\n').map_or(0, |at| at + 1)
}

fn line_after(text: &str, offset: usize) -> usize {
    text[offset..]
        .find('\n')
        .map_or(text.len(), |at| offset + at + 1)
}

impl Occurrences {
    /// EditCounts how often the changed lines themselves occur; for an insertion, the line that it is put next to.
    fn count(&mut self, text: &str, region: Span, change: &Change) {
        let Some(bare) = passage(text, region, change, |_| true) else {
            return;
        };
        let bare = &text[bare.range()];
        if text.matches(bare).count() == 1 {
            self.once_in_the_document += 1;
        } else if text[region.range()].matches(bare).count() == 1 {
            self.once_in_the_section += 1;
        } else {
            self.more_often += 1;
        }
    }
}

fn operation(edit: &PlannedEdit, note: &NotePath, ids: &[String]) -> Operation {
    let section = edit
        .section
        .and_then(|section| ids.get(section))
        .map(|id| SectionRef {
            id: Some(id.clone()),
            heading: None,
        });
    let path = Some(note.clone());
    match (edit.reach, section) {
        (Reach::FrontMatter, _) => Operation::SetFrontMatter(SetFrontMatter {
            path,
            key: edit.old.clone(),
            value: edit.value.clone(),
            expected_hash: None,
        }),
        (Reach::Heading, Some(section)) => Operation::Rename(RenameSection {
            path,
            section,
            heading: edit.new.clone(),
            level: None,
            repair_links: false,
            expected_hash: None,
        }),
        (reach, section) => Operation::EditText(EditText {
            path,
            section,
            old_text: edit.old.clone(),
            new_text: edit.new.clone(),
            expected_count: 1,
            scope: if reach == Reach::Subtree {
                Scope::Subtree
            } else {
                Scope::Body
            },
            expected_hash: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(before: &str, after: &str) -> Vec<(Reach, String)> {
        let edits = plan(
            before.as_bytes(),
            after.as_bytes(),
            &mut Occurrences::default(),
        )
        .unwrap();
        edits
            .into_iter()
            .map(|edit| (edit.reach, edit.old))
            .collect()
    }

    #[test]
    fn a_change_is_made_in_the_narrowest_section() {
        let before = "# A\n\n## B\n\nx\n\n## C\n\nx\n";
        let in_body = planned(before, "# A\n\n## B\n\nx\n\n## C\n\ny\n");
        assert_eq!(in_body, [(Reach::Body, "x\n".to_owned())]);
        let renamed = planned(before, "# A\n\n## D\n\nx\n\n## C\n\nx\n");
        assert_eq!(renamed, [(Reach::Heading, String::new())]);
        let added = planned(before, "# A\n\n## B\n\nx\n\n## New\n\n## C\n\nx\n");
        assert_eq!(added[0].0, Reach::Subtree);
    }
}
