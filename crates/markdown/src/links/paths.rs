//! Resolves the document that a link names, and respells a link when that document has another path.

use super::{Enclosure, Link, LinkForm, Repair, destination::has_scheme, heading_names::folded};
use crate::{Change, trim};

/// The extension that links may leave out.
const EXTENSION: &str = ".md";
/// The other extension of documents.
const OTHER_EXTENSION: &str = ".markdown";

/// The document that a link names. Paths are written with `/`, from the root of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathResolution {
    /// The document that contains the link: it names none.
    SameDocument,
    /// The document at this path.
    Document(String),
    /// No existing document.
    Missing,
    /// Several that match the name equally well, shortest path first.
    Ambiguous(Vec<String>),
    /// A path above the root.
    OutsideRoot,
}

/// Finds the document that `link`, in the document at `from`, names.
///
/// A CommonMark link is relative to the folder that contains it, or to the root if it starts with `/`. A wiki link is
/// tried from the root, then from its folder, and then as the end of any path, so that a bare name is enough; of
/// several, one in the same folder wins. Both may omit `.md`. `exists` returns whether a file exists; `by_name` returns
/// the paths of the files with the given name, with or without `.md`, in any folder. Wiki links ignore case, so
/// `by_name` should too.
pub fn resolve_path(
    from: &str,
    link: &Link,
    exists: &dyn Fn(&str) -> bool,
    by_name: &dyn Fn(&str) -> Vec<String>,
) -> PathResolution {
    resolve_named(from, link.form, &link.path.text, exists, by_name)
}

/// The files of a folder by the names that links use.
pub trait LinkNames {
    /// Returns whether a file exists at `path`.
    fn has_file(&self, path: &str) -> bool;
    /// Returns whether a folder exists at `path`.
    fn has_folder(&self, path: &str) -> bool;
    /// Returns the paths of the files with this name, with or without `.md`, in any folder. Case is ignored.
    fn by_name(&self, name: &str) -> Vec<String>;
    /// Returns the paths of the documents with this alias. Case is ignored.
    fn by_alias(&self, alias: &str) -> Vec<String>;
}

/// The file or folder that a link names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetResolution {
    /// The document that contains the link: it names none.
    SameDocument,
    /// The file at this path.
    File(String),
    /// The folder at this path.
    Folder(String),
    /// A folder above the document, named by dots alone, which is not examined.
    FolderAbove,
    /// Nothing that exists.
    Missing,
    /// Several files that match the name equally well, shortest path first.
    SeveralFiles(Vec<String>),
    /// Several documents with this alias, sorted.
    SeveralAliases(Vec<String>),
    /// A path above the root.
    OutsideRoot,
}

/// Finds the file or folder that a link, in the document at `from`, names by `path`.
///
/// The rule is that of [`resolve_path`]. Where it finds nothing, a wiki link may be an alias of a document, and any
/// other link may name a folder.
pub fn resolve_target(
    from: &str,
    form: LinkForm,
    path: &str,
    names: &dyn LinkNames,
) -> TargetResolution {
    let exists = |path: &str| names.has_file(path);
    match resolve_named(from, form, path, &exists, &|name| names.by_name(name)) {
        PathResolution::SameDocument => TargetResolution::SameDocument,
        PathResolution::Document(path) => TargetResolution::File(path),
        PathResolution::Ambiguous(paths) => TargetResolution::SeveralFiles(paths),
        PathResolution::OutsideRoot => TargetResolution::OutsideRoot,
        PathResolution::Missing if form.is_wiki() => {
            let mut found = names.by_alias(path);
            match found.as_slice() {
                [] => TargetResolution::Missing,
                [_] => TargetResolution::File(found.remove(0)),
                _ => TargetResolution::SeveralAliases(found),
            }
        }
        PathResolution::Missing => {
            let path = path.trim_end_matches('/');
            if path.split('/').all(|part| matches!(part, "" | "." | "..")) {
                return TargetResolution::FolderAbove;
            }
            let is_folder = |path: &str| names.has_folder(path);
            match resolve_named(from, form, path, &is_folder, &|_| Vec::new()) {
                PathResolution::Document(path) => TargetResolution::Folder(path),
                _ => TargetResolution::Missing,
            }
        }
    }
}

fn resolve_named(
    from: &str,
    form: LinkForm,
    path: &str,
    exists: &dyn Fn(&str) -> bool,
    by_name: &dyn Fn(&str) -> Vec<String>,
) -> PathResolution {
    if path.is_empty() {
        return PathResolution::SameDocument;
    }
    if path.ends_with('/') {
        return PathResolution::Missing;
    }
    let is_relative = if form.is_wiki() {
        is_dotted(path)
    } else {
        !path.starts_with('/')
    };
    let found = |base: &str| joined_path(base, path).map(|path| existing(path, exists));
    match found(if is_relative { folder(from) } else { "" }) {
        None => PathResolution::OutsideRoot,
        Some(Some(path)) => PathResolution::Document(path),
        Some(None) if !form.is_wiki() || is_relative || path.starts_with('/') => {
            PathResolution::Missing
        }
        Some(None) => match found(folder(from)).flatten() {
            Some(path) => PathResolution::Document(path),
            None => by_ending(from, path, by_name),
        },
    }
}

/// Returns a key that is equal for names that wiki links take for the same document: it ignores case and normal form.
#[must_use]
pub fn name_key(name: &str) -> String {
    folded(name)
}

