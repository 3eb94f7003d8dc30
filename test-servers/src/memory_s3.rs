//! An S3 server in memory whose conditional writes are linearizable.
//!
//! Protocol, signatures and errors come from the library `s3s`; what is stored, and under which conditions, is decided
//! here, under one lock. It does what S3 documents: `If-None-Match: *` and `If-Match` on `PUT` answer 412 where the
//! condition does not hold and 404 where the object to match is missing; `If-None-Match` on `GET` answers 304; the `ETag`
//! is a digest of the bytes, so the same bytes have the same one. `boto3` proves this in the tests of this package.
//!
//! It has no versions, multipart uploads, access lists or regions. Head and body of an answer leave together, without
//! waiting for an acknowledgement.

mod faults;
mod objects;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tokio::net::TcpStream;

pub use self::faults::RequestFault;
use self::faults::{FaultPlan, Verdict};
use self::objects::{Buckets, MemoryObjects};
use crate::background::{Background, adopt, listen, loopback};
use crate::must;
use crate::process::free_port;

const ACCESS_KEY: &str = "TESTACCESSKEY";
const SECRET_KEY: &str = "secret-key-of-the-tests";
const ATTEMPTS: usize = 5;

/// A running server. It ends when dropped, and its objects with it.
pub struct MemoryS3 {
    address: SocketAddr,
    buckets: Arc<Buckets>,
    faults: Arc<FaultPlan>,
    _background: Background,
}

impl MemoryS3 {
    /// Starts an empty server on a free port of the loopback interface.
    ///
    /// # Panics
    /// Panics if it cannot listen.
    #[must_use]
    #[track_caller]
    pub fn start() -> Self {
        must(Self::new())
    }

    /// Returns the address that clients connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the endpoint URL for clients; the bucket is the first part of the path.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the access key that is accepted.
    #[must_use]
    pub fn access_key(&self) -> &'static str {
        ACCESS_KEY
    }

    /// Returns the secret that requests are signed with.
    #[must_use]
    pub fn secret_key(&self) -> &'static str {
        SECRET_KEY
    }

    /// Creates a bucket; an existing one stays as it is.
    pub fn bucket(&self, name: &str) {
        self.buckets.create(name);
    }

    /// Puts an object without a request.
    ///
    /// # Panics
    /// Panics if there is no such bucket.
    #[track_caller]
    pub fn put(&self, bucket: &str, key: &str, bytes: impl AsRef<[u8]>) {
        let bytes = Bytes::copy_from_slice(bytes.as_ref());
        assert!(
            self.buckets.put(bucket, key, bytes),
            "there is no bucket `{bucket}`"
        );
    }

    /// Returns the bytes of an object, without a request.
    #[must_use]
    pub fn object(&self, bucket: &str, key: &str) -> Option<Bytes> {
        self.buckets.bytes(bucket, key)
    }

    /// Deletes an object without a request, if it exists.
    pub fn delete(&self, bucket: &str, key: &str) {
        self.buckets.delete(bucket, key);
    }

    /// Returns all keys of a bucket in order.
    #[must_use]
    pub fn keys(&self, bucket: &str) -> Vec<String> {
        self.buckets.keys(bucket)
    }

    /// Sets the clock forward by which the server dates objects.
    pub fn advance_clock(&self, by: Duration) {
        self.buckets.advance_clock(by);
    }

    /// Puts at most this many objects on a page of a listing, whatever clients ask for.
    pub fn limit_pages(&self, objects: usize) {
        self.buckets.limit_pages(objects);
    }

    /// Carries out every write from now on, whatever its conditions, as some servers do.
    pub fn ignore_conditions(&self) {
        self.buckets.ignore_conditions();
    }

    /// Lets `after` requests pass, and then makes `times` of them fail. The requests are counted from here.
    pub fn fail(&self, after: usize, times: usize, fault: RequestFault) {
        self.faults.set(after, times, Some(fault));
    }

    /// Ends all faults, and counts requests from here.
    pub fn heal(&self) {
        self.faults.set(0, 0, None);
    }

    /// Returns the number of requests since the last [`Self::fail`] or [`Self::heal`], or since the start.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.faults.requests()
    }

    fn new() -> Result<Self> {
        let buckets = Arc::new(Buckets::default());
        let faults = Arc::new(FaultPlan::default());
        let mut builder = S3ServiceBuilder::new(MemoryObjects(Arc::clone(&buckets)));
        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = builder.build();
        for _ in 0..ATTEMPTS {
            let port = free_port()?;
            // Somebody else may have taken it in between.
            let Ok(listener) = listen(port) else {
                continue;
            };
            let serving = accept(listener, service, Arc::clone(&faults));
            return Ok(Self {
                address: loopback(port),
                buckets,
                faults,
                _background: Background::start(serving).context("cannot start the server")?,
            });
        }
        bail!("the server finds no port")
    }
}

async fn accept(listener: std::net::TcpListener, service: S3Service, faults: Arc<FaultPlan>) {
    let Ok(listener) = adopt(listener) else {
        return;
    };
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let (service, faults) = (service.clone(), Arc::clone(&faults));
        tokio::spawn(async move {
            // The client notices a broken connection.
            drop(serve(stream, service, faults).await);
        });
    }
}

async fn serve(stream: TcpStream, service: S3Service, faults: Arc<FaultPlan>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let answer = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let (service, verdict) = (service.clone(), faults.judge());
        async move {
            match verdict {
                Verdict::Drop => return Err(closed()),
                Verdict::Answer(response) => {
                    // Closing before the whole request was read would cost the client the answer.
                    drop(http_body_util::BodyExt::collect(request.into_body()).await);
                    return Ok(response);
                }
                Verdict::Serve | Verdict::Lose => {}
            }
            let response = service.call(request.map(s3s::Body::from)).await;
            match (verdict_keeps(&verdict), response) {
                (true, Ok(response)) => Ok(response),
                _ => Err(closed()),
            }
        }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
    connection.await.map_err(io::Error::other)
}

fn verdict_keeps(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Serve)
}

fn closed() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}
