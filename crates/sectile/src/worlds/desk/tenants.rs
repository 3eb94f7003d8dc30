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
use sectile_mcp::{
    Access, CallContext, CompletionRequest, ContentPart, Failure, Handler, JsonObject, Prompt,
    Tool, WorldSpec,
};

pub(crate) use self::servers::open_store;
pub(super) use self::{copies::TenantCopies, open::open};
use super::{
    DeskWorld, describe,
    errors::{
        self, BUSY, CANCELLED, COPY_UNUSABLE, OUTCOME_UNKNOWN, OVER_QUOTA, STORE_UNAVAILABLE,
        failure,
    },
    prompts, resources,
    roots::DeskRoot,
    tools,
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

/// The contract of the desk, for many tenants.
pub(super) fn spec(read_only: bool) -> WorldSpec<TenantDesk> {
    WorldSpec {
        tools: tools::table().into_iter().map(for_tenants).collect(),
        describe: Some(describe_tenants),
        resources: resources::of(read_only),
        prompts: prompts::table().iter().map(prompt_for_tenants).collect(),
        complete: Some(complete),
        sessions: true,
        has_roots: true,
        shares_by_root: true,
        lenient_scalars: true,
        argument_errors: Some(&errors::INVALID_ARGUMENTS),
        ready: Some(|desk| {
            desk.tenants
                .store()
                .ready()
                .map_err(|error| error.to_string())
        }),
        ..WorldSpec::new(
            "desk",
            describe::INSTRUCTIONS,
            errors::envelope,
            errors::list,
        )
    }
}

/// Returns the same tool for the folders of tenants.
fn for_tenants(tool: Tool<DeskWorld>) -> Tool<TenantDesk> {
    let access = match tool.access {
        Access::Read => FolderAccess::Read,
        Access::Write | Access::Destructive => FolderAccess::Write,
    };
    tool.for_state(move |handler| {
        let handle = move |desk: &TenantDesk, arguments: JsonObject, context: &CallContext| {
            desk.call(context, access, |world| {
                handler.call(world, arguments.clone(), context)
            })?
        };
        Handler::Blocking(Box::new(handle))
    })
}

fn prompt_for_tenants(prompt: &Prompt<DeskWorld>) -> Prompt<TenantDesk> {
    Prompt {
        name: prompt.name,
        title: prompt.title,
        description: prompt.description,
        arguments: prompt.arguments,
        render: render_prompt,
    }
}

fn render_prompt(
    desk: &TenantDesk,
    arguments: &JsonObject,
    context: &CallContext,
) -> Result<Vec<ContentPart>, Failure> {
    desk.call(context, FolderAccess::Read, |world| {
        prompts::render(world, arguments, context)
    })?
}

/// Completes an argument. Without the store, nothing is completed; calls report why.
fn complete(desk: &TenantDesk, request: &CompletionRequest, context: &CallContext) -> Vec<String> {
    let completed = desk.call(context, FolderAccess::Read, |world| {
        prompts::complete(world, request, context)
    });
    completed.unwrap_or_default()
}

/// Describes the folders that a caller can see. Without the store, nothing is described; calls report why.
fn describe_tenants(desk: &TenantDesk, context: &CallContext) -> String {
    let described = desk.call(context, FolderAccess::Read, |world| {
        describe::describe(world, context)
    });
    described.unwrap_or_default()
}

impl TenantDesk {
    /// Calls `work` with a desk of the tenants that the caller can see. It may be called again if another server was
    /// faster.
    fn call<T>(
        &self,
        context: &CallContext,
        access: FolderAccess,
        mut work: impl FnMut(&DeskWorld) -> T,
    ) -> Result<T, Failure> {
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
