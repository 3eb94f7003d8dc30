//! The context of a call: everything a handler knows about it except its arguments.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use tokio_util::sync::CancellationToken;

use crate::{
    Confirmation, Connection, Failure, FailureKind, Form, FormReply, Progress, Surface,
    access::{Identity, Role},
    call::{caller::ClientSender, policy::CallerRole},
    observe::{CallFilter, LoggedCall},
};

/// Everything a handler knows about a call except its arguments.
pub struct CallContext {
    /// Fires when the caller no longer waits.
    pub cancelled: CancellationToken,
    /// The connection that the call came on, if there is one: the process on stdio, a session over HTTP.
    pub connection: Option<Arc<Connection>>,
    /// Whether the call belongs to the era in which nothing may be kept for a connection, even if there is one:
    /// whatever belongs to earlier calls has to be named in the arguments.
    pub is_stateless: bool,
    /// The caller, if callers sign in.
    pub identity: Option<Arc<Identity>>,
    /// The client's name for itself and its version, for tools that keep a history of who did what or suit their answers
    /// to the client. Tools of [`Pace::Quick`](crate::Pace::Quick) never get it.
    pub client: Option<String>,
    /// Whether the client shows apps to people, and passes the `_meta` of answers on to them. Tools of
    /// [`Pace::Quick`](crate::Pace::Quick) are never told.
    pub shows_apps: bool,
    /// Reports progress to the caller.
    pub progress: Progress,
    pub(crate) client_messages: Option<ClientSender>,
    /// The surface that was called, unless the call does not come from a client.
    pub(crate) surface: Option<Arc<Surface>>,
    /// The roots that the caller is bound to, set on first use.
    pub(crate) roots: OnceLock<Option<Vec<String>>>,
}

impl CallContext {
    /// Makes the context of a call that does not come from a client, such as one from the command line.
    #[must_use]
    pub fn without_client() -> Self {
        Self {
            cancelled: CancellationToken::new(),
            connection: None,
            is_stateless: false,
            identity: None,
            client: None,
            shows_apps: false,
            progress: Progress::SILENT,
            client_messages: None,
            surface: None,
            roots: OnceLock::new(),
        }
    }

    /// Asks the user for a yes, like [`CallContext::ask`] with a form that has one checkbox.
    #[must_use]
    pub fn confirm(&self, question: &str) -> Confirmation {
        Confirmation::of(&self.ask(&Form::checkbox(question)))
    }

    /// Asks the user to fill in a form, and waits for the answer: [`FormReply::Declined`] if it does not come in time or
    /// the call ends. Only for prompts and tools of [`Pace::Slow`](crate::Pace::Slow); others get
    /// [`FormReply::Unsupported`], and so does a call that does not come from a client, or comes from one that cannot
    /// ask. The time that the user takes does not count towards that of the call.
    ///
    /// In the stateless era the call ends with the question, and the client calls again with the answer: the handler
    /// then runs once more from the start. So ask before doing anything, and ask the same question for the same
    /// arguments.
    #[must_use]
    pub fn ask(&self, form: &Form) -> FormReply {
        match &self.client_messages {
            Some(client_messages) => client_messages.ask(form),
            None => FormReply::Unsupported,
        }
    }

    /// Returns whether this caller may use the tool `name` of the same surface. A tool that does the work of others
    /// checks each of them, or it would bypass the policy.
    #[must_use]
    pub fn may_use(&self, name: &str) -> bool {
        self.surface
            .as_ref()
            .is_none_or(|surface| surface.offers(name, self.caller_role()))
    }

    /// Returns the names of the tools of the same surface that this caller may use, in listing order.
    pub fn usable_tools(&self) -> impl Iterator<Item = &str> {
        let surface = self.surface.iter();
        let tools = surface.flat_map(|surface| &surface.tools);
        let names = tools.map(|tool| tool.card.name.as_str());
        names.filter(|name| self.may_use(name))
    }

    /// Returns whether the policy lets this caller read the resource at `uri`. A tool that mentions resources checks
    /// each of them: what a caller may not read must not be revealed either.
    #[must_use]
    pub fn may_read(&self, uri: &str) -> bool {
        self.surface
            .as_ref()
            .is_none_or(|surface| surface.may_notify(uri, self.caller_role()))
    }

    /// Returns whether the policy lets this caller read every resource, so that none has to be checked.
    #[must_use]
    pub fn may_read_all(&self) -> bool {
        self.surface
            .as_ref()
            .is_none_or(|surface| surface.may_read_all(self.caller_role()))
    }

    /// Returns the program's own text without the parts that name a tool this caller cannot see; empty if nothing is
    /// left. Everything that an answer says about other tools passes through here.
    #[must_use]
    pub fn for_caller(&self, text: &'static str) -> Cow<'static, str> {
        match &self.surface {
            Some(surface) => surface.naming(self.caller_role()).text(text),
            None => Cow::Borrowed(text),
        }
    }

    /// Returns the newest calls of tools that this person may look at, newest first: their own, or those of everyone for
    /// an admin and where nobody signs in. Empty if calls are not kept. While someone looks, more is kept of each call.
    #[must_use]
    pub fn recent_calls(&self) -> Vec<LoggedCall> {
        let log = self
            .surface
            .as_ref()
            .and_then(|surface| surface.call_log.as_ref());
        let Some(log) = log else {
            return Vec::new();
        };
        let group = self.group();
        let filter = match self.identity.as_deref() {
            None => CallFilter::All,
            Some(identity) if identity.role == Role::Admin => CallFilter::Group(group.as_deref()),
            Some(identity) => CallFilter::Caller(&identity.key),
        };
        let world = self.surface.as_ref().map_or("", |surface| surface.world);
        log.look(filter, world)
    }

    /// Returns the name of the group that the caller belongs to, if the world serves callers in groups.
    fn group(&self) -> Option<String> {
        self.surface.as_ref()?.group_of(self.identity.as_deref()?)
    }

    /// Returns the name that identifies the caller, if callers sign in.
    #[must_use]
    pub fn caller(&self) -> Option<&str> {
        self.identity.as_ref().map(|identity| identity.key.as_str())
    }

    /// Returns the roots that the caller is bound to, by its key and its role; `None` means all. Whatever is in another
    /// root does not exist for it. The answer is the same for the whole call, even if the settings are read again.
    #[must_use]
    pub fn roots(&self) -> Option<&[String]> {
        let roots = self.roots.get_or_init(|| {
            let identity = self.identity.as_ref()?;
            match &self.surface {
                Some(surface) => surface.policy.roles.get().roots_of(identity),
                // Only the surface knows the roots of roles.
                None => Some(Vec::new()),
            }
        });
        roots.as_deref()
    }

    fn caller_role(&self) -> CallerRole {
        self.identity.as_ref().map(|identity| identity.role)
    }

    /// Stops a handler between two steps of work once the caller no longer waits.
    ///
    /// # Errors
    /// Returns [`FailureKind::Cancelled`] once the call is cancelled.
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
