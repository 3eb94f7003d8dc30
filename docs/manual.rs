//! The manual of Sectile. The program contains these pages, and serves them in its docs world.

/// A page of the manual.
#[derive(Clone, Copy, Debug)]
pub struct ManualPage {
    /// The path in the repository, such as `docs/model.md`.
    pub name: &'static str,
    /// The text, which begins with front matter.
    pub bytes: &'static [u8],
}

/// The pages, in the order they are listed.
pub const PAGES: &[ManualPage] = &[
    ManualPage {
        name: "docs/model.md",
        bytes: include_bytes!("model.md"),
    },
    ManualPage {
        name: "docs/guarantees.md",
        bytes: include_bytes!("guarantees.md"),
    },
    ManualPage {
        name: "docs/security.md",
        bytes: include_bytes!("security.md"),
    },
    ManualPage {
        name: "docs/choosing-tools.md",
        bytes: include_bytes!("choosing-tools.md"),
    },
    ManualPage {
        name: "docs/desk.md",
        bytes: include_bytes!("desk.md"),
    },
    ManualPage {
        name: "docs/console.md",
        bytes: include_bytes!("console.md"),
    },
    ManualPage {
        name: "docs/editor.md",
        bytes: include_bytes!("editor.md"),
    },
    ManualPage {
        name: "docs/notebook.md",
        bytes: include_bytes!("notebook.md"),
    },
    ManualPage {
        name: "docs/storage.md",
        bytes: include_bytes!("storage.md"),
    },
    ManualPage {
        name: "docs/tenants.md",
        bytes: include_bytes!("tenants.md"),
    },
    ManualPage {
        name: "docs/hosted.md",
        bytes: include_bytes!("hosted.md"),
    },
    ManualPage {
        name: "docs/access.md",
        bytes: include_bytes!("access.md"),
    },
    ManualPage {
        name: "docs/deployment.md",
        bytes: include_bytes!("deployment.md"),
    },
    ManualPage {
        name: "docs/tools.md",
        bytes: include_bytes!("tools.md"),
    },
    ManualPage {
        name: "docs/ids-and-hashes.md",
        bytes: include_bytes!("ids-and-hashes.md"),
    },
    ManualPage {
        name: "docs/docs-search.md",
        bytes: include_bytes!("docs-search.md"),
    },
    ManualPage {
        name: "docs/errors.md",
        bytes: include_bytes!("errors.md"),
    },
    ManualPage {
        name: "docs/configuration.md",
        bytes: include_bytes!("configuration.md"),
    },
    ManualPage {
        name: "docs/recipes.md",
        bytes: include_bytes!("recipes.md"),
    },
];
