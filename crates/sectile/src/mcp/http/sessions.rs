//! Sessions of the handshake eras over HTTP: rmcp's, bounded in number, each with an owner, and safe against ids that are
//! used twice.
//!
//! rmcp can lose an answer when a client uses the id of a request that still runs. Requests therefore pass the same list
//! of running ids as on stdio; what rmcp knows a request by is changed back on the way out.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{Stream, StreamExt as _, stream};
use rmcp::{
    RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    },
    transport::{
        Transport, WorkerTransport,
        streamable_http_server::{
            SessionId, SessionManager,
            session::{
                ServerSseMessage,
                local::{
                    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
                    SessionConfig,
                },
            },
        },
    },
};
use tokio_util::sync::CancellationToken;

use crate::mcp::{in_flight::InFlight, message};

/// The sessions of one world.
pub(super) struct Sessions {
    local: LocalSessionManager,
    open: Mutex<HashMap<SessionId, Arc<Session>>>,
    /// Sessions that are being opened.
    opening: AtomicUsize,
    max: usize,
    /// Ends the streams that nothing else would end.
    stopping: CancellationToken,
}

/// Who opened a session. Whoever authenticates callers puts it into the extensions of their requests; until then all
/// callers are the same one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner(pub(super) Option<String>);

#[derive(Default)]
struct Session {
    in_flight: InFlight,
    owner: Mutex<Owner>,
}

/// A place for a session that is being opened.
pub(super) struct Opening<'a>(&'a AtomicUsize);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Sessions {
    pub(super) fn new(max: usize, idle: Duration, stopping: CancellationToken) -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(idle);
        // A stream that breaks off is not worth resuming: the answer is there when the client asks again.
        config.sse_retry = None;
        let mut local = LocalSessionManager::default();
        local.session_config = config;
        Self {
            local,
            open: Mutex::default(),
            opening: AtomicUsize::new(0),
            max,
            stopping,
        }
    }

    /// A place for a new session, if there is one. One that has just been opened counts twice for a moment, so that
    /// there never are too many.
    pub(super) fn begin_opening(&self) -> Option<Opening<'_>> {
        let others = self.opening.fetch_add(1, Ordering::SeqCst);
        let opening = Opening(&self.opening);
        (self.open().len() + others < self.max).then_some(opening)
    }

    /// Binds a session that was just opened to its owner.
    pub(super) fn bind(&self, id: &str, owner: Owner) {
        if let Some(session) = self.open().get(id) {
            *session.owner.lock().unwrap_or_else(PoisonError::into_inner) = owner;
        }
    }

    /// Whether `owner` has this session open. That of somebody else is as unknown as any.
    pub(super) fn is_open(&self, id: &str, owner: &Owner) -> bool {
        let session = self.open().get(id).cloned();
        session.is_some_and(|session| {
            *session.owner.lock().unwrap_or_else(PoisonError::into_inner) == *owner
        })
    }

    /// Ends every session.
    pub(super) async fn close_all(&self) {
        let ids: Vec<SessionId> = self.open().keys().cloned().collect();
        for id in ids {
            if self.close_session(&id).await.is_err() {
                tracing::debug!("a session had ended before it was closed");
            }
        }
    }

    fn session(&self, id: &SessionId) -> Result<Arc<Session>, LocalSessionManagerError> {
        let session = self.open().get(id).cloned();
        session.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, worker) = self.local.create_session().await?;
        let session = Arc::<Session>::default();
        self.open().insert(id.clone(), Arc::clone(&session));
        Ok((id, SessionTransport { worker, session }))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.local.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.open().remove(id);
        self.local.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let session = self.session(id)?;
        let JsonRpcMessage::Request(mut request) = message else {
            return Ok(stream::empty().left_stream().left_stream());
        };
        let Some(known_by) = session.in_flight.start(&request.id) else {
            let refusal = JsonRpcMessage::Error(message::still_running(request.id));
            let refusal = ServerSseMessage::from_message(refusal);
            return Ok(stream::iter([refusal]).right_stream().left_stream());
        };
        let client_id = std::mem::replace(&mut request.id, known_by.clone());
        let answers = self
            .local
            .create_stream(id, JsonRpcMessage::Request(request))
            .await
            .inspect_err(|_| {
                session.in_flight.finish(&known_by);
            })?;
        let answers = answers.map(move |answer| with_id(answer, &known_by, &client_id));
        Ok(answers.right_stream())
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        if let JsonRpcMessage::Notification(notification) = &mut message
            && let ClientNotification::CancelledNotification(cancelled) =
                &mut notification.notification
            && let Some(request_id) = &mut cancelled.params.request_id
            && let Some(known_by) = self.session(id)?.in_flight.cancel(request_id)
        {
            *request_id = known_by;
        }
        self.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let notices = self.local.create_standalone_stream(id).await?;
        Ok(notices.take_until(self.stopping.clone().cancelled_owned()))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let rest = self.local.resume(id, last_event_id).await?;
        Ok(rest.take_until(self.stopping.clone().cancelled_owned()))
    }
}

/// rmcp's transport of a session, watched for answers: an id is free as soon as its answer is on the way.
pub(super) struct SessionTransport {
    worker: WorkerTransport<LocalSessionWorker>,
    session: Arc<Session>,
}

impl Transport<RoleServer> for SessionTransport {
    type Error = <WorkerTransport<LocalSessionWorker> as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let Some(id) = message::answered(&item) {
            self.session.in_flight.finish(id);
        }
        self.worker.send(item)
    }

    fn receive(&mut self) -> impl Future<Output = Option<ClientJsonRpcMessage>> + Send {
        self.worker.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.worker.close()
    }
}

/// The answer under the id that the client gave its request.
fn with_id(
    mut answer: ServerSseMessage,
    known_by: &RequestId,
    client_id: &RequestId,
) -> ServerSseMessage {
    if known_by == client_id {
        return answer;
    }
    if let Some(message) = answer.message.as_mut().map(Arc::make_mut)
        && let Some(id) = message::answered_mut(message)
        && id == known_by
    {
        *id = client_id.clone();
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_session_is_unknown_to_all_but_its_owner() {
        let sessions = Sessions::new(1, Duration::from_secs(60), CancellationToken::new());
        let opening = sessions.begin_opening().expect("there is room");
        let (id, _transport) = sessions.create_session().await.expect("a session");
        let owner = Owner(Some("ada".to_owned()));
        sessions.bind(&id, owner.clone());
        drop(opening);
        assert!(sessions.is_open(&id, &owner));
        assert!(!sessions.is_open(&id, &Owner(Some("eve".to_owned()))));
        assert!(!sessions.is_open(&id, &Owner::default()));
        assert!(!sessions.is_open("another", &owner));
        assert!(sessions.begin_opening().is_none(), "it is full");
        sessions.close_all().await;
        assert!(!sessions.is_open(&id, &owner));
        assert!(sessions.begin_opening().is_some());
    }
}
