//! The files that decided what a site is, as they were when they were read, to notice when they change.

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

use sectile_markdown::{Digest, NotePath};
use sectile_vault::{FileStamp, ReadError, Root};

use super::{MAX_SETTINGS_BYTES, is_page_name, settings_files::Place};
use crate::clock;

/// Clocks of files are coarse: one that changed this shortly before it was read may change again without a new stamp. In
/// nanoseconds; two seconds are the coarsest that a file system in use has.
const COARSE: i64 = 3_000_000_000;

/// Every file that was looked for in order to find out what a site is, whether it was there or not.
#[derive(Clone, Debug, Default)]
pub struct SiteFiles {
    parent: Option<Arc<Root>>,
    files: Vec<SiteFile>,
}

/// A file that was looked for.
#[derive(Clone, Debug)]
struct SiteFile {
    place: Place,
    name: NotePath,
    /// Whether its text was read, and not only whether it exists.
    is_read: bool,
    /// The digest of what was found; `None` if it was not there.
    found: Option<Digest>,
    /// Links have none.
    stamp: Option<FileStamp>,
    /// Whether it is unchanged as long as its stamp is.
    is_certain: bool,
}

/// Files that are being looked for.
#[derive(Debug, Default)]
pub(super) struct SiteFileLog {
    files: RefCell<BTreeMap<(Place, String), SiteFile>>,
}

impl SiteFiles {
    /// Returns whether all of these files in `root` and beside it are as they were. Without `has_changes`, nothing has
    /// changed in the folder itself since the last time except pages and hidden files, so that only a few files that do
    /// not count as others there have to be looked at.
    pub fn are_current(&mut self, root: &Root, has_changes: bool) -> bool {
        let parent = self.parent.clone();
        let mut is_same = true;
        for (place, root) in [(Place::Here, Some(root)), (Place::Above, parent.as_deref())] {
            let Some(root) = root else {
                continue;
            };
            let files = self.files.iter_mut();
            let files = files.filter(|file| file.place == place);
            let mut files: Vec<_> = files
                .filter(|file| has_changes || !file.is_reported())
                .collect();
            let stamps = root.stamps(files.iter().map(|file| &file.name));
            for (file, stamp) in files.iter_mut().zip(stamps) {
                is_same &= file.is_current(root, stamp);
            }
        }
        is_same
    }
}

impl SiteFile {
    /// Returns whether the folder reports changes of it: those of pages are reported apart, those of files that are hidden
    /// or outside not at all.
    fn is_reported(&self) -> bool {
        let is_hidden = self.name.segments().any(|segment| segment.starts_with('.'));
        self.place == Place::Here && !is_hidden && !is_page_name(self.name.as_str())
    }

    /// Returns whether it is as it was.
    fn is_current(&mut self, root: &Root, stamp: Option<FileStamp>) -> bool {
        if self.is_certain && self.stamp == stamp {
            return true;
        }
        let most = if self.is_read { MAX_SETTINGS_BYTES } else { 1 };
        let now = Self::new(
            (self.place, &self.name),
            self.is_read,
            stamp,
            &root.read(&self.name, most),
        );
        let is_same = now.found == self.found;
        if is_same {
            *self = now;
        }
        is_same
    }

    fn new(
        (place, name): (Place, &NotePath),
        is_read: bool,
        stamp: Option<FileStamp>,
        read: &Result<Vec<u8>, ReadError>,
    ) -> Self {
        let found = match read {
            Err(ReadError::NotFound) => None,
            Ok(bytes) if is_read => Some(Digest::of(bytes)),
            Err(error) if is_read => Some(Digest::of(error.to_string().as_bytes())),
            Ok(_) | Err(ReadError::TooLarge { .. }) => Some(Digest::of(b"")),
            Err(_) => None,
        };
        let now = clock::now().saturating_mul(1_000_000);
        let is_old = |stamp: FileStamp| {
            let changed = stamp.changed_ns.max(stamp.modified_ns);
            changed.saturating_add(COARSE) <= now
        };
        Self {
            place,
            name: name.clone(),
            is_read,
            found,
            stamp,
            // A file that is not there appears with a stamp. A link has none, and what it leads to may change.
            is_certain: stamp.map_or(matches!(read, Err(ReadError::NotFound)), is_old),
        }
    }
}

impl SiteFileLog {
    /// Notes how a file was found. `stamp` was taken before it was read.
    pub(super) fn add(
        &self,
        (place, name): (Place, &NotePath),
        is_read: bool,
        stamp: Option<FileStamp>,
        read: &Result<Vec<u8>, ReadError>,
    ) {
        let file = SiteFile::new((place, name), is_read, stamp, read);
        let mut files = self.files.borrow_mut();
        let known = files.entry((place, name.as_str().to_owned()));
        // Whether it exists is known of a file that was read.
        known
            .and_modify(|known| {
                if is_read {
                    known.clone_from(&file);
                }
            })
            .or_insert(file);
    }

    /// Returns everything that was noted.
    pub(super) fn finish(self, parent: Option<Root>) -> SiteFiles {
        SiteFiles {
            parent: parent.map(Arc::new),
            files: self.files.into_inner().into_values().collect(),
        }
    }
}
