//! A page of the console as a call: the same steps as for a tool, in the same order, and the same limits.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use super::{
    error::Refusal,
    pipeline::{Call, EarlyReturn, Label, VisibleStop},
};
use crate::{
    AnswerFacts, CallContext, Failure, FailureKind, MenuEntry, PageAnswer, PageRequest, Progress,
    Surface,
    access::Identity,
    call::policy::CallerRole,
    world::console::{BoundConsole, BoundPage},
};

/// The reason a page is not shown.
pub(crate) enum PageStop {
    /// It does not exist for this person.
    NotFound,
    /// It failed; the lines are for the person.
    Failed(FailureKind, String),
    /// The frame refuses it; the reason is a sentence.
    Refused(&'static str),
}

/// The name of the console in the history of changes.
const CLIENT: &str = "console";

impl Surface {
    /// Returns whether the caller with this role has a page.
    fn has_page(&self, page: &BoundPage, caller_role: CallerRole) -> bool {
        page.tool.is_none_or(|tool| self.offers(tool, caller_role))
    }

    /// Returns the entries of the console's menu for a person with this role.
    pub(crate) fn console_menu(
        &self,
        console: &BoundConsole,
        caller_role: CallerRole,
    ) -> Vec<MenuEntry> {
        let listed = console
            .pages
            .iter()
            .filter(|page| !page.title.is_empty() && self.has_page(page, caller_role));
        let entry = |page: &BoundPage| MenuEntry {
            path: page.path,
            title: page.title,
        };
        listed.map(entry).collect()
    }

    /// Renders the page at `index` of the console's table, or performs it if it is an action.
    pub(crate) async fn show_page(
        self: Arc<Self>,
        index: usize,
        request: PageRequest,
        identity: Option<Arc<Identity>>,
    ) -> Result<PageAnswer, PageStop> {
        let caller_role = identity.as_ref().map(|identity| identity.role);
        let call = Call::begin(&self, identity.clone(), None);
        let label = self
            .console
            .as_ref()
            .map_or(CLIENT, |console| console.pages[index].label);
        let result = self.page_steps(index, request, identity).await;
        call.end(Label::Method(label), &result, |_| AnswerFacts::default());
        result.map_err(|stop| match stop.seen() {
            VisibleStop::Failed(failure) => {
                let kind = failure.kind;
                PageStop::Failed(kind, self.page_message(failure, caller_role))
            }
            VisibleStop::Refused(Refusal::UnknownPrompt) => PageStop::NotFound,
            VisibleStop::Refused(Refusal::Busy) => {
                PageStop::Refused("The server is busy. Reload the page in a moment.")
            }
            VisibleStop::Refused(Refusal::TimedOut(_)) => {
                PageStop::Refused("The page took too long. Reload it, or ask for less.")
            }
            VisibleStop::Refused(_) | VisibleStop::Asks(_) => {
                PageStop::Refused("The page failed because of a defect in the server.")
            }
        })
    }

    async fn page_steps(
        self: &Arc<Self>,
        index: usize,
        request: PageRequest,
        identity: Option<Arc<Identity>>,
    ) -> Result<PageAnswer, EarlyReturn> {
        let unknown = || Refusal::UnknownPrompt;
        let console = self.console.as_ref().ok_or_else(unknown)?;
        let page = &console.pages[index];
        let caller_role = identity.as_ref().map(|identity| identity.role);
        if let Some(name) = page.tool {
            let (_, tool) = self.tool(name).ok_or_else(unknown)?;
            self.exists(name, tool.card.access, caller_role, unknown)?;
            // A page that its reader may not use is not in the menu either, so it does not exist.
            self.authorise(name).map_err(|_| unknown())?;
        }
        let access = page.method.access();
        let cancelled = CancellationToken::new();
        // Fires when the person has closed the page, or when the time is over.
        let _stop = cancelled.clone().drop_guard();
        let key = self.slot_key(identity.as_ref());
        let context = CallContext {
            cancelled,
            connection: None,
            is_stateless: false,
            identity,
            client: Some(CLIENT.to_owned()),
            shows_apps: false,
            progress: Progress::SILENT,
            client_messages: None,
            surface: Some(Arc::clone(self)),
            roots: OnceLock::new(),
        };
        let surface = Arc::clone(self);
        let steps = async {
            let slot = self.slot(key).await?;
            let work = move || {
                let _slot = slot;
                let console = surface.console.as_ref()?;
                Some((console.pages[index].render)(&request, &context))
            };
            // A page that panicked returns nothing.
            let rendered = tokio::task::spawn_blocking(work).await.ok().flatten();
            Ok(rendered.ok_or(Refusal::Internal)??)
        };
        match tokio::time::timeout(self.limits.call_timeout, steps).await {
            Ok(result) => result,
            Err(_) => Err(Refusal::TimedOut(access).into()),
        }
    }

    /// Returns a failure as a person reads it: what is wrong, what to do, and the facts.
    fn page_message(&self, failure: Failure, caller_role: CallerRole) -> String {
        match self.say(failure.clone(), caller_role, true) {
            Ok(said) => said,
            Err(_) => failure.worded(&self.naming(caller_role)).told(),
        }
    }
}
