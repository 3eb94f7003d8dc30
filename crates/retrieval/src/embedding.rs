//! What a text is about, as a direction: texts about the same point the same way.
//!
//! A model turns a text into a vector of small whole numbers. All arithmetic is with whole numbers, so a text has the same
//! vector on every machine.

mod fixed_table;
mod pieces;
pub(crate) mod vectors;

use sectile_markdown::Digest;

pub use self::fixed_table::StaticModel;

/// How many numbers a vector has.
pub const DIMENSIONS: usize = 256;

/// A direction.
pub type Vector = [i8; DIMENSIONS];

/// Why a model cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// It is no model, or one that is cut off.
    #[error("it is no embedding model of this program, or it is damaged")]
    Damaged,
    /// It is a model of another kind.
    #[error("it is an embedding model of a kind that is not known here")]
    OtherKind,
}

/// A model that embeds texts.
pub trait Embedder: Send + Sync {
    /// What it is called.
    fn name(&self) -> &str;
    /// The digest of everything that its vectors depend on.
    fn fingerprint(&self) -> Digest;
    /// Somebody who embeds one text after another, and remembers what helps.
    fn reader(&self) -> Box<dyn EmbeddingReader + '_>;
}

/// Embeds one text after another.
pub trait EmbeddingReader {
    /// The vector of a text in several parts, or `None` when it says nothing to the model.
    fn embed(&mut self, parts: &[&str]) -> Option<Vector>;
}
