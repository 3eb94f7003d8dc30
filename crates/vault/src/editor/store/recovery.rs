//! Crash recovery: half-done changes are finished or dropped. Only intents with our seal count; those that came with a
//! folder are never carried out.
//!
//! A process holds the locks of the documents it changes, and they are released when it ends in whatever way. So a
//! process that can lock a document knows that nobody is working on it, and that an open intent about it is a leftover.

use std::{collections::BTreeSet, time::Instant};

use sectile_markdown::Digest;

use super::{FileLocations, JOURNAL_LOCK, JournalStore, put_in_place};
use crate::{
    NotePath,
    editor::{EditorError, folder::recorded_path},
    fs::{LocatedNote, PrivateFolder, ReplaceStages, StepName, SwapOutcome},
    journal::{Entry, FolderMove, IDS, JOURNAL, Record, Step, UNFINISHED},
};

/// The state of a document in an interrupted change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecoveryStage {
    Before,
    /// A document that moves is at both paths.
    Halfway,
    After,
    /// Someone else changed it before the change was made, or instead of it.
    OtherBefore,
    /// Someone else changed it after the change was made.
    OtherAfter,
}

const RECOVERY_LOCK: &str = "recovery";

impl JournalStore {
    /// Finishes or drops every half-done change that nobody is working on.
    pub(crate) fn recover(&self) -> Result<(), EditorError> {
        let Some(folder) = self.folder.private_if_there()? else {
            return Ok(());
        };
        // A folder that cannot be closed is as it was, which is not a reason to stop.
        folder.close_to_others().unwrap_or_default();
        let (pending, known_entries) = {
            let state = self.current_state()?;
            (state.ledger.pending(None), state.ledger.next().entry)
        };
        for entry in pending {
            // A process that moves a folder holds all locks.
            let first = entry.steps.first().map(|step| step.path.clone());
            let first = first.or_else(|| entry.folder.as_ref().map(|folder| folder.from.clone()));
            if let Some(path) = first
                && let Some(_locks) = self.try_lock_documents([path.as_str()])?
            {
                // An intent that cannot be settled now is met again by the first call that needs its documents.
                match self.resolve(entry.number) {
                    Ok(()) | Err(_) => {}
                }
            }
        }
        self.drop_unfinished_journals(&folder)?;
        Ok(self.put_away_left_overs(&folder, known_entries)?)
    }

    /// Cleans up temporary files of settled entries before `known_entries`. None is removed without being read.
    fn put_away_left_overs(
        &self,
        folder: &PrivateFolder,
        known_entries: u64,
    ) -> std::io::Result<()> {
        let now = self.now();
        for file in folder.temporary_files()? {
            // Files with unknown names are not ours.
            let Some((name, _)) = StepName::parse(&file) else {
                continue;
            };
            if name.entry() >= known_entries || self.state().ledger.is_pending(name.entry()) {
                continue;
            }
            let mut marked = folder.marked_notes(&name);
            if let Some(moved) = self.folder_moved_by(name.entry()) {
                // The files were taken along.
                let along: Vec<String> =
                    marked.iter().filter_map(|path| moved.moved(path)).collect();
                marked.extend(along);
            }
            let beside = self.folder.locate_all(marked.iter());
            let beside: Vec<&LocatedNote> = beside.iter().collect();
            folder.settle(&name, &beside, now)?;
        }
        folder.sweep_displaced(Some(now)).map(|_| ())
    }

    fn folder_moved_by(&self, entry: u64) -> Option<FolderMove> {
        let state = self.state();
        state.ledger.entry(entry)?.folder.clone()
    }

    /// Removes a new journal or id file that was never put in place, unless someone is just writing it.
    fn drop_unfinished_journals(&self, folder: &PrivateFolder) -> Result<(), EditorError> {
        for name in [JOURNAL, IDS] {
            let unfinished = format!("{name}{UNFINISHED}");
            if !folder.exists(&unfinished) {
                continue;
            }
            let lock = folder.lock(JOURNAL_LOCK, Instant::now(), &|| true);
            let removed = lock.and_then(|lock| match lock {
                Some(_lock) => folder.remove(&unfinished),
                None => Ok(()),
            });
            removed?;
        }
        Ok(())
    }

