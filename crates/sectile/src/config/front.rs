//! The checked settings of the HTTP server: where to listen, who may sign in, what is recorded.

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use sectile_client::{BaseUrl, Client, ClientSettings};
use sectile_mcp::{
    access::{
        Acl, AuthSettings, ClaimNames, ContextSettings, KeyFile, KeySetSource, Role, Secret,
        TokenSettings,
    },
    http::{Origins, ServerTls, SessionBounds},
};

use super::{
    LoadedConfig,
    raw::{self, RawConfig},
    settings::known_names,
};
use crate::settings::{
    ConfigError, ConfigErrors, LEAST_SECRET_BYTES, SettingsReader, SettingsSection as _, nearest,
};

/// Time without a message after which a session goes to sleep.
const REST_AFTER: Duration = Duration::from_millis(250);
/// Time for which a session is kept if its client does not come back after the handshake.
const CONFIRM_WITHIN: Duration = Duration::from_mins(1);
/// The least number of connections one address may have if the settings do not name a number.
const LEAST_CONNECTIONS: usize = 16;
/// The largest key set or context accepted from another server.
const MAX_ANSWER_BYTES: usize = 1 << 20;

const KEYS_FILE: &str = "server.auth.keys_file";

/// Address and limits of the HTTP server, with metrics and audit log.
pub(crate) struct FrontSettings {
    pub(crate) bind: SocketAddr,
    /// Public URL of this server, if configured.
    pub(crate) public_url: Option<String>,
    pub(crate) origins: Origins,
    pub(crate) trusted_proxies: Vec<IpAddr>,
    pub(crate) max_connections: usize,
    pub(crate) max_connections_per_address: usize,
    pub(crate) max_head_bytes: usize,
    pub(crate) receive_timeout: Duration,
    pub(crate) max_body_bytes: usize,
    pub(crate) sessions: SessionBounds,
    /// Time for which requests are still accepted after a stop was requested.
    pub(crate) stop_notice: Duration,
    /// Whether people can look at the desk in a browser.
    pub(crate) has_console: bool,
    /// Requests per minute: by caller, and by address.
    pub(crate) rates: (u32, u32),
    pub(crate) metrics: Option<SocketAddr>,
    pub(crate) audit: Option<AuditSettings>,
}

/// Location, key and rotation of the audit log.
pub(crate) struct AuditSettings {
    pub(crate) file: PathBuf,
    pub(crate) key: Option<Secret>,
    pub(crate) max_bytes: u64,
    pub(crate) keep: usize,
}

/// Sign-in methods, permissions and certificates. Reloaded when the process is asked to.
pub(crate) struct AccessSettings {
    /// The ways to sign in; without any, every process on this machine has access.
    pub(crate) auth: Option<AuthSettings>,
    pub(crate) roles: Acl,
    pub(crate) tls: Option<ServerTls>,
}

impl FrontSettings {
    /// Checks the loaded settings. Paths in a settings file are relative to its folder, `base`.
    pub(super) fn resolve(loaded: &LoadedConfig, base: &Path) -> Result<Self, ConfigErrors> {
        let reader = loaded.reader(base);
        let raw = &loaded.raw.server;
        let mut mistakes = ConfigErrors::default();
        let public_url = mistakes.take(public_url(reader, &raw.http.public_url));
        let bind = mistakes.take(bind(loaded));
        let trusted_proxies = mistakes.take(addresses(reader, &raw.http.trusted_proxies));
        let metrics = mistakes.take(metrics(reader, &raw.metrics.bind));
        let audit = mistakes.take(audit(reader, &raw.audit));
        let (Some(public_url), Some(bind), Some(trusted_proxies), Some(metrics), Some(audit)) =
            (public_url, bind, trusted_proxies, metrics, audit)
        else {
            return Err(mistakes);
        };
        let mut hosts = raw.http.allowed_hosts.clone();
        hosts.extend(public_url.as_ref().and_then(|url| host_of(url)));
        Ok(Self {
            bind,
            origins: Origins::new(hosts, raw.http.allowed_origins.clone()),
            trusted_proxies,
            public_url,
            max_connections: raw.http.max_connections,
            max_connections_per_address: match raw.http.max_connections_per_address {
                0 => (raw.http.max_connections / 4).max(LEAST_CONNECTIONS),
                given => given,
            },
            max_head_bytes: raw.http.max_head_bytes,
            receive_timeout: Duration::from_millis(raw.http.receive_timeout_ms),
            max_body_bytes: raw.limits.max_message_bytes,
            sessions: SessionBounds {
                max: raw.http.max_sessions,
                max_per_caller: raw.http.max_sessions_per_caller,
                rest_after: REST_AFTER,
                idle: Duration::from_secs(raw.http.session_idle_seconds),
                confirm_within: CONFIRM_WITHIN,
            },
            stop_notice: Duration::from_millis(raw.http.stop_notice_ms),
            has_console: raw.http.console,
            rates: (
                raw.limits.requests_per_minute,
                raw.limits.address_requests_per_minute,
            ),
            metrics,
            audit,
        })
    }
}

