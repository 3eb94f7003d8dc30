//! The skills of the desk: every folder below a root with a `SKILL.md`, and one of our own about the desk itself.
//!
//! The index says which files there are, so that whatever is hidden is not there. Bytes are read from disk in the call,
//! without following links. The text of a skill is data from the folder: it is handed out, and never acted on.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, Instant},
};

use sectile_library::{LibraryError, live_folder::FolderState};
use sectile_markdown::{Source, Value};
use sectile_mcp::{CallContext, JsonObject, OpenedSkills, SkillFiles, SkillPurpose, Skills};
use sectile_vault::{NotePath, Root};

use super::{
    DeskWorld,
    errors::{IO, failure, library_failure},
};
use crate::worlds::json_value;

/// The skills.
pub(super) const SKILLS: Skills<DeskWorld> = Skills { open };

const MANIFEST: &str = "SKILL.md";
/// The longest front matter that is parsed, in bytes: the frame leaves out what is a quarter of that as JSON.
const MAX_YAML_BYTES: usize = 64 << 10;

/// How long a listing waits for a folder that was never read. Clients list when they connect, and some connect to nothing
/// else meanwhile; a folder that takes longer is in the next listing.
const LISTING_PATIENCE: Duration = Duration::from_secs(5);

/// The folder of our own skill. A folder of the same path in a root is not served.
const OWN: &str = "working-at-the-desk";
const OWN_TEXT: &str = include_str!("working-at-the-desk/SKILL.md");
/// The end of its front matter.
const OWN_HEAD_END: &str = "\n---\n";

/// The files of the roots that a caller can see, at one moment.
struct DeskSkills {
    roots: Vec<SkillRoot>,
    /// Our own skill.
    own: String,
}

/// A root, and its files.
struct SkillRoot {
    /// The start of its paths: its name and a slash, or nothing if it has no name.
    prefix: String,
    root: Root,
    state: Arc<FolderState>,
}

fn open(world: &DeskWorld, context: &CallContext, purpose: SkillPurpose) -> OpenedSkills {
    let began = Instant::now();
    let is_over = || purpose == SkillPurpose::Listing && began.elapsed() >= LISTING_PATIENCE;
    let stop = || context.cancelled.is_cancelled() || is_over();
    let mut roots = Vec::new();
    for root in world.roots_for(context).iter() {
        // An entry lists all files of a skill, so nothing may be missing.
        let state = match root.folder.index.complete(&stop) {
            Err(LibraryError::Cancelled) if is_over() => continue,
            state => state.map_err(|error| library_failure(&error))?,
        };
        if !state.progress().is_complete {
            let what = "The folder has not been read in full yet.";
            return Err(failure(&IO, what.to_owned(), ""));
        }
        roots.push(SkillRoot {
            // By its name even where ids have none: policies name skills, and a name must mean the same for everyone.
            prefix: match root.name.as_str() {
                "" => String::new(),
                name => format!("{name}/"),
            },
            root: root.folder.editor.root().clone(),
            state,
        });
    }
    Ok(Box::new(DeskSkills {
        roots,
        own: own_text(|text| context.for_caller(text)),
    }))
}

