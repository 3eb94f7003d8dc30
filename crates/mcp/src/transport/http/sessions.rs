//! Sessions of the handshake eras over HTTP: rmcp's, bounded in number, each with an owner, and safe against reused
//! ids.
//!
//! An open session costs tens of kilobytes in rmcp: channels and tasks that wait. A session that is idle for a while is
//! put to rest: rmcp's part of it is dropped, the client's state is kept, and its next message wakes it up.
//!
//! A session belongs to its owner from the moment that rmcp makes it: the endpoint says for whom it opens one in a
//! task-local ([`SessionReservation`]), because rmcp does not. A client that disconnects before the answer was sent
//! leaves no session behind, and one that its client never comes back to ends soon.
//!
//! rmcp can lose an answer when a client uses the id of a request that still runs. Requests therefore pass the same
//! list of running ids as on stdio; rmcp's id of a request is changed back on the way out.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures::{Stream, StreamExt as _, stream};
use parking_lot::Mutex;
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
                    SessionConfig, SessionError,
                },
            },
        },
    },
};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::{
    Connection,
    access::{Authenticator, LiveValue},
    transport::{in_flight::InFlightRequests, message},
};

/// The sessions of one world.
pub(super) struct Sessions {
    local: LocalSessionManager,
    places: Mutex<SessionTable>,
    bounds: SessionBounds,
    /// The authenticator, if callers sign in.
    authenticator: Option<Arc<LiveValue<Authenticator>>>,
    /// Ends the streams that nothing else would end.
    stopping: CancellationToken,
}

/// The sessions and reservations. Each counts once: while the session is being opened, then as the session.
#[derive(Default)]
struct SessionTable {
    open: HashMap<SessionId, Arc<HttpSession>>,
    /// Owners of sessions that are being opened and that rmcp has not made yet.
    opening: Vec<Owner>,
}

impl SessionTable {
    fn of(&self, owner: &Owner) -> usize {
        let open = self.open.values().filter(|open| open.owner == *owner);
        let opening = self.opening.iter().filter(|&other| other == owner);
        open.count() + opening.count()
    }

    /// Releases a reservation that no session was made for.
    fn free(&mut self, owner: &Owner) {
        if let Some(place) = self.opening.iter().position(|other| other == owner) {
            self.opening.swap_remove(place);
        }
    }
}

/// Limits on the number and lifetime of sessions.
#[derive(Clone, Copy, Debug)]
pub struct SessionBounds {
    /// Sessions of one world.
    pub max: usize,
    /// Sessions of one caller in one world, if callers sign in.
    pub max_per_caller: usize,
    /// How long an idle session stays awake. Waking it up takes a fraction of a millisecond.
    pub rest_after: Duration,
    /// How long a session may be open without a message.
    pub idle: Duration,
    /// How long a session is kept if its client has not come back since the handshake.
    pub confirm_within: Duration,
}

/// The caller that opened a session. If callers do not sign in, all of them are the same one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner(pub(super) Option<String>);

struct HttpSession {
    in_flight: InFlightRequests,
    owner: Owner,
    connection: Arc<Connection>,
    /// Number of notice streams that its client has open.
    streams: Arc<AtomicUsize>,
    life: Mutex<SessionLife>,
    /// Held while it is put to rest, so that no request finds half a session.
    switching: tokio::sync::Mutex<()>,
}

/// The state of a session between awake and closed.
struct SessionLife {
    /// Requests and streams that need it.
    users: usize,
    last_used: Instant,
    /// Whether its client has come back after the handshake.
    is_confirmed: bool,
    /// Number of end events to ignore: rmcp reports the end of its part some time after we have caused it.
    late_ends: usize,
    /// The client's handshake, which wakes the session up.
    opened_with: Option<SessionState>,
}

/// Keeps a session awake.
pub(super) struct SessionLease(Arc<HttpSession>);

impl SessionLease {
    fn new(session: &Arc<HttpSession>) -> Self {
        session.life.lock().users += 1;
        Self(Arc::clone(session))
    }

    /// Waits until the session is complete, if it is just being put to rest.
    pub(super) async fn awake(&self) {
        drop(self.0.switching.lock().await);
    }

    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.0.connection
    }

    /// Takes a slot for one more notice stream of this session, if there is one.
    pub(super) fn stream(&self) -> Option<StreamSlot> {
        let place = StreamSlot(Arc::clone(&self.0.streams));
        (self.0.streams.fetch_add(1, Ordering::Relaxed) < MAX_STREAMS).then_some(place)
    }
}

