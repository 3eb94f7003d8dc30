//! The attributes of a file: owner, group, mode, access control list, extended attributes. The file that replaces a
//! note gets them all, or does not replace it.

use std::io;

use cap_std::fs::File;

#[cfg(target_os = "linux")]
use super::FileRefusal;

/// Gives `new`, which only its owner can open so far, all attributes of `old`. At no moment can anyone do more with it
/// than with `old`.
///
/// # Errors
/// [`FileRefusal::Unkept`] when the system does not allow it.
#[cfg(target_os = "linux")]
pub(super) fn copy(old: &File, new: &File) -> io::Result<()> {
    use cap_std::fs::{MetadataExt as _, Permissions, PermissionsExt as _};
    let metadata = old.metadata()?;
    let kept = copy_owner(&metadata, new)?;
    let names = linux::names(old)?;
    let has_acl = names.iter().any(|name| name == linux::ACL);
    if !kept.group {
        // Members of the new group could do with the note what only the old group could, or the other way round.
        let (group, others) = ((metadata.mode() >> 3) & 0o7, metadata.mode() & 0o7);
        if has_acl || group != others {
            return Err(unkept("the group of the file"));
        }
    }
    let (plain, others): (Vec<_>, Vec<_>) = names
        .into_iter()
        .filter(|name| name != linux::ACL && !linux::DERIVED.contains(&name.as_str()))
        .partition(|name| !name.starts_with("system."));
    for name in &plain {
        linux::copy_attribute(old, new, name)?;
    }
    if has_acl {
        linux::copy_attribute(old, new, linux::ACL)?;
    } else {
        linux::remove_acl(new)?;
    }
    // Setuid and setgid bits are dropped if owner or group has changed.
    let mut mode = metadata.mode() & 0o7777;
    if !(kept.owner && kept.group) {
        mode &= 0o1777;
    }
    new.set_permissions(Permissions::from_mode(mode))?;
    // Attributes that a file system derives from the mode exist by now.
    for name in &others {
        linux::copy_attribute(old, new, name)?;
    }
    Ok(())
}

/// On other systems, copies the mode as far as there is one.
#[cfg(not(target_os = "linux"))]
pub(super) fn copy(old: &File, new: &File) -> io::Result<()> {
    new.set_permissions(old.metadata()?.permissions())
}

#[cfg(target_os = "linux")]
struct KeptOwnership {
    owner: bool,
    group: bool,
}

/// Keeps owner and group if the system allows it. Otherwise the file belongs to the user who edits it, as in any editor
/// that saves by renaming: they could read and replace the note before.
#[cfg(target_os = "linux")]
fn copy_owner(metadata: &cap_std::fs::Metadata, new: &File) -> io::Result<KeptOwnership> {
    use cap_std::fs::MetadataExt as _;
    use rustix::fs::{Gid, Uid, fchown};
    let own = new.metadata()?;
    let mut kept = KeptOwnership {
        owner: own.uid() == metadata.uid(),
        group: own.gid() == metadata.gid(),
    };
    if kept.owner && kept.group {
        return Ok(kept);
    }
    let (uid, gid) = (Uid::from_raw(metadata.uid()), Gid::from_raw(metadata.gid()));
    if fchown(new, Some(uid), Some(gid)).is_ok() {
        return Ok(KeptOwnership {
            owner: true,
            group: true,
        });
    }
    kept.group = kept.group || fchown(new, None, Some(gid)).is_ok();
    Ok(kept)
}

#[cfg(target_os = "linux")]
fn unkept(what: impl Into<String>) -> io::Error {
    FileRefusal::Unkept { what: what.into() }.into()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;

    use cap_std::fs::File;
    use rustix::{
        fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr},
        io::Errno,
    };

    use super::unkept;

    pub(super) const ACL: &str = "system.posix_acl_access";
    /// Attributes that the kernel derives from the bytes of a file, or drops whenever these change.
    pub(super) const DERIVED: [&str; 3] = ["security.capability", "security.evm", "security.ima"];
    /// The kernel's limit for a list of names or a value, in bytes.
    const LONGEST: usize = 64 << 10;

    /// Returns the names of all attributes of a file.
    pub(super) fn names(file: &File) -> io::Result<Vec<String>> {
        let mut list = vec![0_u8; LONGEST];
        let length = match flistxattr(file, &mut list[..]) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => 0,
            length => length?,
        };
        let names = list[..length].split(|byte| *byte == 0);
        names
            .filter(|name| !name.is_empty())
            .map(|name| {
                String::from_utf8(name.to_vec())
                    .map_err(|_| unkept("an extended attribute of the file"))
            })
            .collect()
    }

    /// Returns the value of an attribute, or `None` if the file does not have it.
    fn value(file: &File, name: &str) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0_u8; LONGEST];
        match fgetxattr(file, name, &mut bytes[..]) {
            Ok(length) => {
                bytes.truncate(length);
                Ok(Some(bytes))
            }
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn copy_attribute(old: &File, new: &File, name: &str) -> io::Result<()> {
        let Ok(wanted) = value(old, name) else {
            return Err(unkept(said(name)));
        };
        let Some(wanted) = wanted else {
            return Ok(());
        };
        if value(new, name).is_ok_and(|there| there.as_ref() == Some(&wanted)) {
            return Ok(());
        }
        match fsetxattr(new, name, &wanted, XattrFlags::empty()) {
            Ok(()) => Ok(()),
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::IO)) => Err(error.into()),
            Err(_) => Err(unkept(said(name))),
        }
    }

    /// Removes the access control list that a new file may have inherited from its folder.
    pub(super) fn remove_acl(new: &File) -> io::Result<()> {
        match fremovexattr(new, ACL) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the name of an attribute for a message. Others chose it, so an odd one is not shown.
    fn said(name: &str) -> String {
        const LONGEST_SAID: usize = 80;
        let is_plain =
            name.len() <= LONGEST_SAID && name.bytes().all(|byte| byte.is_ascii_graphic());
        match name {
            ACL => "the access control list of the file".to_owned(),
            name if is_plain => format!("the extended attribute {name}"),
            _ => "an extended attribute of the file".to_owned(),
        }
    }
}
