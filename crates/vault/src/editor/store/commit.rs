//! Puts files in place of others, and back again.

use crate::fs::{LocatedNote, PrivateFolder, StepName, SwapOutcome};

/// The locations of a document's file before and after.
pub(crate) struct FileLocations {
    pub(crate) from: LocatedNote,
    pub(crate) to: Option<LocatedNote>,
}

impl FileLocations {
    /// Returns the location of the file afterwards.
    pub(crate) fn target(&self) -> &LocatedNote {
        self.to.as_ref().unwrap_or(&self.from)
    }

    pub(crate) fn all(&self) -> Vec<&LocatedNote> {
        std::iter::once(&self.from).chain(&self.to).collect()
    }
}

/// Puts the new bytes of a document in place of the old ones.
pub(crate) fn put_in_place(
    folder: &PrivateFolder,
    name: &StepName,
    (old, new): (Option<&[u8]>, Option<&[u8]>),
    place: &FileLocations,
) -> std::io::Result<SwapOutcome> {
    match (new, &place.to, old) {
        (Some(new), None, old) => folder.swap_in(name, &place.from, old, new),
        (Some(new), Some(to), Some(old)) => {
            match folder.swap_in(name, to, None, new)? {
                SwapOutcome::Done => {}
                SwapOutcome::Changed => return Ok(SwapOutcome::Changed),
            }
            let taken = folder.take_out(name, &place.from, old)?;
            if taken == SwapOutcome::Changed {
                folder.take_back(name, to, new)?;
            }
            Ok(taken)
        }
        (None, _, Some(old)) => folder.take_out(name, &place.from, old),
        _ => Ok(SwapOutcome::Done),
    }
}

/// Restores a document, if it is as this commit left it.
pub(crate) fn restore(
    folder: &PrivateFolder,
    name: &StepName,
    (old, new): (Option<&[u8]>, Option<&[u8]>),
    place: &FileLocations,
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
                // It was not moved away yet.
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
