//! Rules about paths, written as in `.gitignore`.

use std::collections::BTreeSet;

use ignore::{Match, gitignore::Gitignore};
use sectile_markdown::name_key;

use super::{PatternError, matcher_ignoring_case};
use crate::NotePath;

/// Rules about paths, written as in `.gitignore`. The last pattern that matches a path or a folder above it decides
/// whether the rules cover it. Letter case does not matter, because some disks do not distinguish it.
#[derive(Clone, Debug, Default)]
pub struct PathRules {
    patterns: Vec<String>,
    /// One matcher for each pattern, in the same order.
    matchers: Vec<Gitignore>,
}

impl PathRules {
    /// Returns the rules that `patterns` describe.
    ///
    /// # Errors
    /// [`PatternError`] for the first invalid pattern.
    pub fn new(patterns: Vec<String>) -> Result<Self, PatternError> {
        let matchers = patterns
            .iter()
            .map(|pattern| matcher_ignoring_case(pattern))
            .collect::<Result<Vec<Gitignore>, PatternError>>()?;
        Ok(Self { patterns, matchers })
    }

    /// Returns the patterns.
    #[must_use]
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Returns whether there are no patterns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns whether the rules cover a file at `path`.
    #[must_use]
    pub fn cover(&self, path: &NotePath) -> bool {
        self.cover_at(path.as_str(), false)
    }

    /// Returns whether the rules cover a folder at `path`.
    #[must_use]
    pub fn cover_folder(&self, path: &NotePath) -> bool {
        self.cover_at(path.as_str(), true)
    }

    /// Returns whether the rules cover `path`, a path below the root.
    pub(crate) fn cover_at(&self, path: &str, is_folder: bool) -> bool {
        let decided = self.matchers.iter().rev().find_map(|matcher| {
            match matcher.matched_path_or_any_parents(path, is_folder) {
                Match::None => None,
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
            }
        });
        decided.unwrap_or(false)
    }

    /// Returns whether the rules may hold for something in one of two folders and not for the same thing in the other.
    pub(crate) fn tell_apart(&self, one: &NotePath, other: &NotePath) -> bool {
        if self.tell_below(one) || self.tell_below(other) {
            return true;
        }
        // The same patterns match below both, and in addition those that match the folders or one above them. The last
        // of these decides, unless a pattern after it matches what is below.
        match (self.last_above(one), self.last_above(other)) {
            (None, None) => false,
            (Some((one, holds)), Some((other, holds_too))) => {
                let between = &self.patterns[one.min(other)..one.max(other)];
                holds != holds_too || between.iter().any(|pattern| is_positive(pattern) != holds)
            }
            _ => true,
        }
    }

    /// Returns whether a pattern may hold for something below `folder` because of the folders above it, and not because
    /// of its own name alone. One that holds for all of the folder does not count.
    pub(crate) fn tell_below(&self, folder: &NotePath) -> bool {
        let mut rules = self.patterns.iter().zip(&self.matchers);
        rules.any(|(pattern, matcher)| {
            let all = matcher.matched_path_or_any_parents(folder.as_str(), true);
            all.is_none() && may_continue_below(pattern, folder)
        })
    }

    /// Returns the last pattern that matches `folder` or a folder above it, and whether the rules cover it then.
    fn last_above(&self, folder: &NotePath) -> Option<(usize, bool)> {
        let mut rules = self.matchers.iter().enumerate().rev();
        rules.find_map(|(at, matcher)| {
            match matcher.matched_path_or_any_parents(folder.as_str(), true) {
                Match::None => None,
                found => Some((at, found.is_ignore())),
            }
        })
    }

    /// Returns whether the rules cover `path` or a folder above it: nothing in a covered folder is exempt.
    pub(crate) fn enclose(&self, path: &str, is_folder: bool) -> bool {
        if self.is_empty() {
            return false;
        }
        let above = path.match_indices('/').map(|(end, _)| &path[..end]);
        self.cover_at(path, is_folder)
            || above.into_iter().any(|folder| self.cover_at(folder, true))
    }
}

fn is_positive(pattern: &str) -> bool {
    !pattern.starts_with('!')
}

