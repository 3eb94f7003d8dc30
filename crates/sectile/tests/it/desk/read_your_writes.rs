//! The next call sees what was written, by the desk or by another program: no snippet, link or id is stale.
//!
//! Choices come from the printed seed. `SECTILE_CASES=1000` makes as many edits.

mod model;
mod moves;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use self::model::{Model, ModelLink, flat, headings, joined, relative};
use crate::{
    fixture::{DeskClient, Era, TestDesk},
    notebook::dice::Dice,
};

const SEED: u64 = 0x5ec7_de5c;

/// Edits in all.
fn steps() -> usize {
    let asked = std::env::var("SECTILE_CASES").ok();
    asked.and_then(|steps| steps.parse().ok()).unwrap_or(300)
}

#[test]
fn the_next_call_sees_every_write_of_the_desk_and_of_other_programs() {
    println!("seed {SEED:#x}, {} edits", steps());
    let desk = TestDesk::new(&[("keep.md", "---\nstatus: kept\n---\n# Keep\n\nzqkeep.\n")]);
    let mut game = Game::new(&desk, SEED);
    for step in 0..steps() {
        let (before, kind) = game.change();
        println!("{step}: {kind}");
        game.look(&before);
    }
    println!("{:?}", game.counts);
    // Every kind of change was made.
    let kinds = game.counts.keys().filter(|kind| !kind.starts_with("saw "));
    assert!(steps() < 200 || kinds.count() >= 16, "{:?}", game.counts);
    for seen in ["saw links", "saw words", "saw gone words", "saw ids"] {
        let count = game.counts.get(seen).copied().unwrap_or_default();
        assert!(count * 4 > steps(), "{seen}: {count}");
    }
}

/// One folder, one server after the other, and what the folder must hold.
struct Game<'a> {
    desk: &'a TestDesk,
    client: Option<DeskClient<'a>>,
    dice: Dice,
    model: Model,
    /// Number of names given so far: none is given twice.
    names: usize,
    /// What `undo` must give, while the newest change is one of the desk.
    undone: Option<Model>,
    /// The newest change of the desk, and whether it was an undo.
    newest: (Value, bool),
    /// Lasting ids of sections by heading, and whether only the desk has written since they were answered.
    ids: BTreeMap<String, (String, bool)>,
    counts: BTreeMap<String, usize>,
}

impl<'a> Game<'a> {
    fn new(desk: &'a TestDesk, seed: u64) -> Self {
        let mut game = Self {
            desk,
            client: None,
            dice: Dice::new(seed),
            model: Model::default(),
            names: 0,
            undone: None,
            newest: (Value::Null, false),
            ids: BTreeMap::new(),
            counts: BTreeMap::new(),
        };
        game.model = game.on_disk();
        for _ in 0..12 {
            let path = game.new_path();
            let text = game.note(&path);
            game.put(&path, &text);
        }
        game.open();
        game
    }

    /// Another server, in the other era.
    fn open(&mut self) {
        let era = *self.dice.pick(&Era::BOTH);
        self.client = None;
        self.client = Some(self.desk.open_with(era, "").until_read());
    }

    fn count(&mut self, kind: &str) {
        *self.counts.entry(kind.to_owned()).or_default() += 1;
    }

    fn json(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.client.as_mut().unwrap().json(tool, arguments);
        if let Some(change) = answer.get("change") {
            self.newest = (change.clone(), tool == "undo");
        }
        answer
    }

    /// A number that was not given before.
    fn name(&mut self) -> usize {
        self.names += 1;
        self.names
    }

    /// A word that no note ever had. All are equally long, so that a file can change without changing its length.
    fn word(&mut self) -> String {
        const SYLLABLES: [&str; 10] = ["bo", "ka", "mu", "do", "ga", "fu", "ho", "pa", "lu", "ro"];
        let name = self.name();
        let digits = format!("{name:05}");
        let syllables = digits
            .bytes()
            .map(|digit| SYLLABLES[usize::from(digit - b'0')]);
        format!("zq{}", syllables.collect::<String>())
    }

