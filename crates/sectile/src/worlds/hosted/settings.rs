//! The settings of the hosted world.

use std::time::Duration;

use schemars::JsonSchema;
use sectile_client::{BaseUrl, Client, ClientSettings};
use sectile_mcp::access::Secret;
use serde::{Deserialize, Serialize};

use crate::settings::{ConfigErrors, SettingsReader, SettingsSection};

/// The hosted world. It is served over HTTP only, to callers with bearer tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HostedSection {
    /// URL of the note store, such as `https://store.example`. Empty: the world is not served from this file.
    pub(crate) store_url: String,
    /// File with the secret that this gateway sends to the store as X-Gateway-Auth, relative to the settings file. Empty: none.
    pub(crate) gateway_secret_file: String,
    /// Environment variable with the same secret, if there is no file.
    pub(crate) gateway_secret_env: String,
    /// File with certificates (PEM) to trust in addition to the well-known ones, relative to the settings file. Empty: none.
    pub(crate) ca_file: String,
    /// Proxy to reach the store through, such as `http://proxy.example:3128`. Empty: none; the environment is not consulted.
    pub(crate) proxy: String,
    /// Longest time to open a connection to the store, in milliseconds.
    #[schemars(range(min = 1, max = 60_000))]
    pub(crate) connect_timeout_ms: u64,
    /// Longest time until the last byte of the store's answer, in milliseconds.
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) timeout_ms: u64,
    /// Longest answer from the store, in bytes.
    #[schemars(range(min = 1024, max = 67_108_864))]
    pub(crate) max_response_bytes: usize,
    /// Consecutive requests of one user in a vault without an answer after which the store is not asked for that user for a
    /// while. Also the consecutive failed connections, or users without an answer, after which it is not asked for anyone.
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) breaker_failures: u32,
    /// How long the store is then not asked, in milliseconds.
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) breaker_pause_ms: u64,
}

impl Default for HostedSection {
    fn default() -> Self {
        Self {
            store_url: String::new(),
            gateway_secret_file: String::new(),
            gateway_secret_env: String::new(),
            ca_file: String::new(),
            proxy: String::new(),
            connect_timeout_ms: 2000,
            timeout_ms: 10_000,
            max_response_bytes: 16 << 20,
            breaker_failures: 8,
            breaker_pause_ms: 5000,
        }
    }
}

/// The checked settings of the hosted world.
pub(crate) struct HostedSettings {
    pub(crate) store: BaseUrl,
    pub(crate) client: Client,
    pub(crate) gateway_secret: Option<Secret>,
    pub(crate) breaker_failures: u32,
    pub(crate) breaker_pause: Duration,
}

impl SettingsSection for HostedSection {
    /// `None` if no store is configured.
    type Checked = Option<HostedSettings>;

    fn check(&self, reader: SettingsReader<'_>) -> Result<Option<HostedSettings>, ConfigErrors> {
        let Some(store) = reader.target("hosted.store_url", &self.store_url)? else {
            return Ok(None);
        };
        let mut mistakes = ConfigErrors::default();
        let gateway_secret = mistakes.take(reader.secret(
            ("hosted.gateway_secret_file", &self.gateway_secret_file),
            ("hosted.gateway_secret_env", &self.gateway_secret_env),
        ));
        let proxy = mistakes.take(reader.proxy("hosted.proxy", &self.proxy));
        let extra_roots = mistakes.take(reader.text("hosted.ca_file", &self.ca_file));
        let (Some(gateway_secret), Some(proxy), Some(extra_roots)) =
            (gateway_secret, proxy, extra_roots)
        else {
            return Err(mistakes);
        };
        let client = Client::new(ClientSettings {
            connect_timeout: Duration::from_millis(self.connect_timeout_ms),
            timeout: Duration::from_millis(self.timeout_ms),
            max_body_bytes: self.max_response_bytes,
            proxy,
            extra_roots,
        });
        let client = client.map_err(|problem| {
            if problem.contains("proxy") {
                reader.refuse(
                    "hosted.proxy",
                    format!("a proxy that can be used ({problem})"),
                )
            } else {
                let expected = format!("a file of certificates ({problem})");
                reader.refuse("hosted.ca_file", expected)
            }
        })?;
        Ok(Some(HostedSettings {
            store,
            client,
            gateway_secret,
            breaker_failures: self.breaker_failures,
            breaker_pause: Duration::from_millis(self.breaker_pause_ms),
        }))
    }
}
