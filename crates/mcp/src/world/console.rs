//! A console: the pages of a world for people in a browser.
//!
//! A page is a value in a table, like a tool, and may belong to a tool: a caller who cannot use the tool does not have the
//! page. The world renders; the frame decides who is looking, and serves.

use crate::{Access, CallContext, Failure, world::state::WorldState};

/// The console of a world.
pub struct Console<S: 'static> {
    /// Its pages. The first one in the menu that a caller has is shown at the root.
    pub pages: Vec<ConsolePage<S>>,
    /// Files that its pages load: stylesheets, scripts, icons.
    pub assets: &'static [ConsoleAsset],
    /// Renders a notice that takes the place of a page.
    pub notice: fn(&ConsoleNotice<'_>) -> String,
}

/// A page, or an action that a form on a page performs.
pub struct ConsolePage<S> {
    /// Its path below the root; one segment.
    pub path: &'static str,
    /// Its name in the menu; empty if the menu does not list it.
    pub title: &'static str,
    /// The tool that it belongs to. A caller who cannot use the tool does not have the page.
    pub tool: Option<&'static str>,
    /// The name of its views in logs.
    pub label: &'static str,
    /// The ways to ask for it.
    pub method: PageMethod,
    /// Renders the page, or performs the action.
    pub render: fn(&S, &PageRequest, &CallContext) -> Result<PageAnswer, Failure>,
}

/// The ways to ask for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageMethod {
    /// By its address.
    View,
    /// By its address, or by a form whose fields are too long for one.
    ViewOrForm,
    /// By a form only: it changes something.
    Action,
}

impl PageMethod {
    /// Returns the kind of change that a page that is asked for in these ways may make.
    pub(crate) fn access(self) -> Access {
        match self {
            Self::View | Self::ViewOrForm => Access::Read,
            Self::Action => Access::Write,
        }
    }
}

/// A file that pages load.
#[derive(Clone, Copy, Debug)]
pub struct ConsoleAsset {
    /// Its path below the root; one segment.
    pub path: &'static str,
    /// Media type.
    pub mime_type: &'static str,
    /// Content.
    pub text: &'static str,
}

/// A request for a page.
#[derive(Clone, Debug, Default)]
pub struct PageRequest {
    /// The path of the page that is shown.
    pub path: &'static str,
    /// The fields of the query or of the form, in order.
    pub fields: Vec<(String, String)>,
    /// The token that a form of this caller has to contain, as the field [`FORM_TOKEN`].
    pub form_token: String,
    /// The entries of the menu: the pages that the caller has.
    pub menu: Vec<MenuEntry>,
    /// The name of the person who signed in, if people sign in.
    pub user: Option<String>,
}

/// An entry of the menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MenuEntry {
    /// The path of the page.
    pub path: &'static str,
    /// The name of the page.
    pub title: &'static str,
}

/// The name of the form field with the form token.
pub const FORM_TOKEN: &str = "form_token";
/// The path that a form for signing in sends its [`CREDENTIAL`] to.
pub const SIGN_IN: &str = "/sign-in";
/// The path that a form for signing out is sent to.
pub const SIGN_OUT: &str = "/sign-out";
/// The name of the form field with the key or token of someone who signs in.
pub const CREDENTIAL: &str = "credential";

/// The answer to a request for a page.
#[derive(Debug)]
pub enum PageAnswer {
    /// A page.
    Html(String),
    /// Data that a script of a page asked for.
    Json(String),
    /// Another page to go to: a path below the root, with its query.
    Redirect(String),
}

/// A notice that takes the place of a page.
#[derive(Clone, Copy, Debug)]
pub enum ConsoleNotice<'a> {
    /// People sign in with a key or a token.
    SignIn {
        /// The reason why the last try was refused, a sentence.
        refused: Option<&'static str>,
        /// The address for MCP clients.
        endpoint: &'a str,
    },
    /// Only a link from the command line lets someone in.
    LinkNeeded {
        /// Whether a link was followed that is not valid, or not any longer.
        is_spent: bool,
        /// The address for MCP clients.
        endpoint: &'a str,
    },
    /// There is no such page.
    NotFound(&'a PageRequest),
    /// The page failed; the message is for the person.
    Failed {
        /// The request that failed.
        request: &'a PageRequest,
        /// The first line is the summary; more lines are facts, such as the texts of a conflict.
        message: &'a str,
    },
    /// The request was refused: a form of another site or an old one, a caller over their limits.
    Refused {
        /// The reason, a sentence.
        reason: &'static str,
    },
}

impl PageRequest {
    /// Returns the first field with this name; empty if there is none.
    #[must_use]
    pub fn field(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(field, _)| field == name);
        found.map_or("", |(_, value)| value)
    }
}

type PageRenderer =
    Box<dyn Fn(&PageRequest, &CallContext) -> Result<PageAnswer, Failure> + Send + Sync>;

/// A console bound to the state of its world.
pub(crate) struct BoundConsole {
    pub(crate) pages: Vec<BoundPage>,
    pub(crate) assets: &'static [ConsoleAsset],
    pub(crate) notice: fn(&ConsoleNotice<'_>) -> String,
}

pub(crate) struct BoundPage {
    pub(crate) path: &'static str,
    pub(crate) title: &'static str,
    pub(crate) tool: Option<&'static str>,
    pub(crate) label: &'static str,
    pub(crate) method: PageMethod,
    pub(crate) render: PageRenderer,
}

impl<S: Send + Sync + 'static> Console<S> {
    pub(crate) fn bind(self, state: &WorldState<S>) -> BoundConsole {
        let bind = |page: ConsolePage<S>| {
            let (state, render) = (state.clone(), page.render);
            let access = page.method.access();
            BoundPage {
                path: page.path,
                title: page.title,
                tool: page.tool,
                label: page.label,
                method: page.method,
                render: Box::new(move |request, context| {
                    state.with(context, access, |state| render(state, request, context))?
                }),
            }
        };
        BoundConsole {
            pages: self.pages.into_iter().map(bind).collect(),
            assets: self.assets,
            notice: self.notice,
        }
    }
}
