//! Skills of a world (SEP-2640): folders with a `SKILL.md`, served as entries with digests and as resources.
//!
//! A world says which files there are and reads them. What makes a folder a skill, its addresses, its limits and what
//! callers see of it are decided here, for every world alike.

use std::{collections::BTreeMap, fmt::Write as _};

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::{CallContext, Failure, JsonObject, MediaContent, Resource, ResourceTemplate};

/// The name of the extension, under which servers declare it.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/skills";
/// The template of the addresses of all files of skills, which policies may name.
pub(crate) static TEMPLATE: ResourceTemplate = ResourceTemplate {
    uri_template: std::borrow::Cow::Borrowed("skill://{+path}"),
    name: "skill-file",
    title: "File of a skill",
    description: "A file of a skill; its SKILL.md comes first.",
    mime_type: "text/markdown",
};

const SCHEME: &str = "skill://";
/// The file that makes a folder a skill.
const MANIFEST: &str = "SKILL.md";
const DIRECTORY: &str = "inode/directory";
/// The most files of a skill, from the specification: hosts need not accept more.
const MAX_FILES: usize = 512;
/// The most bytes of all files of a skill, from the specification.
const MAX_BYTES: u64 = 16 << 20;
/// The longest `SKILL.md` in bytes: it is read for every listing, and a model is meant to read all of it.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;
/// The longest front matter as JSON, in bytes: sixteen times the longest description. It is part of every listing.
const MAX_FRONT_MATTER_BYTES: usize = 16 << 10;
/// The longest description in characters, from the Agent Skills specification.
const MAX_DESCRIPTION_CHARS: usize = 1_024;
/// The longest name in characters, from the same.
const MAX_NAME_CHARS: usize = 64;

/// The skills of a world whose state is `S`.
pub struct Skills<S: 'static> {
    /// Opens the skills that exist for the caller, apart from what policies hide.
    pub open: fn(&S, &CallContext, SkillPurpose) -> OpenedSkills,
}

/// The files of the skills, or the reason why they cannot be opened.
pub type OpenedSkills = Result<Box<dyn SkillFiles>, Failure>;

/// What skills are opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillPurpose {
    /// A listing, which may leave out what is not known yet.
    Listing,
    /// A single skill or file: if it is not known yet, the call waits or fails.
    Use,
}

/// The files of all folders that may be skills, at one moment. Paths have `/` between their parts, and a path has one
/// spelling only: policies name skills by their addresses.
pub trait SkillFiles {
    /// Returns the folders that hold a file `SKILL.md`, sorted.
    fn folders(&self) -> Vec<String>;
    /// Returns the files of a folder and of the folders below it, sorted.
    fn files<'a>(&'a self, folder: &'a str) -> Box<dyn Iterator<Item = String> + 'a>;
    /// Returns the length of a file in bytes; `None` if it is gone.
    fn size(&self, path: &str) -> Option<u64>;
    /// Returns the bytes of a file, if there are at most `limit` and they can be read.
    fn read(&self, path: &str, limit: u64) -> Option<Vec<u8>>;
    /// Returns the front matter at the start of a `SKILL.md`, if it is text and has one that JSON can hold.
    fn front_matter(&self, text: &[u8]) -> Option<JsonObject>;
}

/// The work that one answer may take, which bounds a page of a listing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SkillBudget {
    pub(crate) entries: usize,
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

impl SkillBudget {
    /// For a page: a skill more may be over it, so that a page takes at most the work for this and one skill of the
    /// largest size. Hashing that takes a fifth of a second.
    pub(crate) const PAGE: Self = Self {
        entries: 100,
        files: 2_048,
        bytes: 32 << 20,
    };

    fn is_spent(&self) -> bool {
        self.entries == 0 || self.files == 0 || self.bytes == 0
    }
}

/// A file or a folder in a folder of a skill.
#[derive(Debug)]
pub(crate) enum SkillChild {
    /// The `SKILL.md` of a skill.
    Manifest(Resource),
    /// Anything else.
    Other {
        uri: String,
        name: String,
        mime_type: Option<&'static str>,
        size: Option<u64>,
    },
}

