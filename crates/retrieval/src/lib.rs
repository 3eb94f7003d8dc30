//! Finding passages in texts that somebody else keeps. Knows no files, no protocol and no clock.
//!
//! Every number that decides an order is a whole number, so that the same passages and the same question give the same
//! answer on every machine.

mod analysis;
mod fixed;
mod lexical;
mod sections;

pub use analysis::{fold, words};
pub use lexical::{
    Correction, Form, Hit, Index, IndexError, MAX_PASSAGES, MAX_QUERY_BYTES, MAX_QUERY_WORDS,
    Match, Passage, Query, QueryError, RANKING, Ranked, Remarks,
};
pub use sections::{DEEPEST_HEADING, Section, sections};
