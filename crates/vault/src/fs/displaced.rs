//! Files that were replaced. Another program may have one open and write to it although it is no longer the note, so
//! none is removed without being read: a file with the replaced bytes is kept for a while and compared again, and a
//! file with anything else is kept for good, as rescued.

use std::io;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

use super::{
    private::{PrivateFolder, flush_folder, make_folder, read_all},
    replace::{LocatedNote, SwapOutcome, place_new},
    temporary::{StepName, TemporaryFolder, TemporaryRole},
};
use crate::fault::step;

/// Prefix of files that another program wrote to after they were replaced.
pub(crate) const RESCUED: &str = "rescued-";
const DISPLACED: &str = "displaced";

/// Time that a file is kept after it was replaced, in milliseconds.
const KEPT_FOR: i64 = 60_000;
/// Most files that are kept, and most bytes of them.
const MOST_KEPT: usize = 64;
const MOST_KEPT_BYTES: u64 = 64 << 20;
/// More files than are ever rescued from one step.
const MOST_NUMBERS: usize = 10_000;
/// Number of names in a folder that are read. Sectile never creates as many.
const MOST_NAMES: usize = 4_096;

/// A replaced file that is kept.
struct DisplacedFile {
    time: i64,
    file: String,
    name: StepName,
    bytes: u64,
}

impl PrivateFolder {
    /// Cleans up the temporary files of a step that is over: new bytes that are in no document are removed, the
    /// replaced file is kept for a while, and anything else is rescued. Returns the number of rescued files.
    pub(crate) fn settle(
        &self,
        name: &StepName,
        near: &[&LocatedNote],
        now: i64,
    ) -> io::Result<usize> {
        let temporary = self.temporary()?;
        let marker = name.file(TemporaryRole::Marker);
        let is_marked = temporary.symlink_metadata(&marker).is_ok();
        let private = TemporaryFolder {
            dir: temporary,
            is_beside: false,
        };
        let mut rescued = self.settle_at(&private, name, now)?;
        if is_marked {
            for note in near {
                let beside = TemporaryFolder {
                    dir: note.folder.try_clone()?,
                    is_beside: true,
                };
                rescued += self.settle_at(&beside, name, now)?;
            }
            if !near.is_empty() {
                remove(&private.dir, &marker)?;
            }
        }
        Ok(rescued)
    }

