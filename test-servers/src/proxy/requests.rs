//! Requests in a stream of bytes, parsed only as far as counting them requires.

use super::Request;

const MAX_HEADERS: usize = 64;
const MAX_HEAD: usize = 64 * 1024;

/// The position in the stream.
#[derive(Default)]
pub(super) struct Requests {
    /// The remaining bytes of the current request.
    left: u64,
    /// Whether this is not HTTP, or not of a form that can be followed.
    is_opaque: bool,
}

/// The next step for the pending bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Forward this many bytes, and ask again.
    Pass(usize),
    /// A request starts here; head and body have `length` bytes. Ask again.
    Begin { request: Request, length: u64 },
    /// Read more.
    More,
}

enum Head {
    Whole(Request, u64),
    Partial,
    Opaque,
}

impl Requests {
    pub(super) fn step(&mut self, waiting: &[u8]) -> Step {
        if waiting.is_empty() {
            return Step::More;
        }
        if self.is_opaque {
            return Step::Pass(waiting.len());
        }
        if self.left > 0 {
            let length =
                usize::try_from(self.left).map_or(waiting.len(), |left| left.min(waiting.len()));
            self.left -= length as u64;
            return Step::Pass(length);
        }
        match head(waiting) {
            Head::Whole(request, length) => {
                self.left = length;
                Step::Begin { request, length }
            }
            Head::Partial => Step::More,
            Head::Opaque => {
                self.is_opaque = true;
                Step::Pass(waiting.len())
            }
        }
    }
}

fn head(waiting: &[u8]) -> Head {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(waiting) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if waiting.len() < MAX_HEAD => return Head::Partial,
        _ => return Head::Opaque,
    };
    let header = |name: &str| {
        let mut all = parsed.headers.iter();
        let found = all.find(|header| header.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(found.value).ok().map(str::trim)
    };
    if header("transfer-encoding").is_some() || header("upgrade").is_some() {
        return Head::Opaque;
    }
    let body = header("content-length").and_then(|length| length.parse::<u64>().ok());
    let request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: parsed.path.unwrap_or_default().to_owned(),
        range: header("range").map(str::to_owned),
    };
    Head::Whole(request, length as u64 + body.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str, range: Option<&str>) -> Request {
        Request {
            method: "GET".to_owned(),
            path: path.to_owned(),
            range: range.map(str::to_owned),
        }
    }

    #[test]
    fn requests_are_found_one_after_the_other() {
        let mut requests = Requests::default();
        let put = "PUT /b HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc";
        let text = format!("{put}GET /a?x HTTP/1.1\r\nRange: bytes=1-2\r\n\r\n");
        let bytes = text.as_bytes();
        let Step::Begin { request, length } = requests.step(bytes) else {
            panic!("no request");
        };
        assert_eq!((request.method.as_str(), length), ("PUT", put.len() as u64));
        assert_eq!(requests.step(&bytes[..5]), Step::Pass(5));
        assert_eq!(requests.step(&bytes[5..]), Step::Pass(put.len() - 5));
        assert_eq!(requests.step(&bytes[put.len()..put.len() + 9]), Step::More);
        let second = &bytes[put.len()..];
        let begin = Step::Begin {
            request: get("/a?x", Some("bytes=1-2")),
            length: second.len() as u64,
        };
        assert_eq!(requests.step(second), begin);
    }

    #[test]
    fn other_protocols_pass() {
        let mut requests = Requests::default();
        assert_eq!(requests.step(&[0, 0, 0, 8, 4, 210, 22, 47]), Step::Pass(8));
        assert_eq!(requests.step(b"GET / HTTP/1.1\r\n\r\n"), Step::Pass(18));
    }
}