/// Returns the names by which wiki links refer to the file at `path`, as [`name_key`] returns them: its name, and
/// without the extension of a document.
#[must_use]
pub fn name_keys(path: &str) -> Vec<String> {
    let name = name_key(file_name(path));
    let stem = name.strip_suffix(EXTENSION).map(str::to_owned);
    stem.into_iter().chain([name]).collect()
}

/// Makes `link` name the document at `new_path`, in the style it has.
///
/// `source` is the document that contains the link, and `from` is the path it will have. A relative path stays
/// relative, one from the root stays so, and `.md` is omitted where it was. A wiki link that is a bare name stays one
/// if `is_unique_name` says that no other document has the name of the new path.
#[must_use]
pub fn repair_path(
    link: &Link,
    source: &[u8],
    from: &str,
    new_path: &str,
    is_unique_name: bool,
) -> Repair {
    let old = link.path.text.as_str();
    let new_path = new_path.trim_start_matches('/');
    if old.is_empty() && from == new_path {
        return Repair::NotNeeded;
    }
    if file_name(new_path).is_empty() {
        return Repair::Impossible;
    }
    let is_wiki = link.form.is_wiki();
    let keeps_extension =
        has_extension(old) || ends_with(old, OTHER_EXTENSION) || (old.is_empty() && !is_wiki);
    let target = if keeps_extension || !has_extension(new_path) {
        new_path
    } else {
        &new_path[..new_path.len() - EXTENSION.len()]
    };
    let text = if is_wiki {
        let text = wiki_path(old, from, target, is_unique_name);
        if text.contains(['[', ']', '|', '#', '\\', '`', '<', '\n', '\r']) || trim(&text) != text {
            return Repair::Impossible;
        }
        text
    } else if old.starts_with('/') {
        format!("/{target}")
    } else {
        let relative = relative_to(folder(from), target);
        let needs_dot = old.starts_with("./") || has_scheme(&relative);
        if needs_dot && !relative.starts_with("../") {
            format!("./{relative}")
        } else {
            relative
        }
    };
    if text == old {
        return Repair::NotNeeded;
    }
    if link.enclosure == Enclosure::Sealed {
        return Repair::Impossible;
    }
    let written = link.written(&text, link.path.span.slice(source));
    Repair::Change(Change::new(link.path.span, written))
}

fn wiki_path(old: &str, from: &str, target: &str, is_unique_name: bool) -> String {
    if is_dotted(old) {
        let relative = relative_to(folder(from), target);
        if relative.starts_with("../") {
            relative
        } else {
            format!("./{relative}")
        }
    } else if old.starts_with('/') {
        format!("/{target}")
    } else if is_unique_name && !old.contains('/') {
        file_name(target).to_owned()
    } else {
        target.to_owned()
    }
}

/// Returns whether a wiki link's path is explicitly relative to its own folder.
fn is_dotted(path: &str) -> bool {
    path.starts_with("./") || path.starts_with("../")
}

/// Finds the documents whose path ends in `path`.
fn by_ending(from: &str, path: &str, by_name: &dyn Fn(&str) -> Vec<String>) -> PathResolution {
    let wanted = folded(without_extension(path));
    let fits = |candidate: &str| {
        [candidate, without_extension(candidate)]
            .iter()
            .any(|name| {
                folded(name)
                    .strip_suffix(&wanted)
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
            })
    };
    let mut found = by_name(without_extension(file_name(path)));
    found.retain(|candidate| fits(candidate));
    found.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
    found.dedup();
    let mut neighbours = found
        .iter()
        .filter(|candidate| folder(candidate) == folder(from));
    match (found.as_slice(), neighbours.next(), neighbours.next()) {
        ([], ..) => PathResolution::Missing,
        ([only], ..) | (_, Some(only), None) => PathResolution::Document(only.clone()),
        _ => PathResolution::Ambiguous(found),
    }
}

fn existing(path: String, exists: &dyn Fn(&str) -> bool) -> Option<String> {
    if path.is_empty() {
        return None;
    }
    if exists(&path) {
        return Some(path);
    }
    let with_extension = path + EXTENSION;
    exists(&with_extension).then_some(with_extension)
}

/// Resolves `path`, which is written with `/`, relative to the folder `base`, or to the root if it starts with `/`.
/// Returns `None` if it leads above the root.
#[must_use]
pub fn joined_path(base: &str, path: &str) -> Option<String> {
    let base = if path.starts_with('/') { "" } else { base };
    let mut segments = Vec::new();
    for segment in base.split('/').chain(path.split('/')) {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            _ => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}

/// Returns the relative path from `folder` to `target`.
fn relative_to(folder: &str, target: &str) -> String {
    let above: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    let names: Vec<&str> = target.split('/').collect();
    let shared = above
        .iter()
        .zip(&names[..names.len() - 1])
        .take_while(|(one, other)| one == other)
        .count();
    let mut path = vec![".."; above.len() - shared];
    path.extend(&names[shared..]);
    path.join("/")
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn has_extension(path: &str) -> bool {
    ends_with(path, EXTENSION)
}

fn ends_with(path: &str, extension: &str) -> bool {
    path.len() >= extension.len()
        && path.as_bytes()[path.len() - extension.len()..]
            .eq_ignore_ascii_case(extension.as_bytes())
}

fn without_extension(path: &str) -> &str {
    if has_extension(path) {
        &path[..path.len() - EXTENSION.len()]
    } else {
        path
    }
}
