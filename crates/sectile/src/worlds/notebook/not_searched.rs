//! Reports the notebooks that searches leave out: nothing can be said about text that was not read, not even that it is
//! absent.

use schemars::JsonSchema;
use sectile_library::left_out::{LeftOutNotebook, MOST_NAMED, WhyLeftOut};
use serde::Serialize;

use super::answers::counted;

/// A notebook that is not searched, as answers name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct NotSearched {
    /// Path of the notebook in the collection.
    notebook_id: String,
    /// `too_large` or `unreadable`.
    reason: &'static str,
}

/// Returns the first few of them, for an answer.
pub(crate) fn named(left_out: &[LeftOutNotebook]) -> Vec<NotSearched> {
    let first = left_out.iter().take(MOST_NAMED);
    first
        .map(|one| NotSearched {
            notebook_id: one.notebook.to_string(),
            reason: word(one.why),
        })
        .collect()
}

/// Returns a sentence that names the first few of them; `None` if none were left out.
pub(crate) fn told(left_out: &[LeftOutNotebook]) -> Option<String> {
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
        "Nothing is known about {count} that could not be searched: {names}{more}."
    ))
}

/// Returns the word used in answers.
fn word(why: WhyLeftOut) -> &'static str {
    match why {
        WhyLeftOut::TooLarge => "too_large",
        WhyLeftOut::Unreadable => "unreadable",
    }
}

#[cfg(test)]
mod tests {
    use sectile_markdown::NotePath;

    use super::*;

    fn left_out(count: usize) -> Vec<LeftOutNotebook> {
        let path = |number| NotePath::parse_vault(&format!("n{number}.md")).unwrap();
        (0..count)
            .map(|number| LeftOutNotebook {
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
            "Nothing is known about 2 notebooks that could not be searched: n0.md (too large), n1.md (cannot be read)."
        );
        let many = told(&left_out(13)).unwrap();
        assert!(
            many.contains("13 notebooks") && many.ends_with("n9.md (cannot be read) and 3 more.")
        );
        assert_eq!(named(&left_out(13)).len(), MOST_NAMED);
    }
}
