//! The settings that every world shares, as they are written.

use schemars::JsonSchema;
use sectile_mcp::policy::Mode;
use serde::{Deserialize, Serialize};

/// Settings shared by all worlds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawServer {
    /// The HTTP server.
    pub(crate) http: RawHttp,
    /// Limits on messages and calls.
    pub(crate) limits: RawServerLimits,
    /// Visibility of tools, resources and prompts.
    pub(crate) tools: RawTools,
    /// Authentication over HTTP, and permissions of callers.
    pub(crate) auth: RawAuth,
    /// Metrics for Prometheus.
    pub(crate) metrics: RawMetrics,
    /// The audit log of calls.
    pub(crate) audit: RawAudit,
}

/// The HTTP server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawHttp {
    /// Address and port to listen on. Without keys or tokens in `[server.auth]`, only loopback addresses are allowed.
    pub(crate) bind: String,
    /// Public URL of this server, such as `https://notes.example`. If empty, `http` or `https` and the address that the
    /// server listens on.
    pub(crate) public_url: String,
    /// Host names that requests may use in addition to `localhost`, `127.0.0.1` and `[::1]`. The host of `public_url` is
    /// always allowed.
    pub(crate) allowed_hosts: Vec<String>,
    /// Origins that may send requests in addition to local pages, such as `https://app.example`.
    pub(crate) allowed_origins: Vec<String>,
    /// Addresses of reverse proxies whose `X-Forwarded-For` header is trusted.
    pub(crate) trusted_proxies: Vec<String>,
    /// File with the certificate chain (PEM), relative to the settings file. If this and `tls_key` are set, connections are
    /// encrypted.
    pub(crate) tls_certificate: String,
    /// File with the private key (PEM), relative to the settings file.
    pub(crate) tls_key: String,
    /// Maximum number of open connections. At the limit, a new connection replaces an idle one from the address that has
    /// the most connections; if none is idle, the new one is closed immediately.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub(crate) max_connections: usize,
    /// Maximum number of open connections from one address; 0 means a quarter of `max_connections`, but at least 16. An
    /// IPv6 network with a 64-bit prefix counts as one address. Addresses in `trusted_proxies` are exempt.
    #[schemars(range(min = 0, max = 1_048_576))]
    pub(crate) max_connections_per_address: usize,
    /// Maximum size of a request head, in bytes.
    #[schemars(range(min = 8192, max = 1_048_576))]
    pub(crate) max_head_bytes: usize,
    /// Time limit for receiving the head of a request, and again for its body, in milliseconds.
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) receive_timeout_ms: u64,
    /// Maximum number of open sessions in one world; further ones are refused. Worlds that keep no state between calls have
    /// no sessions.
    #[schemars(range(min = 1, max = 65_536))]
    pub(crate) max_sessions: usize,
    /// Maximum number of open sessions of one signed-in caller in one world.
    #[schemars(range(min = 1, max = 65_536))]
    pub(crate) max_sessions_per_caller: usize,
    /// Time without a message after which a session is closed, in seconds.
    #[schemars(range(min = 10, max = 604_800))]
    pub(crate) session_idle_seconds: u64,
    /// Time for which requests are still accepted after SIGTERM, in milliseconds, while probes already report that the
    /// server is not ready. Set it to the time that a load balancer needs to notice; 0 means no delay.
    #[schemars(range(min = 0, max = 60_000))]
    pub(crate) stop_notice_ms: u64,
    /// Whether the desk has a console: pages for people in a browser, at the root of the server. `sectile open` leads
    /// there. If callers sign in, so do people, and they see what their role may use.
    pub(crate) console: bool,
}

/// Limits on messages and calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawServerLimits {
    /// Maximum size of a message, in bytes: a line on stdio, a body over HTTP.
    #[schemars(range(min = 1024, max = 67_108_864))]
    pub(crate) max_message_bytes: usize,
    /// Maximum number of concurrent calls in one world.
    #[schemars(range(min = 1, max = 512))]
    pub(crate) max_in_flight: usize,
    /// Maximum number of concurrent calls of one signed-in caller in one world; 0 means a quarter of `max_in_flight`.
    #[schemars(range(min = 0, max = 512))]
    pub(crate) max_in_flight_per_caller: usize,
    /// Maximum number of calls in one world that wait for a free slot; further calls are refused as busy. One signed-in
    /// caller may use an eighth of this.
    #[schemars(range(min = 0, max = 65_536))]
    pub(crate) max_waiting: usize,
    /// Time limit for one call, in milliseconds. A quick call that is alone on stdio always runs to completion.
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) call_timeout_ms: u64,
    /// Maximum number of requests per minute from one signed-in caller; 0 means no limit.
    #[schemars(range(min = 0, max = 10_000_000))]
    pub(crate) requests_per_minute: u32,
    /// Maximum number of requests per minute from one address, counted before sign-in; 0 means no limit. Applies only if
    /// `[server.auth]` has keys or tokens.
    #[schemars(range(min = 0, max = 10_000_000))]
    pub(crate) address_requests_per_minute: u32,
}

