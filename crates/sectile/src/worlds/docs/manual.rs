//! The manual, inside the binary.

use super::corpus::EmbeddedDoc;

/// The documents of the manual, in the order they are listed.
pub(crate) const EMBEDDED: &[EmbeddedDoc] = &[
    EmbeddedDoc {
        name: "docs/model.md",
        bytes: include_bytes!("../../../../../docs/model.md"),
    },
    EmbeddedDoc {
        name: "docs/guarantees.md",
        bytes: include_bytes!("../../../../../docs/guarantees.md"),
    },
    EmbeddedDoc {
        name: "docs/security.md",
        bytes: include_bytes!("../../../../../docs/security.md"),
    },
    EmbeddedDoc {
        name: "docs/choosing-tools.md",
        bytes: include_bytes!("../../../../../docs/choosing-tools.md"),
    },
    EmbeddedDoc {
        name: "docs/desk.md",
        bytes: include_bytes!("../../../../../docs/desk.md"),
    },
    EmbeddedDoc {
        name: "docs/console.md",
        bytes: include_bytes!("../../../../../docs/console.md"),
    },
    EmbeddedDoc {
        name: "docs/editor.md",
        bytes: include_bytes!("../../../../../docs/editor.md"),
    },
    EmbeddedDoc {
        name: "docs/notebook.md",
        bytes: include_bytes!("../../../../../docs/notebook.md"),
    },
    EmbeddedDoc {
        name: "docs/storage.md",
        bytes: include_bytes!("../../../../../docs/storage.md"),
    },
    EmbeddedDoc {
        name: "docs/hosted.md",
        bytes: include_bytes!("../../../../../docs/hosted.md"),
    },
    EmbeddedDoc {
        name: "docs/access.md",
        bytes: include_bytes!("../../../../../docs/access.md"),
    },
    EmbeddedDoc {
        name: "docs/deployment.md",
        bytes: include_bytes!("../../../../../docs/deployment.md"),
    },
    EmbeddedDoc {
        name: "docs/tools.md",
        bytes: include_bytes!("../../../../../docs/tools.md"),
    },
    EmbeddedDoc {
        name: "docs/ids-and-hashes.md",
        bytes: include_bytes!("../../../../../docs/ids-and-hashes.md"),
    },
    EmbeddedDoc {
        name: "docs/docs-search.md",
        bytes: include_bytes!("../../../../../docs/docs-search.md"),
    },
    EmbeddedDoc {
        name: "docs/errors.md",
        bytes: include_bytes!("../../../../../docs/errors.md"),
    },
    EmbeddedDoc {
        name: "docs/configuration.md",
        bytes: include_bytes!("../../../../../docs/configuration.md"),
    },
    EmbeddedDoc {
        name: "docs/recipes.md",
        bytes: include_bytes!("../../../../../docs/recipes.md"),
    },
];