    fn settle_at(
        &self,
        workplace: &TemporaryFolder,
        name: &StepName,
        now: i64,
    ) -> io::Result<usize> {
        remove(
            &workplace.dir,
            &workplace.file(name, TemporaryRole::Unfinished),
        )?;
        let mut rescued = 0;
        for part in [TemporaryRole::New, TemporaryRole::Old] {
            let bytes = match workplace.read(name, part, self.limit) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                // A file that cannot be read may not be ours.
                Err(_) => {
                    self.rescue(workplace, name, part)?;
                    rescued += 1;
                    continue;
                }
            };
            if name.is_before(&bytes) {
                self.keep(workplace, name, part, now)?;
            } else if name.is_after(&bytes) {
                remove(&workplace.dir, &workplace.file(name, part))?;
            } else {
                self.rescue(workplace, name, part)?;
                rescued += 1;
            }
        }
        Ok(rescued)
    }

    /// Keeps a replaced file. One next to a note is removed, because it would be in the way there.
    fn keep(
        &self,
        workplace: &TemporaryFolder,
        name: &StepName,
        part: TemporaryRole,
        now: i64,
    ) -> io::Result<()> {
        let file = workplace.file(name, part);
        if workplace.is_beside {
            return remove(&workplace.dir, &file);
        }
        let kept = format!("{}-{}", now.max(0), name.file(TemporaryRole::New));
        step("keep_displaced", || {
            make_folder(&self.dir, DISPLACED)?;
            let folder = self.dir.open_dir_nofollow(DISPLACED)?;
            workplace.dir.rename(&file, &folder, &kept)
        })
    }

    /// Keeps a file that holds what another program wrote for good, under an unused name.
    pub(super) fn rescue(
        &self,
        workplace: &TemporaryFolder,
        name: &StepName,
        part: TemporaryRole,
    ) -> io::Result<()> {
        self.rescue_file(&workplace.dir, &workplace.file(name, part), name)
    }

    fn rescue_file(&self, folder: &Dir, file: &str, name: &StepName) -> io::Result<()> {
        step("rescue", || {
            for number in 1..MOST_NUMBERS {
                let short = name.short();
                let kept = match number {
                    1 => format!("{RESCUED}{short}"),
                    number => format!("{RESCUED}{short}-{number}"),
                };
                let placed = match place_new(folder, file, &self.dir, kept.as_ref()) {
                    Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                        self.copy_across(folder, file, &kept)
                    }
                    placed => placed,
                };
                if placed? == SwapOutcome::Done {
                    return flush_folder(&self.dir);
                }
            }
            Err(io::ErrorKind::AlreadyExists.into())
        })
    }

    /// Copies a file into the private folder from another file system.
    fn copy_across(&self, folder: &Dir, file: &str, kept: &str) -> io::Result<SwapOutcome> {
        let bytes = read_all(folder, file, self.limit)?;
        let mut copy = match self.create(&self.dir, kept) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Ok(SwapOutcome::Changed);
            }
            created => created?,
        };
        io::Write::write_all(&mut copy, &bytes)?;
        copy.sync_all()?;
        folder.remove_file(file)?;
        Ok(SwapOutcome::Done)
    }

    /// Compares files again that were kept long enough, or all of them, and removes those that nobody wrote to. Returns
    /// the number of rescued files.
    pub(crate) fn sweep_displaced(&self, now: Option<i64>) -> io::Result<usize> {
        let folder = match self.open_own_folder(DISPLACED)? {
            Some(folder) => folder,
            None => return Ok(0),
        };
        let mut kept = list(&folder)?;
        kept.sort_by(|one, other| (one.time, &one.file).cmp(&(other.time, &other.file)));
        let mut count = kept.len();
        let mut bytes: u64 = kept.iter().map(|one| one.bytes).sum();
        let mut rescued = 0;
        for one in kept {
            let is_old = now.is_none_or(|now| now.abs_diff(one.time) >= KEPT_FOR.unsigned_abs());
            if !is_old && count <= MOST_KEPT && bytes <= MOST_KEPT_BYTES {
                continue;
            }
            count -= 1;
            bytes -= one.bytes;
            let is_same = match read_all(&folder, &one.file, self.limit) {
                Ok(bytes) => one.name.is_before(&bytes),
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => false,
            };
            if is_same {
                remove(&folder, &one.file)?;
            } else {
                match self.rescue_file(&folder, &one.file, &one.name) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    rescue => {
                        rescue?;
                        rescued += 1;
                    }
                }
            }
        }
        Ok(rescued)
    }

    /// Returns the names of files that another program wrote to after they were replaced.
    pub(crate) fn rescued_files(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in self.dir.entries()? {
            if let Ok(name) = entry?.file_name().into_string()
                && name.starts_with(RESCUED)
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}

/// Returns the files that are kept in `folder`.
fn list(folder: &Dir) -> io::Result<Vec<DisplacedFile>> {
    let mut kept = Vec::new();
    for entry in folder.entries()?.take(MOST_NAMES) {
        let entry = entry?;
        let Ok(file) = entry.file_name().into_string() else {
            continue;
        };
        let Some((time, rest)) = file.split_once('-') else {
            continue;
        };
        let (Ok(time), Some((name, TemporaryRole::New))) = (time.parse(), StepName::parse(rest))
        else {
            continue;
        };
        match entry.metadata() {
            Ok(metadata) => kept.push(DisplacedFile {
                time,
                bytes: metadata.len(),
                name,
                file,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(kept)
}

/// Removes a file, if it exists.
fn remove(folder: &Dir, file: &str) -> io::Result<()> {
    match step("remove_temporary", || folder.remove_file(file)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