    fn any_path(&mut self) -> String {
        let mut paths = self.model.paths();
        paths.retain(|path| path != "keep.md");
        self.dice.pick(&paths).clone()
    }

    fn new_path(&mut self) -> String {
        let mut folders = self.model.folders();
        folders.push(String::new());
        if self.dice.one_in(3) && folders.len() < 6 {
            let below = self.dice.pick(&folders).clone();
            folders.push(joined(&below, &format!("folder-{}", self.name())));
        }
        let folder = match self.dice.one_in(3) {
            true => folders.last().unwrap().clone(),
            false => self.dice.pick(&folders).clone(),
        };
        joined(&folder, &format!("note-{}.md", self.name()))
    }

    /// A sentence with a new word, and perhaps a link.
    fn sentence(&mut self, path: &str) -> String {
        let word = self.word();
        if self.model.notes.len() < 3 || self.dice.one_in(3) {
            return format!("The {word} is here.");
        }
        let target = self.any_path();
        let stem = target.rsplit('/').next().unwrap().trim_end_matches(".md");
        let heading = headings(&self.model.notes[&target]).last().cloned();
        match (self.dice.below(3), heading) {
            (0, _) => format!("See [to it]({}) with {word}.", relative(path, &target)),
            (1, Some(heading)) => format!("See [[{stem}#{heading}]] with {word}."),
            _ => format!("See [[{stem}]] with {word}."),
        }
    }

    /// A note in the grammar of the model.
    fn note(&mut self, path: &str) -> String {
        let mut text = String::new();
        if self.dice.one_in(2) {
            text += &format!("---\nstatus: fv{}\n---\n", self.name());
        }
        text += &format!("# Title {}\n\n{}\n", self.name(), self.sentence(path));
        for _ in 0..self.dice.below(3) {
            text += &format!("\n## Part {}\n\n{}\n", self.name(), self.sentence(path));
        }
        text
    }

    /// Writes a note in place, as other programs do.
    fn put(&mut self, path: &str, text: &str) {
        self.desk.overwrite(path, text);
        self.model.notes.insert(path.to_owned(), text.to_owned());
    }

    /// The notes that are on disk.
    fn on_disk(&self) -> Model {
        let mut model = Model::default();
        for (path, bytes) in self.desk.all() {
            if path.ends_with(".md") {
                model.notes.insert(path, String::from_utf8(bytes).unwrap());
            }
        }
        model
    }

    /// Makes one change. Returns what was there before, and the kind of change.
    fn change(&mut self) -> (Model, &'static str) {
        let before = self.model.clone();
        let is_external = self.dice.one_in(2);
        // Some changes are made while nobody serves the folder.
        let is_unwatched = is_external && self.dice.one_in(20);
        if is_unwatched {
            self.client = None;
        }
        let kind = match is_external {
            true => self.change_outside(),
            false => self.change_at_desk(),
        };
        self.count(kind);
        if is_external {
            self.undone = None;
            self.doubt_ids(&before);
        }
        if is_unwatched {
            self.count("unwatched");
            self.open();
        }
        assert_eq!(self.on_disk(), self.model, "{kind}");
        (before, kind)
    }

    /// Ids in notes that another program changed may be lost.
    fn doubt_ids(&mut self, before: &Model) {
        let changed: Vec<String> = changed_paths(before, &self.model);
        let texts = changed.iter().filter_map(|path| before.notes.get(path));
        let doubtful: BTreeSet<String> = texts.flat_map(|text| headings(text)).collect();
        for (heading, is_certain) in self.ids.values_mut() {
            *is_certain &= !doubtful.contains(&*heading);
        }
    }

