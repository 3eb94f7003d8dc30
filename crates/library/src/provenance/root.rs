//! The root of a collection: one digest for all its notebooks, which ordinary tools reproduce.
//!
//! It is the SHA-256 of lines as `sha256sum` writes them, one for each notebook, sorted by the bytes of the path:
//!
//! ```text
//! <sha256 of the notebook's bytes>  ./<path below the collection>
//! ```
//!
//! In the folder of a collection, this prints it:
//!
//! ```sh
//! find . -path ./_artifacts -prune -o -name '.?*' -prune -o -type f -iname '*.md' -print0 \
//!   | LC_ALL=C sort -z | xargs -0 -r sha256sum | sha256sum
//! ```
//!
//! That is so where nothing is ignored, excluded or too large; what counts then is what `sectile notebook verify --sums`
//! prints, and `sha256sum --check` takes.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use sectile_markdown::{Digest, NotePath};

use crate::{
    error::LibraryError,
    library::Library,
    storage::{Listed, Stamp},
};

/// A stamp can be trusted once its file has been left alone for this long, in nanoseconds: file systems count time in
/// steps, and two changes within one step look like one.
const SETTLED: u64 = 2_000_000_000;
/// Digests that are remembered in all.
const MAX_REMEMBERED: usize = 1_000_000;

/// The root of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionRoot {
    /// The digest of the list of all digests.
    pub root: Digest,
    /// Notebooks that it covers.
    pub notebooks: usize,
    /// Notebooks that are listed and cannot be read: too large, not ours, or gone in this moment.
    pub left_out: Vec<NotePath>,
}

/// The digest of every notebook of a collection, sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Each notebook with the digest of its bytes.
    pub sums: Vec<(NotePath, Digest)>,
    /// Notebooks that are listed and cannot be read.
    pub left_out: Vec<NotePath>,
}

/// Digests of the notebooks of one collection, each with the stamp that its file had.
type Known = HashMap<NotePath, (Stamp, Digest)>;

/// Digests of notebooks by their stamps. Good enough for a root, never for a quote.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    collections: Mutex<HashMap<String, Known>>,
}

/// The root of a collection, from all its notebooks.
pub fn collection_root(
    storage: &Library,
    collection: &str,
    stop: &dyn Fn() -> bool,
) -> Result<CollectionRoot, LibraryError> {
    Ok(sums(storage, collection, stop)?.root())
}

/// The digests of all notebooks. Those that are remembered are not read again.
pub fn sums(
    storage: &Library,
    collection: &str,
    stop: &dyn Fn() -> bool,
) -> Result<Sums, LibraryError> {
    let listed = storage.notebooks(collection, stop)?;
    let mut known = storage.remembered.take(collection);
    let mut settled = HashMap::new();
    let sums = hashed(storage, collection, (listed, &known), &mut settled, stop);
    if sums.is_err() {
        // Anyone who gave up half-way finds the other half done next time.
        known.extend(settled);
        settled = known;
    }
    storage.remembered.keep(collection, settled);
    sums
}

/// The digests of what is listed. `settled` gets those that can be remembered.
fn hashed(
    storage: &Library,
    collection: &str,
    (listed, known): (Vec<Listed>, &Known),
    settled: &mut Known,
    stop: &dyn Fn() -> bool,
) -> Result<Sums, LibraryError> {
    let mut sums = Sums::default();
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

impl Sums {
    /// The lines that `sha256sum` would write.
    pub fn lines(&self) -> String {
        self.sums
            .iter()
            .map(|(path, digest)| line(path.as_str(), digest))
            .collect()
    }

    /// The root over these digests.
    pub fn root(self) -> CollectionRoot {
        CollectionRoot {
            root: Digest::of(self.lines().as_bytes()),
            notebooks: self.sums.len(),
            left_out: self.left_out,
        }
    }

    /// The digest of one notebook.
    pub fn of(&self, notebook: &NotePath) -> Option<Digest> {
        let at = self.sums.binary_search_by(|(path, _)| path.cmp(notebook));
        at.ok().map(|at| self.sums[at].1)
    }
}

/// A line as `sha256sum` writes it: a name that would break the line is escaped, and the line says so.
fn line(path: &str, digest: &Digest) -> String {
    if path.contains(['\n', '\r']) {
        let path = path.replace('\n', "\\n").replace('\r', "\\r");
        format!("\\{digest}  ./{path}\n")
    } else {
        format!("{digest}  ./{path}\n")
    }
}

impl Remembered {
    fn take(&self, collection: &str) -> Known {
        let mut collections = self
            .collections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        collections.remove(collection).unwrap_or_default()
    }

    fn keep(&self, collection: &str, digests: Known) {
        let mut collections = self
            .collections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let others: usize = collections.values().map(HashMap::len).sum();
        if others + digests.len() > MAX_REMEMBERED {
            collections.clear();
        }
        if digests.len() <= MAX_REMEMBERED {
            collections.insert(collection.to_owned(), digests);
        }
    }
}

/// Nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanoseconds = since.map(|since| since.as_nanos()).unwrap_or_default();
    u64::try_from(nanoseconds).unwrap_or_default()
}