/// Visibility of tools, resources and prompts. An entry is a name, or `world/name`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawTools {
    /// `filter` omits hidden entries from listings; `passthrough` lists everything. Hidden entries cannot be called in
    /// either mode.
    pub(crate) mode: Mode,
    /// If not empty, only these entries exist.
    pub(crate) allowlist: Vec<String>,
    /// These entries do not exist, even if `allowlist` names them.
    pub(crate) denylist: Vec<String>,
}

/// Authentication over HTTP, and permissions of callers. With a key file, a secret or a key set, every caller has to sign
/// in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawAuth {
    /// If not empty, only these entries may be called. Listings do not change.
    pub(crate) allowed_tools: Vec<String>,
    /// File with API keys, relative to the settings file; `sectile auth` creates and edits it. If empty, no API keys are
    /// accepted.
    pub(crate) keys_file: String,
    /// Bearer tokens (JWT).
    pub(crate) tokens: RawTokens,
    /// Lookup of a user's role in a vault.
    pub(crate) context: RawAuthContext,
    /// Permissions of each role, instead of the default that viewers may read and all others may also write.
    pub(crate) roles: RawRoles,
    /// Roots that each role is bound to, in worlds with several roots. A caller whose key or role is bound to roots can use
    /// no other root and no world without roots.
    pub(crate) role_roots: RawRoleRoots,
}

/// Bearer tokens: JWTs signed with HS256 and a secret, or with RS256, ES256 or EdDSA and a key set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawTokens {
    /// File with the secret for HS256 tokens, at least 32 bytes, relative to the settings file. If empty, `secret_env` is
    /// used.
    pub(crate) secret_file: String,
    /// Environment variable with the secret for HS256 tokens, instead of `secret_file`. If both are empty, HS256 tokens are
    /// not accepted.
    pub(crate) secret_env: String,
    /// File with a public key set (JWKS), relative to the settings file. If empty, `jwks_url` is used.
    pub(crate) jwks_file: String,
    /// URL of a public key set (JWKS), instead of `jwks_file`. It is fetched again every `jwks_refresh_seconds`, and when a
    /// token names an unknown key.
    pub(crate) jwks_url: String,
    /// Time for which a key set from `jwks_url` is cached, in seconds.
    #[schemars(range(min = 1, max = 86_400))]
    pub(crate) jwks_refresh_seconds: u64,
    /// Required issuer of a token (`iss`). Must be set if tokens are accepted.
    pub(crate) issuer: String,
    /// Accepted audiences of a token (`aud`); one of them must match. If empty, the URL that the token is sent to, or
    /// `public_url`.
    pub(crate) audience: Vec<String>,
    /// Tolerated clock difference between this server and the issuer, in seconds.
    #[schemars(range(min = 0, max = 600))]
    pub(crate) leeway_seconds: u64,
    /// Maximum size of a token, in bytes.
    #[schemars(range(min = 256, max = 65_536))]
    pub(crate) max_token_bytes: usize,
    /// Claim that holds the user.
    pub(crate) user_claim: String,
    /// Claim that holds the role. A token without it, or with an unknown role, counts as `viewer`.
    pub(crate) role_claim: String,
    /// Claim that holds the vaults that a token is valid for: a list, or one name. A token without it is valid for
    /// `default`, or for the vaults that the context allows.
    pub(crate) vaults_claim: String,
    /// Claim that holds the user to present to an upstream store instead. If empty, no such claim is read.
    pub(crate) effective_user_claim: String,
    /// Authorization servers that clients are pointed to for a token. If empty, `issuer`.
    pub(crate) authorization_servers: Vec<String>,
}

