//! Checks the links of one document, or of all documents.

use std::collections::BTreeMap;

use sectile_markdown::{Anchors, FragmentResolution, LineIndex, Link, LinkForm, Source, links};

use super::{
    BrokenLink, reason,
    scan::{LINKS_PER_LOOK, may_have_links},
    snapshot::{LinkFailure, LinkSnapshot, Side, Target},
};
use crate::{
    NotePath,
    editor::{CallHooks, EditorError, folder::DocumentFolder, is_markdown},
};

/// The result of a link check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkCheck {
    /// Number of documents checked.
    pub documents: usize,
    /// Number of links in them. Links to the web are not counted.
    pub links: usize,
    /// Broken links, by path and line; the first thousand.
    pub broken: Vec<BrokenLink>,
    /// Number of broken links beyond those listed.
    pub more: usize,
}

const MOST_NAMED: usize = 1000;

/// Links to headings of a document that is still to be read.
type PendingLinks = Vec<(LinkForm, String, BrokenLink)>;

struct Check<'c, 'w> {
    world: &'c LinkSnapshot<'w>,
    links: usize,
    broken: Vec<BrokenLink>,
    waiting: BTreeMap<String, PendingLinks>,
}

/// Looks for broken links in the document at `path`, or in all documents.
pub(crate) fn check(
    folder: &DocumentFolder,
    path: Option<&NotePath>,
    watch: CallHooks<'_>,
) -> Result<LinkCheck, EditorError> {
    let drafts = BTreeMap::new();
    let world = LinkSnapshot::new(folder, &drafts, watch.stop).knowing(watch.names);
    let mut check = Check {
        world: &world,
        links: 0,
        broken: Vec::new(),
        waiting: BTreeMap::new(),
    };
    let mut documents = 0;
    if let Some(path) = path {
        folder.check_path(path)?;
        let located = folder.root.locate(path)?;
        let bytes = folder.read(located.path())?;
        check.document(located.path(), &bytes, watch)?;
        documents += 1;
    } else {
        let all = world.documents()?;
        check.broken.extend(world.unread_folders());
        for (done, path) in all.iter().enumerate() {
            watch.check()?;
            (watch.progress)(done as u64, Some(all.len() as u64));
            match folder.read(path) {
                Ok(bytes) => {
                    check.document(path, &bytes, watch)?;
                    documents += 1;
                }
                Err(error) => {
                    let unread = BrokenLink::unread(path.as_str(), &error);
                    check.broken.extend(unread);
                }
            }
        }
    }
    for (path, waiting) in std::mem::take(&mut check.waiting) {
        watch.check()?;
        let path = NotePath::parse_vault(&path).ok();
        if let Some(bytes) = path.and_then(|path| folder.read(&path).ok()) {
            check.headings(&bytes, waiting);
        }
    }
    if let Some(error) = world.trouble() {
        return Err(error);
    }
    let Check {
        links, mut broken, ..
    } = check;
    broken.sort_by(|one, other| (&one.path, one.line).cmp(&(&other.path, other.line)));
    let more = broken.len().saturating_sub(MOST_NAMED);
    broken.truncate(MOST_NAMED);
    Ok(LinkCheck {
        documents,
        links,
        broken,
        more,
    })
}

impl Check<'_, '_> {
    fn document(
        &mut self,
        path: &NotePath,
        bytes: &[u8],
        watch: CallHooks<'_>,
    ) -> Result<(), EditorError> {
        if !may_have_links(bytes) {
            return Ok(());
        }
        let found = links(&Source::new(bytes));
        self.links += found.len();
        let own = Target::Other(path.as_str().to_owned());
        let mut here = PendingLinks::new();
        let mut lines = None;
        for (number, link) in found.iter().enumerate() {
            if number % LINKS_PER_LOOK == 0 {
                watch.check()?;
            }
            let mut report = |reason| {
                let lines = lines.get_or_insert_with(|| LineIndex::new(bytes));
                BrokenLink::new(path.as_str(), bytes, link, lines, reason)
            };
            match self.world.document(Side::After, path.as_str(), &own, link) {
                Err(LinkFailure::Because(reason)) => self.broken.push(report(reason)),
                Err(LinkFailure::Unseen) | Ok(Target::Drafted(_)) => {}
                Ok(Target::Other(_)) if link.fragment_text().is_empty() => {}
                Ok(Target::Other(target)) => {
                    let one = waiting(link, report(reason::NO_HEADING));
                    if target == path.as_str() {
                        here.push(one);
                    } else if NotePath::parse_vault(&target)
                        .is_ok_and(|target| is_markdown(&target))
                    {
                        self.waiting.entry(target).or_default().push(one);
                    }
                }
            }
        }
        if !here.is_empty() {
            self.headings(bytes, here);
        }
        Ok(())
    }

    /// Looks up headings in the document `bytes`.
    fn headings(&mut self, bytes: &[u8], waiting: PendingLinks) {
        let anchors = Anchors::new(&Source::new(bytes));
        for (form, fragment, link) in waiting {
            let reason = match anchors.resolve(form, &fragment) {
                FragmentResolution::Missing => reason::NO_HEADING,
                FragmentResolution::MissingBlock => reason::NO_BLOCK,
                _ => continue,
            };
            self.broken.push(BrokenLink { reason, ..link });
        }
    }
}

fn waiting(link: &Link, broken: BrokenLink) -> (LinkForm, String, BrokenLink) {
    (link.form, link.fragment_text().to_owned(), broken)
}
