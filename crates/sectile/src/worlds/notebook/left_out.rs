//! Notebooks of a collection that no search looks into, and why. Answers name them: what was not read can
//! neither be found nor be said not to be there.

use schemars::JsonSchema;
use sectile_retrieval::Listed;
use sectile_vault::NotePath;
use serde::Serialize;

use super::answers::counted;

/// Notebooks that an answer names.
pub(crate) const MOST_NAMED: usize = 10;

/// Why nothing of a notebook is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhyLeftOut {
    /// It has more bytes than a notebook may have.
    TooLarge,
    /// The storage lists it and does not give it out.
    Unreadable,
}

impl WhyLeftOut {
    /// Why a notebook is left out that could not be read.
    pub(crate) fn of(listed: &Listed, max_notebook_bytes: u64) -> Self {
        match listed.stamp.bytes > max_notebook_bytes {
            true => Self::TooLarge,
            false => Self::Unreadable,
        }
    }

    /// The word in answers.
    fn word(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Unreadable => "unreadable",
        }
    }
}

/// A notebook that is not searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) notebook: NotePath,
    pub(crate) why: WhyLeftOut,
}

/// A notebook that is not searched, as answers name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct NotSearched {
    /// Path of the notebook in the collection.
    notebook_id: String,
    /// `too_large` or `unreadable`.
    reason: &'static str,
}

/// The first of them, for an answer.
pub(crate) fn named(left_out: &[LeftOut]) -> Vec<NotSearched> {
    let first = left_out.iter().take(MOST_NAMED);
    first
        .map(|one| NotSearched {
            notebook_id: one.notebook.to_string(),
            reason: one.why.word(),
        })
        .collect()
}

/// The same in a sentence; `None` when there is nothing to say.
pub(crate) fn told(left_out: &[LeftOut]) -> Option<String> {
    if left_out.is_empty() {
        return None;
    }
    let names = left_out.iter().take(MOST_NAMED).map(|one| {
        let why = match one.why {
            WhyLeftOut::TooLarge => "too large",
            WhyLeftOut::Unreadable => "cannot be read",
        };
        format!("{} ({why})", one.notebook)
    });
    let names = names.collect::<Vec<_>>().join(", ");
    let more = match left_out.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let count = counted(left_out.len(), "notebook");
    Some(format!(
        "Nothing is known of {count} that could not be searched: {names}{more}."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(count: usize) -> Vec<LeftOut> {
        let path = |number| NotePath::parse_vault(&format!("n{number}.md")).unwrap();
        (0..count)
            .map(|number| LeftOut {
                notebook: path(number),
                why: match number % 2 {
                    0 => WhyLeftOut::TooLarge,
                    _ => WhyLeftOut::Unreadable,
                },
            })
            .collect()
    }

    #[test]
    fn what_was_not_searched_is_counted_and_the_first_ones_are_named() {
        assert_eq!(told(&[]), None);
        assert_eq!(
            told(&left_out(2)).unwrap(),
            "Nothing is known of 2 notebooks that could not be searched: n0.md (too large), n1.md (cannot be read)."
        );
        let many = told(&left_out(13)).unwrap();
        assert!(
            many.contains("13 notebooks") && many.ends_with("n9.md (cannot be read) and 3 more.")
        );
        assert_eq!(named(&left_out(13)).len(), MOST_NAMED);
    }
}
