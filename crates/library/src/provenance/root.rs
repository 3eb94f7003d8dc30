//! The root of a collection: one digest of all its notebooks, which ordinary tools can reproduce.
//!
//! It is the SHA-256 of lines as `sha256sum` prints them, one for each notebook, sorted by the bytes of the path:
//!
//! ```text
//! <sha256 of the notebook's bytes>  ./<path below the collection>
//! ```
//!
//! This prints it in the folder of a collection:
//!
//! ```sh
//! find . -path ./_artifacts -prune -o -name '.?*' -prune -o -type f -iname '*.md' -print0 \
//!   | LC_ALL=C sort -z | xargs -0 -r sha256sum | sha256sum
//! ```
//!
//! Both agree if nothing is ignored, excluded or too large; otherwise use the output of `sectile notebook verify
//! --sums`, which `sha256sum --check` accepts.

use std::{
    collections::HashMap,
    time::{SystemTime, UNIX_EPOCH},
};

use parking_lot::Mutex;
use sectile_markdown::{Digest, NotePath};

use crate::{
    error::LibraryError,
    library::Library,
    storage::{NotebookFile, NotebookStamp},
};

/// A stamp can be trusted once its file has been unchanged for this long, in nanoseconds: file systems have coarse
/// clocks, and two changes within one tick look like one.
const SETTLED: u64 = 2_000_000_000;
/// The most digests that are remembered.
const MAX_REMEMBERED: usize = 1_000_000;

/// The root of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionRoot {
    /// The digest of the list of all digests.
    pub root: Digest,
    /// Number of notebooks that it covers.
    pub notebooks: usize,
    /// Number of notebooks that are listed but cannot be read: too large, forbidden, or just removed.
    pub left_out: Vec<NotePath>,
}

/// The digest of every notebook of a collection, sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotebookDigests {
    /// Each notebook with the digest of its bytes.
    pub sums: Vec<(NotePath, Digest)>,
    /// Number of notebooks that are listed but cannot be read.
    pub left_out: Vec<NotePath>,
}

/// Digests of the notebooks of one collection, each with the stamp of its file.
type StampedDigests = HashMap<NotePath, (NotebookStamp, Digest)>;

/// Digests of notebooks, remembered by their stamps: good enough for a root, never for a quote.
#[derive(Debug, Default)]
pub(crate) struct DigestCache {
    collections: Mutex<HashMap<String, StampedDigests>>,
}

/// Returns the root of a collection.
pub fn collection_root(
    storage: &Library,
    collection: &str,
    stop: &dyn Fn() -> bool,
) -> Result<CollectionRoot, LibraryError> {
    Ok(sums(storage, collection, stop)?.root())
}

/// Returns the digests of all notebooks. Those that are remembered are not read again.
pub fn sums(
    storage: &Library,
    collection: &str,
    stop: &dyn Fn() -> bool,
) -> Result<NotebookDigests, LibraryError> {
    let listed = storage.notebooks(collection, stop)?;
    let mut known = storage.remembered.take(collection);
    let mut settled = HashMap::new();
    let sums = hashed(storage, collection, (listed, &known), &mut settled, stop);
    if sums.is_err() {
        // After a cancelled call, the next one continues from here.
        known.extend(settled);
        settled = known;
    }
    storage.remembered.keep(collection, settled);
    sums
}

/// Returns the digests of the listed notebooks. Those that can be remembered are added to `settled`.
fn hashed(
    storage: &Library,
    collection: &str,
    (listed, known): (Vec<NotebookFile>, &StampedDigests),
    settled: &mut StampedDigests,
    stop: &dyn Fn() -> bool,
) -> Result<NotebookDigests, LibraryError> {
    let mut sums = NotebookDigests::default();
    let now = now();
    for listed in listed {
        if stop() {
            return Err(LibraryError::Cancelled);
        }
        let notebook = listed.notebook;
        let same = known
            .get(&notebook)
            .filter(|(stamp, _)| *stamp == listed.stamp);
        let digest = match same {
            Some((_, digest)) => Some(*digest),
            None => match storage.read(collection, &notebook) {
                Ok(bytes) => bytes.map(|bytes| Digest::of(&bytes)),
                Err(LibraryError::Failed { .. }) => None,
                Err(error) => return Err(error),
            },
        };
        match digest {
            Some(digest) => {
                if listed.stamp.changed.saturating_add(SETTLED) < now {
                    settled.insert(notebook.clone(), (listed.stamp, digest));
                }
                sums.sums.push((notebook, digest));
            }
            None => sums.left_out.push(notebook),
        }
    }
    Ok(sums)
}

impl NotebookDigests {
    /// Returns the lines that `sha256sum` would print.
    pub fn lines(&self) -> String {
        self.sums
            .iter()
            .map(|(path, digest)| line(path.as_str(), digest))
            .collect()
    }

    /// Returns the root of these digests.
    pub fn root(self) -> CollectionRoot {
        CollectionRoot {
            root: Digest::of(self.lines().as_bytes()),
            notebooks: self.sums.len(),
            left_out: self.left_out,
        }
    }

    /// Returns the digest of one notebook.
    pub fn of(&self, notebook: &NotePath) -> Option<Digest> {
        let at = self.sums.binary_search_by(|(path, _)| path.cmp(notebook));
        at.ok().map(|at| self.sums[at].1)
    }
}

/// Returns a line as `sha256sum` prints it: a name that would break the line is escaped, and the line is marked.
fn line(path: &str, digest: &Digest) -> String {
    if path.contains(['\n', '\r']) {
        let path = path.replace('\n', "\\n").replace('\r', "\\r");
        format!("\\{digest}  ./{path}\n")
    } else {
        format!("{digest}  ./{path}\n")
    }
}

impl DigestCache {
    fn take(&self, collection: &str) -> StampedDigests {
        let mut collections = self.collections.lock();
        collections.remove(collection).unwrap_or_default()
    }

    fn keep(&self, collection: &str, digests: StampedDigests) {
        let mut collections = self.collections.lock();
        let others: usize = collections.values().map(HashMap::len).sum();
        if others + digests.len() > MAX_REMEMBERED {
            collections.clear();
        }
        if digests.len() <= MAX_REMEMBERED {
            collections.insert(collection.to_owned(), digests);
        }
    }
}

/// Returns the time in nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanoseconds = since.map(|since| since.as_nanos()).unwrap_or_default();
    u64::try_from(nanoseconds).unwrap_or_default()
}
