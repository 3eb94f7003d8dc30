//! The worlds, and the one list of them.

pub(crate) mod vault;

use crate::mcp::WorldCard;

/// The contract of every world, in the order they are listed.
pub(crate) fn cards() -> Vec<WorldCard> {
    vec![vault::spec().card()]
}
