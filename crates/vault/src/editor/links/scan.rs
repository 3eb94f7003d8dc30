//! Scans links one by one: where each led before a transaction, where it leads now, and which change restores it.

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use sectile_markdown::{
    Anchors, Change, Changes, Digest, Document, Enclosure, Extent, FragmentResolution, LineIndex,
    Link, Repair, Source, Span, block_key, edit::content_span, front_matter_keeps_its_shape, links,
    links_near, repair_fragment, repair_path,
};

use super::{
    BrokenLink, BrokenLinks, Permits,
    lineage::{Lineage, may_have_attribute},
    reason,
    snapshot::{HeadingSource, LinkDestination, LinkFailure, LinkSnapshot, Side, Target},
};
use crate::{
    NotePath,
    editor::{CallHooks, EditorError, draft::Draft, folder::FileVisibility, read::section::lines},
    work,
};

/// The result of a scan.
#[derive(Default)]
pub(crate) struct ScanResult {
    /// Fixes by the path that the document has now.
    pub(crate) fixes: BTreeMap<String, DocumentFixes>,
    pub(crate) broken: BrokenLinks,
}

/// The fixes that one document needs.
pub(crate) struct DocumentFixes {
    pub(crate) path: NotePath,
    /// Digest of the bytes that were scanned.
    pub(crate) digest: Digest,
    pub(crate) fixes: Vec<LinkFix>,
}

/// New spellings for the parts of one link.
pub(crate) struct LinkFix {
    pub(crate) at: usize,
    pub(crate) changes: Vec<Change>,
    /// The report if they cannot be applied.
    pub(crate) otherwise: BrokenLink,
    expected: LinkDestination,
    /// Index of the link in the document.
    number: usize,
    pub(crate) in_front_matter: bool,
}

pub(super) struct Scan<'s, 't> {
    pub(super) world: &'s LinkSnapshot<'t>,
    pub(super) lineage: &'s Lineage,
    pub(super) permits: &'s Permits,
    /// The sections before the transaction, by id: the draft, and the position.
    sections: HashMap<&'s str, (usize, usize)>,
    new_blocks: OnceCell<HashMap<String, Option<usize>>>,
}

/// A document whose links are scanned.
struct Page<'a> {
    bytes: &'a [u8],
    /// The path after the transaction.
    path: &'a str,
    own: Target,
    draft: Option<&'a Draft>,
    /// The spans that a draft changes.
    changed: Vec<Span>,
    tops: Vec<(Span, Extent)>,
    /// Results of [`Scan::moved_text`], by position and whether it is in the heading.
    moved: RefCell<HashMap<(usize, bool), MovedText>>,
}

/// The draft that a text was in, and whether it was the same there; `None` for new text.
type MovedText = Option<(usize, bool)>;

/// The origin of a link.
struct LinkOrigin {
    /// The document that the link, or the text that it replaces, was in: its old path, and its target.
    document: Option<(String, Target)>,
    /// Whether the link was just written.
    is_new: bool,
    /// Whether the link came with a section from another document.
    came_along: bool,
}

