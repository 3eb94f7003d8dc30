//! Rules about paths, written as in `.gitignore`.

use ignore::{Match, gitignore::Gitignore};

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

    /// Returns whether a pattern may hold for something below `folder` because of the folders above it, and not because
    /// of its own name alone.
    pub(crate) fn tell_below(&self, folder: &NotePath) -> bool {
        let is_glob = |part: &str| part.contains(['*', '?', '[', '{', '\\']);
        let may_be = |part: &str, name: &str| is_glob(part) || part.eq_ignore_ascii_case(name);
        self.patterns.iter().any(|pattern| {
            let pattern = pattern.strip_prefix('!').unwrap_or(pattern).trim_end();
            let bare = pattern.trim_end_matches('/');
            let (bare, is_anchored) = match bare.strip_prefix("**/") {
                Some(rest) => (rest, false),
                None => (bare.trim_start_matches('/'), bare.contains('/')),
            };
            let parts: Vec<&str> = bare.split('/').collect();
            if is_anchored {
                // It is about another folder if it differs in a part; one that ends above holds for all of this one.
                let names: Vec<&str> = folder.segments().collect();
                parts.len() > names.len()
                    && parts
                        .iter()
                        .zip(&names)
                        .all(|(part, name)| may_be(part, name))
            } else {
                let above = &parts[..parts.len() - 1];
                above.iter().any(|part| may_be(part, folder.file_name()))
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
