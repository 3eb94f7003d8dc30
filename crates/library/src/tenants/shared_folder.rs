//! A tenant's folder on this machine: a copy that the editor and the index work on, in step with the store.
//!
//! A call first compares the copy with the store. Calls that only read share the copy. A call that writes has it alone:
//! the editor changes the copy, the store takes the change or refuses it, and only then does anyone else see it. After
//! a refusal the copy is put back, and the call is made again.

mod follow;
mod publish;

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use sectile_markdown::NotePath;
use sectile_vault::{CopiedFile, LogMark, LogName, RootError, WorkingCopy, editor::EditorOptions};

use self::follow::OutdatedCopy;
pub(super) use self::follow::batch_len;
use super::{TenantError, TenantRevision, TenantStore};
use crate::{
    editable_folder::EditableFolder, live_folder::LiveFolderOptions, storage::StorageError,
};

/// Number of attempts for a change that others keep getting ahead of. With N servers that write one tenant without a
/// pause, each attempt succeeds for one of them.
const MOST_TRIES: u32 = 60;
/// The longest wait for the copy while another call of this server writes.
const LOCK_LIMIT: Duration = Duration::from_secs(10);
/// How often a waiting call checks whether it was cancelled.
const TICK: Duration = Duration::from_millis(20);
/// The pause after the second refusal; it grows with each, up to sixteen times.
const PAUSE: Duration = Duration::from_millis(2);

/// The kind of access that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderAccess {
    /// It changes nothing, but may give ids to sections.
    Read,
    /// It may change documents.
    Write,
}

/// The most that a tenant may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TenantQuota {
    /// Number of files.
    pub files: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// The reason why a call on a tenant's folder has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SharedFolderError {
    /// There is no such tenant.
    #[error("There is no such tenant.")]
    NotFound,
    /// The change would exceed the tenant's quota. Nothing was changed.
    #[error("The change would exceed the quota of {limit} {what}.")]
    OverQuota {
        /// The limit.
        limit: u64,
        /// The thing that it limits: `files` or `bytes`.
        what: &'static str,
    },
    /// Other calls keep the folder busy. Nothing was changed.
    #[error("The folder is busy with other changes.")]
    Busy,
    /// The caller no longer waits. Nothing was changed.
    #[error("The call was cancelled.")]
    Cancelled,
    /// The store failed, or cannot be reached. Nothing was changed.
    #[error("{message}")]
    Store {
        /// Complete sentences.
        message: String,
    },
    /// The change may have been made or not.
    #[error("{message}")]
    OutcomeUnknown {
        /// Complete sentences.
        message: String,
    },
    /// The copy on this machine cannot be read or written. Nothing was changed in the store.
    #[error("The working copy on the server cannot be used ({0}).")]
    Local(std::io::ErrorKind),
}

impl From<TenantError> for SharedFolderError {
    fn from(error: TenantError) -> Self {
        match error {
            TenantError::NotFound => Self::NotFound,
            TenantError::Exists => Self::Busy,
            TenantError::OutcomeUnknown { message } => Self::OutcomeUnknown { message },
            TenantError::Storage(StorageError::Cancelled) => Self::Cancelled,
            TenantError::Storage(StorageError::CollectionNotFound) => Self::NotFound,
            TenantError::Storage(
                StorageError::OtherRules { message } | StorageError::Failed { message },
            ) => Self::Store { message },
        }
    }
}

impl From<std::io::Error> for SharedFolderError {
    fn from(error: std::io::Error) -> Self {
        Self::Local(error.kind())
    }
}

impl From<RootError> for SharedFolderError {
    fn from(error: RootError) -> Self {
        match error {
            RootError::Unreadable(kind) => Self::Local(kind),
            _ => Self::Local(std::io::ErrorKind::NotFound),
        }
    }
}

/// A tenant's folder on this machine.
pub struct SharedFolder {
    store: Arc<dyn TenantStore>,
    tenant: String,
    copy: WorkingCopy,
    editor: EditorOptions,
    quota: TenantQuota,
    state: RwLock<CopyState>,
    /// Keeps others away from the copy as long as any call may use it.
    _hold: Box<dyn Send + Sync>,
}

/// The state of the copy.
struct CopyState {
    folder: Arc<EditableFolder>,
    /// The revision that the copy has.
    revision: TenantRevision,
    /// Its files at this revision.
    tree: BTreeMap<NotePath, CopiedFile>,
    /// Its logs at this revision.
    logs: BTreeMap<LogName, SyncedLog>,
    /// What the copy may have that the store does not.
    unsynced: Option<UnsyncedParts>,
    /// Grows whenever something is taken back that a call may have seen.
    retractions: u64,
}

/// A log as the store has it.
#[derive(Clone, Debug, Default)]
struct SyncedLog {
    /// The number of the revision at which it was last replaced.
    replaced_at: u64,
    mark: LogMark,
}

