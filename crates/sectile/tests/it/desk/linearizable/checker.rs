//! Whether a history of overlapping operations could have happened one after the other.
//!
//! The search is that of Wing and Gong, with the memory of Lowe: an operation may come next if it began before every other one
//! that is left had ended, and a state is not tried twice with the same operations left. Documents do not depend on each
//! other, so each has a history of its own.

use std::collections::HashSet;

/// The texts of a document: its registers, which hold one line, and its list, which grows.
pub(super) type State = Vec<Vec<String>>;

/// What a client asked of a section, or another program of the whole document, and what came back.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// The lines of a section were read.
    Read { section: usize, lines: Vec<String> },
    /// A register was replaced if it held `old`; refused if it held something else.
    Swap {
        section: usize,
        old: String,
        new: String,
        done: bool,
    },
    /// A line was added to a section.
    Append { section: usize, line: String },
    /// Another program replaced the file.
    Overwrite { state: State },
}

impl Action {
    /// The state after this action, or `None` if it cannot have had this outcome in that state.
    fn apply(&self, state: &State) -> Option<State> {
        let mut after = state.clone();
        match self {
            Self::Read { section, lines } => return (state[*section] == *lines).then_some(after),
            Self::Swap {
                section,
                old,
                new,
                done,
            } => {
                let holds = state[*section] == [old.as_str()];
                if holds != *done {
                    return None;
                }
                if holds {
                    after[*section] = vec![new.clone()];
                }
            }
            Self::Append { section, line } => after[*section].push(line.clone()),
            Self::Overwrite { state } => after.clone_from(state),
        }
        Some(after)
    }
}

/// An action, and when it began and ended. Times are never equal.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) began: u64,
    pub(super) ended: u64,
    pub(super) action: Action,
}

/// Returns an order in which the steps could have happened, as positions, or the longest one that was found.
pub(super) fn order(start: &State, steps: &[Step]) -> Result<Vec<usize>, Vec<usize>> {
    let mut seen = HashSet::new();
    let mut longest = Vec::new();
    // The steps so far, the state after each, and which ones to try in its place.
    let mut path: Vec<(usize, State, usize)> = Vec::new();
    let mut is_done = vec![false; steps.len()];
    let mut next = 0;
    loop {
        if path.len() == steps.len() {
            return Ok(path.into_iter().map(|(at, ..)| at).collect());
        }
        let state = path.last().map_or(start, |(_, state, _)| state);
        let left = (0..steps.len()).filter(|at| !is_done[*at]);
        let first_end = left.map(|at| steps[at].ended).min().unwrap_or_default();
        let outcomes = (0..steps.len())
            .filter(|at| !is_done[*at] && steps[*at].began < first_end)
            .filter_map(|at| Some((at, steps[at].action.apply(state)?)));
        let outcomes: Vec<(usize, State)> = outcomes.collect();
        // What changes nothing may as well come now: whatever could follow without it can follow it.
        let unchanged = outcomes.iter().position(|(_, after)| after == state);
        let (mut outcomes, alone) = match unchanged {
            Some(at) if next == 0 => (vec![outcomes[at].clone()], true),
            Some(_) => (Vec::new(), true),
            None => (outcomes, false),
        };
        outcomes.retain(|(at, _)| *at >= next);
        let found = outcomes.into_iter().find(|(at, after)| {
            let mut done = is_done.clone();
            done[*at] = true;
            seen.insert((done, after.clone()))
        });
        match found {
            Some((at, after)) => {
                is_done[at] = true;
                path.push((at, after, if alone { steps.len() } else { at + 1 }));
                if path.len() > longest.len() {
                    longest = path.iter().map(|(at, ..)| *at).collect();
                }
                next = 0;
            }
            None => {
                let Some((at, _, others)) = path.pop() else {
                    return Err(longest);
                };
                is_done[at] = false;
                next = others;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(actions: Vec<(u64, u64, Action)>) -> Vec<Step> {
        let step = |(began, ended, action)| Step {
            began,
            ended,
            action,
        };
        actions.into_iter().map(step).collect()
    }

    fn read(line: &str) -> Action {
        Action::Read {
            section: 0,
            lines: vec![line.to_owned()],
        }
    }

    fn swap(old: &str, new: &str, done: bool) -> Action {
        Action::Swap {
            section: 0,
            old: old.to_owned(),
            new: new.to_owned(),
            done,
        }
    }

    fn is_possible(actions: Vec<(u64, u64, Action)>) -> bool {
        let start = vec![vec!["a".to_owned()]];
        order(&start, &steps(actions)).is_ok()
    }

    #[test]
    fn overlapping_steps_may_have_happened_in_either_order() {
        let new_then_old = vec![
            (0, 9, swap("a", "b", true)),
            (1, 2, read("a")),
            (3, 4, read("b")),
        ];
        assert!(is_possible(new_then_old));
        assert!(is_possible(vec![
            (0, 9, swap("a", "b", true)),
            (1, 8, swap("a", "c", false))
        ]));
    }

    #[test]
    fn lost_stale_and_doubled_steps_are_found() {
        // A read after the end of a write sees what was before it.
        assert!(!is_possible(vec![
            (0, 1, swap("a", "b", true)),
            (2, 3, read("a"))
        ]));
        // Time runs backwards.
        assert!(!is_possible(vec![
            (0, 9, swap("a", "b", true)),
            (1, 2, read("b")),
            (3, 4, read("a")),
        ]));
        // Both win.
        assert!(!is_possible(vec![
            (0, 9, swap("a", "b", true)),
            (1, 8, swap("a", "c", true))
        ]));
        // Refused without a reason.
        assert!(!is_possible(vec![(0, 1, swap("a", "b", false))]));
        // A line is lost.
        let append = |line: &str| Action::Append {
            section: 0,
            line: line.to_owned(),
        };
        assert!(!is_possible(vec![
            (0, 1, append("b")),
            (2, 3, append("c")),
            (
                4,
                5,
                Action::Read {
                    section: 0,
                    lines: vec!["a".to_owned(), "c".to_owned()]
                }
            ),
        ]));
    }
}
