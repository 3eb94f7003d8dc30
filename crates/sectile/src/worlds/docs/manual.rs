//! The manual, inside the binary.

use super::corpus::Embedded;

/// The documents of the manual, in the order they are listed.
pub(crate) const EMBEDDED: &[Embedded] = &[
    Embedded {
        name: "docs/model.md",
        bytes: include_bytes!("../../../../../docs/model.md"),
    },
    Embedded {
        name: "docs/guarantees.md",
        bytes: include_bytes!("../../../../../docs/guarantees.md"),
    },
    Embedded {
        name: "docs/security.md",
        bytes: include_bytes!("../../../../../docs/security.md"),
    },
    Embedded {
        name: "docs/choosing-tools.md",
        bytes: include_bytes!("../../../../../docs/choosing-tools.md"),
    },
    Embedded {
        name: "docs/editor.md",
        bytes: include_bytes!("../../../../../docs/editor.md"),
    },
    Embedded {
        name: "docs/notebook.md",
        bytes: include_bytes!("../../../../../docs/notebook.md"),
    },
    Embedded {
        name: "docs/storage.md",
        bytes: include_bytes!("../../../../../docs/storage.md"),
    },
    Embedded {
        name: "docs/hosted.md",
        bytes: include_bytes!("../../../../../docs/hosted.md"),
    },
    Embedded {
        name: "docs/access.md",
        bytes: include_bytes!("../../../../../docs/access.md"),
    },
    Embedded {
        name: "docs/deployment.md",
        bytes: include_bytes!("../../../../../docs/deployment.md"),
    },
    Embedded {
        name: "docs/tools.md",
        bytes: include_bytes!("../../../../../docs/tools.md"),
    },
    Embedded {
        name: "docs/ids-and-hashes.md",
        bytes: include_bytes!("../../../../../docs/ids-and-hashes.md"),
    },
    Embedded {
        name: "docs/docs-search.md",
        bytes: include_bytes!("../../../../../docs/docs-search.md"),
    },
    Embedded {
        name: "docs/errors.md",
        bytes: include_bytes!("../../../../../docs/errors.md"),
    },
    Embedded {
        name: "docs/configuration.md",
        bytes: include_bytes!("../../../../../docs/configuration.md"),
    },
    Embedded {
        name: "docs/recipes.md",
        bytes: include_bytes!("../../../../../docs/recipes.md"),
    },
];
