//! Authentication: limits by address, sign-in and limits by caller, in this order; and the metadata that tells clients
//! how to sign in.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{Router, body::Body, response::Response, routing::get};
use http::{HeaderValue, StatusCode, header, request::Parts};
use rmcp::model::JsonRpcError;
use serde_json::json;

use super::refusal::{outcome, respond};
use crate::{
    Observer,
    access::{
        AccessDenial, Acl, Authenticator, Identity, ListenPermit, LiveValue, RateLimits,
        RequestCredentials,
    },
    call::error::Refusal,
};

/// Path of the metadata about signing in (RFC 9728), before the path of the endpoint.
const METADATA: &str = "/.well-known/oauth-protected-resource";
/// Header that holds the chain of client addresses; the nearest proxy appends last.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Settings of the authentication step.
pub struct AuthenticationSettings {
    /// Signs callers in; without it, everyone is let in and callers are not told apart.
    pub authenticator: Option<Arc<LiveValue<Authenticator>>>,
    /// The table of what each role may use.
    pub roles: Arc<LiveValue<Acl>>,
    /// Rate limits. They apply only if callers sign in.
    pub rates: RateLimits,
    /// The URL of this server from outside, such as `https://notes.example`; without a final slash.
    pub public_url: String,
    /// Reverse proxies that are trusted to report a client's address.
    pub trusted_proxies: Vec<IpAddr>,
    /// Is notified of every request that is turned away.
    pub observer: Arc<dyn Observer>,
}

/// The credentials that a world accepts.
#[derive(Clone, Copy, Debug)]
pub(super) struct AcceptedCredentials {
    /// Whether only a token is accepted, not a key.
    pub(super) tokens_only: bool,
    /// Whether credentials bound to roots are accepted.
    pub(super) bound_to_roots: bool,
}

/// The step that identifies the sender of a request before anything else in it is looked at.
pub struct AuthenticationStep {
    settings: AuthenticationSettings,
}

impl AuthenticationStep {
    /// Makes a step with these settings.
    #[must_use]
    pub fn new(settings: AuthenticationSettings) -> Self {
        Self { settings }
    }

    /// Returns the authenticator, which a reload may replace.
    pub(super) fn authenticator(&self) -> Option<&Arc<LiveValue<Authenticator>>> {
        self.settings.authenticator.as_ref()
    }

    /// Counts a request against its address, before anything else is looked at.
    pub(super) fn admit_address(&self, parts: &Parts) -> Result<(), Box<Response>> {
        let Some(address) = self
            .settings
            .authenticator
            .as_ref()
            .and(self.address(parts))
        else {
            return Ok(());
        };
        let admitted = self.settings.rates.admit_address(address);
        admitted.map_err(|wait| self.too_many("address_rate", wait))
    }

    /// Counts a request against a caller who signed in earlier.
    pub(super) fn admit_caller(&self, identity: &Identity) -> Result<(), Duration> {
        let admitted = self.settings.rates.admit_caller(&identity.key);
        admitted.inspect_err(|_| self.settings.observer.refused("caller_rate"))
    }

    /// Identifies the sender of a request.
    pub(super) async fn sign_in(
        &self,
        parts: &mut Parts,
        accepted: AcceptedCredentials,
    ) -> Result<Option<Arc<ListenPermit>>, Box<Response>> {
        let Some(live) = &self.settings.authenticator else {
            return Ok(None);
        };
        let authenticator = live.get();
        let path = parts.uri.path().to_owned();
        let resource = self.resource(&path);
        let asked = RequestCredentials {
            headers: &parts.headers,
            audience: [&resource, &self.settings.public_url],
            tokens_only: accepted.tokens_only,
        };
        let admit = |caller: &str| self.settings.rates.admit_caller(caller);
        let is_bound = |identity: &Identity| {
            let roles = self.settings.roles.get();
            roles.roots_of(identity).is_some()
        };
        let identity = match authenticator.authenticate_within(asked, admit).await {
            Ok(identity) if !accepted.bound_to_roots && is_bound(&identity) => {
                return Err(self.turn_away(&authenticator, &AccessDenial::NoAccess, &path));
            }
            Ok(identity) => Arc::new(identity),
            Err(AccessDenial::TooMany(wait)) => return Err(self.too_many("caller_rate", wait)),
            Err(denied) => return Err(self.turn_away(&authenticator, &denied, &path)),
        };
        let audience = [resource, self.settings.public_url.clone()];
        let roles = &self.settings.roles;
        let permit = ListenPermit::new(identity, audience, live, roles);
        // Nothing after this step needs them, and code that logs headers cannot show them.
        for name in [
            header::AUTHORIZATION.as_str(),
            crate::access::API_KEY_HEADER,
        ] {
            parts.headers.remove(name);
        }
        Ok(Some(Arc::new(permit)))
    }