/// The skills that one caller can see, with the rules of the specification applied.
pub(crate) struct VisibleSkills<'a> {
    files: &'a dyn SkillFiles,
    /// Folders that may be skills, hidden ones included, sorted.
    folders: Vec<String>,
    policy: SkillPolicy<'a>,
}

/// What policies say about skills, by addresses.
#[derive(Clone, Copy)]
pub(crate) struct SkillPolicy<'a> {
    /// Whether the skill with this `SKILL.md` exists.
    pub(crate) shows: &'a dyn Fn(&str) -> bool,
    /// Whether this file of a skill that exists is hidden.
    pub(crate) hides_file: &'a dyn Fn(&str) -> bool,
}

/// The front matter of a skill, and the length of its `SKILL.md`.
struct SkillHead {
    front_matter: JsonObject,
    bytes: u64,
}

impl<'a> VisibleSkills<'a> {
    pub(crate) fn new(files: &'a dyn SkillFiles, policy: SkillPolicy<'a>) -> Self {
        let mut folders = files.folders();
        folders.retain(|folder| is_skill_name(last_part(folder)));
        folders.sort_unstable();
        folders.dedup();
        Self {
            files,
            folders,
            policy,
        }
    }

    /// Returns the folders that may be skills and that policies show, in the order of listings.
    pub(crate) fn candidates(&self) -> Vec<&str> {
        let folders = self.folders.iter().map(String::as_str);
        folders.filter(|folder| self.is_shown(folder)).collect()
    }

    /// Returns the entries of the candidates from `start` on, as many as the budget allows, and where the rest starts.
    pub(crate) fn page(
        &self,
        start: usize,
        mut budget: SkillBudget,
        stop: &dyn Fn() -> bool,
    ) -> (Vec<Value>, Option<usize>) {
        let candidates = self.candidates();
        let mut entries = Vec::new();
        for (at, folder) in candidates.iter().enumerate().skip(start) {
            if budget.is_spent() || stop() {
                return (entries, Some(at));
            }
            budget.entries -= 1;
            entries.extend(self.entry(folder, &mut budget));
        }
        (entries, None)
    }

    /// Returns the folder of the skill whose `SKILL.md` has this address, whether or not it is one.
    pub(crate) fn folder_at(&self, uri: &str) -> Option<&str> {
        let mut folders = self.folders.iter().map(String::as_str);
        folders.find(|folder| manifest_uri(folder) == uri)
    }

    /// Returns the entry of a folder, if it is a skill.
    pub(crate) fn entry(&self, folder: &str, budget: &mut SkillBudget) -> Option<Value> {
        let paths = self.served_files(folder)?;
        let mut head = None;
        let mut listed = Vec::new();
        let mut left = MAX_BYTES;
        for path in &paths {
            budget.files = budget.files.saturating_sub(1);
            // A file that has grown past the limit makes the skill too large. One that is gone is not part of it.
            let Some(bytes) = self.files.read(path, left) else {
                match self.files.size(path) {
                    Some(size) if size > left => return None,
                    _ => continue,
                }
            };
            let size = bytes.len() as u64;
            budget.bytes = budget.bytes.saturating_sub(size);
            left -= size;
            if is_manifest_of(path, folder) {
                head = self.checked(folder, &bytes);
                head.as_ref()?;
            }
            listed.push(json!({ "uri": uri_of(path), "digest": sha256(&bytes), "size": size }));
        }
        Some(json!({
            "uri": manifest_uri(folder),
            "frontmatter": head?,
            "resources": listed,
        }))
    }

    /// Returns the `SKILL.md` of a folder as an entry of a listing of resources, if the folder is a skill.
    pub(crate) fn resource(&self, folder: &str) -> Option<Resource> {
        self.served_files(folder)?;
        let head = self.head(folder)?;
        let text = |key: &str| head.front_matter.get(key).and_then(Value::as_str);
        let name = last_part(folder).to_owned();
        Some(Resource {
            uri: manifest_uri(folder),
            title: name.clone(),
            name,
            description: text("description").unwrap_or_default().to_owned(),
            mime_type: "text/markdown",
            size: Some(head.bytes),
            last_modified: None,
        })
    }