/// The outcome for one link.
enum Verdict {
    Fine,
    Broken(&'static str),
    Fix(Vec<Change>, LinkDestination, &'static str),
}

/// Number of documents between two progress reports.
const PROGRESS_STEP: usize = 64;
/// Number of links between two checks whether the caller has given up.
pub(super) const LINKS_PER_LOOK: usize = 64;

impl<'s, 't> Scan<'s, 't> {
    pub(super) fn new(
        world: &'s LinkSnapshot<'t>,
        lineage: &'s Lineage,
        permits: &'s Permits,
    ) -> Self {
        let mut sections = HashMap::new();
        for (index, drafted) in world.drafts.iter().enumerate() {
            let ids = drafted.draft.base.as_ref().map(|base| base.ids());
            for (position, id) in ids.unwrap_or_default().iter().enumerate() {
                sections.insert(id.as_str(), (index, position));
            }
        }
        Self {
            world,
            lineage,
            permits,
            sections,
            new_blocks: OnceCell::new(),
        }
    }

    /// Scans all links, in all documents, that may name one of the drafts in `concerned`.
    pub(super) fn everywhere(
        &self,
        concerned: &[usize],
        watch: CallHooks<'_>,
    ) -> Result<ScanResult, EditorError> {
        let documents = self.world.documents()?;
        let drafts = self.world.drafts.iter().enumerate();
        // Drafts are scanned as callers see them.
        let is_hidden = |path: &NotePath| self.world.folder.is_hidden(path);
        let looks_behind = self.world.sight == FileVisibility::Everything;
        let drafts = drafts.filter(|(_, drafted)| {
            let draft = drafted.draft;
            draft.bytes.is_some() && (!looks_behind || draft.is_silent)
        });
        let known = self.world.known_links_to(concerned);
        let may_link = |path: &NotePath| known.as_ref().is_none_or(|known| known.contains(path));
        let others = documents
            .iter()
            .filter(|path| may_link(path))
            .filter(|path| {
                self.world.draft_from(path.as_str()).is_none() && (!looks_behind || is_hidden(path))
            });
        let mut all: BTreeMap<&str, (&NotePath, Option<usize>)> =
            others.map(|path| (path.as_str(), (path, None))).collect();
        all.extend(drafts.map(|(index, drafted)| {
            let draft = drafted.draft;
            (draft.final_path().as_str(), (&draft.path, Some(index)))
        }));
        let total = all.len();
        let needles = self.world.needles(concerned);
        let mut found = ScanResult::default();
        let mut unread = self.world.unread_folders();
        for left in self.world.links_left() {
            found.broken.push(left);
        }
        for (done, (path, (from, draft))) in all.into_iter().enumerate() {
            watch.check()?;
            if done % PROGRESS_STEP == 0 {
                (watch.progress)(done as u64, Some(total as u64));
            }
            if let Some(index) = draft {
                let page = Page::of_draft(index, self.world.drafts[index].draft);
                self.page(&page, from, true, watch, &mut found)?;
                continue;
            }
            if self.world.is_taken_along(from.as_str()) {
                // It cannot be edited, so its links stay as they are.
                unread.push(BrokenLink::of_whole(path, reason::UNREADABLE));
                continue;
            }
            match self.world.folder.read(from) {
                Ok(bytes) => {
                    let names = |needles: &Vec<String>| may_name(&bytes, needles);
                    if needles.as_ref().is_none_or(names) {
                        let page = Page::unchanged(path, &bytes);
                        self.page(&page, from, true, watch, &mut found)?;
                    }
                }
                // A document that cannot be read cannot be repaired either. That is not a reason to refuse the rest,
                // but it is reported.
                Err(error) => unread.extend(BrokenLink::unread(path, &error)),
            }
        }
        // Links that are known to be broken come first.
        unread.into_iter().for_each(|one| found.broken.push(one));
        (watch.progress)(total as u64, Some(total as u64));
        Ok(found)
    }

    /// Scans the links that were just written.
    pub(super) fn new_links(&self, watch: CallHooks<'_>) -> Result<ScanResult, EditorError> {
        let mut found = ScanResult::default();
        for (index, drafted) in self.world.drafts.iter().enumerate() {
            let draft = drafted.draft;
            if draft.bytes.is_none() {
                continue;
            }
            let page = Page::of_draft(index, draft);
            if page.has_changed_links(&draft.document) {
                self.page(&page, &draft.path, false, watch, &mut found)?;
            }
        }
        Ok(found)
    }

    fn page(
        &self,
        page: &Page<'_>,
        from: &NotePath,
        all: bool,
        watch: CallHooks<'_>,
        found: &mut ScanResult,
    ) -> Result<(), EditorError> {
        if !may_have_links(page.bytes) {
            return Ok(());
        }
        let source = Source::new(page.bytes);
        let mut fixes = Vec::new();
        let mut lines = None;
        for (number, link) in links(&source).iter().enumerate() {
            if number % LINKS_PER_LOOK == 0 {
                watch.check()?;
            }
            if !all && !page.is_changed(link.span) {
                continue;
            }
            let mut report = |reason| {
                let lines = lines.get_or_insert_with(|| LineIndex::new(page.bytes));
                BrokenLink::new(page.path, page.bytes, link, lines, reason)
            };
            match self.verdict(page, link) {
                Verdict::Fine => {}
                Verdict::Broken(reason) => found.broken.push(report(reason)),
                Verdict::Fix(_, _, reason) if !source.is_valid_utf8() => {
                    found.broken.push(report(reason));
                }
                Verdict::Fix(changes, expected, reason) => fixes.push(LinkFix {
                    at: link.span.start,
                    changes,
                    otherwise: report(reason),
                    expected,
                    number,
                    in_front_matter: matches!(link.enclosure, Enclosure::FrontMatter(_)),
                }),
            }
        }
        if fixes.is_empty() {
            return Ok(());
        }
        let fixes = keep_front_matter(page, fixes, found);
        let fixes = self.proven(page, fixes, watch, found)?;
        if !fixes.is_empty() {
            found.fixes.insert(
                from.as_str().to_owned(),
                DocumentFixes {
                    path: from.clone(),
                    digest: Digest::of(page.bytes),
                    fixes,
                },
            );
        }
        Ok(())
    }

    /// Parses the document as it would be, and keeps the fixes that make their links lead to the right target.
    fn proven(
        &self,
        page: &Page<'_>,
        fixes: Vec<LinkFix>,
        watch: CallHooks<'_>,
        found: &mut ScanResult,
    ) -> Result<Vec<LinkFix>, EditorError> {
        let changes = fixes.iter().flat_map(|fix| fix.changes.iter().cloned());
        let after = Changes::new(changes).and_then(|changes| changes.apply(page.bytes));
        let after = after.unwrap_or_default();
        let now = links(&Source::new(&after));
        let leads = |fix: &LinkFix| {
            let link = now.get(fix.number)?;
            let document = self
                .world
                .document(Side::After, page.path, &page.own, link)
                .ok()?;
            let place = self
                .world
                .place(Side::After, document, link, HeadingSource::Trusted)
                .ok()?;
            Some(is_there(&place, &fix.expected))
        };
        let mut kept = Vec::with_capacity(fixes.len());
        for (number, fix) in fixes.into_iter().enumerate() {
            if number % LINKS_PER_LOOK == 0 {
                watch.check()?;
            }
            if leads(&fix).unwrap_or(false) {
                kept.push(fix);
            } else {
                found.broken.push(fix.otherwise);
            }
        }
        Ok(kept)
    }

    fn verdict(&self, page: &Page<'_>, link: &Link) -> Verdict {
        work::count(1);
        let world = self.world;
        let origin = self.origin(page, link.span);
        let others = if origin.is_new {
            HeadingSource::Read
        } else {
            HeadingSource::Trusted
        };
        let document_now = world.document(Side::After, page.path, &page.own, link);
        let now = document_now
            .clone()
            .and_then(|document| world.place(Side::After, document, link, others));
        let problem = match (&now, origin.is_new) {
            (Err(LinkFailure::Unseen), _) | (Ok(_), true) => return Verdict::Fine,
            (Err(LinkFailure::Because(reason)), _) => Some(*reason),
            (Ok(_), false) => None,
        };
        let before = origin.document.as_ref().and_then(|(from, own)| {
            let document = world.document(Side::Before, from, own, link).ok()?;
            world
                .place(Side::Before, document, link, HeadingSource::Trusted)
                .ok()
        });
        let Some(before) = before else {
            let problem = problem.filter(|_| origin.is_new);
            return problem.map_or(Verdict::Fine, Verdict::Broken);
        };
        let expected = self
            .moved_block(&before, link)
            .or_else(|| self.lineage.now(world, &before));
        let should = expected.as_ref().unwrap_or(&before);
        let same_document = document_now.as_ref() == Ok(&should.document);
        let problem = problem.unwrap_or(if same_document {
            reason::OTHER_SECTION
        } else {
            reason::OTHER_DOCUMENT
        });
        let Some(expected) = expected else {
            return Verdict::Broken(problem);
        };
        if now.is_ok_and(|now| self.permits.is_undo || is_there(&now, &expected)) {
            return Verdict::Fine;
        }
        if self.permits.is_undo {
            return Verdict::Broken(problem);
        }
        match self.respelled(page, link, &origin, &before, &expected, same_document) {
            Some(changes) => Verdict::Fix(changes, expected, problem),
            None => Verdict::Broken(problem),
        }
    }

    /// Returns where the block that `link` named is now, if a section took it from its document into exactly one other.
    fn moved_block(&self, before: &LinkDestination, link: &Link) -> Option<LinkDestination> {
        let key = block_key(link.fragment_text())?;
        let Target::Drafted(index) = before.document else {
            return None;
        };
        let path = self.world.drafts[index].draft.path.as_str();
        if !self.permits.headings.contains(path) {
            return None;
        }
        let stays = |anchors: &Anchors| anchors.has_block(link.fragment_text());
        if self.world.anchors(Side::After, index).is_some_and(stays) {
            return None;
        }
        let taken_by = self.new_blocks().get(&key).copied().flatten()?;
        Some(LinkDestination {
            document: Target::Drafted(taken_by),
            heading: None,
        })
    }

    /// Returns the blocks that documents have now and did not have before, each with the one draft that has it; `None`
    /// for several.
    fn new_blocks(&self) -> &HashMap<String, Option<usize>> {
        self.new_blocks.get_or_init(|| {
            let mut found: HashMap<String, Option<usize>> = HashMap::new();
            for index in 0..self.world.drafts.len() {
                let was = self.world.anchors(Side::Before, index);
                let had: HashSet<&str> = was.into_iter().flat_map(Anchors::blocks).collect();
                let is = self.world.anchors(Side::After, index);
                for name in is.into_iter().flat_map(Anchors::blocks) {
                    if !had.contains(name) {
                        let draft = found.entry(name.to_owned());
                        draft.and_modify(|one| *one = None).or_insert(Some(index));
                    }
                }
            }
            found
        })
    }

    /// Returns the changes that make `link` lead to `expected`, if they are permitted and there are any.
    fn respelled(
        &self,
        page: &Page<'_>,
        link: &Link,
        origin: &LinkOrigin,
        before: &LinkDestination,
        expected: &LinkDestination,
        same_document: bool,
    ) -> Option<Vec<Change>> {
        let moved_over = before.document != expected.document;
        let mut changes = Vec::new();
        if !same_document {
            if !(origin.came_along || moved_over || self.may_follow_path(page, expected)) {
                return None;
            }
            let path = self.world.final_path(&expected.document);
            let unique = self.world.is_unique_name(&path);
            match repair_path(link, page.bytes, page.path, &path, unique) {
                Repair::Change(mut change) => {
                    if link.path.text.ends_with('/') {
                        change.text.push(b'/');
                    }
                    changes.push(change);
                }
                Repair::NotNeeded | Repair::Impossible => return None,
            }
        }
        if let (Target::Drafted(from), Target::Drafted(to), Some(heading)) =
            (&before.document, &expected.document, expected.heading)
        {
            let (was, is) = (
                self.world.anchors(Side::Before, *from)?,
                self.world.anchors(Side::After, *to)?,
            );
            let leads_there = |anchors: &Anchors| {
                anchors.resolve(link.form, link.fragment_text())
                    == FragmentResolution::Heading(heading)
            };
            if !leads_there(is) {
                if !(moved_over || self.may_follow_heading(*from, before.heading)) {
                    return None;
                }
                let lineage = self.lineage.between(*from, *to);
                match repair_fragment(link, page.bytes, was, is, &lineage) {
                    Repair::Change(change) => changes.push(change),
                    Repair::NotNeeded | Repair::Impossible => return None,
                }
            }
        }
        (!changes.is_empty()).then_some(changes)
    }

    /// Returns whether a link on `page` may be made to follow the document that it named.
    fn may_follow_path(&self, page: &Page<'_>, expected: &LinkDestination) -> bool {
        let stays = |document: &Target| match document {
            Target::Drafted(index) => {
                let path = self.world.drafts[*index].draft.path.as_str();
                self.permits.fixed_paths.contains(path)
            }
            Target::Other(_) => false,
        };
        self.permits.paths && !stays(&page.own) && !stays(&expected.document)
    }

    /// Returns whether links to a heading of the draft `index` may be made to follow it.
    fn may_follow_heading(&self, index: usize, heading: Option<usize>) -> bool {
        let draft = self.world.drafts[index].draft;
        let Some(base) = &draft.base else {
            return false;
        };
        let id = heading.and_then(|heading| {
            let tops = self.world.drafts[index].tops_before();
            base.ids().get(tops.binary_search(&heading).ok()?)
        });
        self.permits.headings.contains(draft.path.as_str())
            && id.is_none_or(|id| !self.permits.fixed_headings.contains(id))
    }

    /// Finds the origin of the link at `span`.
    fn origin(&self, page: &Page<'_>, span: Span) -> LinkOrigin {
        let stood_in = |target: &Target| match target {
            Target::Other(path) => Some((path.clone(), target.clone())),
            Target::Drafted(index) => {
                let draft = self.world.drafts[*index].draft;
                let existed = draft.base.is_some();
                existed.then(|| (draft.path.as_str().to_owned(), target.clone()))
            }
        };
        let own = LinkOrigin {
            document: stood_in(&page.own),
            is_new: page.is_changed(span),
            came_along: false,
        };
        let Some(draft) = page.draft.filter(|_| own.is_new) else {
            return own;
        };
        // A moved section is all new where it is now, but its text is not.
        let Some((from, same)) = self.moved_text(page, draft, span) else {
            return own;
        };
        let target = Target::Drafted(from);
        LinkOrigin {
            came_along: same && target != page.own,
            document: stood_in(&target),
            is_new: !same,
        }
    }

    /// Returns the draft that the section around `span` was in, and whether its text there was the same.
    fn moved_text(&self, page: &Page<'_>, draft: &Draft, span: Span) -> MovedText {
        let after = page
            .tops
            .partition_point(|(heading, _)| heading.start <= span.start);
        let position = after.checked_sub(1)?;
        let in_heading = span.start < page.tops[position].0.end;
        *page
            .moved
            .borrow_mut()
            .entry((position, in_heading))
            .or_insert_with(|| {
                let top = page.tops[position];
                self.compare_moved(draft, position, top, in_heading)
            })
    }

    fn compare_moved(
        &self,
        draft: &Draft,
        position: usize,
        (heading, extent): (Span, Extent),
        in_heading: bool,
    ) -> MovedText {
        let (index, old_position) = *self.sections.get(draft.ids.get(position)?.as_str())?;
        let drafted = &self.world.drafts[index];
        let base = drafted.draft.base.as_ref()?;
        let old_index = *drafted.tops_before().get(old_position)?;
        let old_section = &base.document().sections()[old_index];
        let old_extent = old_section.extent?;
        let (is, was) = if in_heading {
            (heading, old_section.heading)
        } else {
            (extent.own_body, old_extent.own_body)
        };
        let text = |bytes: &[u8], span: Span| {
            work::count(span.len());
            // Line endings and heading markers are those of the new document.
            let mut text = lines(content_span(bytes, span).slice(bytes));
            text.retain(|byte| !in_heading || *byte != b'#');
            text.trim_ascii().to_vec()
        };
        Some((index, text(draft.text(), is) == text(base.bytes(), was)))
    }
}

impl<'a> Page<'a> {
    fn of_draft(index: usize, draft: &'a Draft) -> Self {
        let tops = draft.document.top_level();
        Self {
            bytes: draft.text(),
            path: draft.final_path().as_str(),
            own: Target::Drafted(index),
            draft: Some(draft),
            changed: draft.changes.spans_after().collect(),
            tops: tops
                .map(|(_, section, extent)| (section.heading, extent))
                .collect(),
            moved: RefCell::default(),
        }
    }

    fn unchanged(path: &'a str, bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            path,
            own: Target::Other(path.to_owned()),
            draft: None,
            changed: Vec::new(),
            tops: Vec::new(),
            moved: RefCell::default(),
        }
    }

    /// Returns whether there is a link in or around a change. `document` has the sections of this page.
    fn has_changed_links(&self, document: &Document) -> bool {
        let (Some(first), Some(last)) = (self.changed.first(), self.changed.last()) else {
            return false;
        };
        may_have_links(self.bytes)
            && links_near(
                &Source::new(self.bytes),
                document,
                Span::new(first.start, last.end),
            )
            .iter()
            .any(|link| self.is_changed(link.span))
    }

    /// Returns whether a change of the draft is in `span` or overlaps it.
    fn is_changed(&self, span: Span) -> bool {
        let from = self
            .changed
            .partition_point(|changed| changed.end <= span.start);
        self.changed
            .get(from)
            .is_some_and(|changed| changed.start < span.end)
    }
}

/// Returns whether `place` is where a link to `expected` should lead.
fn is_there(place: &LinkDestination, expected: &LinkDestination) -> bool {
    place.document == expected.document
        && (expected.heading.is_none() || place.heading == expected.heading)
}

/// Drops the fixes in front matter if they would change its meaning. They are reported instead.
fn keep_front_matter(page: &Page<'_>, fixes: Vec<LinkFix>, found: &mut ScanResult) -> Vec<LinkFix> {
    let (above, mut kept): (Vec<LinkFix>, Vec<LinkFix>) =
        fixes.into_iter().partition(|fix| fix.in_front_matter);
    if above.is_empty() {
        return kept;
    }
    let changes = Changes::new(above.iter().flat_map(|fix| fix.changes.iter().cloned()));
    let holds = changes.is_some_and(|changes| front_matter_keeps_its_shape(page.bytes, &changes));
    if holds {
        kept.splice(0..0, above);
    } else {
        let broken = above.into_iter().map(|fix| fix.otherwise);
        broken.for_each(|link| found.broken.push(link));
    }
    kept
}

/// Returns whether `bytes` may contain a link, so that parsing pays off.
pub(super) fn may_have_links(bytes: &[u8]) -> bool {
    let in_brackets = bytes
        .windows(2)
        .any(|pair| matches!(pair, b"](" | b"]:" | b"[["));
    in_brackets || may_have_attribute(bytes, &["href", "src"])
}

/// Returns whether a link in `bytes` may name something with one of `needles` in its name: a needle is there, or there
/// are escapes.
fn may_name(bytes: &[u8], needles: &[String]) -> bool {
    bytes.iter().any(|byte| matches!(byte, b'%' | b'&' | b'\\'))
        || needles.iter().any(|needle| {
            let needle = needle.as_bytes();
            let first = needle[0];
            let mut parts = bytes.windows(needle.len());
            parts.any(|part| {
                part[0].to_ascii_lowercase() == first && part.eq_ignore_ascii_case(needle)
            })
        })
}

/// Returns the ids of the sections that contain the offsets.
pub(crate) fn sections_at(draft: &Draft, offsets: &BTreeSet<usize>) -> BTreeSet<String> {
    let starts: Vec<usize> = draft
        .document
        .top_level()
        .map(|(_, section, _)| section.heading.start)
        .collect();
    let position = |offset: &usize| {
        let after = starts.partition_point(|start| start <= offset);
        after.checked_sub(1)
    };
    let positions = offsets.iter().filter_map(position);
    positions
        .filter_map(|position| draft.ids.get(position).cloned())
        .collect()
}