    /// Compares answers with the model.
    fn look(&mut self, before: &Model) {
        let (had, has) = (before.words(), self.model.words());
        let added: Vec<String> = has.difference(&had).take(2).cloned().collect();
        let gone: Vec<String> = had.difference(&has).take(2).cloned().collect();
        for word in &added {
            self.count("saw words");
            self.check_word(word);
        }
        for word in &gone {
            self.count("saw gone words");
            self.check_word(word);
        }
        let (had, has) = (before.statuses(), self.model.statuses());
        for value in has.symmetric_difference(&had).take(2) {
            self.check_status(value);
        }
        let mut touched = changed_paths(before, &self.model);
        // What leads to or from another note may have changed with it.
        touched.push(self.any_path());
        for path in touched.iter().rev().take(3) {
            match self.model.notes.contains_key(path) {
                true => self.check_note(path),
                false => self.check_gone(path),
            }
        }
        self.check_ids();
    }

    /// Exactly the notes with a word are found, and what is quoted is in them.
    fn check_word(&mut self, word: &str) {
        let exact = self.json(
            "search",
            json!({ "query": format!("\"{word}\""), "limit": 20 }),
        );
        self.check_quotes(&exact);
        let found: BTreeSet<String> = documents(&exact);
        assert_eq!(found, self.model.with_word(word), "{word}: {exact}");
        let loose = self.json("search", json!({ "query": word }));
        self.check_quotes(&loose);
        assert!(documents(&loose).is_superset(&found), "{word}: {loose}");
        if found.is_empty() {
            assert!(!loose["results"].to_string().contains(word), "{loose}");
        }
        for result in exact["results"].as_array().unwrap() {
            let id = result["id"].as_str().unwrap();
            let answer = self
                .client
                .as_mut()
                .unwrap()
                .text("fetch", json!({ "id": id }));
            let (head, body) = answer.split_once('\n').unwrap();
            assert!(head.starts_with(&format!("[{id} | ")), "{answer}");
            assert!(body.contains(word), "{id}: {answer}");
            assert!(self.model.notes[document(id)].contains(body), "{answer}");
            if let Some((_, section)) = id.split_once('#') {
                let heading = headings(body).remove(0);
                self.ids.insert(section.to_owned(), (heading, true));
            }
        }
    }

    /// Every result is of a note that exists, with its title, and quotes what is there now.
    fn check_quotes(&self, answer: &Value) {
        assert!(answer.get("index").is_none(), "{answer}");
        for result in answer["results"].as_array().unwrap() {
            let path = document(result["id"].as_str().unwrap());
            let text = self.model.notes.get(path);
            let text = text.unwrap_or_else(|| panic!("{path} is gone: {answer}"));
            let snippet = result["snippet"].as_str().unwrap();
            for part in snippet.split('…') {
                assert!(flat(text).contains(&flat(part)), "stale: {part}: {answer}");
            }
            let title = result["title"].as_str().unwrap();
            for heading in title.split(" > ") {
                let is_stem = path.ends_with(&format!("{}.md", heading.replace(' ', "-")));
                let is_there = is_stem || headings(text).iter().any(|found| found == heading);
                assert!(is_there, "{heading} is not a heading of {path}: {answer}");
            }
        }
    }

    fn check_status(&mut self, value: &str) {
        let query = json!({ "query": format!("status:{value}"), "limit": 20 });
        let answer = self.json("search", query);
        assert_eq!(
            documents(&answer),
            self.model.with_status(value),
            "{answer}"
        );
    }

    /// A note is fetched as it is, and its links lead where they do.
    fn check_note(&mut self, path: &str) {
        let answer = self
            .client
            .as_mut()
            .unwrap()
            .text("fetch", json!({ "id": path }));
        let (head, body) = answer.split_once('\n').unwrap();
        assert_eq!(body, self.model.notes[path], "{head}");
        let out = self.model.links_of(path);
        self.check_links(path, "out", out);
        let into = self.model.links_to(path);
        self.check_links(path, "in", into);
    }

