//! Requests to S3, signed with signature version 4.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use ring::{digest, hmac};
use sectile_test_servers::S3;

const REGION: &str = "us-east-1";
const BODY: &str = "UNSIGNED-PAYLOAD";

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(found.1.trim())
    }

    /// Returns the contents of the elements with this name, in order.
    pub(crate) fn elements(&self, name: &str) -> Vec<&str> {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let parts = self.body.split(open.as_str()).skip(1);
        parts
            .filter_map(|part| Some(part.split_once(close.as_str())?.0))
            .collect()
    }
}

/// Sends a `GET` of `target`: a path and, sorted and encoded, a query.
pub(crate) fn get(s3: &S3, target: &str) -> Answer {
    ask(s3, s3.address(), "GET", target, &[], "").unwrap()
}

/// Sends a request to `address`, signed for it, with headers and a body.
pub(crate) fn ask(
    s3: &S3,
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> io::Result<Answer> {
    let host = address.to_string();
    let (time, authorization) = sign(s3.access_key(), s3.secret_key(), &host, method, target);
    let mut request = format!(
        "{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nx-amz-date: {time}\r\n\
         x-amz-content-sha256: {BODY}\r\nAuthorization: {authorization}\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    request.push_str(body);
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(request.as_bytes())?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    let (head, body) = said
        .split_once("\r\n\r\n")
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(Answer {
        status: head[9..12].parse().unwrap(),
        head: head.to_owned(),
        body: body.to_owned(),
    })
}

fn sign(access: &str, secret: &str, host: &str, method: &str, target: &str) -> (String, String) {
    let date = Command::new("date")
        .args(["-u", "+%Y%m%dT%H%M%SZ"])
        .output()
        .unwrap();
    let time = String::from_utf8(date.stdout).unwrap().trim().to_owned();
    let day = &time[..8];
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let names = "host;x-amz-content-sha256;x-amz-date";
    let request = format!(
        "{method}\n{path}\n{query}\nhost:{host}\nx-amz-content-sha256:{BODY}\nx-amz-date:{time}\n\n{names}\n{BODY}"
    );
    let scope = format!("{day}/{REGION}/s3/aws4_request");
    let digest = hex(digest::digest(&digest::SHA256, request.as_bytes()).as_ref());
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{digest}");
    let mut key = format!("AWS4{secret}").into_bytes();
    for part in [day, REGION, "s3", "aws4_request", &text] {
        let signer = hmac::Key::new(hmac::HMAC_SHA256, &key);
        key = hmac::sign(&signer, part.as_bytes()).as_ref().to_vec();
    }
    let signature = hex(&key);
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={access}/{scope}, SignedHeaders={names}, Signature={signature}"
    );
    (time, authorization)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