    /// Settles intents about a document that the caller has locked.
    pub(crate) fn finish_pending(&self, path: &str) -> Result<(), EditorError> {
        let pending = self.current_state()?.ledger.pending(Some(path));
        pending
            .iter()
            .try_for_each(|entry| self.resolve(entry.number))
    }

    /// Settles intents about documents that the caller has locked, each once.
    pub(crate) fn finish_all_pending(&self, paths: &BTreeSet<String>) -> Result<(), EditorError> {
        let pending = self.current_state()?.ledger.pending(None);
        let concerns = |step: &Step| {
            let mut own = std::iter::once(&step.path).chain(&step.moved_to);
            own.any(|path| paths.contains(path))
        };
        pending
            .iter()
            .filter(|entry| entry.steps.iter().any(concerns))
            .try_for_each(|entry| self.resolve(entry.number))
    }

    /// Settles one intent. The caller has locked one of its documents, so the process that made it is gone.
    fn resolve(&self, number: u64) -> Result<(), EditorError> {
        let folder = self.folder.private()?;
        let _lock = self.lock(&folder, RECOVERY_LOCK)?;
        let pending = self.current_state()?.ledger.pending(None);
        let Some(entry) = pending.into_iter().find(|entry| entry.number == number) else {
            return Ok(());
        };
        if let Some(moved) = &entry.folder {
            let record = self.resolve_folder(&folder, &entry, moved)?;
            self.append(record)?;
            self.settle_steps(&folder, &entry);
            return Ok(());
        }
        let standings = (0..entry.steps.len())
            .map(|at| self.standing(&folder, &entry, at))
            .collect::<Result<Vec<_>, _>>()?;
        let among =
            |wanted: &[RecoveryStage]| standings.iter().all(|standing| wanted.contains(standing));
        let record = if among(&[RecoveryStage::Before, RecoveryStage::OtherBefore]) {
            Record::Abort { entry: number }
        } else if among(&[RecoveryStage::After, RecoveryStage::OtherAfter]) {
            Record::Commit { entry: number }
        } else if !self.are_targets(&entry) {
            // Nothing is written to a path that is not a document. What is there is entered as a foreign change.
            Record::Abort { entry: number }
        } else if among(&[
            RecoveryStage::Before,
            RecoveryStage::Halfway,
            RecoveryStage::After,
        ]) {
            self.roll(&entry, &standings, Direction::Forward)?;
            Record::Commit { entry: number }
        } else {
            self.roll(&entry, &standings, Direction::Back)?;
            Record::Abort { entry: number }
        };
        self.append(record)?;
        self.settle_steps(&folder, &entry);
        Ok(())
    }

    /// Settles the move of a folder, which decides alone: links were repaired before it, in the documents where they
    /// were. Returns the record that says how.
    fn resolve_folder(
        &self,
        folder: &PrivateFolder,
        entry: &Entry,
        moved: &FolderMove,
    ) -> Result<Record, EditorError> {
        let number = entry.number;
        if self.has_moved(entry, moved)? {
            return Ok(Record::Commit { entry: number });
        }
        if self.are_targets(entry) {
            let entry = in_place(entry);
            let standings = self.standings_in_place(folder, &entry)?;
            self.roll(&entry, &standings, Direction::Back)?;
        }
        Ok(Record::Abort { entry: number })
    }

    /// Returns whether the folder of an entry was moved.
    fn has_moved(&self, entry: &Entry, moved: &FolderMove) -> Result<bool, EditorError> {
        let has = |path: &str| -> Result<bool, EditorError> {
            Ok(self.folder.root.has_folder(&recorded_path(path)?)?)
        };
        if !has(&moved.to)? {
            return Ok(false);
        }
        if !has(&moved.from)? {
            return Ok(true);
        }
        // Another program has created a folder at one of the paths. The documents show which one is ours.
        let mut inside = entry.steps.iter().filter_map(|step| step.moved_to.as_ref());
        Ok(inside.any(|path| {
            let note = NotePath::parse_vault(path).ok();
            note.is_some_and(|note| self.folder.root.is_occupied(&note))
        }))
    }

    /// Returns the state of each document of an entry whose documents stay where they are.
    fn standings_in_place(
        &self,
        folder: &PrivateFolder,
        entry: &Entry,
    ) -> Result<Vec<RecoveryStage>, EditorError> {
        let steps = entry.steps.iter().enumerate();
        let standings = steps.map(|(at, step)| {
            if step.before == step.after {
                Ok(RecoveryStage::Before)
            } else {
                self.standing(folder, entry, at)
            }
        });
        standings.collect()
    }