    /// Counts a request that was turned away for another reason.
    pub(super) fn refused(&self, status: StatusCode) {
        // These are counted where they are decided, with a better reason.
        if status == StatusCode::UNAUTHORIZED || status == StatusCode::TOO_MANY_REQUESTS {
            return;
        }
        self.settings.observer.refused(outcome(status));
    }

    /// Returns the address that a request comes from, as far as it can be trusted.
    fn address(&self, parts: &Parts) -> Option<IpAddr> {
        let peer = parts.extensions.get::<SocketAddr>()?.ip().to_canonical();
        if !self.settings.trusted_proxies.contains(&peer) {
            return Some(peer);
        }
        let lists = parts.headers.get_all(FORWARDED_FOR).iter();
        let named = lists
            .filter_map(|list| list.to_str().ok())
            .flat_map(|list| list.split(','))
            .filter_map(|address| address.trim().parse::<IpAddr>().ok());
        let foreign: Vec<IpAddr> = named
            .map(|address| address.to_canonical())
            .filter(|address| !self.settings.trusted_proxies.contains(address))
            .collect();
        Some(foreign.last().copied().unwrap_or(peer))
    }

    /// Returns the URL of `path`, which tokens name as their audience and the metadata as its resource.
    pub(super) fn resource(&self, path: &str) -> String {
        format!("{}{path}", self.settings.public_url)
    }

    fn turn_away(
        &self,
        authenticator: &Authenticator,
        denied: &AccessDenial,
        path: &str,
    ) -> Box<Response> {
        let (status, refusal, reason) = match denied {
            AccessDenial::Missing => (
                StatusCode::UNAUTHORIZED,
                Refusal::Unauthenticated,
                "no_credentials",
            ),
            AccessDenial::Invalid(reason) => {
                (StatusCode::UNAUTHORIZED, Refusal::Unauthenticated, *reason)
            }
            AccessDenial::Ambiguous => (
                StatusCode::BAD_REQUEST,
                Refusal::AmbiguousCredentials,
                "ambiguous_credentials",
            ),
            AccessDenial::NoAccess => (StatusCode::FORBIDDEN, Refusal::NoAccess, "no_access"),
            AccessDenial::Unavailable | AccessDenial::TooMany(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                Refusal::AuthUnavailable,
                "auth_unavailable",
            ),
        };
        if status == StatusCode::UNAUTHORIZED {
            self.settings.observer.refused(reason);
        }
        let mut response = respond(status, &JsonRpcError::new(None, refusal.into()));
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED
            && let Ok(challenge) = self.challenge(authenticator, denied, path).parse()
        {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }

    /// Builds the challenge that RFC 6750, RFC 9728 and the protocol require for a caller that has not signed in.
    fn challenge(
        &self,
        authenticator: &Authenticator,
        denied: &AccessDenial,
        path: &str,
    ) -> String {
        let mut challenge = "Bearer realm=\"sectile\"".to_owned();
        if authenticator.token_sources().is_some() {
            let place = format!("{}{METADATA}{path}", self.settings.public_url);
            challenge += &format!(", resource_metadata=\"{place}\"");
        }
        if matches!(denied, AccessDenial::Invalid(_)) {
            challenge += ", error=\"invalid_token\"";
        }
        challenge
    }

    fn too_many(&self, reason: &'static str, wait: Duration) -> Box<Response> {
        self.settings.observer.refused(reason);
        let error = JsonRpcError::new(None, Refusal::RateLimited.into());
        let mut response = respond(StatusCode::TOO_MANY_REQUESTS, &error);
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        response
    }
}

/// Serves the metadata of every endpoint that accepts tokens, each at the path that RFC 9728 gives it; that of the
/// endpoint `single` also at the root.
pub(super) fn metadata_routes(
    step: &AuthenticationStep,
    endpoints: &[String],
    single: &str,
) -> Router {
    let mut router = Router::new();
    let authenticator = step.settings.authenticator.as_ref().map(|live| live.get());
    let sources = authenticator
        .as_ref()
        .and_then(|known| known.token_sources());
    let Some(sources) = sources else {
        return router;
    };
    for path in endpoints {
        let mut document = json!({
            "resource": step.resource(path),
            "resource_name": "Sectile",
            "bearer_methods_supported": ["header"],
        });
        if !sources.authorization_servers.is_empty() {
            document["authorization_servers"] = json!(sources.authorization_servers);
        }
        let body = document.to_string();
        let answer = move || {
            let body = body.clone();
            async move { metadata(body) }
        };
        if path == single {
            router = router.route(METADATA, get(answer.clone()));
        }
        router = router.route(&format!("{METADATA}{path}"), get(answer));
    }
    router
}

fn metadata(body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    // A page of any origin may learn where to sign in.
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_ORIGIN,
        HeaderValue::from_static("*"),
    );
    response
}
