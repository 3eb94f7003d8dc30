//! TLS in front of PostgreSQL, as its protocol requires: the client asks, the server agrees, and then both encrypt.
//!
//! It replaces `ssl = on` with rules that accept only `hostssl`: the PostgreSQL used in tests cannot encrypt.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::background::{Background, adopt, listen, loopback};

const ENCRYPT: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
const ENCRYPT_WITH_KERBEROS: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 48];
/// The first byte of TLS, from clients that do not ask first.
const HANDSHAKE: u8 = 22;
const NOT_ENCRYPTED: &[u8] =
    b"SFATAL\0VFATAL\0C28000\0Mno pg_hba.conf entry for host \"127.0.0.1\", no encryption\0\0";

/// A self-signed certificate, and its key.
pub(crate) struct Identity {
    pub(crate) pem: String,
    config: Arc<ServerConfig>,
}

impl Identity {
    pub(crate) fn new() -> Result<Self> {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names)?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], PrivateKeyDer::from(key))?;
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self {
            pem: made.cert.pem(),
            config: Arc::new(config),
        })
    }
}

/// Accepts encrypted connections, and forwards their content. It ends when dropped, and its connections are closed.
pub(crate) struct Front {
    _background: Background,
}

impl Front {
    pub(crate) fn start(port: u16, server: u16, identity: &Identity) -> Result<Self> {
        let listener = listen(port)?;
        let acceptor = TlsAcceptor::from(Arc::clone(&identity.config));
        let background = Background::start(async move {
            if let Ok(listener) = adopt(listener) {
                accept(listener, acceptor, loopback(server)).await;
            }
        })?;
        Ok(Self {
            _background: background,
        })
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, server: SocketAddr) {
    while let Ok((client, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            // The client notices a broken connection.
            drop(serve(client, acceptor, server).await);
        });
    }
}

async fn serve(mut client: TcpStream, acceptor: TlsAcceptor, server: SocketAddr) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut first = [0];
    while client.peek(&mut first).await? > 0 && first[0] != HANDSHAKE {
        let mut asked = [0; 8];
        client.read_exact(&mut asked).await?;
        match asked {
            ENCRYPT => {
                client.write_all(b"S").await?;
                break;
            }
            ENCRYPT_WITH_KERBEROS => client.write_all(b"N").await?,
            _ => return refuse(client).await,
        }
    }
    let mut client = acceptor.accept(client).await?;
    let mut server = TcpStream::connect(server).await?;
    server.set_nodelay(true)?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

async fn refuse(mut client: TcpStream) -> io::Result<()> {
    // The rest of the client's bytes is read, or closing would cost it the answer.
    let mut rest = [0; 1024];
    let length = u8::try_from(NOT_ENCRYPTED.len() + 4).unwrap_or(u8::MAX);
    client.write_all(&[b'E', 0, 0, 0, length]).await?;
    client.write_all(NOT_ENCRYPTED).await?;
    client.shutdown().await?;
    while client.read(&mut rest).await? > 0 {}
    Ok(())
}