    fn check_links(&mut self, path: &str, direction: &str, expected: Vec<ModelLink>) {
        let mut arguments = json!({ "id": path, "direction": direction });
        let mut listed = Vec::new();
        loop {
            let answer = self.json("links", arguments.clone());
            listed.extend(answer["links"].as_array().unwrap().iter().cloned());
            match answer.get("next") {
                Some(next) => arguments["cursor"] = next.clone(),
                None => break,
            }
        }
        let mut found = Vec::new();
        for link in &listed {
            let text = |key: &str| link[key].as_str().unwrap_or_default().to_owned();
            let from = document(&text("from")).to_owned();
            let note = self.model.notes.get(&from);
            let note = note.unwrap_or_else(|| panic!("{from} is gone: {link}"));
            assert!(flat(note).contains(&text("text")), "stale: {link}");
            let is_broken = link.get("broken").is_some();
            let to = (!is_broken).then(|| document(&text("to")).to_owned());
            found.push((from, to, text("text")));
        }
        for link in &expected {
            self.count("saw links");
            let to = link.note.clone().filter(|_| !link.is_broken);
            let is_it = |(from, found_to, text): &(String, Option<String>, String)| {
                *from == link.from && *found_to == to && text.contains(&link.raw)
            };
            let at = found.iter().position(is_it);
            let at = at.unwrap_or_else(|| panic!("no {link:?} among {direction} {listed:?}"));
            found.remove(at);
        }
        assert!(
            found.is_empty(),
            "{direction} of {path}: not there: {found:?}"
        );
    }

    fn check_gone(&mut self, path: &str) {
        for tool in ["fetch", "links", "outline"] {
            let answer = self
                .client
                .as_mut()
                .unwrap()
                .call(tool, json!({ "id": path }));
            assert_eq!(answer["isError"], true, "{path} is gone: {answer}");
        }
    }

    /// A lasting id names its section, wherever that went, or nothing.
    fn check_ids(&mut self) {
        let ids: Vec<String> = self.ids.keys().cloned().collect();
        if ids.is_empty() {
            return;
        }
        for _ in 0..2 {
            let id = self.dice.pick(&ids).clone();
            let (heading, is_certain) = self.ids[&id].clone();
            let place = self.model.with_heading(&heading).map(str::to_owned);
            let answer = self
                .client
                .as_mut()
                .unwrap()
                .call("fetch", json!({ "id": id }));
            let text = answer["content"][0]["text"].as_str().unwrap();
            if answer["isError"] == true {
                assert!(place.is_none() || !is_certain, "{id}, {heading}: {text}");
                continue;
            }
            let (head, body) = text.split_once('\n').unwrap();
            if place.is_none() {
                // Another program may have given the section another heading.
                assert!(!is_certain, "{id}, {heading} is gone: {text}");
                continue;
            }
            self.count("saw ids");
            let place = place.unwrap();
            assert!(head.starts_with(&format!("[{place}#{id} | ")), "{text}");
            assert!(self.model.notes[&place].contains(body), "{text}");
            assert_eq!(headings(body).first(), Some(&heading), "{text}");
        }
    }
}

/// The paths whose notes differ.
fn changed_paths(before: &Model, after: &Model) -> Vec<String> {
    let paths: BTreeSet<&String> = before.notes.keys().chain(after.notes.keys()).collect();
    let differs = |path: &&String| before.notes.get(*path) != after.notes.get(*path);
    paths.into_iter().filter(differs).cloned().collect()
}

/// The document of an id.
fn document(id: &str) -> &str {
    id.split('#').next().unwrap_or(id)
}

/// The documents of all results.
fn documents(answer: &Value) -> BTreeSet<String> {
    let results = answer["results"].as_array().unwrap().iter();
    results
        .map(|result| document(result["id"].as_str().unwrap()).to_owned())
        .collect()
}
