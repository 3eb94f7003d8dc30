//! The two tiers of an index: an instant model, and a slower one that understands more.
//!
//! The first tier is always available. The second is filled by `sectile notebook index`, and answers for a collection
//! once it is complete.

use sectile_retrieval::{Embedder, ModelError, built_in, transformer};

/// The tier that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// A model of word vectors: instant.
    Static,
    /// A model that reads a passage as a whole.
    Transformer,
}

impl Tier {
    /// Returns its name in answers and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Transformer => "transformer",
        }
    }
}

/// A choice of what decides the order of the hits of one search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankingChoice {
    /// Words alone.
    Words,
    /// Words and the first tier.
    Static,
    /// Words and the best tier that is complete, as in every search that does not choose.
    #[default]
    Full,
}

impl RankingChoice {
    /// Returns its name in answers and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Static => "static",
            Self::Full => "full",
        }
    }
}

/// The models of the tiers.
#[derive(Clone, Copy)]
pub struct Models {
    /// The model of the first tier.
    pub first: &'static dyn Embedder,
    /// The model of the second tier, if there is one.
    pub second: Option<&'static dyn Embedder>,
}

impl Models {
    /// Returns the models built into the program.
    pub fn built_in() -> Result<Self, ModelError> {
        Ok(Self {
            first: built_in()?,
            second: Some(transformer()?),
        })
    }
}