/// Lookup of a user's role and effective user in a vault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawAuthContext {
    /// Endpoint that responds with `{"role": ..., "effective_canister_user_id": ...}` to a GET with the caller's token and
    /// vault. If empty, nothing is looked up.
    pub(crate) url: String,
    /// Time for which a response is cached, in milliseconds.
    #[schemars(range(min = 0, max = 600_000))]
    pub(crate) keep_ms: u64,
    /// Time limit for a response, in milliseconds.
    #[schemars(range(min = 1, max = 60_000))]
    pub(crate) timeout_ms: u64,
}

/// Permissions of each role. A role with an empty list has the default: viewers may read, all others may also write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawRoles {
    /// If not empty, viewers, and callers with an unknown role, may use exactly these entries.
    pub(crate) viewer: Vec<String>,
    /// If not empty, editors may use exactly these entries.
    pub(crate) editor: Vec<String>,
    /// If not empty, evaluators may use exactly these entries.
    pub(crate) evaluator: Vec<String>,
    /// If not empty, admins may use exactly these entries.
    pub(crate) admin: Vec<String>,
}

/// Roots that each role is bound to. A role with an empty list may use all roots. A caller whose key is bound to roots too
/// may use those that both name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawRoleRoots {
    /// If not empty, viewers, and callers with an unknown role, may use only these roots.
    pub(crate) viewer: Vec<String>,
    /// If not empty, editors may use only these roots.
    pub(crate) editor: Vec<String>,
    /// If not empty, evaluators may use only these roots.
    pub(crate) evaluator: Vec<String>,
    /// If not empty, admins may use only these roots.
    pub(crate) admin: Vec<String>,
}

/// Metrics for Prometheus, served at `/metrics` on an address of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawMetrics {
    /// Address and port to listen on, such as `127.0.0.1:9420`. If empty, metrics are disabled.
    pub(crate) bind: String,
}

/// The audit log: one JSON line per call, without anything that a caller wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawAudit {
    /// File to append to, relative to the settings file. If empty, no audit log is written.
    pub(crate) file: String,
    /// File with the key for hashing caller names, relative to the settings file. If empty, a new key is generated at each
    /// start.
    pub(crate) key_file: String,
    /// Size at which the file is rotated, in bytes.
    #[schemars(range(min = 4096, max = 1_099_511_627_776_u64))]
    pub(crate) max_bytes: u64,
    /// Number of rotated files to keep.
    #[schemars(range(min = 0, max = 1000))]
    pub(crate) keep: usize,
}

impl Default for RawHttp {
    fn default() -> Self {
        Self {
            bind: "127.0.0.1:7420".to_owned(),
            public_url: String::new(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            tls_certificate: String::new(),
            tls_key: String::new(),
            max_connections: 4096,
            max_connections_per_address: 0,
            max_head_bytes: 32 << 10,
            receive_timeout_ms: 30_000,
            max_sessions: 64,
            max_sessions_per_caller: 8,
            session_idle_seconds: 1800,
            stop_notice_ms: 0,
            console: true,
        }
    }
}

impl Default for RawServerLimits {
    fn default() -> Self {
        Self {
            max_message_bytes: 4 << 20,
            max_in_flight: 64,
            max_in_flight_per_caller: 0,
            max_waiting: 1024,
            call_timeout_ms: 30_000,
            requests_per_minute: 600,
            address_requests_per_minute: 6000,
        }
    }
}

impl Default for RawTokens {
    fn default() -> Self {
        Self {
            secret_file: String::new(),
            secret_env: String::new(),
            jwks_file: String::new(),
            jwks_url: String::new(),
            jwks_refresh_seconds: 300,
            issuer: String::new(),
            audience: Vec::new(),
            leeway_seconds: 30,
            max_token_bytes: 8192,
            user_claim: "sub".to_owned(),
            role_claim: "role".to_owned(),
            vaults_claim: "vaults".to_owned(),
            effective_user_claim: String::new(),
            authorization_servers: Vec::new(),
        }
    }
}

impl Default for RawAuthContext {
    fn default() -> Self {
        Self {
            url: String::new(),
            keep_ms: 5000,
            timeout_ms: 2000,
        }
    }
}

impl Default for RawAudit {
    fn default() -> Self {
        Self {
            file: String::new(),
            key_file: String::new(),
            max_bytes: 64 << 20,
            keep: 5,
        }
    }
}
