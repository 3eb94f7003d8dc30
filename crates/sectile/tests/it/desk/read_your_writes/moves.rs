//! The changes of the game: those that the desk makes, and those that another program makes.

use serde_json::json;

use super::{
    Game,
    model::{Model, folder_of, headings, joined, words},
};

/// A path below `folder` as it is when the folder is at `new`.
fn moved(path: &str, folder: &str, new: &str) -> String {
    match path.strip_prefix(&format!("{folder}/")) {
        Some(rest) => format!("{new}/{rest}"),
        None => path.to_owned(),
    }
}

impl Game<'_> {
    /// Lets another program change something. Returns the kind of change.
    pub(super) fn change_outside(&mut self) -> &'static str {
        let path = self.any_path();
        let text = self.model.notes[&path].clone();
        match self.dice.below(9) {
            0 => {
                // The same number of bytes, in the same file.
                let Some(word) = words(&text).into_iter().next() else {
                    return "nothing";
                };
                let new = text.replace(&word, &self.word());
                self.put(&path, &new);
                "write in place, same length"
            }
            1 => {
                let new = self.note(&path);
                self.put(&path, &new);
                "write in place"
            }
            2 => {
                let new = self.note(&path);
                self.desk.replace(&path, &new);
                self.model.notes.insert(path, new);
                "replace by a rename"
            }
            3 => {
                let more = format!("\n{}\n", self.sentence(&path));
                self.desk.append(&path, &more);
                self.model.notes.insert(path, text + &more);
                "append"
            }
            4 if self.model.notes.len() > 10 => {
                self.desk.remove(&path);
                self.model.notes.remove(&path);
                "remove a file"
            }
            5 => {
                let folder = format!("outer-{}", self.name());
                for _ in 0..2 {
                    let path = format!("{folder}/note-{}.md", self.name());
                    let text = self.note(&path);
                    self.put(&path, &text);
                }
                "new folder"
            }
            6 => {
                let folder = folder_of(&path).to_owned();
                let new = joined(&folder, &format!("note-{}.md", self.name()));
                self.desk.rename(&path, &new);
                self.model.notes.remove(&path);
                self.model.notes.insert(new, text);
                "move a file"
            }
            _ => {
                let folders = self.model.folders();
                let Some(folder) = folders.first().filter(|_| !self.dice.one_in(4)).cloned() else {
                    let path = self.new_path();
                    let text = self.note(&path);
                    self.put(&path, &text);
                    return "new file";
                };
                let folder = self
                    .dice
                    .pick(&[folder, folders.last().unwrap().clone()])
                    .clone();
                let new = format!("moved-{}", self.name());
                self.desk.rename(&folder, &new);
                let notes = std::mem::take(&mut self.model.notes);
                let notes = notes.into_iter();
                self.model.notes = notes
                    .map(|(path, text)| (moved(&path, &folder, &new), text))
                    .collect();
                "move a folder"
            }
        }
    }

    /// Lets the desk change something. Returns the kind of change.
    pub(super) fn change_at_desk(&mut self) -> &'static str {
        let before = self.model.clone();
        let path = self.any_path();
        let text = before.notes[&path].clone();
        let kind = match self.dice.below(11) {
            0 | 1 => self.edit_passage(&path, &text),
            2 | 3 => self.append_to_section(&path, &text),
            4 => {
                let path = self.new_path();
                let text = self.note(&path);
                self.json("create", json!({ "path": path, "text": text }));
                self.model.notes.insert(path, text);
                "create"
            }
            5 => self.rename_heading(&path, &text),
            6 => {
                let new = self.new_path();
                self.json("rename", json!({ "id": path, "to": new }));
                self.take_moves(
                    &before,
                    |from| {
                        if from == path {
                            new.clone()
                        } else {
                            from.to_owned()
                        }
                    },
                    None,
                );
                "rename document"
            }
            7 => {
                let folders = self.model.folders();
                if folders.is_empty() {
                    return "nothing";
                }
                let folder = self.dice.pick(&folders).clone();
                let new = format!("renamed-{}", self.name());
                self.json("rename", json!({ "id": format!("{folder}/"), "to": new }));
                self.take_moves(&before, |from| moved(from, &folder, &new), None);
                "rename folder"
            }
            8 if self.model.notes.len() > 10 => {
                let base = self.base(&path);
                self.json("delete", json!({ "id": path, "base": base }));
                self.model.notes.remove(&path);
                "delete document"
            }
            9 => {
                let value = format!("fv{}", self.name());
                self.json(
                    "set_fields",
                    json!({ "id": path, "set": { "status": value } }),
                );
                let new = match text.strip_prefix("---\n") {
                    Some(rest) => {
                        format!("---\nstatus: {value}\n{}", rest.split_once('\n').unwrap().1)
                    }
                    None => format!("---\nstatus: {value}\n---\n{text}"),
                };
                let written = self.desk.text(&path);
                // Whether a blank line follows new front matter is not what is tested here.
                let is_it = written == new || written.replace("---\n\n#", "---\n#") == new;
                assert!(is_it, "{new:?} became {written:?}");
                self.model.notes.insert(path, written);
                "set_fields"
            }
            _ => {
                let Some(undone) = self.undone.take() else {
                    return self.edit_and_remember(&before, &path, &text);
                };
                // Without a name, it would go on to the change before the one that was undone.
                let (change, is_undo) = self.newest.clone();
                let arguments = match is_undo || self.dice.one_in(2) {
                    true => json!({ "change": change }),
                    false => json!({}),
                };
                self.json("undo", arguments);
                // A heading may have another text now.
                for (_, is_certain) in self.ids.values_mut() {
                    *is_certain = false;
                }
                self.model = undone;
                "undo"
            }
        };
        self.undone = Some(before);
        kind
    }

    fn edit_and_remember(&mut self, before: &Model, path: &str, text: &str) -> &'static str {
        let kind = self.edit_passage(path, text);
        self.undone = Some(before.clone());
        kind
    }

    /// The base of what `id` names, from what `fetch` answers.
    fn base(&mut self, id: &str) -> String {
        let text = self
            .client
            .as_mut()
            .unwrap()
            .text("fetch", json!({ "id": id }));
        let rest = text.split_once(" | base ").unwrap().1;
        rest.split(' ').next().unwrap().to_owned()
    }

    fn edit_passage(&mut self, path: &str, text: &str) -> &'static str {
        let all: Vec<String> = words(text).into_iter().collect();
        let old = self.dice.pick(&all).clone();
        let new = self.word();
        let base = self.base(path);
        self.json(
            "edit",
            json!({ "id": path, "old": old, "new": new, "base": base }),
        );
        self.model
            .notes
            .insert(path.to_owned(), text.replace(&old, &new));
        "edit passage"
    }

    fn append_to_section(&mut self, path: &str, text: &str) -> &'static str {
        let all = headings(text);
        let at = self.dice.below(all.len());
        let sentence = self.sentence(path);
        let id = format!("{path}#{}", all[at]);
        self.json(
            "edit",
            json!({ "id": id, "place": "append", "new": sentence }),
        );
        let new = match all.get(at + 1) {
            Some(next) => {
                let next = format!("## {next}\n");
                text.replace(&next, &format!("{sentence}\n\n{next}"))
            }
            None => format!("{text}\n{sentence}\n"),
        };
        self.model.notes.insert(path.to_owned(), new);
        "edit append"
    }

    fn rename_heading(&mut self, path: &str, text: &str) -> &'static str {
        let before = self.model.clone();
        let all = headings(text);
        let old = self.dice.pick(&all).clone();
        let new = format!("Renamed {}", self.name());
        self.json(
            "rename",
            json!({ "id": format!("{path}#{old}"), "to": new }),
        );
        self.take_moves(&before, str::to_owned, Some((old.as_str(), new.as_str())));
        for (heading, _) in self.ids.values_mut() {
            if *heading == old {
                heading.clone_from(&new);
            }
        }
        "rename heading"
    }

    /// Takes over what is on disk after notes were moved or a heading was renamed: every link leads where it led before,
    /// and nothing else is different.
    fn take_moves(
        &mut self,
        before: &Model,
        to: impl Fn(&str) -> String,
        heading: Option<(&str, &str)>,
    ) {
        self.model = self.on_disk();
        let expected: Vec<String> = {
            let mut paths: Vec<String> = before.notes.keys().map(|path| to(path)).collect();
            paths.sort();
            paths
        };
        assert_eq!(self.model.paths(), expected);
        let renamed = |found: &Option<String>| match (found, heading) {
            (Some(found), Some((old, new))) if found == old => Some(new.to_owned()),
            (found, _) => found.clone(),
        };
        for (path, text) in &before.notes {
            let (old_links, new_links) = (before.links_of(path), self.model.links_of(&to(path)));
            assert_eq!(old_links.len(), new_links.len(), "{path}");
            let mut same = text.clone();
            for (old, new) in old_links.iter().zip(&new_links) {
                if !old.is_broken {
                    let place = old.note.as_deref().map(&to);
                    assert_eq!(new.note, place, "{old:?} became {new:?}");
                    assert_eq!(new.heading, renamed(&old.heading), "{old:?} became {new:?}");
                    assert!(!new.is_broken, "{old:?} became {new:?}");
                }
                same = same.replacen(&old.raw, &new.raw, 1);
            }
            if let Some((old, new)) = heading {
                same = same.replace(&format!("# {old}\n"), &format!("# {new}\n"));
            }
            assert_eq!(same, self.model.notes[&to(path)], "{path}");
        }
    }
}