impl Drop for SessionLease {
    fn drop(&mut self) {
        let mut life = self.0.life.lock();
        life.users -= 1;
        life.last_used = Instant::now();
    }
}

/// Number of notice streams that one session may have open. One is enough; a client that lost one may not know it yet.
const MAX_STREAMS: usize = 8;

/// The slot of a notice stream, released when dropped.
pub(super) struct StreamSlot(Arc<AtomicUsize>);

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl HttpSession {
    fn new(owner: Owner, connection: Arc<Connection>) -> Self {
        Self {
            in_flight: InFlightRequests::default(),
            owner,
            connection,
            streams: Arc::default(),
            life: Mutex::new(SessionLife {
                users: 0,
                last_used: Instant::now(),
                is_confirmed: false,
                late_ends: 0,
                opened_with: None,
            }),
            switching: tokio::sync::Mutex::default(),
        }
    }

    /// Returns whether it has been idle for this long.
    fn is_idle_for(&self, time: Duration) -> bool {
        let life = self.life.lock();
        life.users == 0 && self.in_flight.is_empty() && life.last_used.elapsed() >= time
    }

    /// Returns whether its client should have come back after the handshake, but never did.
    fn is_abandoned(&self, confirm_within: Duration) -> bool {
        !self.life.lock().is_confirmed && self.is_idle_for(confirm_within)
    }
}

tokio::task_local! {
    /// The reservation of the session that the current request opens.
    static OPENING: Arc<ReservedSession>;
}

/// Reservation of a session that is being opened. Dropped before [`SessionReservation::complete`], it closes the
/// session.
pub(super) struct SessionReservation {
    sessions: Arc<Sessions>,
    reserved: Arc<ReservedSession>,
    is_complete: bool,
}

/// The parts that a session will be made of.
struct ReservedSession {
    owner: Owner,
    connection: Arc<Connection>,
    /// The session, once there is one.
    made: Mutex<Option<SessionId>>,
}

impl SessionReservation {
    /// Returns the state that will be kept for the session.
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.reserved.connection
    }

    /// Lets `handshake` make the session.
    pub(super) async fn during<T>(&self, handshake: impl Future<Output = T>) -> T {
        OPENING.scope(Arc::clone(&self.reserved), handshake).await
    }

    /// Keeps the session: the answer to the handshake was sent.
    pub(super) fn complete(mut self) {
        self.is_complete = true;
    }
}

impl Drop for SessionReservation {
    fn drop(&mut self) {
        if self.is_complete {
            return;
        }
        let made = self.reserved.made.lock().take();
        let Some(id) = made else {
            return self.sessions.places.lock().free(&self.reserved.owner);
        };
        let session = self.sessions.places.lock().open.remove(&id);
        let (Some(session), Ok(runtime)) = (session, Handle::try_current()) else {
            return;
        };
        let sessions = Arc::clone(&self.sessions);
        runtime.spawn(async move { sessions.close(&id, &session).await });
    }
}

impl Sessions {
    pub(super) fn new(
        bounds: SessionBounds,
        authenticator: Option<Arc<LiveValue<Authenticator>>>,
        stopping: CancellationToken,
    ) -> Self {
        let mut config = SessionConfig::default();
        // This module decides which sessions are idle, and for how long.
        config.keep_alive = None;
        // A broken stream is not worth resuming: the answer is there when the client asks again.
        config.sse_retry = None;
        config.completed_cache_ttl = Duration::ZERO;
        let mut local = LocalSessionManager::default();
        local.session_config = config;
        Self {
            local,
            places: Mutex::default(),
            bounds,
            authenticator,
            stopping,
        }
    }

    /// Reserves a new session, if there is room.
    pub(super) fn begin_opening(self: &Arc<Self>, owner: &Owner) -> Option<SessionReservation> {
        let mut places = self.places.lock();
        let all = places.open.len() + places.opening.len();
        let own = owner.0.as_ref().map_or(0, |_| places.of(owner));
        if all >= self.bounds.max || own >= self.bounds.max_per_caller {
            return None;
        }
        places.opening.push(owner.clone());
        let reserved = Arc::new(ReservedSession {
            owner: owner.clone(),
            connection: Arc::new(Connection::until(&self.stopping)),
            made: Mutex::default(),
        });
        Some(SessionReservation {
            sessions: Arc::clone(self),
            reserved,
            is_complete: false,
        })
    }

    /// Returns the session with this id if `owner` has it open. That of another caller is as unknown as any.
    pub(super) fn using(&self, id: &str, owner: &Owner) -> Option<SessionLease> {
        let places = self.places.lock();
        let session = places.open.get(id);
        let session = session.filter(|session| session.owner == *owner)?;
        session.life.lock().is_confirmed = true;
        Some(SessionLease::new(session))
    }

