//! The settings that every world shares, as they are written.

use schemars::JsonSchema;
use sectile_mcp::policy::Mode;
use serde::{Deserialize, Serialize};

/// What every world shares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawServer {
    /// Serving over HTTP.
    pub(crate) http: RawHttp,
    /// Bounds on messages and calls.
    pub(crate) limits: RawServerLimits,
    /// Visibility: what exists.
    pub(crate) tools: RawTools,
    /// Who may come in over HTTP, and what they may call.
    pub(crate) auth: RawAuth,
    /// Figures for Prometheus.
    pub(crate) metrics: RawMetrics,
    /// A record of every call.
    pub(crate) audit: RawAudit,
}

/// Serving over HTTP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawHttp {
    /// Address and port to listen on. Without [server.auth] keys or tokens only loopback addresses are allowed.
    pub(crate) bind: String,
    /// What this server is called from outside, such as `https://notes.example`. Empty: `http` or `https` and the address
    /// that it listens on.
    pub(crate) public_url: String,
    /// Host names besides `localhost`, `127.0.0.1` and `[::1]` that requests may name. That of public_url always may.
    pub(crate) allowed_hosts: Vec<String>,
    /// Origins besides local pages that may send requests, such as `https://app.example`.
    pub(crate) allowed_origins: Vec<String>,
    /// Addresses of reverse proxies whose X-Forwarded-For header is believed.
    pub(crate) trusted_proxies: Vec<String>,
    /// File with the certificate chain (PEM), relative to the settings file. With it and tls_key connections are encrypted.
    pub(crate) tls_certificate: String,
    /// File with the private key (PEM), relative to the settings file.
    pub(crate) tls_key: String,
    /// Connections that may be open at the same time. When there are as many, a new one takes the place of one that has no
    /// request under way, from the address that has the most; without such a one it is closed at once.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub(crate) max_connections: usize,
    /// Connections that one address may have open; 0: a quarter of max_connections, and no fewer than 16. A network of IPv6
    /// with a prefix of 64 bits is one address. Those of trusted_proxies have no such limit.
    #[schemars(range(min = 0, max = 1_048_576))]
    pub(crate) max_connections_per_address: usize,
    /// Largest head of a request, in bytes.
    #[schemars(range(min = 8192, max = 1_048_576))]
    pub(crate) max_head_bytes: usize,
    /// How long the head of a request, and again its body, may take to arrive, in milliseconds.
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) receive_timeout_ms: u64,
    /// Sessions of one world that may be open at the same time; more are refused. Worlds that keep nothing between calls
    /// have none.
    #[schemars(range(min = 1, max = 65_536))]
    pub(crate) max_sessions: usize,
    /// Sessions of one signed-in caller in one world.
    #[schemars(range(min = 1, max = 65_536))]
    pub(crate) max_sessions_per_caller: usize,
    /// How long a session stays open without a message, in seconds.
    #[schemars(range(min = 10, max = 604_800))]
    pub(crate) session_idle_seconds: u64,
    /// How long requests are still taken after SIGTERM, in milliseconds, while probes already hear that the server is not
    /// ready: as long as a load balancer may take to notice. 0: none.
    #[schemars(range(min = 0, max = 60_000))]
    pub(crate) stop_notice_ms: u64,
}

/// Bounds on messages and calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawServerLimits {
    /// Longest message, in bytes: a line on stdio, a body on HTTP.
    #[schemars(range(min = 1024, max = 67_108_864))]
    pub(crate) max_message_bytes: usize,
    /// Calls of one world that run at the same time.
    #[schemars(range(min = 1, max = 512))]
    pub(crate) max_in_flight: usize,
    /// Calls of one signed-in caller that run at the same time in one world; 0: a quarter of max_in_flight.
    #[schemars(range(min = 0, max = 512))]
    pub(crate) max_in_flight_per_caller: usize,
    /// Calls of one world that may wait for a free place; more are refused as busy. One signed-in caller may have an eighth
    /// of them.
    #[schemars(range(min = 0, max = 65_536))]
    pub(crate) max_waiting: usize,
    /// Longest time of one call, in milliseconds. A quick call that is alone on stdio runs to its end.
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) call_timeout_ms: u64,
    /// Requests that one signed-in caller may send in a minute; 0: as many as they like.
    #[schemars(range(min = 0, max = 10_000_000))]
    pub(crate) requests_per_minute: u32,
    /// Requests that may come from one address in a minute, counted before anybody signs in; 0: as many as come. Counted
    /// only where [server.auth] lets people sign in.
    #[schemars(range(min = 0, max = 10_000_000))]
    pub(crate) address_requests_per_minute: u32,
}