    /// Cleans up the temporary files of an entry.
    fn settle_steps(&self, folder: &PrivateFolder, entry: &Entry) {
        for (at, step) in entry.steps.iter().enumerate() {
            if entry.folder.is_some() && step.before == step.after {
                continue;
            }
            // Files that cannot be cleaned up now are cleaned up at the next start.
            if self.settle_step(folder, entry.number, at, step).is_err() {
                break;
            }
        }
    }

    /// Returns whether an entry writes only to documents. Where a single document is edited, an entry about several
    /// that another process began is settled in all of them.
    fn are_targets(&self, entry: &Entry) -> bool {
        let steps = entry.steps.iter();
        let mut paths = steps.flat_map(|step| [Some(&step.path), step.moved_to.as_ref()]);
        paths.all(|path| {
            path.is_none_or(|path| {
                let note = NotePath::parse_vault(path).ok();
                let real = note.and_then(|note| self.folder.real_path(&note).ok());
                real.is_some_and(|real| self.folder.is_document(&real).is_ok_and(|is_one| is_one))
            })
        })
    }

    /// Cleans up the temporary files of a step.
    fn settle_step(
        &self,
        folder: &PrivateFolder,
        number: u64,
        at: usize,
        step: &Step,
    ) -> std::io::Result<()> {
        let paths = std::iter::once(&step.path).chain(&step.moved_to);
        let near = self.folder.locate_all(paths);
        let near: Vec<&LocatedNote> = near.iter().collect();
        let name = step_name(number, at, step);
        folder.settle(&name, &near, self.now()).map(|_| ())
    }

    /// Returns whether nothing of an entry is in place any more.
    pub(crate) fn is_taken_back(&self, folder: &PrivateFolder, entry: &Entry) -> bool {
        if let Some(moved) = &entry.folder {
            let standings = self.standings_in_place(folder, &in_place(entry));
            let is_back = |standings: &Vec<RecoveryStage>| {
                let mut standings = standings.iter();
                !standings.any(|one| matches!(one, RecoveryStage::Halfway | RecoveryStage::After))
            };
            return matches!(self.has_moved(entry, moved), Ok(false))
                && standings.as_ref().is_ok_and(is_back);
        }
        (0..entry.steps.len()).all(|at| {
            let standing = self.standing(folder, entry, at);
            !matches!(
                standing,
                Ok(RecoveryStage::Halfway | RecoveryStage::After) | Err(_)
            )
        })
    }

    fn standing(
        &self,
        folder: &PrivateFolder,
        entry: &Entry,
        at: usize,
    ) -> Result<RecoveryStage, EditorError> {
        let step = &entry.steps[at];
        let hash_at = |path: &str| -> Result<Option<String>, EditorError> {
            let bytes = self.folder.read_any(&recorded_path(path)?)?;
            Ok(bytes.map(|bytes| Digest::of(&bytes).to_string()))
        };
        let stages = self.stages(folder, entry.number, at, step)?;
        let here = hash_at(&step.path)?;
        let there = step.moved_to.as_deref().map(hash_at).transpose()?;
        Ok(match there {
            Some(there) => match (here == step.before, there == step.after) {
                (true, true) => RecoveryStage::Halfway,
                (true, false) if there.is_none() => RecoveryStage::Before,
                (false, true) if here.is_none() => RecoveryStage::After,
                _ if here.is_none() => RecoveryStage::OtherAfter,
                _ => RecoveryStage::OtherBefore,
            },
            None if here == step.after => RecoveryStage::After,
            None if here == step.before => RecoveryStage::Before,
            None if was_in_place(step, stages) => RecoveryStage::OtherAfter,
            None => RecoveryStage::OtherBefore,
        })
    }

    /// Returns how far a step got. A document that was just moved away is put back first.
    fn stages(
        &self,
        folder: &PrivateFolder,
        number: u64,
        at: usize,
        step: &Step,
    ) -> Result<Option<ReplaceStages>, EditorError> {
        let path = recorded_path(&step.path)?;
        let Ok(located) = self.folder.root.locate(&path) else {
            return Ok(None);
        };
        let name = step_name(number, at, step);
        let mut stages = folder.stages(&name, &located)?;
        let is_replaced = step.moved_to.is_none() && step.before.is_some() && step.after.is_some();
        // The new file would not still be waiting if it had been put in place.
        if is_replaced && stages.is_absent && stages.has_old && stages.has_new {
            folder.put_back(&name, &located)?;
            stages = folder.stages(&name, &located)?;
        }
        Ok(Some(stages))
    }