/// The parts of a copy that may differ from the store.
#[derive(Clone, Debug, Default)]
struct UnsyncedParts {
    files: BTreeSet<NotePath>,
    /// Logs whose known part may have changed too.
    rewritten: BTreeSet<LogName>,
    /// Whether any file and any log may differ, because it could not be found out which.
    is_everything: bool,
}

impl SharedFolder {
    /// Opens a tenant's folder. `location` is an existing folder that only this value uses; what it holds already is not
    /// fetched again if it is right.
    ///
    /// # Errors
    /// [`SharedFolderError`] when there is no such tenant, or the folder cannot be filled.
    pub fn open(
        store: Arc<dyn TenantStore>,
        tenant: &str,
        location: &Path,
        (editor, index): (EditorOptions, LiveFolderOptions),
        quota: TenantQuota,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, SharedFolderError> {
        let copy = WorkingCopy::open(location, editor.key.clone())?;
        // Whatever an earlier process left there counts only as far as its bytes are right.
        let found = copy.files()?;
        let outdated = OutdatedCopy {
            store: &*store,
            tenant,
            copy: &copy,
            tree: &found,
            logs: &BTreeMap::new(),
            revision: None,
            unsynced: &UnsyncedParts::default(),
            stop,
        };
        let followed = outdated.follow().map_err(|failed| failed.error)?;
        let folder = EditableFolder::open(location, editor.clone(), index)?;
        Ok(Self {
            state: RwLock::new(CopyState {
                folder: Arc::new(folder),
                revision: followed.revision,
                tree: followed.tree,
                logs: followed.logs,
                unsynced: None,
                retractions: 0,
            }),
            store,
            tenant: tenant.to_owned(),
            copy,
            editor,
            quota,
            _hold: Box::new(()),
        })
    }

    /// Returns the same folder, which keeps `hold` as long as it is used: a lock on its location, for example.
    #[must_use]
    pub fn holding(self, hold: Box<dyn Send + Sync>) -> Self {
        Self {
            _hold: hold,
            ..self
        }
    }

    /// Returns the name of the tenant.
    #[must_use]
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Returns where the copy is.
    #[must_use]
    pub fn location(&self) -> PathBuf {
        self.copy.root().location().to_path_buf()
    }

    /// Waits for the copy, to share it.
    fn shared(
        &self,
        stop: &dyn Fn() -> bool,
    ) -> Result<RwLockReadGuard<'_, CopyState>, SharedFolderError> {
        wait(stop, |tick| self.state.try_read_for(tick))
    }