/// Visibility: what exists. Entries are names of tools, resources or prompts, or `world/name`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawTools {
    /// `filter` leaves hidden things out of listings; `passthrough` lists everything. Hidden things cannot be called
    /// either way.
    pub(crate) mode: Mode,
    /// When not empty, only these exist.
    pub(crate) allowlist: Vec<String>,
    /// These do not exist, even when allowed.
    pub(crate) denylist: Vec<String>,
}

/// Who may come in over HTTP, and what they may call. With a key file, a secret or a key set, everybody has to sign in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawAuth {
    /// When not empty, only these may be called. Listings do not change.
    pub(crate) allowed_tools: Vec<String>,
    /// File of API keys, relative to the settings file; `sectile auth` makes and changes it. Empty: no keys are taken.
    pub(crate) keys_file: String,
    /// Bearer tokens (JWT).
    pub(crate) tokens: RawTokens,
    /// Where the role of a user in a vault is looked up.
    pub(crate) context: RawAuthContext,
    /// What each role may use, instead of the rule that viewers look and all others also change.
    pub(crate) roles: RawRoles,
}

/// Bearer tokens: JWT with HS256 and a secret, or RS256, ES256 or EdDSA and a set of keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawTokens {
    /// File with the secret of HS256 tokens, at least 32 bytes, relative to the settings file. Empty: none.
    pub(crate) secret_file: String,
    /// Environment variable with the same secret, where there is no file.
    pub(crate) secret_env: String,
    /// File with a set of public keys (JWKS), relative to the settings file. Empty: none.
    pub(crate) jwks_file: String,
    /// Where a set of public keys (JWKS) is published. It is asked again every jwks_refresh_seconds, and when a token names
    /// a key that is not known. Empty: none.
    pub(crate) jwks_url: String,
    /// How long a set of keys from jwks_url counts, in seconds.
    #[schemars(range(min = 1, max = 86_400))]
    pub(crate) jwks_refresh_seconds: u64,
    /// Who must have issued a token (`iss`). Needed for tokens.
    pub(crate) issuer: String,
    /// For whom a token must be (`aud`); one of these. Empty: the URL that it is sent to, or public_url.
    pub(crate) audience: Vec<String>,
    /// How far the clocks of this server and of the issuer may differ, in seconds.
    #[schemars(range(min = 0, max = 600))]
    pub(crate) leeway_seconds: u64,
    /// Longest token, in bytes.
    #[schemars(range(min = 256, max = 65_536))]
    pub(crate) max_token_bytes: usize,
    /// Claim with the user.
    pub(crate) user_claim: String,
    /// Claim with the role. A token without it, or with an unknown role, makes a viewer.
    pub(crate) role_claim: String,
    /// Claim with the vaults that a token is good for: a list, or one. A token without it is good for `default`, or for what
    /// the context says.
    pub(crate) vaults_claim: String,
    /// Claim with the user that an upstream store shall see instead. Empty: none.
    pub(crate) effective_user_claim: String,
    /// Issuers that clients are told of, to get a token from. Empty: the issuer.
    pub(crate) authorization_servers: Vec<String>,
}

/// Where role and effective user of a user in a vault are looked up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawAuthContext {
    /// Endpoint that answers `{"role": ..., "effective_canister_user_id": ...}` to a GET with the caller's token and vault.
    /// Empty: none.
    pub(crate) url: String,
    /// How long an answer counts, in milliseconds.
    #[schemars(range(min = 0, max = 600_000))]
    pub(crate) keep_ms: u64,
    /// How long an answer may take, in milliseconds.
    #[schemars(range(min = 1, max = 60_000))]
    pub(crate) timeout_ms: u64,
}

/// What each role may use. A role whose list is empty follows the rule: viewers look, all others also change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawRoles {
    /// When not empty, a viewer, and everybody whose role is not known, may use exactly these.
    pub(crate) viewer: Vec<String>,
    /// When not empty, an editor may use exactly these.
    pub(crate) editor: Vec<String>,
    /// When not empty, an evaluator may use exactly these.
    pub(crate) evaluator: Vec<String>,
    /// When not empty, an admin may use exactly these.
    pub(crate) admin: Vec<String>,
}

/// Figures for Prometheus, at `/metrics` of an address of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawMetrics {
    /// Address and port to listen on, such as `127.0.0.1:9420`. Empty: no figures.
    pub(crate) bind: String,
}

/// A record of every call: one JSON line each, with nothing that a caller wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawAudit {
    /// File to append to, relative to the settings file. Empty: no record.
    pub(crate) file: String,
    /// File with the key that callers are hashed with, relative to the settings file. Empty: a new key with each start.
    pub(crate) key_file: String,
    /// Length of the file, in bytes, at which a new one is begun.
    #[schemars(range(min = 4096, max = 1_099_511_627_776_u64))]
    pub(crate) max_bytes: u64,
    /// Older files that are kept beside it.
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
