//! Checks of the `Host` and `Origin` headers. A browser page that reaches a local server by DNS rebinding fails here.

use http::{HeaderMap, Uri, header, uri::Authority};

/// Names of a server on its own machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The hosts and origins that may use a server. Loopback names are always allowed.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Origins {
    /// Allows `hosts` (`example.com` or `example.com:8080`) and `origins` (`https://app.example.com`) in addition to
    /// loopback.
    #[must_use]
    pub fn new(hosts: Vec<String>, origins: Vec<String>) -> Self {
        Self { hosts, origins }
    }

    /// Returns whether the headers of a request name a host that is served here and, if it comes from a page, an
    /// allowed origin.
    pub(super) fn admit(&self, headers: &HeaderMap, uri: &Uri) -> bool {
        let origin = headers
            .get(header::ORIGIN)
            .map(|value| value.to_str().unwrap_or("null"));
        self.admit_host(headers, uri) && origin.is_none_or(|origin| self.admits_origin(origin))
    }

    /// Returns whether the headers of a request name a host that is served here.
    pub(super) fn admit_host(&self, headers: &HeaderMap, uri: &Uri) -> bool {
        let host = match headers.get(header::HOST) {
            Some(_) => host_of(headers),
            None => uri.authority().cloned(),
        };
        let single_host = headers.get_all(header::HOST).iter().count() <= 1;
        single_host && host.is_some_and(|host| self.admits_host(&host))
    }

    /// Returns whether a request comes from a page of the host that it is sent to. Every browser says where a form comes
    /// from.
    pub(super) fn is_own_page(&self, headers: &HeaderMap, is_encrypted: bool) -> bool {
        let scheme = if is_encrypted { "https" } else { "http" };
        let origin = headers.get(header::ORIGIN);
        let origin = origin.and_then(|origin| origin.to_str().ok()?.parse::<Uri>().ok());
        let (Some(origin), Some(host)) = (origin, host_of(headers)) else {
            return false;
        };
        origin.scheme_str() == Some(scheme) && origin.authority() == Some(&host)
    }

    fn admits_host(&self, host: &Authority) -> bool {
        let is = |name: &str| {
            host.host().eq_ignore_ascii_case(name) || host.as_str().eq_ignore_ascii_case(name)
        };
        LOOPBACK.into_iter().any(is) || self.hosts.iter().any(|name| is(name))
    }

    fn admits_origin(&self, origin: &str) -> bool {
        if self
            .origins
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(origin))
        {
            return true;
        }
        let Ok(uri) = origin.parse::<Uri>() else {
            return false;
        };
        uri.scheme_str() == Some("http")
            && uri
                .authority()
                .is_some_and(|authority| LOOPBACK.contains(&authority.host()))
    }
}

fn host_of(headers: &HeaderMap) -> Option<Authority> {
    let host = headers.get(header::HOST)?;
    host.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(host: &str, origin: Option<&str>) -> bool {
        let origins = Origins::new(
            vec!["docs.example".to_owned()],
            vec!["https://app.example".to_owned()],
        );
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().expect("a header value"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().expect("a header value"));
        }
        origins.admit(&headers, &Uri::from_static("/mcp"))
    }

    #[test]
    fn loopback_and_listed_names_are_let_in() {
        assert!(admits("127.0.0.1:8080", None));
        assert!(admits("LOCALHOST", None));
        assert!(admits("[::1]:1", None));
        assert!(admits("docs.example:443", None));
        assert!(admits("localhost:1", Some("http://localhost:3000")));
        assert!(admits("localhost:1", Some("https://app.example")));
    }

    #[test]
    fn a_form_comes_from_a_page_of_the_same_host() {
        let is_own = |host: &str, origin: Option<&str>, is_encrypted| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().expect("a header value"));
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().expect("a header value"));
            }
            Origins::default().is_own_page(&headers, is_encrypted)
        };
        assert!(is_own(
            "127.0.0.1:7420",
            Some("http://127.0.0.1:7420"),
            false
        ));
        assert!(is_own("notes.example", Some("https://notes.example"), true));
        for (host, origin) in [
            ("127.0.0.1:7420", None),
            ("127.0.0.1:7420", Some("null")),
            ("127.0.0.1:7420", Some("http://127.0.0.1:7421")),
            ("127.0.0.1:7420", Some("http://localhost:7420")),
            ("127.0.0.1:7420", Some("https://127.0.0.1:7420")),
            ("127.0.0.1:7420", Some("http://a@127.0.0.1:7420")),
            ("127.0.0.1:7420", Some("http://evil.example")),
        ] {
            assert!(!is_own(host, origin, false), "{origin:?}");
        }
    }

    #[test]
    fn everything_else_stays_out() {
        assert!(!admits("evil.example", None));
        assert!(!admits("localhost.evil.example", None));
        assert!(!admits("", None));
        assert!(!admits("localhost:1", Some("http://evil.example")));
        assert!(!admits(
            "localhost:1",
            Some("https://app.example.evil.example")
        ));
        assert!(!admits("localhost:1", Some("null")));
        assert!(!admits(
            "localhost:1",
            Some("http://localhost@evil.example")
        ));
    }
}
