//! Faults of single requests, counted, so that a test can place one at every request of a sequence.

use hyper::{Response, StatusCode, header};
use parking_lot::Mutex;

/// The way in which a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFault {
    /// The request is not carried out, and its connection is closed.
    Drop,
    /// The request is carried out, and its connection is closed before the answer.
    Lose,
    /// The request is not carried out, and answered with this status and S3 error code.
    Refuse(u16, &'static str),
}

/// The faults that are due.
#[derive(Default)]
pub(super) struct FaultPlan(Mutex<Schedule>);

#[derive(Default)]
struct Schedule {
    seen: usize,
    after: usize,
    times: usize,
    fault: Option<RequestFault>,
}

/// The treatment of one request.
pub(super) enum Verdict {
    Serve,
    Lose,
    Drop,
    Answer(Response<s3s::Body>),
}

impl FaultPlan {
    pub(super) fn set(&self, after: usize, times: usize, fault: Option<RequestFault>) {
        *self.0.lock() = Schedule {
            seen: 0,
            after,
            times,
            fault,
        };
    }

    pub(super) fn requests(&self) -> usize {
        self.0.lock().seen
    }

    pub(super) fn judge(&self) -> Verdict {
        let mut schedule = self.0.lock();
        let number = schedule.seen;
        schedule.seen += 1;
        let is_due = number >= schedule.after && number - schedule.after < schedule.times;
        match schedule.fault.filter(|_| is_due) {
            None => Verdict::Serve,
            Some(RequestFault::Lose) => Verdict::Lose,
            Some(RequestFault::Drop) => Verdict::Drop,
            Some(RequestFault::Refuse(status, code)) => Verdict::Answer(refusal(status, code)),
        }
    }
}

fn refusal(status: u16, code: &str) -> Response<s3s::Body> {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>");
    let mut response = Response::new(s3s::Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    let kind = header::HeaderValue::from_static("application/xml");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
