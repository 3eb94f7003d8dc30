//! Sessions of the handshake eras over HTTP: rmcp's, bounded in number, each with an owner, and safe against ids that are
//! used twice.
//!
//! An open session costs tens of kilobytes in rmcp: channels and tasks that wait. One that nobody uses for a while is put to
//! rest: rmcp's part of it goes, what belongs to the client stays, and its next message wakes it up.
//!
//! rmcp can lose an answer when a client uses the id of a request that still runs. Requests therefore pass the same list
//! of running ids as on stdio; what rmcp knows a request by is changed back on the way out.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
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
            RestoreOutcome, SessionId, SessionManager,
            session::{
                ServerSseMessage, SessionState, SessionStore, SessionStoreError,
                local::{
                    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
                    SessionConfig,
                },
            },
        },
    },
};
use tokio_util::sync::CancellationToken;

use crate::mcp::{Connection, in_flight::InFlight, message};

/// The sessions of one world.
pub(super) struct Sessions {
    local: LocalSessionManager,
    open: Mutex<HashMap<SessionId, Arc<Session>>>,
    /// Who is opening a session.
    opening: Mutex<Vec<Owner>>,
    bounds: SessionBounds,
    /// Ends the streams that nothing else would end.
    stopping: CancellationToken,
}

/// How many sessions may be open, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct SessionBounds {
    /// Sessions of one world.
    pub max: usize,
    /// Sessions of one caller in one world, where callers sign in.
    pub max_per_caller: usize,
    /// How long a session stays awake that nobody uses. Waking it up takes a fraction of a millisecond.
    pub rest_after: Duration,
    /// How long a session may be open without a message.
    pub idle: Duration,
}

/// Who opened a session: what the caller is known by. Where nobody signs in, all callers are the same one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner(pub(super) Option<String>);

struct Session {
    in_flight: InFlight,
    owner: Mutex<Owner>,
    connection: Mutex<Arc<Connection>>,
    life: Mutex<Life>,
    /// Held while it is put to rest, so that nobody finds half a session.
    switching: tokio::sync::Mutex<()>,
}

/// Where a session is between awake and gone.
struct Life {
    /// Requests and streams that need it.
    users: usize,
    last_used: Instant,
    /// The end of rmcp's part is told to us some time after we have made it: so many more of these say nothing.
    late_ends: usize,
    /// What the client said when it opened the session, which wakes it up.
    opened_with: Option<SessionState>,
}

/// Keeps a session awake.
pub(super) struct Using(Arc<Session>);

impl Using {
    fn new(session: &Arc<Session>) -> Self {
        session.life().users += 1;
        Self(Arc::clone(session))
    }

    /// Waits until the session is whole, if it is just being put to rest.
    pub(super) async fn awake(&self) {
        drop(self.0.switching.lock().await);
    }

