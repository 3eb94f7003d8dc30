//! The certificate that a server presents, and its key.

use std::sync::Arc;

use rustls::{
    Error, InconsistentKeys, ServerConfig,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
};

/// The one protocol that is offered over an encrypted connection.
const HTTP_1_1: &[u8] = b"http/1.1";

/// A certificate chain and its key.
pub struct ServerTls {
    config: Arc<ServerConfig>,
}

impl ServerTls {
    /// Parses PEM text.
    ///
    /// # Errors
    /// Says what is wrong with it, in a few words.
    pub fn from_pem(certificates: &str, key: &str) -> Result<Self, &'static str> {
        let chain: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(certificates.as_bytes())
                .collect::<Result<_, _>>()
                .map_err(|_| "the certificate is damaged")?;
        if chain.is_empty() {
            return Err("there is no certificate");
        }
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| match error {
            pem::Error::NoItemsFound => "there is no private key",
            _ => "the private key is damaged",
        })?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|_| "no TLS version is supported")?
            .with_no_client_auth();
        let mut config = config.with_single_cert(chain, key).map_err(|error| {
            use InconsistentKeys::KeyMismatch;
            match error {
                Error::InconsistentKeys(KeyMismatch) => {
                    "the private key does not match the certificate"
                }
                Error::InvalidCertificate(_) => "the certificate is damaged",
                _ => "the type of the private key is not supported",
            }
        })?;
        config.alpn_protocols = vec![HTTP_1_1.to_vec()];
        Ok(Self {
            config: Arc::new(config),
        })
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}
