//! The working copies of tenants on this machine, one folder for each tenant and process.

use std::{io, path::PathBuf};

use sectile_markdown::Digest;

use crate::files::{self, FolderLock};

/// Number of digits in the name of the folder of a store.
const STORE_DIGITS: usize = 16;
/// The most processes of one machine that have a copy of the same tenant.
const MAX_COPIES: usize = 64;

/// The folder of all working copies of one store.
pub(in super::super) struct TenantCopies {
    folder: PathBuf,
}

/// A working copy that no other process uses as long as this is held.
pub(in super::super) struct HeldCopy {
    pub(in super::super) location: PathBuf,
    pub(in super::super) lock: FolderLock,
}

impl TenantCopies {
    /// Returns the folder for the store that `identity` tells from others.
    pub(in super::super) fn new(copies: PathBuf, identity: &str) -> Self {
        let mut name = Digest::of(identity.as_bytes()).to_string();
        name.truncate(STORE_DIGITS);
        Self {
            folder: copies.join(name),
        }
    }

    /// Takes a copy of a tenant that no other process uses: an earlier one if possible, which saves fetching it again.
    pub(in super::super) fn take(&self, tenant: &str) -> io::Result<HeldCopy> {
        for number in 0..MAX_COPIES {
            let parent = self.folder.join(tenant).join(number.to_string());
            if let Some(lock) = files::lock_folder(&parent)? {
                let location = parent.join("notes");
                files::make_private_folder(&location)?;
                let location = files::absolute(&location)?;
                return Ok(HeldCopy { location, lock });
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }
}
