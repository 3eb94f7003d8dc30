//! The claims of a token whose signature was checked: its audience, its validity period, and its holder.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use super::{Bearer, ClaimNames, invalid};
use crate::access::{AccessDenial, Role, keys::is_header_safe};

type Claims = Map<String, Value>;

/// The requirements that a token must meet.
pub(super) struct Rules<'a> {
    pub(super) issuer: &'a str,
    /// The audiences that it may be for; empty means one of `here`.
    pub(super) audience: &'a [String],
    pub(super) here: &'a [&'a str],
    pub(super) leeway: Duration,
    pub(super) now: SystemTime,
}

impl Rules<'_> {
    pub(super) fn check(&self, claims: &Claims) -> Result<(), AccessDenial> {
        let now = self.now.duration_since(UNIX_EPOCH);
        let now = now.map_err(|_| AccessDenial::Unavailable)?.as_secs_f64();
        let leeway = self.leeway.as_secs_f64();
        let expires = time(claims, "exp")?.ok_or(invalid("bad_claims"))?;
        if now >= expires + leeway {
            return Err(invalid("expired"));
        }
        for name in ["nbf", "iat"] {
            if time(claims, name)?.is_some_and(|begins| now + leeway < begins) {
                return Err(invalid("not_yet_valid"));
            }
        }
        if claims.get("iss").and_then(Value::as_str) != Some(self.issuer) {
            return Err(invalid("wrong_issuer"));
        }
        let is_meant = match claims.get("aud") {
            None => false,
            Some(Value::String(audience)) => self.accepts(audience),
            Some(Value::Array(list)) => {
                let mut audiences = list.iter().map(Value::as_str);
                if audiences.clone().any(|audience| audience.is_none()) {
                    return Err(invalid("bad_claims"));
                }
                audiences.any(|audience| audience.is_some_and(|text| self.accepts(text)))
            }
            Some(_) => return Err(invalid("bad_claims")),
        };
        is_meant.then_some(()).ok_or(invalid("wrong_audience"))
    }

    /// Returns when a token that was checked expires; `None` if no clock can represent that time.
    pub(super) fn end(&self, claims: &Claims) -> Option<SystemTime> {
        let expires = time(claims, "exp").ok()??;
        let end = Duration::try_from_secs_f64(expires).ok()?;
        UNIX_EPOCH.checked_add(end)?.checked_add(self.leeway)
    }

    fn accepts(&self, audience: &str) -> bool {
        if self.audience.is_empty() {
            self.here.contains(&audience)
        } else {
            self.audience.iter().any(|accepted| accepted == audience)
        }
    }
}

/// Returns a time in seconds since 1970, possibly with a fraction.
fn time(claims: &Claims, name: &str) -> Result<Option<f64>, AccessDenial> {
    match claims.get(name) {
        None => Ok(None),
        Some(Value::Number(number)) => number.as_f64().map(Some).ok_or(invalid("bad_claims")),
        Some(_) => Err(invalid("bad_claims")),
    }
}

/// Returns the holder; `None` if it is not given in a form that can be passed on.
pub(super) fn bearer(claims: &Claims, names: &ClaimNames) -> Option<Bearer> {
    let claim = |name: &str| match name {
        "" => None,
        name => claims.get(name).filter(|value| !value.is_null()),
    };
    let user = header_safe(claim(&names.user)?)?;
    let role = claim(&names.role).map_or(Role::Viewer, role);
    let vaults = match claim(&names.vaults) {
        None => None,
        Some(Value::Array(list)) => Some(list.iter().map(header_safe).collect::<Option<_>>()?),
        Some(one) => Some(vec![header_safe(one)?]),
    };
    let effective_user = match claim(&names.effective_user) {
        // No user is named: the store sees the user who signed in.
        Some(Value::String(text)) if text.trim().is_empty() => None,
        Some(value) => Some(header_safe(value)?),
        None => None,
    };
    Some(Bearer {
        user,
        role,
        vaults,
        effective_user,
        expires: None,
    })
}

/// Returns the role that is named, or the first known one of a list.
fn role(value: &Value) -> Role {
    let known = |value: &Value| {
        let name = value.as_str()?;
        Some(Role::named(name)).filter(|role| role.name() == name)
    };
    let role = match value {
        Value::Array(list) => list.iter().find_map(known),
        one => known(one),
    };
    role.unwrap_or(Role::Viewer)
}

fn header_safe(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| is_header_safe(text))?;
    Some(text.to_owned())
}
