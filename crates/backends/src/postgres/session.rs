//! A pool of connections, and a connection in use. Work that nobody waits for any longer is cancelled on the server too.

use std::{ops::Deref, pin::Pin, time::Duration};

use deadpool_postgres::{Connect, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use sectile_library::StorageError;
use tokio::{runtime::Handle, task::JoinHandle};
use tokio_postgres::{CancelToken, Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure::PostgresFailure;
use crate::PostgresSettings;

/// The idle time after which TCP checks whether the server is still there.
const ASKED_AFTER: Duration = Duration::from_secs(30);
/// The time after which unacknowledged data counts as lost.
const UNACKNOWLEDGED: Duration = Duration::from_secs(60);

/// A pool of connections, which are opened when needed.
pub(super) struct Sessions {
    pool: Pool,
    tls: MakeRustlsConnect,
}

impl Sessions {
    pub(super) fn new(settings: &PostgresSettings) -> Result<Self, StorageError> {
        let mut config: Config = settings.connection.parse().map_err(|_| {
            StorageError::failed(
                "The PostgreSQL connection string cannot be parsed. Write it like \
                 `postgres://user@host:5432/database`.",
            )
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(StorageError::failed(
                "The PostgreSQL connection string has no host.",
            ));
        }
        if let Some(password) = &settings.password {
            config.password(password);
        }
        config
            .application_name("sectile")
            .connect_timeout(settings.connect_timeout)
            .keepalives_idle(ASKED_AFTER)
            .tcp_user_timeout(UNACKNOWLEDGED);
        let tls = sectile_client::tls(settings.extra_roots.as_deref()).map_err(|problem| {
            StorageError::failed(format!(
                "The certificates for PostgreSQL cannot be used: {problem}."
            ))
        })?;
        let tls = MakeRustlsConnect::new(tls);
        let recycling_method = RecyclingMethod::Fast;
        let dial = Dialer { tls: tls.clone() };
        let manager = Manager::from_connect(config, dial, ManagerConfig { recycling_method });
        let pool = Pool::builder(manager)
            .max_size(settings.max_connections.max(1))
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(settings.connect_timeout))
            .create_timeout(Some(settings.connect_timeout))
            .recycle_timeout(Some(settings.connect_timeout))
            .build()
            .map_err(|_| StorageError::failed("No connections to PostgreSQL can be made."))?;
        Ok(Self { pool, tls })
    }

    /// Takes a connection for exclusive use.
    pub(super) async fn take(&self) -> Result<Session, PostgresFailure> {
        let client = self.pool.get().await?;
        Ok(Session {
            cancel: client.cancel_token(),
            client: Some(client),
            tls: self.tls.clone(),
            runtime: Handle::current(),
        })
    }

    /// Drops idle connections: if the server was away, they are dead too.
    pub(super) fn forget(&self) {
        self.pool.retain(|_, _| false);
    }
}

/// Opens connections. The library's own way would log what the server said.
struct Dialer {
    tls: MakeRustlsConnect,
}

type ConnectResult = Result<(Client, JoinHandle<()>), Error>;

impl Connect for Dialer {
    fn connect(&self, to: &Config) -> Pin<Box<dyn Future<Output = ConnectResult> + Send + '_>> {
        let (to, tls) = (to.clone(), self.tls.clone());
        Box::pin(async move {
            let (client, connection) = to.connect(tls).await?;
            let task = tokio::spawn(async move {
                if connection.await.is_err() {
                    tracing::debug!("a connection to PostgreSQL broke");
                }
            });
            Ok((client, task))
        })
    }
}

/// A connection in use. Unless it is returned with [`Self::done`], it is closed and its work cancelled.
pub(super) struct Session {
    client: Option<Object>,
    cancel: CancelToken,
    tls: MakeRustlsConnect,
    runtime: Handle,
}

impl Session {
    /// Commits the open transaction, and returns the connection to the pool.
    pub(super) async fn done(mut self) -> Result<(), PostgresFailure> {
        self.client()?.batch_execute("COMMIT").await?;
        self.client = None;
        Ok(())
    }

    /// Returns a connection without an open transaction to the pool.
    pub(super) fn give_back(mut self) {
        self.client = None;
    }

    /// Returns the connection.
    pub(super) fn client(&self) -> Result<&Object, PostgresFailure> {
        self.client
            .as_ref()
            .ok_or_else(|| PostgresFailure::other("The connections to PostgreSQL are closed."))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else {
            return;
        };
        let client = Object::take(client);
        if !client.deref().is_closed() {
            let (cancel, tls) = (self.cancel.clone(), self.tls.clone());
            self.runtime.spawn(async move {
                if cancel.cancel_query(tls).await.is_err() {
                    tracing::debug!("a request to PostgreSQL could not be cancelled");
                }
            });
        }
    }
}