impl AccessSettings {
    /// Checks the loaded settings. Paths in a settings file are relative to its folder, `base`.
    pub(crate) fn resolve(loaded: &LoadedConfig, base: &Path) -> Result<Self, ConfigErrors> {
        let reader = loaded.reader(base);
        let raw = &loaded.raw.server;
        let mut mistakes = ConfigErrors::default();
        let keys = mistakes.take(keys(reader, &raw.auth));
        let tokens = mistakes.take(tokens(reader, &raw.auth.tokens));
        // Misconfigured tokens still count: the operator meant to accept them.
        let has_tokens = tokens.as_ref().is_none_or(Option::is_some);
        let context = mistakes.take(context(reader, &raw.auth.context, has_tokens));
        let roles = mistakes.take(Self::roles(loaded));
        let tls = mistakes.take(tls(reader, &raw.http));
        let (Some(keys), Some(tokens), Some(context), Some(roles), Some(tls)) =
            (keys, tokens, context, roles, tls)
        else {
            return Err(mistakes);
        };
        let auth = (keys.is_some() || tokens.is_some()).then_some(AuthSettings {
            keys,
            tokens,
            context,
            clock: SystemTime::now,
        });
        Ok(Self { auth, roles, tls })
    }

    /// Returns what each role may use, without reading any secret.
    pub(crate) fn roles(loaded: &LoadedConfig) -> Result<Acl, ConfigErrors> {
        let raw = &loaded.raw.server;
        let lists = [
            (Role::Viewer, &raw.auth.roles.viewer),
            (Role::Editor, &raw.auth.roles.editor),
            (Role::Evaluator, &raw.auth.roles.evaluator),
            (Role::Admin, &raw.auth.roles.admin),
        ];
        let mut mistakes = ConfigErrors::default();
        let mut given = Vec::new();
        for (role, list) in lists {
            let key = format!("server.auth.roles.{role}");
            let names = mistakes.take(known_names(&key, list, loaded));
            given.extend(names.map(|names| (role, names)));
        }
        let roots = mistakes.take(role_roots(loaded, loaded.raw.worlds.root_names()));
        match (mistakes.is_empty(), roots) {
            (true, Some(roots)) => Ok(Acl::new(given).with_roots(roots)),
            _ => Err(mistakes),
        }
    }

    /// Returns the path of the key file, if the settings name one. The file need not exist.
    pub(crate) fn keys_file(loaded: &LoadedConfig, base: &Path) -> Option<PathBuf> {
        let reader = loaded.reader(base);
        reader.place(KEYS_FILE, &loaded.raw.server.auth.keys_file)
    }
}

/// Returns the roots that each role is bound to. A name that is not one of `known` would shut the role out of everything,
/// so it is an error.
fn role_roots(
    loaded: &LoadedConfig,
    known: Option<Vec<String>>,
) -> Result<[(Role, Vec<String>); 4], ConfigErrors> {
    let raw = &loaded.raw.server.auth.role_roots;
    let lists = [
        (Role::Viewer, &raw.viewer),
        (Role::Editor, &raw.editor),
        (Role::Evaluator, &raw.evaluator),
        (Role::Admin, &raw.admin),
    ];
    let mut mistakes = ConfigErrors::default();
    for (role, list) in lists {
        let key = format!("server.auth.role_roots.{role}");
        for (index, name) in list.iter().enumerate() {
            if let Some(known) = &known
                && !known.contains(name)
            {
                mistakes.add(ConfigError::UnknownName {
                    origin: loaded.origins.of_entry(&key, index),
                    key: key.clone(),
                    nearest: nearest(name, known.iter().map(String::as_str)),
                    name: name.clone(),
                });
            }
        }
    }
    match mistakes.is_empty() {
        true => Ok(lists.map(|(role, list)| (role, list.clone()))),
        false => Err(mistakes),
    }
}

