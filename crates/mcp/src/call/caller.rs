//! The caller of a call, and the channel back to the client while it runs.
//!
//! A handler works on a thread of its own and may not wait for the protocol, so its messages to the client go over a
//! channel to the task that awaits it. Calls of quick tools have no channel: it would cost more than it brings.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rmcp::{
    Peer, RoleServer,
    model::{
        CancelledNotificationParam, ClientResult, Implementation, InputRequiredResult,
        ProgressNotificationParam, ProgressToken, RequestId, ServerRequest,
    },
    service::{PeerRequestOptions, RequestContext},
};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    time::timeout_at,
};
use tokio_util::sync::CancellationToken;

use crate::{
    CallContext, Connection, Form, FormReply, Pace, Surface,
    access::Identity,
    call::{
        elicitation::{self, ElicitationRounds},
        policy::CallerRole,
        request_facts::RequestFacts,
    },
    world::app::shows_apps,
};

/// The shortest time between two reports of progress.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

/// Longest name and version of a client, in bytes; anything longer is truncated.
const MAX_NAME_BYTES: usize = 128;

/// Clients, by the name that they give themselves, that show their model nothing of a JSON-RPC error, or only its
/// message: no candidates, no text. `mcp` is the name of the official Python client unless its host sets another.
const MESSAGE_ONLY: [&str; 8] = [
    "Code - OSS",
    "Visual Studio Code",
    "Visual Studio Code - Insiders",
    "Zed",
    "claude-ai",
    "claude-code",
    "cursor-vscode",
    "mcp",
];

/// Returns the start of a name that a client gave itself, as much of it as is kept.
pub(crate) fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME_BYTES)]
}

/// The caller, as a transport hands it to the pipeline.
pub(crate) struct Caller {
    pub(crate) request: RequestContext<RoleServer>,
    pub(crate) connection: Option<Arc<Connection>>,
    pub(crate) facts: RequestFacts,
}

/// The way a call may ask the user.
pub(crate) enum ElicitationMode {
    /// Not at all.
    Never,
    /// While the call waits, until this fires because the wait must end.
    WhileWaiting(CancellationToken),
    /// By ending and being called again.
    InRounds(Box<ElicitationRounds>),
}

/// A message from a handler to the client.
enum ClientMessage {
    Report(ProgressNotificationParam),
    Ask(Form, oneshot::Sender<FormReply>),
}

/// Sends messages from a handler to the client.
#[derive(Clone)]
pub(crate) struct ClientSender(mpsc::UnboundedSender<ClientMessage>);

impl ClientSender {
    /// Waits for the answer, so it must never be called where blocking is forbidden. No channel exists there.
    pub(crate) fn ask(&self, form: &Form) -> FormReply {
        let (answer, answered) = oneshot::channel();
        let sent = self.0.send(ClientMessage::Ask(form.clone(), answer));
        // The channel is closed if the call has ended without its handler.
        let answer = sent.ok().and_then(|()| answered.blocking_recv().ok());
        answer.unwrap_or(FormReply::Declined)
    }
}

/// The receiving end for the messages of one call.
pub(crate) struct ClientChannel {
    request: RequestContext<RoleServer>,
    asking: ElicitationMode,
    client_messages: Option<mpsc::UnboundedReceiver<ClientMessage>>,
    /// A report that is being sent. It outlives the wait for it, so that the next one does not overtake it.
    sending: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Caller {
    /// Returns the role of the caller.
    pub(crate) fn caller_role(&self) -> CallerRole {
        self.facts.caller_role()
    }

    /// Returns the identity of the caller, if callers sign in.
    pub(crate) fn identity(&self) -> Option<Arc<Identity>> {
        self.facts.identity().cloned()
    }

    pub(crate) fn cancelled(&self) -> CancellationToken {
        self.request.ct.clone()
    }

    /// Returns whether the call belongs to the era without a handshake.
    pub(crate) fn is_stateless(&self) -> bool {
        let version = self.request.protocol_version();
        version.is_some_and(|version| !version.has_initialize())
    }

    /// Returns whether the client can show a form to the user.
    pub(crate) fn can_show_forms(&self) -> bool {
        let capabilities = self.request.client_capabilities();
        let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation);
        // A client that names no mode supports forms: there was nothing else once.
        elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    }

