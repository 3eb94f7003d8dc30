//! Files put in place of others, and back again.

use crate::fs::{Located, PrivateFolder, StepName, Swap};

/// Where a document's file is before and after.
pub(crate) struct Places {
    pub(crate) from: Located,
    pub(crate) to: Option<Located>,
}

impl Places {
    /// Where the file will be.
    pub(crate) fn target(&self) -> &Located {
        self.to.as_ref().unwrap_or(&self.from)
    }

    pub(crate) fn all(&self) -> Vec<&Located> {
        std::iter::once(&self.from).chain(&self.to).collect()
    }
}

/// Puts the new bytes of a document in place of the old ones.
pub(crate) fn put_in_place(
    folder: &PrivateFolder,
    name: &StepName,
    (old, new): (Option<&[u8]>, Option<&[u8]>),
    place: &Places,
) -> std::io::Result<Swap> {
    match (new, &place.to, old) {
        (Some(new), None, old) => folder.swap_in(name, &place.from, old, new),
        (Some(new), Some(to), Some(old)) => {
            match folder.swap_in(name, to, None, new)? {
                Swap::Done => {}
                Swap::Changed => return Ok(Swap::Changed),
            }
            let taken = folder.take_out(name, &place.from, old)?;
            if taken == Swap::Changed {
                folder.take_back(name, to, new)?;
            }
            Ok(taken)
        }
        (None, _, Some(old)) => folder.take_out(name, &place.from, old),
        _ => Ok(Swap::Done),
    }
}

/// Puts a document back as it was, if it is as this commit left it.
pub(crate) fn restore(
    folder: &PrivateFolder,
    name: &StepName,
    (old, new): (Option<&[u8]>, Option<&[u8]>),
    place: &Places,
) -> std::io::Result<()> {
    match (new, &place.to, old) {
        (Some(new), None, Some(old)) => {
            folder.swap_back(name, &place.from, old, new)?;
        }
        (Some(new), None, None) => {
            folder.take_back(name, &place.from, new)?;
        }
        (Some(new), Some(to), Some(_)) => {
            match folder.put_back(name, &place.from) {
                // It was not taken out yet.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                result => result.map(|_| ())?,
            }
            folder.take_back(name, to, new)?;
        }
        (None, _, Some(_)) => {
            folder.put_back(name, &place.from)?;
        }
        _ => {}
    }
    Ok(())
}