    pub(super) fn connection(&self) -> Arc<Connection> {
        let connection = self.0.connection.lock();
        Arc::clone(&connection.unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Using {
    fn drop(&mut self) {
        let mut life = self.0.life();
        life.users -= 1;
        life.last_used = Instant::now();
    }
}

impl Session {
    fn new(connection: Arc<Connection>) -> Self {
        Self {
            in_flight: InFlight::default(),
            owner: Mutex::default(),
            connection: Mutex::new(connection),
            life: Mutex::new(Life {
                users: 0,
                last_used: Instant::now(),
                late_ends: 0,
                opened_with: None,
            }),
            switching: tokio::sync::Mutex::default(),
        }
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody has used it for so long.
    fn is_idle_for(&self, time: Duration) -> bool {
        let life = self.life();
        life.users == 0 && self.in_flight.is_empty() && life.last_used.elapsed() >= time
    }

    fn is_of(&self, owner: &Owner) -> bool {
        *self.owner.lock().unwrap_or_else(PoisonError::into_inner) == *owner
    }
}

/// A place for a session that is being opened.
pub(super) struct Opening<'a> {
    sessions: &'a Sessions,
    owner: Owner,
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        let mut opening = self.sessions.opening();
        if let Some(place) = opening.iter().position(|owner| *owner == self.owner) {
            opening.swap_remove(place);
        }
    }
}

impl Sessions {
    pub(super) fn new(bounds: SessionBounds, stopping: CancellationToken) -> Self {
        let mut config = SessionConfig::default();
        // Who is idle, and for how long, is decided here.
        config.keep_alive = None;
        // A stream that breaks off is not worth resuming: the answer is there when the client asks again.
        config.sse_retry = None;
        let mut local = LocalSessionManager::default();
        local.session_config = config;
        Self {
            local,
            open: Mutex::default(),
            opening: Mutex::default(),
            bounds,
            stopping,
        }
    }

    /// A place for a new session, if there is one. One that has just been opened counts twice for a moment, so that
    /// there never are too many.
    pub(super) fn begin_opening(&self, owner: &Owner) -> Option<Opening<'_>> {
        let mut opening = self.opening();
        let open = self.open();
        let own = match owner.0 {
            Some(_) => {
                let bound = open.values().filter(|open| open.is_of(owner)).count();
                bound + opening.iter().filter(|&other| other == owner).count()
            }
            None => 0,
        };
        let all = open.len() + opening.len();
        if all >= self.bounds.max || own >= self.bounds.max_per_caller {
            return None;
        }
        opening.push(owner.clone());
        Some(Opening {
            sessions: self,
            owner: owner.clone(),
        })
    }

    fn opening(&self) -> MutexGuard<'_, Vec<Owner>> {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something for a new session to keep what belongs to its client.
    pub(super) fn connection(&self) -> Arc<Connection> {
        Arc::new(Connection::until(&self.stopping))
    }

    /// Binds a session that was just opened to its owner, and to what is kept for it.
    pub(super) fn bind(&self, id: &str, owner: Owner, connection: &Arc<Connection>) {
        if let Some(session) = self.open().get(id) {
            let kept = session.connection.lock();
            *kept.unwrap_or_else(PoisonError::into_inner) = Arc::clone(connection);
            *session.owner.lock().unwrap_or_else(PoisonError::into_inner) = owner;
        }
    }

    /// The session of this id, if `owner` has it open. That of somebody else is as unknown as any.
    pub(super) fn using(&self, id: &str, owner: &Owner) -> Option<Using> {
        let open = self.open();
        let session = open.get(id).filter(|session| session.is_of(owner))?;
        Some(Using::new(session))
    }

    /// Puts sessions to rest that nobody uses, and ends those that nobody has used for too long, until the server stops.
    pub(super) async fn look_after(self: Arc<Self>) {
        let pause = self.bounds.rest_after.min(self.bounds.idle) / 4;
        let mut ticks = tokio::time::interval(pause.max(Duration::from_millis(5)));
        loop {
            tokio::select! {
                () = self.stopping.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let open: Vec<(SessionId, Arc<Session>)> = {
                let open = self.open();
                let pairs = open
                    .iter()
                    .map(|(id, session)| (id.clone(), Arc::clone(session)));
                pairs.collect()
            };
            for (id, session) in open {
                if session.is_idle_for(self.bounds.idle) {
                    self.end(&id).await;
                } else if session.is_idle_for(self.bounds.rest_after) {
                    self.rest(&id, &session).await;
                }
            }
        }
    }

    async fn rest(&self, id: &SessionId, session: &Session) {
        let _switching = session.switching.lock().await;
        let is_awake = self.local.has_session(id).await.unwrap_or(false);
        // Somebody may have come since, who now waits for the switching to be over.
        if !is_awake || !session.is_idle_for(self.bounds.rest_after) {
            return;
        }
        {
            let mut life = session.life();
            if life.opened_with.is_none() {
                return;
            }
            life.late_ends += 1;
        }
        let connection = session.connection.lock();
        connection.unwrap_or_else(PoisonError::into_inner).rest();
        if self.local.close_session(id).await.is_err() {
            tracing::debug!("a session had ended before it was put to rest");
        }
    }

    /// Ends a session for good.
    async fn end(&self, id: &SessionId) {
        let session = self.open().remove(id);
        if let Some(session) = &session {
            // Whoever is about to use it finds no session any more, instead of half of one.
            drop(session.switching.lock().await);
        }
        if self.local.close_session(id).await.is_err() {
            tracing::debug!("a session had ended before it was closed");
        }
    }

    /// Ends every session.
    pub(super) async fn close_all(&self) {
        let ids: Vec<SessionId> = self.open().keys().cloned().collect();
        for id in ids {
            self.end(&id).await;
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
        let session = Arc::new(Session::new(self.connection()));
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
        let session = self.open().get(id).cloned();
        if let Some(session) = session {
            let mut life = session.life();
            if life.late_ends > 0 {
                life.late_ends -= 1;
                return Ok(());
            }
        }
        self.end(id).await;
        Ok(())
    }

    async fn restore_session(
        &self,
        id: SessionId,
    ) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        let session = self.session(&id)?;
        Ok(match self.local.restore_session(id).await? {
            RestoreOutcome::Restored(worker) => {
                RestoreOutcome::Restored(SessionTransport { worker, session })
            }
            RestoreOutcome::AlreadyPresent => RestoreOutcome::AlreadyPresent,
            _ => RestoreOutcome::NotSupported,
        })
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
        let using = Using::new(&session);
        let answers = answers.map(move |answer| {
            let _awake = &using;
            with_id(answer, &known_by, &client_id)
        });
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
        let using = Using::new(&self.session(id)?);
        let notices = self.local.create_standalone_stream(id).await?;
        let notices = notices.inspect(move |_| {
            let _awake = &using;
        });
        Ok(notices.take_until(self.stopping.clone().cancelled_owned()))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let using = Using::new(&self.session(id)?);
        let rest = self.local.resume(id, last_event_id).await?;
        let rest = rest.inspect(move |_| {
            let _awake = &using;
        });
        Ok(rest.take_until(self.stopping.clone().cancelled_owned()))
    }
}

/// What clients said when they opened their sessions: rmcp asks for it when a session that it does not have is used.
pub(super) struct Kept(pub(super) Arc<Sessions>);

#[async_trait::async_trait]
impl SessionStore for Kept {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let session = self.0.open().get(id).cloned();
        Ok(session.and_then(|session| session.life().opened_with.clone()))
    }

    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        if let Some(session) = self.0.open().get(id) {
            session.life().opened_with = Some(state.clone());
        }
        Ok(())
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        self.0.end(&SessionId::from(id)).await;
        Ok(())
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
        let bounds = SessionBounds {
            max: 2,
            max_per_caller: 1,
            rest_after: Duration::from_secs(60),
            idle: Duration::from_secs(60),
        };
        let sessions = Sessions::new(bounds, CancellationToken::new());
        let owner = Owner(Some("ada".to_owned()));
        let opening = sessions.begin_opening(&owner).expect("there is room");
        assert!(sessions.begin_opening(&owner).is_none(), "one is enough");
        let (id, _transport) = sessions.create_session().await.expect("a session");
        sessions.bind(&id, owner.clone(), &sessions.connection());
        drop(opening);
        assert!(sessions.using(&id, &owner).is_some());
        assert!(
            sessions
                .using(&id, &Owner(Some("eve".to_owned())))
                .is_none()
        );
        assert!(sessions.using(&id, &Owner::default()).is_none());
        assert!(sessions.using("another", &owner).is_none());
        assert!(sessions.begin_opening(&owner).is_none(), "one is enough");
        let (_, _other) = sessions.create_session().await.expect("a session");
        let eve = Owner(Some("eve".to_owned()));
        assert!(sessions.begin_opening(&eve).is_none(), "it is full");
        sessions.close_all().await;
        assert!(sessions.using(&id, &owner).is_none());
        assert!(sessions.begin_opening(&owner).is_some());
    }
}