    /// Returns whether the client shows apps to people.
    pub(crate) fn shows_apps(&self) -> bool {
        let capabilities = self.request.client_capabilities();
        capabilities.is_some_and(|capabilities| shows_apps(&capabilities))
    }

    /// Returns whether the client hides JSON-RPC errors, or all but their message, from its model.
    pub(crate) fn hides_errors(&self) -> bool {
        let client = self.client();
        client.is_some_and(|client| MESSAGE_ONLY.contains(&client.name.as_str()))
    }

    /// Returns what the client calls itself. A request of the handshake eras without a session does not carry the name;
    /// then it is the program that sent the request.
    fn client(&self) -> Option<Implementation> {
        let client = self.request.client_info();
        // rmcp gives its own name to clients that it does not know.
        client
            .filter(|client| *client != Implementation::default())
            .or_else(|| {
                let program = self.facts.user_agent.as_deref()?.split(' ').next()?;
                let (name, version) = program.split_once('/').unwrap_or((program, ""));
                Some(Implementation::new(name, version)).filter(|client| !client.name.is_empty())
            })
    }

    /// Returns the name and version that the client gives itself.
    pub(crate) fn client_name(&self) -> Option<String> {
        let client = self.client()?;
        let name = format!("{} {}", cut(&client.name), cut(&client.version));
        Some(name.trim_end().to_owned())
    }

    /// Returns the context for the handler, and the channel that its messages arrive on.
    pub(crate) fn into_parts(
        self,
        surface: &Arc<Surface>,
        pace: Pace,
        asking: ElicitationMode,
    ) -> (CallContext, ClientChannel) {
        let cancelled = self.cancelled();
        let is_stateless = self.is_stateless();
        let identity = self.identity();
        let client = match pace {
            Pace::Quick => None,
            Pace::Slow => self.client_name(),
        };
        let shows_apps = pace == Pace::Slow && self.shows_apps();
        let Self {
            request,
            connection,
            facts: _,
        } = self;
        let (sender, client_messages) = match pace {
            Pace::Quick => (None, None),
            Pace::Slow => {
                let (sender, receiver) = mpsc::unbounded_channel();
                (Some(ClientSender(sender)), Some(receiver))
            }
        };
        let context = CallContext {
            cancelled,
            connection,
            is_stateless,
            identity,
            client,
            shows_apps,
            progress: Progress::new(&request, sender.as_ref()),
            client_messages: sender,
            surface: Some(Arc::clone(surface)),
            roots: OnceLock::new(),
        };
        let channel = ClientChannel {
            request,
            asking,
            client_messages,
            sending: None,
        };
        (context, channel)
    }
}

impl ClientChannel {
    /// Serves messages as they come, until the call has taken `limit`. The time that the user takes to answer does not
    /// count.
    pub(crate) async fn serve(&mut self, limit: Duration) {
        let mut deadline = Instant::now() + limit;
        loop {
            let errand = match timeout_at(deadline.into(), self.next()).await {
                Ok(errand) => errand,
                Err(_) => return,
            };
            match errand {
                ClientMessage::Ask(form, answer) => {
                    let began = Instant::now();
                    let reply = self.ask(form).await;
                    deadline += began.elapsed();
                    if answer.send(reply).is_err() {
                        tracing::debug!("a handler did not wait for its answer");
                    }
                }
                ClientMessage::Report(report) => {
                    if timeout_at(deadline.into(), self.report(report))
                        .await
                        .is_err()
                    {
                        return;
                    }
                }
            }
        }
    }

    /// Sends the last report of a handler that has ended.
    pub(crate) async fn clear(&mut self) {
        self.sent().await;
        while let Some(Ok(errand)) = self
            .client_messages
            .as_mut()
            .map(mpsc::UnboundedReceiver::try_recv)
        {
            if let ClientMessage::Report(report) = errand {
                self.report(report).await;
            }
        }
    }

    /// Returns the question that the call has to end with.
    pub(crate) fn question(&mut self) -> Option<InputRequiredResult> {
        match &mut self.asking {
            ElicitationMode::InRounds(rounds) => rounds.question(),
            ElicitationMode::Never | ElicitationMode::WhileWaiting(_) => None,
        }
    }

    async fn next(&mut self) -> ClientMessage {
        let errand = match &mut self.client_messages {
            Some(client_messages) => client_messages.recv().await,
            None => None,
        };
        match errand {
            Some(errand) => errand,
            None => std::future::pending().await,
        }
    }