    /// Puts idle sessions to rest, and ends those that were idle for too long or whose key was revoked, until the
    /// server stops.
    pub(super) async fn look_after(self: Arc<Self>) {
        let SessionBounds {
            rest_after,
            idle,
            confirm_within,
            ..
        } = self.bounds;
        let pause = rest_after.min(idle).min(confirm_within) / 4;
        let mut ticks = tokio::time::interval(pause.max(Duration::from_millis(5)));
        let authenticator = self.authenticator.as_ref();
        let mut replacements = authenticator.map(|live| live.replacements());
        loop {
            let replaced = async {
                match &mut replacements {
                    Some(replacements) => replacements.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = replaced => {
                    self.end_revoked().await;
                    continue;
                }
                _ = ticks.tick() => {}
            }
            for (id, session) in self.all() {
                if session.is_idle_for(idle) || session.is_abandoned(confirm_within) {
                    self.end(&id).await;
                } else if session.is_idle_for(rest_after) {
                    self.rest(&id, &session).await;
                }
            }
        }
    }

    /// Ends the sessions that were last used with a key that is no longer valid.
    async fn end_revoked(&self) {
        let Some(authenticator) = self.authenticator.as_ref().map(|live| live.get()) else {
            return;
        };
        for (id, session) in self.all() {
            let mark = session.connection.permit().mark();
            if mark.is_some_and(|mark| !authenticator.knows(&mark)) {
                self.end(&id).await;
            }
        }
    }

    fn all(&self) -> Vec<(SessionId, Arc<HttpSession>)> {
        let places = self.places.lock();
        let open = places.open.iter();
        open.map(|(id, session)| (id.clone(), Arc::clone(session)))
            .collect()
    }

    async fn rest(&self, id: &SessionId, session: &HttpSession) {
        let _switching = session.switching.lock().await;
        let is_awake = self.local.has_session(id).await.unwrap_or(false);
        // A request may have come since, which now waits for the switch to be over.
        if !is_awake || !session.is_idle_for(self.bounds.rest_after) {
            return;
        }
        {
            let mut life = session.life.lock();
            if life.opened_with.is_none() {
                return;
            }
            life.late_ends += 1;
        }
        session.connection.rest();
        session.in_flight.shrink();
        if self.local.close_session(id).await.is_err() {
            tracing::debug!("a session had ended before it was put to rest");
        }
    }

    /// Ends a session for good.
    async fn end(&self, id: &SessionId) {
        let session = self.places.lock().open.remove(id);
        match session {
            Some(session) => self.close(id, &session).await,
            None => self.close_local(id).await,
        }
    }

    /// Ends what is left of a session that can no longer be found.
    async fn close(&self, id: &SessionId, session: &HttpSession) {
        // A request that is about to use it finds no session, instead of half of one.
        drop(session.switching.lock().await);
        self.close_local(id).await;
    }

    async fn close_local(&self, id: &SessionId) {
        if self.local.close_session(id).await.is_err() {
            tracing::debug!("a session had ended before it was closed");
        }
    }

    /// Ends every session.
    pub(super) async fn close_all(&self) {
        for (id, _) in self.all() {
            self.end(&id).await;
        }
    }

    fn session(&self, id: &SessionId) -> Result<Arc<HttpSession>, LocalSessionManagerError> {
        let session = self.places.lock().open.get(id).cloned();
        session.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let reserved = OPENING.try_with(Arc::clone);
        let reserved = reserved.map_err(|_| SessionError::SessionServiceTerminated)?;
        let (id, worker) = self.local.create_session().await?;
        let connection = Arc::clone(&reserved.connection);
        let session = Arc::new(HttpSession::new(reserved.owner.clone(), connection));
        {
            let mut places = self.places.lock();
            places.free(&reserved.owner);
            places.open.insert(id.clone(), Arc::clone(&session));
        }
        *reserved.made.lock() = Some(id.clone());
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
        let session = self.places.lock().open.get(id).cloned();
        if let Some(session) = session {
            let mut life = session.life.lock();
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
        let using = SessionLease::new(&session);
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
        let using = SessionLease::new(&self.session(id)?);
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
        let using = SessionLease::new(&self.session(id)?);
        let rest = self.local.resume(id, last_event_id).await?;
        let rest = rest.inspect(move |_| {
            let _awake = &using;
        });
        Ok(rest.take_until(self.stopping.clone().cancelled_owned()))
    }
}

/// The handshakes of the clients: rmcp asks for one when a session that it does not have is used.
pub(super) struct HandshakeStore(pub(super) Arc<Sessions>);

#[async_trait::async_trait]
impl SessionStore for HandshakeStore {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let session = self.0.places.lock().open.get(id).cloned();
        Ok(session.and_then(|session| session.life.lock().opened_with.clone()))
    }

    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        if let Some(session) = self.0.places.lock().open.get(id) {
            session.life.lock().opened_with = Some(state.clone());
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
    session: Arc<HttpSession>,
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

/// Returns the answer under the id that the client gave its request.
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

    fn sessions(max: usize, max_per_caller: usize) -> Arc<Sessions> {
        let bounds = SessionBounds {
            max,
            max_per_caller,
            rest_after: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            confirm_within: Duration::from_secs(60),
        };
        Arc::new(Sessions::new(bounds, None, CancellationToken::new()))
    }

    fn owner(name: &str) -> Owner {
        Owner(Some(name.to_owned()))
    }

    /// Opens a session as rmcp does while a handshake is served.
    async fn open(
        sessions: &Arc<Sessions>,
        opening: &SessionReservation,
    ) -> (SessionId, SessionTransport) {
        let made = opening.during(sessions.create_session()).await;
        made.expect("a session")
    }

    #[tokio::test]
    async fn a_session_is_unknown_to_all_but_its_owner() {
        let sessions = sessions(2, 1);
        let (ada, eve) = (owner("ada"), owner("eve"));
        let opening = sessions.begin_opening(&ada).expect("there is room");
        assert!(sessions.begin_opening(&ada).is_none(), "one is enough");
        let (id, _transport) = open(&sessions, &opening).await;
        assert!(sessions.begin_opening(&ada).is_none(), "one is enough");
        opening.complete();
        assert!(sessions.using(&id, &ada).is_some());
        assert!(sessions.using(&id, &eve).is_none());
        assert!(sessions.using(&id, &Owner::default()).is_none());
        assert!(sessions.using("another", &ada).is_none());
        assert!(sessions.begin_opening(&ada).is_none(), "one is enough");
        let opening = sessions.begin_opening(&eve).expect("there is room");
        let (_, _other) = open(&sessions, &opening).await;
        opening.complete();
        let bob = owner("bob");
        assert!(sessions.begin_opening(&bob).is_none(), "it is full");
        sessions.close_all().await;
        assert!(sessions.using(&id, &ada).is_none());
        assert!(sessions.begin_opening(&ada).is_some());
    }

    #[tokio::test]
    async fn whoever_hangs_up_during_the_handshake_leaves_nothing_behind() {
        let sessions = sessions(100, 2);
        let eve = owner("eve");
        for round in 0..50 {
            let opening = sessions.begin_opening(&eve).expect("there is room");
            // Both before there is a session, and after.
            let made = match round % 2 {
                0 => None,
                _ => Some(open(&sessions, &opening).await),
            };
            drop(opening);
            if let Some((id, _transport)) = made {
                assert!(sessions.using(&id, &eve).is_none());
            }
        }
        let places = sessions.places.lock();
        assert_eq!((places.open.len(), places.opening.len()), (0, 0));
    }

    #[tokio::test]
    async fn a_session_is_made_for_somebody_or_not_at_all() {
        let sessions = sessions(1, 1);
        assert!(sessions.create_session().await.is_err());
        assert!(sessions.places.lock().open.is_empty());
    }

    #[tokio::test]
    async fn a_session_that_its_client_never_comes_back_to_is_abandoned() {
        let sessions = sessions(2, 2);
        let ada = owner("ada");
        for comes_back in [false, true] {
            let opening = sessions.begin_opening(&ada).expect("there is room");
            let (id, _transport) = open(&sessions, &opening).await;
            opening.complete();
            let session = sessions.session(&id).expect("it is open");
            assert!(!session.is_abandoned(Duration::from_secs(60)));
            if comes_back {
                drop(sessions.using(&id, &ada));
            }
            assert_eq!(session.is_abandoned(Duration::ZERO), !comes_back);
        }
    }

    #[tokio::test]
    async fn a_session_has_only_so_many_streams() {
        let sessions = sessions(1, 1);
        let ada = owner("ada");
        let opening = sessions.begin_opening(&ada).expect("there is room");
        let (id, _transport) = open(&sessions, &opening).await;
        opening.complete();
        let using = sessions.using(&id, &ada).expect("it is open");
        let mut streams: Vec<_> = std::iter::from_fn(|| using.stream()).collect();
        assert_eq!(streams.len(), MAX_STREAMS);
        assert!(using.stream().is_none());
        streams.pop();
        assert!(using.stream().is_some());
    }
}