/// Returns whether callers have to sign in, which makes it safe to listen beyond this machine.
fn has_auth(raw: &RawConfig) -> bool {
    let auth = &raw.server.auth;
    let ways = [
        &auth.keys_file,
        &auth.tokens.secret_file,
        &auth.tokens.secret_env,
        &auth.tokens.jwks_file,
        &auth.tokens.jwks_url,
    ];
    ways.into_iter().any(|way| !way.is_empty())
}

fn socket_address(text: &str) -> Option<SocketAddr> {
    text.replace("localhost:", "127.0.0.1:").parse().ok()
}

fn bind(loaded: &LoadedConfig) -> Result<SocketAddr, ConfigError> {
    const KEY: &str = "server.http.bind";
    let address = socket_address(&loaded.raw.server.http.bind);
    // If `[server.auth]` has a mistake, that is the one to report.
    let may_be_anywhere = has_auth(&loaded.raw) || loaded.mistakes.mention("server.auth");
    match address {
        Some(address) if may_be_anywhere || address.ip().is_loopback() => Ok(address),
        _ => Err(ConfigError::NotLoopback {
            origin: loaded.origin(KEY),
            key: KEY.to_owned(),
        }),
    }
}

fn public_url(reader: SettingsReader<'_>, text: &str) -> Result<Option<String>, ConfigError> {
    const KEY: &str = "server.http.public_url";
    if text.is_empty() {
        return Ok(None);
    }
    let text = text.trim_end_matches('/');
    match BaseUrl::parse(text) {
        Ok(_) if host_of(text).is_some() => Ok(Some(text.to_owned())),
        _ => Err(reader.refuse(KEY, "an http or https URL, such as https://notes.example")),
    }
}

/// Returns the host of a checked URL, with its port if it has one.
fn host_of(url: &str) -> Option<String> {
    let uri: http::Uri = url.parse().ok()?;
    Some(uri.authority()?.as_str().to_owned())
}

fn metrics(reader: SettingsReader<'_>, text: &str) -> Result<Option<SocketAddr>, ConfigError> {
    if text.is_empty() {
        return Ok(None);
    }
    let expected = "an address with a port, such as 127.0.0.1:9420";
    let address = socket_address(text);
    address
        .map(Some)
        .ok_or_else(|| reader.refuse("server.metrics.bind", expected))
}

fn addresses(reader: SettingsReader<'_>, list: &[String]) -> Result<Vec<IpAddr>, ConfigError> {
    let parsed = list.iter().map(|text| text.parse::<IpAddr>());
    parsed.collect::<Result<_, _>>().map_err(|_| {
        let expected = "a list of addresses, such as 127.0.0.1";
        reader.refuse("server.http.trusted_proxies", expected)
    })
}

fn audit(
    reader: SettingsReader<'_>,
    raw: &raw::RawAudit,
) -> Result<Option<AuditSettings>, ConfigError> {
    let Some(file) = reader.place("server.audit.file", &raw.file) else {
        return Ok(None);
    };
    let key = ("server.audit.key_file", raw.key_file.as_str());
    Ok(Some(AuditSettings {
        file,
        key: reader.secret(key, ("", ""))?,
        max_bytes: raw.max_bytes,
        keep: raw.keep,
    }))
}

fn tls(reader: SettingsReader<'_>, raw: &raw::RawHttp) -> Result<Option<ServerTls>, ConfigError> {
    const CERTIFICATE: &str = "server.http.tls_certificate";
    const KEY: &str = "server.http.tls_key";
    let certificates = reader.text(CERTIFICATE, &raw.tls_certificate)?;
    let key = reader.text(KEY, &raw.tls_key)?;
    match (certificates, key) {
        (None, None) => Ok(None),
        (Some(certificates), Some(key)) => ServerTls::from_pem(&certificates, &key)
            .map(Some)
            .map_err(|problem| {
                reader.refuse(
                    CERTIFICATE,
                    format!("a certificate that fits tls_key ({problem})"),
                )
            }),
        (Some(_), None) => Err(reader.refuse(KEY, "set when tls_certificate is")),
        (None, Some(_)) => Err(reader.refuse(CERTIFICATE, "set when tls_key is")),
    }
}