    /// Returns the address of the skill that a file or folder at `uri` belongs to: the innermost one. Policies know the
    /// file by this address.
    pub(crate) fn owner(&self, uri: &str) -> Option<String> {
        let around = self.around(uri).max_by_key(|folder| folder.len())?;
        Some(manifest_uri(around))
    }

    /// Returns the content of the file at `uri`, if it is part of a skill.
    pub(crate) fn read(&self, uri: &str) -> Option<MediaContent> {
        let (_, path) = self.inside(uri, |path| uri_of(path) == uri)?;
        let bytes = self.files.read(&path, MAX_BYTES)?;
        let mime_type = media_type(&path).unwrap_or(match std::str::from_utf8(&bytes) {
            Ok(_) => "text/plain",
            Err(_) => "application/octet-stream",
        });
        Some(MediaContent { mime_type, bytes })
    }

    /// Returns the direct children of the folder at `uri`, sorted by name, if it is a skill or a folder in one. A folder
    /// without files does not exist.
    pub(crate) fn children(&self, uri: &str) -> Option<Vec<SkillChild>> {
        let start = format!("{uri}/");
        let (files, first) = self.inside(&start, |path| uri_of(path).starts_with(&start))?;
        let depth = uri[SCHEME.len()..].split('/').count();
        let folder: Vec<&str> = first.split('/').take(depth).collect();
        let folder = folder.join("/");
        let mut children = BTreeMap::new();
        for path in &files {
            let rest = path.strip_prefix(&folder);
            let Some(rest) = rest.and_then(|rest| rest.strip_prefix('/')) else {
                continue;
            };
            let (name, is_folder) = match rest.split_once('/') {
                Some((name, _)) => (name, true),
                None => (rest, false),
            };
            children.insert(name.to_owned(), is_folder);
        }
        let child = |(name, is_folder): (String, bool)| {
            let path = format!("{folder}/{name}");
            let manifest = match name == MANIFEST && self.is_candidate(&folder) {
                true => self.resource(&folder),
                false => None,
            };
            match manifest {
                Some(manifest) => SkillChild::Manifest(manifest),
                None => SkillChild::Other {
                    uri: uri_of(&path),
                    mime_type: match is_folder {
                        true => Some(DIRECTORY),
                        false => media_type(&name),
                    },
                    size: match is_folder {
                        true => None,
                        false => self.files.size(&path),
                    },
                    name,
                },
            }
        };
        Some(children.into_iter().map(child).collect())
    }

    /// Returns the files of the outermost skill around `uri` that has a file that `is_wanted`, and that file.
    fn inside(&self, uri: &str, is_wanted: impl Fn(&str) -> bool) -> Option<(Vec<String>, String)> {
        self.around(uri).find_map(|folder| {
            let files = self.served_files(folder)?;
            let found = files.iter().find(|path| is_wanted(path))?.clone();
            // The front matter is read last: most addresses lead nowhere.
            self.head(folder).map(|_| (files, found))
        })
    }

    /// Returns the folders above the address that may be skills, hidden ones included.
    fn around<'s>(&'s self, uri: &'s str) -> impl Iterator<Item = &'s str> {
        let folders = self.folders.iter().map(String::as_str);
        folders.filter(move |folder| {
            let inside = uri.strip_prefix(&uri_of(folder));
            inside.is_some_and(|rest| rest.starts_with('/'))
        })
    }

    fn is_candidate(&self, folder: &str) -> bool {
        let found = self.folders.binary_search_by(|known| (**known).cmp(folder));
        found.is_ok()
    }

    fn is_shown(&self, folder: &str) -> bool {
        (self.policy.shows)(&manifest_uri(folder))
    }

