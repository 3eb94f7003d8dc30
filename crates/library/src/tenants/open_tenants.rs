//! The tenants that this server has open: opened when a call needs one, closed when others are needed more.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use sectile_vault::editor::EditorOptions;

use super::{SharedFolder, SharedFolderError, TenantQuota, TenantStore, is_tenant_name};
use crate::live_folder::LiveFolderOptions;

/// How the folder of a tenant is opened.
#[derive(Clone, Debug)]
pub struct TenantFolderOptions {
    /// An existing folder for the copy, which nothing else uses.
    pub location: PathBuf,
    /// The options of its editor.
    pub editor: EditorOptions,
    /// The options of its index.
    pub index: LiveFolderOptions,
}

/// Returns how the folder of a tenant is opened. What it returns besides the options is dropped when no call uses the
/// tenant any more: a lock on the location, for example.
pub type FolderOpening = dyn Fn(&str) -> Result<(TenantFolderOptions, Box<dyn Send + Sync>), SharedFolderError>
    + Send
    + Sync;

/// The tenants that are open.
pub struct OpenTenants {
    store: Arc<dyn TenantStore>,
    opening: Box<FolderOpening>,
    quota: TenantQuota,
    /// The number of tenants beyond which those are closed that no call uses.
    most: usize,
    open: Mutex<BTreeMap<String, Arc<TenantSlot>>>,
    /// Counts the calls, to tell which tenant was used last.
    calls: AtomicU64,
}

/// The place of a tenant among those that are open.
#[derive(Default)]
struct TenantSlot {
    folder: Mutex<Option<Arc<SharedFolder>>>,
    used_at: AtomicU64,
}

impl OpenTenants {
    /// Creates the place for at most `most` tenants, beyond those that calls are using.
    #[must_use]
    pub fn new(
        store: Arc<dyn TenantStore>,
        opening: Box<FolderOpening>,
        quota: TenantQuota,
        most: usize,
    ) -> Self {
        Self {
            store,
            opening,
            quota,
            most: most.max(1),
            open: Mutex::default(),
            calls: AtomicU64::new(0),
        }
    }

    /// Returns the store.
    #[must_use]
    pub fn store(&self) -> &dyn TenantStore {
        &*self.store
    }

    /// Returns the folder of a tenant. Two calls that need it open it once; others are not held up.
    ///
    /// # Errors
    /// [`SharedFolderError`] when there is no such tenant, or its folder cannot be opened.
    pub fn folder(
        &self,
        tenant: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Arc<SharedFolder>, SharedFolderError> {
        if !is_tenant_name(tenant) {
            return Err(SharedFolderError::NotFound);
        }
        let now = self.calls.fetch_add(1, Ordering::Relaxed);
        let slot = Arc::clone(self.open.lock().entry(tenant.to_owned()).or_default());
        slot.used_at.store(now, Ordering::Relaxed);
        let mut open = super::shared_folder::wait(stop, |tick| slot.folder.try_lock_for(tick))?;
        if let Some(open) = &*open {
            return Ok(Arc::clone(open));
        }
        match self.open(tenant, stop) {
            Ok(opened) => {
                *open = Some(Arc::clone(&opened));
                drop(open);
                self.close_unused();
                Ok(opened)
            }
            Err(error) => {
                drop(open);
                // Names that lead nowhere take no memory.
                let mut all = self.open.lock();
                if all.get(tenant).is_some_and(|one| Arc::ptr_eq(one, &slot)) {
                    all.remove(tenant);
                }
                Err(error)
            }
        }
    }

    /// Closes a tenant on this server, because it was removed from the store. Calls that use it now end as they would have.
    pub fn forget(&self, tenant: &str) {
        self.open.lock().remove(tenant);
    }

    fn open(
        &self,
        tenant: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Arc<SharedFolder>, SharedFolderError> {
        // A tenant that does not exist leaves nothing on this machine.
        self.store.revision(tenant, stop)?;
        let (options, held) = (self.opening)(tenant)?;
        let folder = SharedFolder::open(
            Arc::clone(&self.store),
            tenant,
            &options.location,
            (options.editor, options.index),
            self.quota,
            stop,
        )?;
        Ok(Arc::new(folder.holding(held)))
    }

    /// Closes the tenants that were not used for the longest time, as far as no call uses them.
    fn close_unused(&self) {
        let mut open = self.open.lock();
        let Some(surplus) = open.len().checked_sub(self.most) else {
            return;
        };
        let mut by_age: Vec<(u64, String)> = open
            .iter()
            .map(|(name, slot)| (slot.used_at.load(Ordering::Relaxed), name.clone()))
            .collect();
        by_age.sort_unstable();
        let is_unused = |slot: &Arc<TenantSlot>| {
            Arc::strong_count(slot) == 1
                && slot.folder.try_lock().is_some_and(|open| {
                    open.as_ref()
                        .is_none_or(|open| Arc::strong_count(open) == 1)
                })
        };
        let mut closed = Vec::new();
        for (_, name) in by_age {
            if closed.len() == surplus {
                break;
            }
            if open.get(&name).is_some_and(is_unused) {
                closed.extend(open.remove(&name));
            }
        }
        drop(open);
        // Closing waits for nothing, but it frees a lot.
        drop(closed);
    }
}