    async fn report(&mut self, report: ProgressNotificationParam) {
        let peer = self.request.peer.clone();
        self.sending = Some(Box::pin(async move {
            if peer.notify_progress(report).await.is_err() {
                tracing::debug!("cannot report progress");
            }
        }));
        self.sent().await;
    }

    /// Waits for the report that is being sent.
    async fn sent(&mut self) {
        if let Some(sending) = &mut self.sending {
            sending.await;
            self.sending = None;
        }
    }

    async fn ask(&mut self, form: Form) -> FormReply {
        match &mut self.asking {
            ElicitationMode::Never => FormReply::Unsupported,
            ElicitationMode::InRounds(rounds) => rounds.ask(form),
            ElicitationMode::WhileWaiting(ended) => {
                let peer = self.request.peer.clone();
                tokio::select! {
                    biased;
                    () = ended.cancelled() => FormReply::Declined,
                    reply = ask_and_wait(peer, &form) => reply.unwrap_or(FormReply::Declined),
                }
            }
        }
    }
}

/// Runs in the task that handles the request: rmcp sends the question on the same stream as that request's answer.
async fn ask_and_wait(peer: Peer<RoleServer>, form: &Form) -> Option<FormReply> {
    let request = ServerRequest::ElicitRequest(form.request()?);
    let options = PeerRequestOptions::with_timeout(elicitation::PATIENCE);
    let asked = peer.send_cancellable_request(request, options).await.ok()?;
    let mut withdrawal = Withdrawal {
        peer,
        id: Some(asked.id.clone()),
    };
    let answer = asked.await_response().await;
    withdrawal.id = None;
    match answer {
        Ok(ClientResult::ElicitResult(result)) => Some(form.reply(result)),
        _ => None,
    }
}

/// Withdraws a question that is no longer waited for.
struct Withdrawal {
    peer: Peer<RoleServer>,
    id: Option<RequestId>,
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), Handle::try_current()) else {
            return;
        };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let withdrawn = CancelledNotificationParam::new(Some(id), None);
            if peer.notify_cancelled(withdrawn).await.is_err() {
                tracing::debug!("cannot withdraw a question");
            }
        });
    }
}

/// Reports a handler's progress. Does nothing unless the caller asked for progress, or for a tool of [`Pace::Quick`].
pub struct Progress(Option<ProgressReporter>);

struct ProgressReporter {
    token: ProgressToken,
    client_messages: ClientSender,
    last: Mutex<Option<LastReport>>,
}

#[derive(Clone, Copy)]
struct LastReport {
    done: u64,
    is_end: bool,
    at: Instant,
}

impl Progress {
    pub(crate) const SILENT: Self = Self(None);

    fn new(request: &RequestContext<RoleServer>, client_messages: Option<&ClientSender>) -> Self {
        let reporter = client_messages.and_then(|client_messages| {
            Some(ProgressReporter {
                token: request.meta.get_progress_token()?,
                client_messages: client_messages.clone(),
                last: Mutex::new(None),
            })
        });
        Self(reporter)
    }

    /// Reports that `done` of `total` is done. Cheap enough to be called after every step: a report that does not
    /// advance, or that comes too soon after the last one and is not the final one, is skipped.
    pub fn report(&self, done: u64, total: Option<u64>, message: &str) {
        let Some(reporter) = &self.0 else {
            return;
        };
        let report = LastReport {
            done,
            is_end: total.is_some_and(|total| done >= total),
            at: Instant::now(),
        };
        let mut last = reporter.last.lock();
        let is_due = last.is_none_or(|last| {
            let is_late = report.at.duration_since(last.at) >= REPORT_INTERVAL;
            report.done > last.done && (is_late || (report.is_end && !last.is_end))
        });
        if !is_due {
            return;
        }
        *last = Some(report);
        let mut report = ProgressNotificationParam::new(reporter.token.clone(), as_number(done));
        report.total = total.map(as_number);
        report.message = (!message.is_empty()).then(|| message.to_owned());
        if reporter
            .client_messages
            .0
            .send(ClientMessage::Report(report))
            .is_err()
        {
            tracing::debug!("a handler reported progress after its call had ended");
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the protocol counts in floating point"
)]
fn as_number(count: u64) -> f64 {
    count as f64
}