    /// Returns the files of a folder that policies show; `None` if they hide the folder, or it is too large for a skill.
    fn served_files(&self, folder: &str) -> Option<Vec<String>> {
        if !self.is_shown(folder) {
            return None;
        }
        // A file belongs to the innermost skill around it, and is hidden with it.
        let start = format!("{folder}/");
        let inner = self.folders.iter().filter(|one| one.starts_with(&start));
        let inner: Vec<(String, bool)> = inner
            .map(|inner| (format!("{inner}/"), self.is_shown(inner)))
            .collect();
        let is_hidden = |path: &String| {
            let around = inner.iter().filter(|(inner, _)| path.starts_with(inner));
            let innermost = around.max_by_key(|(inner, _)| inner.len());
            innermost.is_some_and(|(_, is_shown)| !is_shown)
                || (self.policy.hides_file)(&uri_of(path))
        };
        let files = self.files.files(folder).filter(|path| !is_hidden(path));
        let files: Vec<String> = files.take(MAX_FILES + 1).collect();
        let sizes = files.iter().filter_map(|path| self.files.size(path));
        let bytes = sizes.fold(0, u64::saturating_add);
        (files.len() <= MAX_FILES && bytes <= MAX_BYTES).then_some(files)
    }

    /// Returns the head of the skill in a folder, if it is one.
    fn head(&self, folder: &str) -> Option<SkillHead> {
        let path = format!("{folder}/{MANIFEST}");
        let bytes = self.files.read(&path, MAX_MANIFEST_BYTES)?;
        Some(SkillHead {
            bytes: bytes.len() as u64,
            front_matter: self.checked(folder, &bytes)?,
        })
    }

    /// Returns the front matter of a `SKILL.md`, if it makes the folder a skill.
    fn checked(&self, folder: &str, bytes: &[u8]) -> Option<JsonObject> {
        if bytes.len() as u64 > MAX_MANIFEST_BYTES {
            return None;
        }
        let front_matter = self.files.front_matter(bytes)?;
        let text = |key: &str| front_matter.get(key).and_then(Value::as_str);
        let description = text("description")?;
        let is_skill = text("name")? == last_part(folder)
            && !description.trim().is_empty()
            && description.chars().nth(MAX_DESCRIPTION_CHARS).is_none()
            && json_len(&front_matter) <= MAX_FRONT_MATTER_BYTES;
        is_skill.then_some(front_matter)
    }
}

/// Returns whether an address is one of a file or folder of a skill.
pub(crate) fn is_skill_uri(uri: &str) -> bool {
    uri.starts_with(SCHEME)
}

/// Percent-encodes a path for an address: everything except letters, digits, `-._~` and `/`.
#[must_use]
pub fn encoded_path(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded += &format!("%{byte:02X}");
        }
    }
    encoded
}

fn uri_of(path: &str) -> String {
    format!("{SCHEME}{}", encoded_path(path))
}

fn manifest_uri(folder: &str) -> String {
    format!("{}/{MANIFEST}", uri_of(folder))
}

fn is_manifest_of(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.strip_prefix('/') == Some(MANIFEST))
}

fn last_part(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Returns whether a name follows the rules of the Agent Skills specification.
fn is_skill_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty()
        && name.len() <= MAX_NAME_CHARS
        && name.bytes().all(is_allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// Returns the digest of a file as entries give it.
fn sha256(bytes: &[u8]) -> String {
    let mut text = "sha256:".to_owned();
    for byte in digest(&SHA256, bytes).as_ref() {
        // Writing to a string cannot fail.
        if write!(text, "{byte:02x}").is_err() {
            break;
        }
    }
    text
}

fn json_len(object: &JsonObject) -> usize {
    serde_json::to_vec(object).map_or(usize::MAX, |json| json.len())
}

/// Returns the media type that the name of a file says, for the kinds of files that skills have.
fn media_type(path: &str) -> Option<&'static str> {
    let (_, ending) = last_part(path).rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "md" | "markdown" => "text/markdown",
        "txt" | "log" => "text/plain",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" | "cjs" => "text/javascript",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "xml" => "application/xml",
        "py" => "text/x-python",
        "sh" | "bash" => "application/x-sh",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
