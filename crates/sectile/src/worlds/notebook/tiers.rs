//! The two tiers of an index: a model that is instant, and one that understands more and takes its time.
//!
//! The first tier answers at once, always. The second is filled by `sectile notebook index`, and answers for a collection
//! when it is complete.

use sectile_retrieval::{Embedder, ModelError, built_in, transformer};

/// Which tier answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    Static,
    Transformer,
}

impl Tier {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Transformer => "transformer",
        }
    }
}

/// The models of the tiers.
#[derive(Clone, Copy)]
pub(crate) struct Models {
    pub(crate) first: &'static dyn Embedder,
    pub(crate) second: Option<&'static dyn Embedder>,
}

impl Models {
    /// Those inside the program.
    pub(crate) fn built_in() -> Result<Self, ModelError> {
        Ok(Self {
            first: built_in()?,
            second: Some(transformer()?),
        })
    }
}

/// The name of the first tier's model.
pub(crate) fn first_model() -> &'static str {
    built_in().map_or("none", Embedder::name)
}