/// Returns whether a part of `pattern` may match a name in the path of `folder` while the rest of it matches something
/// below. The answer may be `true` for a pattern that does not, but never `false` for one that does.
fn may_continue_below(pattern: &str, folder: &NotePath) -> bool {
    if pattern.starts_with('#') {
        return false;
    }
    let pattern = pattern.strip_prefix('!').unwrap_or(pattern).trim_end();
    if may_match_slash(pattern) {
        return true;
    }
    let bare = pattern.strip_suffix('/').unwrap_or(pattern);
    if !bare.contains('/') {
        return false;
    }
    let parts: Vec<&str> = bare.strip_prefix('/').unwrap_or(bare).split('/').collect();
    let is_glob = |part: &str| part.contains(['*', '?', '[', '{', '\\']);
    let may_be = |part: &str, name: &str| is_glob(part) || name_key(part) == name_key(name);
    // Leading `**` may match all of the folder's path: what follows is then about names below alone.
    let start = parts.iter().take_while(|part| **part == "**").count();
    // The parts that may come next, if at least one part has matched a name.
    let mut next: BTreeSet<usize> = BTreeSet::new();
    for (depth, name) in folder.segments().enumerate() {
        let mut open: Vec<usize> = next.iter().copied().collect();
        if depth == 0 || start > 0 {
            open.push(start);
        }
        next.clear();
        while let Some(at) = open.pop() {
            match parts.get(at) {
                Some(&"**") => {
                    next.insert(at);
                    open.push(at + 1);
                }
                Some(part) if may_be(part, name) => {
                    next.insert(at + 1);
                }
                _ => {}
            }
        }
    }
    next.into_iter().any(|at| at < parts.len())
}

/// Returns whether something in `pattern` other than `/` and `**` may match a slash: a class, or a choice that has one.
fn may_match_slash(pattern: &str) -> bool {
    let characters: Vec<char> = pattern.chars().collect();
    let has_wide_range = || {
        let mut ranges = characters.windows(3);
        ranges.any(|range| range[1] == '-' && range[0] <= '/' && '/' <= range[2])
    };
    let is_wide_class = pattern.contains("[!") || pattern.contains("[^") || has_wide_range();
    (pattern.contains('[') && is_wide_class) || (pattern.contains('{') && pattern.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(patterns: &[&str]) -> PathRules {
        PathRules::new(patterns.iter().map(|one| (*one).to_owned()).collect()).unwrap()
    }

    /// All paths of up to `depth` names.
    fn paths(depth: usize) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let mut last = vec![String::new()];
        for _ in 0..depth {
            let longer = |path: &String| ["a", "b", "S"].map(|name| format!("{path}/{name}"));
            last = last.iter().flat_map(longer).collect();
            all.extend(last.iter().map(|path| path[1..].to_owned()));
        }
        all
    }

    /// What is covered in one folder is covered in the other, unless the rules tell them apart.
    #[test]
    fn rules_that_do_not_tell_folders_apart_hold_alike_in_both() {
        let mut moves = 0;
        for patterns in [
            &["s"][..],
            &["s/"],
            &["/s"],
            &["a/s"],
            &["a/s/"],
            &["/a/**"],
            &["a/**/s"],
            &["a/**/s/"],
            &["/**/a/s"],
            &["**/a/s"],
            &["**/a/b/s"],
            &["**/a/**/s"],
            &["**/**/s"],
            &["*/s"],
            &["/*/*/s"],
            &["a/*/s"],
            &["a/**/b/**/s"],
            &["*[!q]s"],
            &["a[+-9]s"],
            &["{a/s,b}"],
            &["#a/s"],
            &["s", "!a/"],
            &["s", "!a/**"],
            &["s", "!a/b/"],
            &["!a/", "s"],
            &["a/**", "!b/s", "b"],
            &["a/", "!s", "b/"],
            &["b/", "a/s", "!a/b"],
        ] {
            let rules = rules(patterns);
            let folders: Vec<NotePath> = paths(3)
                .iter()
                .map(|path| NotePath::parse_vault(path).unwrap())
                .filter(|folder| !rules.enclose(folder.as_str(), true))
                .collect();
            let inside = paths(2);
            let covered: Vec<Vec<bool>> = folders
                .iter()
                .map(|folder| {
                    let at = |below: &String| rules.enclose(&format!("{folder}/{below}"), false);
                    inside.iter().map(at).collect()
                })
                .collect();
            for (from, before) in folders.iter().zip(&covered) {
                for (to, after) in folders.iter().zip(&covered) {
                    if !rules.tell_apart(from, to) {
                        assert_eq!(before, after, "{patterns:?}: {from} to {to}");
                        moves += 1;
                    }
                }
            }
        }
        assert!(moves > 4_000, "{moves}");
    }

    #[test]
    fn names_and_other_folders_keep_no_folder_in_place() {
        let path = |path: &str| NotePath::parse_vault(path).unwrap();
        for (patterns, from, to) in [
            (&["private/", "*.secret.md"][..], "a/b", "c"),
            (&["a/**/s"], "b", "c/a"),
            (&["inbox/**"], "inbox/a", "inbox/b/c"),
            (&["inbox/", "work/"], "inbox/a", "work/a"),
            (&["/a/secret/"], "b", "c"),
        ] {
            let rules = rules(patterns);
            assert!(!rules.tell_apart(&path(from), &path(to)), "{patterns:?}");
        }
    }
}
