//! Visits: a person in a browser who was let in, known by a cookie.

use std::{
    collections::HashMap,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use subtle::ConstantTimeEq as _;

use crate::access::{ListenPermit, random_bytes};

/// Most visits at a time; the one that was idle for the longest ends when there are more.
const MOST_VISITS: usize = 256;
/// How long a visit lasts without a request: a working day.
const IDLE: Duration = Duration::from_secs(12 * 60 * 60);
/// Number of random bytes in a cookie and in a form token.
const TOKEN_BYTES: usize = 32;

/// A person who was let in.
#[derive(Clone)]
pub(super) struct Visit {
    /// Who it is, if people sign in.
    pub(super) permit: Option<Arc<ListenPermit>>,
    /// The token of this person's forms.
    pub(super) form_token: String,
}

impl Visit {
    /// Returns whether a form contains the token of this visit.
    pub(super) fn owns_form(&self, token: &str) -> bool {
        self.form_token.as_bytes().ct_eq(token.as_bytes()).into()
    }
}

/// The visits of a server, by the digest of their cookie: comparing digests says nothing about cookies.
#[derive(Default)]
pub(super) struct Visits(Mutex<HashMap<Vec<u8>, (Visit, Instant)>>);

impl Visits {
    /// Lets a person in, and returns the cookie that they are known by.
    pub(super) fn begin(&self, permit: Option<Arc<ListenPermit>>) -> io::Result<String> {
        let cookie = random_token()?;
        let visit = Visit {
            permit,
            form_token: random_token()?,
        };
        let mut visits = self.0.lock();
        visits.retain(|_, (_, seen)| seen.elapsed() < IDLE);
        if visits.len() >= MOST_VISITS
            && let Some(oldest) = visits.iter().min_by_key(|(_, (_, seen))| *seen)
        {
            let oldest = oldest.0.clone();
            visits.remove(&oldest);
        }
        visits.insert(key(&cookie), (visit, Instant::now()));
        Ok(cookie)
    }

    /// Returns the visit that a cookie belongs to.
    pub(super) fn find(&self, cookie: &str) -> Option<Visit> {
        let mut visits = self.0.lock();
        let (visit, seen) = visits.get_mut(&key(cookie))?;
        if seen.elapsed() >= IDLE {
            return None;
        }
        *seen = Instant::now();
        Some(visit.clone())
    }

    pub(super) fn end(&self, cookie: &str) {
        self.0.lock().remove(&key(cookie));
    }
}

fn key(cookie: &str) -> Vec<u8> {
    digest(&SHA256, cookie.as_bytes()).as_ref().to_vec()
}

fn random_token() -> io::Result<String> {
    Ok(URL_SAFE_NO_PAD.encode(random_bytes::<TOKEN_BYTES>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_is_known_by_its_cookie_until_it_ends() {
        let visits = Visits::default();
        let (one, other) = (visits.begin(None).unwrap(), visits.begin(None).unwrap());
        let visit = visits.find(&one).expect("a visit");
        assert!(visit.owns_form(&visit.form_token));
        assert!(!visit.owns_form(&visits.find(&other).unwrap().form_token));
        assert!(!visit.owns_form(""));
        visits.end(&one);
        assert!(visits.find(&one).is_none() && visits.find(&other).is_some());
        assert!(visits.find("").is_none());
    }

    #[test]
    fn the_number_of_visits_is_bounded() {
        let visits = Visits::default();
        let first = visits.begin(None).unwrap();
        let cookies: Vec<String> = (0..MOST_VISITS)
            .map(|_| visits.begin(None).unwrap())
            .collect();
        assert!(visits.find(&first).is_none());
        assert!(cookies.iter().all(|cookie| visits.find(cookie).is_some()));
    }
}