fn keys(reader: SettingsReader<'_>, raw: &raw::RawAuth) -> Result<Option<KeyFile>, ConfigError> {
    let Some(text) = reader.text(KEYS_FILE, &raw.keys_file)? else {
        return Ok(None);
    };
    let parsed = KeyFile::parse(&text).map(Some);
    parsed.map_err(|problem| reader.refuse(KEYS_FILE, format!("a valid key file ({problem})")))
}

fn tokens(
    reader: SettingsReader<'_>,
    raw: &raw::RawTokens,
) -> Result<Option<TokenSettings>, ConfigError> {
    const SECRET: &str = "server.auth.tokens.secret_file";
    const SET: &str = "server.auth.tokens.jwks_file";
    const SET_URL: &str = "server.auth.tokens.jwks_url";
    let variable = ("server.auth.tokens.secret_env", raw.secret_env.as_str());
    let secret = reader.secret((SECRET, &raw.secret_file), variable)?;
    if let Some(secret) = &secret
        && secret.reveal().len() < LEAST_SECRET_BYTES
    {
        let key = if raw.secret_file.is_empty() {
            variable.0
        } else {
            SECRET
        };
        return Err(reader.refuse(key, "the source of a secret of at least 32 bytes"));
    }
    let text = reader.text(SET, &raw.jwks_file)?;
    let key_set = match (text, reader.target(SET_URL, &raw.jwks_url)?) {
        (Some(_), Some(_)) => return Err(reader.refuse(SET_URL, "empty when jwks_file is set")),
        (Some(text), None) => Some(KeySetSource::Text(text)),
        (None, Some(url)) => Some(KeySetSource::Url {
            url,
            keep: Duration::from_secs(raw.jwks_refresh_seconds),
            client: small_client(reader, SET_URL, Duration::from_secs(5))?,
        }),
        (None, None) => None,
    };
    if secret.is_none() && key_set.is_none() {
        return Ok(None);
    }
    if raw.issuer.is_empty() {
        return Err(reader.refuse("server.auth.tokens.issuer", "set when tokens are accepted"));
    }
    let authorization_servers = match raw.authorization_servers.as_slice() {
        // An issuer that is not a URL cannot be queried.
        [] if BaseUrl::parse(&raw.issuer).is_ok() => vec![raw.issuer.clone()],
        given => given.to_vec(),
    };
    Ok(Some(TokenSettings {
        secret,
        key_set,
        issuer: raw.issuer.clone(),
        audience: raw.audience.clone(),
        leeway: Duration::from_secs(raw.leeway_seconds),
        max_bytes: raw.max_token_bytes,
        claims: ClaimNames {
            user: raw.user_claim.clone(),
            role: raw.role_claim.clone(),
            vaults: raw.vaults_claim.clone(),
            effective_user: raw.effective_user_claim.clone(),
        },
        authorization_servers,
    }))
}

fn context(
    reader: SettingsReader<'_>,
    raw: &raw::RawAuthContext,
    has_tokens: bool,
) -> Result<Option<ContextSettings>, ConfigError> {
    const KEY: &str = "server.auth.context.url";
    let Some(url) = reader.target(KEY, &raw.url)? else {
        return Ok(None);
    };
    if !has_tokens {
        return Err(reader.refuse(
            KEY,
            "empty unless tokens are accepted: it is queried with them",
        ));
    }
    Ok(Some(ContextSettings {
        url,
        keep: Duration::from_millis(raw.keep_ms),
        client: small_client(reader, KEY, Duration::from_millis(raw.timeout_ms))?,
    }))
}

/// Returns an HTTP client for short responses.
fn small_client(
    reader: SettingsReader<'_>,
    key: &str,
    timeout: Duration,
) -> Result<Client, ConfigError> {
    let client = Client::new(ClientSettings {
        connect_timeout: timeout,
        timeout,
        max_body_bytes: MAX_ANSWER_BYTES,
        proxy: None,
        extra_roots: None,
    });
    client.map_err(|problem| reader.refuse(key, format!("a URL that can be queried ({problem})")))
}

#[cfg(test)]
mod tests;