    /// Rolls the documents of an entry forward or back.
    fn roll(
        &self,
        entry: &Entry,
        standings: &[RecoveryStage],
        direction: Direction,
    ) -> Result<(), EditorError> {
        for (at, (step, standing)) in entry.steps.iter().zip(standings).enumerate() {
            let settled = match direction {
                Direction::Forward => *standing == RecoveryStage::After,
                Direction::Back => {
                    !matches!(standing, RecoveryStage::Halfway | RecoveryStage::After)
                }
            };
            if !settled {
                self.roll_step(entry.number, at, step, *standing, direction)?;
            }
        }
        Ok(())
    }

    fn roll_step(
        &self,
        number: u64,
        at: usize,
        step: &Step,
        standing: RecoveryStage,
        direction: Direction,
    ) -> Result<(), EditorError> {
        let old_path = recorded_path(&step.path)?;
        let new_path = step.moved_to.as_deref().map(recorded_path).transpose()?;
        let folder = self.folder.private()?;
        if standing == RecoveryStage::Halfway {
            // Both files exist; one of them is surplus.
            let surplus = match direction {
                Direction::Forward => &old_path,
                Direction::Back => new_path.as_ref().unwrap_or(&old_path),
            };
            let bytes = self.folder.read_any(surplus)?.unwrap_or_default();
            let located = self.folder.root.locate(surplus)?;
            self.settle_step(&folder, number, at, step)?;
            folder.take_out(&step_name(number, at, step), &located, &bytes)?;
            return Ok(self.settle_step(&folder, number, at, step)?);
        }
        let (from, to, changes) = match direction {
            Direction::Forward => (&old_path, new_path.as_ref(), step.changes()),
            Direction::Back => (
                new_path.as_ref().unwrap_or(&old_path),
                new_path.as_ref().map(|_| &old_path),
                step.inverse(),
            ),
        };
        let target_hash = match direction {
            Direction::Forward => &step.after,
            Direction::Back => &step.before,
        };
        let bytes = self.folder.read_any(from)?;
        let changed = match target_hash {
            None => None,
            Some(_) => {
                changes.and_then(|changes| changes.apply(bytes.as_deref().unwrap_or_default()))
            }
        };
        let made = changed.as_ref().map(|bytes| Digest::of(bytes).to_string());
        if made != *target_hash {
            return Err(EditorError::KeepsChanging);
        }
        let places = FileLocations {
            from: self.folder.root.locate(from)?,
            to: match to {
                Some(to) => Some(self.folder.root.locate(to)?),
                None => None,
            },
        };
        self.settle_step(&folder, number, at, step)?;
        let name = step_name(number, at, step);
        if let Some(bytes) = &changed {
            folder.prepare(&name, bytes, &places.from, places.target())?;
        }
        let swapped = put_in_place(
            &folder,
            &name,
            (bytes.as_deref(), changed.as_deref()),
            &places,
        )?;
        self.settle_step(&folder, number, at, step)?;
        match swapped {
            SwapOutcome::Done => Ok(()),
            SwapOutcome::Changed => Err(EditorError::KeepsChanging),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Back,
}

/// Returns an entry that moves a folder as it is without the move.
fn in_place(entry: &Entry) -> Entry {
    let mut entry = entry.clone();
    for step in &mut entry.steps {
        step.moved_to = None;
    }
    entry
}

fn step_name(number: u64, at: usize, step: &Step) -> StepName {
    StepName::new(number, at, step.before.as_deref(), step.after.as_deref())
}

/// Returns whether our change was in place before someone else changed the document.
fn was_in_place(step: &Step, stages: Option<ReplaceStages>) -> bool {
    match (stages, &step.before, &step.after) {
        (None, ..) => false,
        (Some(stages), _, None) => stages.has_old,
        (Some(stages), None, Some(_)) => !stages.has_new,
        (Some(stages), Some(_), Some(_)) => {
            stages.has_exchanged || (stages.has_old && !stages.has_new)
        }
    }
}
