//! Who is let in: limits by address, sign-in, limits by caller, in this order; and where clients learn how to sign in.

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
        AccessDenial, Acl, Authenticator, ListenPermit, LiveValue, RateLimits, RequestCredentials,
    },
    call::error::Refusal,
};

/// Where clients find out how to sign in (RFC 9728), before the path of the endpoint.
const METADATA: &str = "/.well-known/oauth-protected-resource";
/// Bearers of a list of addresses, the last one being that of the nearest proxy's client.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Settings of the authentication step.
pub struct AuthenticationSettings {
    /// Who can sign in; without it, everybody is let in and nobody is told apart.
    pub authenticator: Option<Arc<LiveValue<Authenticator>>>,
    /// What each role may use.
    pub roles: Arc<LiveValue<Acl>>,
    /// How many requests are taken. They count only where people sign in.
    pub rates: RateLimits,
    /// What this server is called from outside, such as `https://notes.example`; without a final slash.
    pub public_url: String,
    /// Reverse proxies whose word about the address of a client counts.
    pub trusted_proxies: Vec<IpAddr>,
    /// Hears of everybody who is turned away.
    pub observer: Arc<dyn Observer>,
}

/// The step that finds out who sent a request, before anything else of it is looked at.
pub struct AuthenticationStep {
    settings: AuthenticationSettings,
}

impl AuthenticationStep {
    /// A step with these settings.
    #[must_use]
    pub fn new(settings: AuthenticationSettings) -> Self {
        Self { settings }
    }

    /// Who can sign in, as it is replaced from time to time.
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

    /// Finds out who sent a request; where only a token will do, a key does not.
    pub(super) async fn sign_in(
        &self,
        parts: &mut Parts,
        tokens_only: bool,
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
            tokens_only,
        };
        let admit = |caller: &str| self.settings.rates.admit_caller(caller);
        let identity = match authenticator.authenticate_within(asked, admit).await {
            Ok(identity) => Arc::new(identity),
            Err(AccessDenial::TooMany(wait)) => return Err(self.too_many("caller_rate", wait)),
            Err(denied) => return Err(self.turn_away(&authenticator, &denied, &path)),
        };
        let audience = [resource, self.settings.public_url.clone()];
        let roles = &self.settings.roles;
        let leave = ListenPermit::new(identity, audience, live, roles);
        // Nothing after this step needs them, and nothing that shows headers can show them.
        for name in [
            header::AUTHORIZATION.as_str(),
            crate::access::API_KEY_HEADER,
        ] {
            parts.headers.remove(name);
        }
        Ok(Some(Arc::new(leave)))
    }

    /// Counts a request that was turned away for another reason.
    pub(super) fn refused(&self, status: StatusCode) {
        // These are counted where they are decided, with a better reason.
        if status == StatusCode::UNAUTHORIZED || status == StatusCode::TOO_MANY_REQUESTS {
            return;
        }
        self.settings.observer.refused(outcome(status));
    }

    /// The address that a request comes from, as far as that can be believed.
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

    /// What is served at `path`, as tokens name their audience and the metadata its resource.
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

    /// What RFC 6750, RFC 9728 and the protocol want said to somebody who has not signed in.
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

/// The metadata of every endpoint that takes tokens, each at the path that RFC 9728 gives it; that of the endpoint `single` also
/// at the root.
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
