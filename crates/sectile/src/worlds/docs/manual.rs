//! The manual, inside the binary.

use super::corpus::Embedded;

/// The documents of the manual, in the order they are listed.
pub(crate) const EMBEDDED: &[Embedded] = &[Embedded {
    name: "docs/editor.md",
    bytes: include_bytes!("../../../../../docs/editor.md"),
}];
