//! The console: pages on which people see what is in the desk, what happened to it, and how it answers.
//!
//! A page shows what a tool of the desk answers, or more of the same; it needs the tool's permission and follows its rules.
//! Text of notes is data: it is escaped here, or passes the renderer of `sectile_markdown`.

mod calls;
mod change_view;
mod changes;
mod documents;
mod folders;
mod layout;
mod notices;
mod quotes;
mod search;
mod times;

use sectile_mcp::{Console, ConsoleAsset, ConsolePage, PageMethod};

use super::DeskWorld;

/// The files that pages load.
const ASSETS: &[ConsoleAsset] = &[
    ConsoleAsset {
        path: "console.css",
        mime_type: "text/css; charset=utf-8",
        text: concat!(
            include_str!("card/diff_view.css"),
            include_str!("console/console.css"),
        ),
    },
    ConsoleAsset {
        path: "console.js",
        mime_type: "text/javascript; charset=utf-8",
        text: include_str!("console/console.js"),
    },
    ConsoleAsset {
        path: "icon.svg",
        mime_type: "image/svg+xml",
        text: include_str!("console/icon.svg"),
    },
];

/// The console of the desk.
pub(super) fn console() -> Console<DeskWorld> {
    Console {
        pages: vec![
            ConsolePage {
                path: layout::DOCUMENTS,
                title: "Documents",
                tool: Some("fetch"),
                label: "console/documents",
                method: PageMethod::View,
                render: documents::render,
            },
            ConsolePage {
                path: layout::CHANGES,
                title: "Changes",
                tool: Some("changes"),
                label: "console/changes",
                method: PageMethod::View,
                render: changes::render,
            },
            ConsolePage {
                path: layout::SEARCH,
                title: "Search",
                tool: Some("search"),
                label: "console/search",
                method: PageMethod::View,
                render: search::render,
            },
            ConsolePage {
                path: layout::CALLS,
                title: "Calls",
                tool: None,
                label: "console/calls",
                method: PageMethod::View,
                render: calls::render,
            },
            ConsolePage {
                path: layout::QUOTES,
                title: "Quotes",
                tool: Some("fetch"),
                label: "console/quotes",
                method: PageMethod::ViewOrForm,
                render: quotes::render,
            },
            ConsolePage {
                path: layout::UNDO,
                title: "",
                tool: Some("undo"),
                label: "console/undo",
                method: PageMethod::Action,
                render: changes::undo,
            },
        ],
        assets: ASSETS,
        notice: notices::render,
    }
}