/// Returns our own skill with its text worded for a caller.
fn own_text(worded: impl Fn(&'static str) -> Cow<'static, str>) -> String {
    let end = OWN_TEXT
        .find(OWN_HEAD_END)
        .map_or(0, |at| at + OWN_HEAD_END.len());
    let (head, body) = OWN_TEXT.split_at(end);
    format!("{head}{}\n", worded(body).trim_end())
}

impl SkillFiles for DeskSkills {
    fn folders(&self) -> Vec<String> {
        let mut folders = vec![OWN.to_owned()];
        for root in &self.roots {
            let notes = root.state.notes().iter().map(|note| &note.path);
            let manifests = notes.filter(|path| path.file_name() == MANIFEST);
            let found = manifests.filter_map(|path| path.folder());
            let found = found.map(|folder| format!("{}{folder}", root.prefix));
            folders.extend(found.filter(|path| !is_own(path)));
        }
        folders
    }

    fn files<'a>(&'a self, folder: &'a str) -> Box<dyn Iterator<Item = String> + 'a> {
        if folder == OWN {
            return Box::new(std::iter::once(own_path()));
        }
        let found = self.roots.iter().find_map(|root| {
            let below = folder.strip_prefix(&root.prefix)?;
            Some((root, format!("{below}/")))
        });
        let Some((root, start)) = found else {
            return Box::new(std::iter::empty());
        };
        let paths = merged(root.notes_below(start.clone()), root.others_below(start));
        Box::new(paths.map(|path| format!("{}{}", root.prefix, path.as_str())))
    }

    fn size(&self, path: &str) -> Option<u64> {
        if is_own(path) {
            return (path == own_path()).then_some(self.own.len() as u64);
        }
        let (root, path) = self.located(path)?;
        Some(root.root.stamp(&path)?.bytes)
    }

    fn read(&self, path: &str, limit: u64) -> Option<Vec<u8>> {
        if is_own(path) {
            let fits = path == own_path() && self.own.len() as u64 <= limit;
            return fits.then(|| self.own.clone().into_bytes());
        }
        let (root, path) = self.located(path)?;
        // What cannot be read now is not part of a skill, whatever the reason.
        let read = root.root.read_settled(&path, limit).ok()?;
        read.map(|(bytes, _)| bytes)
    }

    fn front_matter(&self, text: &[u8]) -> Option<JsonObject> {
        front_matter(text)
    }
}

impl DeskSkills {
    /// Returns the root of a path, and the path below it, if it is a file that callers see.
    fn located(&self, path: &str) -> Option<(&SkillRoot, NotePath)> {
        self.roots.iter().find_map(|root| {
            let below = path.strip_prefix(&root.prefix)?;
            let note = NotePath::parse_vault(below).ok()?;
            let is_listed = note.as_str() == below
                && (root.state.note(&note).is_some()
                    || root.state.other_files().binary_search(&note).is_ok());
            is_listed.then_some((root, note))
        })
    }
}

impl SkillRoot {
    /// Returns the notes whose paths begin with `start`, sorted.
    fn notes_below(&self, start: String) -> impl Iterator<Item = &NotePath> {
        let notes = self.state.notes();
        let first = notes.partition_point(|note| note.path.as_str() < start.as_str());
        let paths = notes[first..].iter().map(|note| &note.path);
        paths.take_while(move |path| path.as_str().starts_with(&start))
    }

    /// Returns the other files whose paths begin with `start`, sorted.
    fn others_below(&self, start: String) -> impl Iterator<Item = &NotePath> {
        let others = self.state.other_files();
        let first = others.partition_point(|path| path.as_str() < start.as_str());
        let paths = others[first..].iter();
        paths.take_while(move |path| path.as_str().starts_with(&start))
    }
}

/// Returns two sorted lists as one.
fn merged<'a>(
    one: impl Iterator<Item = &'a NotePath>,
    other: impl Iterator<Item = &'a NotePath>,
) -> impl Iterator<Item = &'a NotePath> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(left), Some(right)) if right < left => other.next(),
        (Some(_), _) => one.next(),
        (None, _) => other.next(),
    })
}

fn own_path() -> String {
    format!("{OWN}/{MANIFEST}")
}

/// Returns whether a path is our own skill, or something below it.
fn is_own(path: &str) -> bool {
    let rest = path.strip_prefix(OWN);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the front matter of a text as JSON, if it is a mapping that JSON can hold.
fn front_matter(text: &[u8]) -> Option<JsonObject> {
    let source = Source::new(text);
    let yaml = source.front_matter()?.yaml;
    if !source.is_valid_utf8() || yaml.range().len() > MAX_YAML_BYTES {
        return None;
    }
    let Ok(value @ Value::Map(_)) = source.front_matter_value()? else {
        return None;
    };
    match json_value(&value)? {
        serde_json::Value::Object(object) => Some(object),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use sectile_mcp::names_tool;

    use super::*;

    #[test]
    fn our_own_skill_is_one() {
        let found = front_matter(OWN_TEXT.as_bytes()).unwrap();
        assert_eq!(found["name"], OWN);
        let description = found["description"].as_str().unwrap();
        assert!((1..=1_024).contains(&description.chars().count()));
        assert_eq!(own_text(Cow::Borrowed), OWN_TEXT);
    }

    #[test]
    fn every_tool_it_names_exists_and_is_named_as_a_tool() {
        for tool in super::super::spec().card().tools {
            assert!(names_tool(OWN_TEXT, &tool.name), "{}", tool.name);
        }
    }

    #[test]
    fn front_matter_is_a_mapping_in_text() {
        let found = |text: &[u8]| front_matter(text);
        let given =
            "---\nname: a\nmetadata: {version: 2, on: 2026-01-01, list: [1.5, x]}\n---\nText";
        assert_eq!(
            serde_json::Value::Object(found(given.as_bytes()).unwrap()),
            serde_json::json!({ "name": "a", "metadata": { "version": 2, "on": "2026-01-01", "list": [1.5, "x"] } })
        );
        for bad in [
            "no front matter",
            "---\nname: a\n",
            "---\n- a\n---\n",
            "---\nname: [\n---\n",
            "---\nname: .inf\n---\n",
            "---\nname: a\nname: b\n---\n",
        ] {
            assert!(found(bad.as_bytes()).is_none(), "{bad}");
        }
        assert!(found(b"---\nname: a\n---\n\xff").is_none());
        let long = format!("---\nname: a\nx: {}\n---\n", "y".repeat(MAX_YAML_BYTES));
        assert!(found(long.as_bytes()).is_none());
    }
}