    /// Waits for the copy, to have it alone.
    fn alone(
        &self,
        stop: &dyn Fn() -> bool,
    ) -> Result<RwLockWriteGuard<'_, CopyState>, SharedFolderError> {
        wait(stop, |tick| self.state.try_write_for(tick))
    }

    /// Brings the copy up to date with the store and returns it, shared with other calls.
    fn current(
        &self,
        stop: &dyn Fn() -> bool,
    ) -> Result<RwLockReadGuard<'_, CopyState>, SharedFolderError> {
        let revision = self.store.revision(&self.tenant, stop)?;
        let state = self.shared(stop)?;
        if state.unsynced.is_none() && state.revision == revision {
            return Ok(state);
        }
        drop(state);
        // The copy may have been brought up to date meanwhile, and then it is newer than the answer.
        Ok(RwLockWriteGuard::downgrade(self.current_alone(stop)?))
    }

    /// Brings the copy up to date with the store and returns it for this call alone.
    fn current_alone(
        &self,
        stop: &dyn Fn() -> bool,
    ) -> Result<RwLockWriteGuard<'_, CopyState>, SharedFolderError> {
        let mut state = self.alone(stop)?;
        let revision = self.store.revision(&self.tenant, stop)?;
        if state.unsynced.is_some() || state.revision != revision {
            self.follow(&mut state, stop)?;
        }
        Ok(state)
    }

    /// Returns whether a call that only reads has given out ids that the store does not have.
    fn has_grown(&self, state: &CopyState) -> Result<bool, SharedFolderError> {
        for log in LogName::ALL {
            let synced = state.logs.get(&log).cloned().unwrap_or_default();
            if !self.copy.has_length(log, &synced.mark)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Waits for a lock. `attempt` tries to take it for a given time.
pub(super) fn wait<G>(
    stop: &dyn Fn() -> bool,
    mut attempt: impl FnMut(Duration) -> Option<G>,
) -> Result<G, SharedFolderError> {
    let deadline = Instant::now() + LOCK_LIMIT;
    loop {
        match attempt(TICK) {
            Some(guard) => return Ok(guard),
            None if stop() => return Err(SharedFolderError::Cancelled),
            None if Instant::now() >= deadline => return Err(SharedFolderError::Busy),
            None => {}
        }
    }
}

fn usage(tree: &BTreeMap<NotePath, CopiedFile>) -> (u64, u64) {
    let bytes = tree.values().map(|file| file.bytes);
    (tree.len() as u64, bytes.fold(0, u64::saturating_add))
}

/// Calls `work` with the folders of tenants as they are now, and returns its answer once the stores have everything that
/// it changed. `work` is called again if a change was refused because another server was faster, and for reading if an id
/// that it may have given out had to be taken back.
///
/// # Errors
/// [`SharedFolderError`]. With [`SharedFolderError::OutcomeUnknown`] the change may have been made, with any other nothing was
/// changed.
pub fn call<T>(
    folders: &[Arc<SharedFolder>],
    access: FolderAccess,
    stop: &dyn Fn() -> bool,
    work: &mut dyn FnMut(&[Arc<EditableFolder>]) -> T,
) -> Result<T, SharedFolderError> {
    // All calls lock in the same order.
    let mut order: Vec<usize> = (0..folders.len()).collect();
    order.sort_by(|one, other| folders[*one].tenant.cmp(&folders[*other].tenant));
    for attempt in 0..MOST_TRIES {
        if stop() {
            return Err(SharedFolderError::Cancelled);
        }
        pause(attempt);
        let done = match access {
            FolderAccess::Read => read_once(folders, &order, stop, work)?,
            FolderAccess::Write => write_once(folders, &order, stop, work)?,
        };
        if let Some(answer) = done {
            return Ok(answer);
        }
    }
    Err(SharedFolderError::Busy)
}

/// Waits a moment before another attempt, each time a little longer.
fn pause(attempt: u32) {
    if attempt > 1 {
        std::thread::sleep(PAUSE * (1 << (attempt - 2).min(4)));
    }
}

fn handles<'s>(states: impl Iterator<Item = &'s CopyState>) -> Vec<Arc<EditableFolder>> {
    states.map(|state| Arc::clone(&state.folder)).collect()
}

/// Reads, and publishes the ids that were given out. Returns `None` if it has to be done again.
fn read_once<T>(
    folders: &[Arc<SharedFolder>],
    order: &[usize],
    stop: &dyn Fn() -> bool,
    work: &mut dyn FnMut(&[Arc<EditableFolder>]) -> T,
) -> Result<Option<T>, SharedFolderError> {
    let mut guards = BTreeMap::new();
    for at in order {
        guards.insert(*at, folders[*at].current(stop)?);
    }
    let handles = handles(guards.values().map(|state| &**state));
    let answer = work(&handles);
    drop(handles);
    let mut grown = Vec::new();
    for (at, state) in guards {
        if folders[at].has_grown(&state)? {
            grown.push((at, state.retractions));
        }
    }
    for (at, retractions) in grown {
        let mut state = folders[at].alone(stop)?;
        let is_published = state.retractions == retractions
            && state.unsynced.is_none()
            && folders[at].publish(&mut state)?;
        if !is_published {
            return Ok(None);
        }
    }
    Ok(Some(answer))
}

/// Writes, and publishes what was changed. Returns `None` if it has to be done again.
fn write_once<T>(
    folders: &[Arc<SharedFolder>],
    order: &[usize],
    stop: &dyn Fn() -> bool,
    work: &mut dyn FnMut(&[Arc<EditableFolder>]) -> T,
) -> Result<Option<T>, SharedFolderError> {
    let mut guards = BTreeMap::new();
    for at in order {
        guards.insert(*at, folders[*at].current_alone(stop)?);
    }
    let handles = handles(guards.values().map(|state| &**state));
    let answer = match catch_unwind(AssertUnwindSafe(|| work(&handles))) {
        Ok(answer) => answer,
        Err(panic) => {
            for (at, state) in &mut guards {
                folders[*at].withdraw(state);
            }
            resume_unwind(panic);
        }
    };
    drop(handles);
    // A change concerns one folder; the others have at most given out ids. It goes first, so that nothing else has
    // happened if it is refused.
    let mut changed: Vec<usize> = Vec::new();
    for at in order {
        match folders[*at].has_grown(&guards[at]) {
            Ok(true) => changed.push(*at),
            Ok(false) => {}
            Err(error) => {
                for (at, state) in &mut guards {
                    folders[*at].withdraw(state);
                }
                return Err(error);
            }
        }
    }
    let is_edit = |at: &usize| {
        let state = &guards[at];
        let synced = state.logs.get(&LogName::Journal).cloned();
        let is_same = folders[*at]
            .copy
            .has_length(LogName::Journal, &synced.unwrap_or_default().mark);
        !matches!(is_same, Ok(true))
    };
    changed.sort_by_key(|at| !is_edit(at));
    for (published, at) in changed.iter().enumerate() {
        let Some(state) = guards.get_mut(at) else {
            continue;
        };
        match (folders[*at].publish(state), published) {
            (Ok(true), _) => {}
            (Ok(false), 0) => return Ok(None),
            (Err(error), 0) => return Err(error),
            // The change is made. Ids in other folders that were not published were not part of it.
            (Ok(false) | Err(_), _) => {}
        }
    }
    Ok(Some(answer))
}

/// Returns an id that no other commit has.
pub(super) fn commit_id() -> Result<String, SharedFolderError> {
    let mut bytes = [0; 16];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        Err(_) => Err(SharedFolderError::Local(std::io::ErrorKind::Other)),
    }
}
