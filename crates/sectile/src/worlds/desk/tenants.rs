//! The desk of many tenants: the same tools on folders that a store keeps.
//!
//! Each call sees the folders of the tenants that its caller is bound to, as they are in the store now, and is answered
//! once the store has what it changed.

mod copies;
mod open;
#[cfg(not(feature = "backends"))]
#[path = "tenants/no_servers.rs"]
mod servers;
#[cfg(feature = "backends")]
mod servers;

use std::sync::Arc;

use sectile_library::{
    editable_folder::EditableFolder,
    tenants::{self, FolderAccess, OpenTenants, SharedFolder, SharedFolderError},
};
use sectile_mcp::{Access, CallContext, CallState, Failure};

pub(crate) use self::servers::open_store;
pub(super) use self::{copies::TenantCopies, open::open};
use super::{
    DeskWorld,
    errors::{
        BUSY, CANCELLED, COPY_UNUSABLE, OUTCOME_UNKNOWN, OVER_QUOTA, STORE_UNAVAILABLE, failure,
    },
    roots::DeskRoot,
    urls::UrlStyle,
};

/// The most tenants that one call can see. Each is compared with the store.
const MAX_TENANTS: usize = 32;

/// State of the desk of many tenants.
pub(super) struct TenantDesk {
    tenants: OpenTenants,
    /// The tenant of callers that are bound to none.
    default: Option<String>,
    url_template: Option<String>,
}

impl CallState<DeskWorld> for TenantDesk {
    fn with_state(
        &self,
        context: &CallContext,
        access: Access,
        work: &mut dyn FnMut(&DeskWorld),
    ) -> Result<(), Failure> {
        let access = match access {
            Access::Read => FolderAccess::Read,
            Access::Write | Access::Destructive => FolderAccess::Write,
        };
        self.call(context, access, work)
    }

    fn ready(&self) -> Result<(), String> {
        let ready = self.tenants.store().ready();
        ready.map_err(|error| error.to_string())
    }
}

impl TenantDesk {
    /// Calls `work` with a desk of the tenants that the caller can see. It may be called again if another server was
    /// faster.
    fn call(
        &self,
        context: &CallContext,
        access: FolderAccess,
        work: &mut dyn FnMut(&DeskWorld),
    ) -> Result<(), Failure> {
        let stop = || context.cancelled.is_cancelled();
        let mut call = || {
            let folders = self.folders(context, &stop)?;
            let called = tenants::call(&folders, access, &stop, &mut |handles| {
                work(&self.world(&folders, handles))
            });
            if called.as_ref().err() == Some(&SharedFolderError::NotFound) {
                // One of them was removed since it was opened.
                for folder in folders {
                    self.tenants.forget(folder.tenant());
                }
            }
            called
        };
        let called = match call() {
            Err(SharedFolderError::NotFound) => call(),
            called => called,
        };
        called.map_err(|error| tenant_failure(&error))
    }

    /// Returns the folders of the tenants that the caller can see. A tenant that does not exist is like a root that does
    /// not.
    fn folders(
        &self,
        context: &CallContext,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Arc<SharedFolder>>, SharedFolderError> {
        let mut folders = Vec::new();
        for tenant in self.tenants_of(context) {
            match self.tenants.folder(&tenant, stop) {
                Ok(folder) => folders.push(folder),
                Err(SharedFolderError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(folders)
    }

    /// Returns the tenants that the caller is bound to, sorted: by its key or role, or else by its token.
    fn tenants_of(&self, context: &CallContext) -> Vec<String> {
        let mut names: Vec<String> = match (context.roots(), &context.identity) {
            (Some(roots), _) => roots.to_vec(),
            (None, Some(identity)) if identity.token.is_some() => vec![identity.vault.clone()],
            (None, _) => self.default.iter().cloned().collect(),
        };
        names.sort_unstable();
        names.dedup();
        names.truncate(MAX_TENANTS);
        names
    }

    /// Returns the desk for one call.
    fn world(&self, folders: &[Arc<SharedFolder>], handles: &[Arc<EditableFolder>]) -> DeskWorld {
        let roots = folders
            .iter()
            .zip(handles)
            .map(|(shared, folder)| DeskRoot {
                name: shared.tenant().to_owned(),
                location: shared.location(),
                folder: Arc::clone(folder),
                urls: match &self.url_template {
                    Some(template) => UrlStyle::Template(template.clone()),
                    None => UrlStyle::Sectile,
                },
            });
        DeskWorld {
            roots: roots.collect(),
        }
    }
}

/// The failure of a call that could not be carried out on the folders of tenants.
fn tenant_failure(error: &SharedFolderError) -> Failure {
    let what = error.to_string();
    let row = match error {
        SharedFolderError::Busy => &BUSY,
        SharedFolderError::Cancelled => &CANCELLED,
        SharedFolderError::OverQuota { .. } => &OVER_QUOTA,
        SharedFolderError::NotFound | SharedFolderError::Store { .. } => &STORE_UNAVAILABLE,
        SharedFolderError::OutcomeUnknown { .. } => &OUTCOME_UNKNOWN,
        SharedFolderError::Local(_) => &COPY_UNUSABLE,
    };
    failure(row, what, "")
}
