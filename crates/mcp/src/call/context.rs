//! What a handler knows of the call besides its arguments.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use tokio_util::sync::CancellationToken;

use crate::{
    Confirmation, Connection, Failure, FailureKind, Progress, Surface,
    access::Identity,
    call::{caller::ClientSender, policy::CallerRole},
};

/// What a handler knows of the call besides its arguments.
pub struct CallContext {
    /// Fires when the caller no longer waits.
    pub cancelled: CancellationToken,
    /// The connection that the call came on, where there is such a thing: the process on stdio, a session over HTTP.
    pub connection: Option<Arc<Connection>>,
    /// Whether the call belongs to the era in which nothing may be kept for a connection, even where there is one: what
    /// belongs to earlier calls has to be named in the arguments.
    pub is_stateless: bool,
    /// Who called, where callers sign in.
    pub identity: Option<Arc<Identity>>,
    /// How the client calls itself, for tools that keep a record of who did what.
    pub client: Option<String>,
    /// Tells the caller how far the work is.
    pub progress: Progress,
    pub(crate) errands: Option<ClientSender>,
    /// The surface that was called.
    pub(crate) surface: OnceLock<Arc<Surface>>,
}

impl CallContext {
    /// The context of a call that comes from no client, such as one from the command line.
    #[must_use]
    pub fn without_client() -> Self {
        Self {
            cancelled: CancellationToken::new(),
            connection: None,
            is_stateless: false,
            identity: None,
            client: None,
            progress: Progress::SILENT,
            errands: None,
            surface: OnceLock::new(),
        }
    }

    /// Asks the person at the other end, and waits for the answer: [`Confirmation::Declined`] when it does not come in
    /// time or the call ends. Only for tools of [`Pace::Slow`](crate::Pace::Slow); others hear
    /// [`Confirmation::Unsupported`], and so does a call that comes from no client, or from one that cannot ask. The time
    /// that the person takes does not count towards that of the call.
    ///
    /// In the stateless era the call ends with the question, and the client calls again with the answer: the handler then
    /// runs once more from the start. So ask before doing anything, and the same question for the same arguments.
    #[must_use]
    pub fn confirm(&self, question: &str) -> Confirmation {
        match &self.errands {
            Some(errands) => errands.ask(question),
            None => Confirmation::Unsupported,
        }
    }

    /// Whether this caller may use the tool `name` of the same surface. A tool that does the work of others asks for each
    /// of them, or it would be a way around the policy.
    #[must_use]
    pub fn may_use(&self, name: &str) -> bool {
        self.surface
            .get()
            .is_none_or(|surface| surface.offers(name, self.standing()))
    }

    /// Names of the tools of the same surface that this caller may use, in listing order.
    pub fn usable_tools(&self) -> impl Iterator<Item = &str> {
        let tools = self
            .surface
            .get()
            .into_iter()
            .flat_map(|surface| &surface.tools);
        let names = tools.map(|tool| tool.card.name.as_str());
        names.filter(|name| self.may_use(name))
    }

    /// Whether this caller may read the resource at `uri`, as far as the policy goes. A tool that tells of resources asks
    /// for each of them: what a caller may not read must not be told either.
    #[must_use]
    pub fn may_read(&self, uri: &str) -> bool {
        self.surface
            .get()
            .is_none_or(|surface| surface.tells_of(uri, self.standing()))
    }

    /// Wording of the program without what names a tool that this caller cannot see; empty when nothing is left of it.
    /// Whatever an answer says about other tools goes through here.
    #[must_use]
    pub fn for_caller(&self, text: &'static str) -> Cow<'static, str> {
        match self.surface.get() {
            Some(surface) => surface.naming(self.standing()).text(text),
            None => Cow::Borrowed(text),
        }
    }

    /// What the caller is known by, where callers sign in.
    #[must_use]
    pub fn caller(&self) -> Option<&str> {
        self.identity.as_ref().map(|identity| identity.key.as_str())
    }

    fn standing(&self) -> CallerRole {
        self.identity.as_ref().map(|identity| identity.role)
    }

    /// Stops a handler between two steps of work when nobody waits for it.
    ///
    /// # Errors
    /// [`FailureKind::Cancelled`] once the call is.
    pub fn check(&self) -> Result<(), Failure> {
        if self.cancelled.is_cancelled() {
            return Err(Failure::new(
                FailureKind::Cancelled,
                "The call was cancelled.",
            ));
        }
        Ok(())
    }
}
