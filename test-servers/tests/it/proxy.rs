//! Faults, in front of either server.

use std::io;
use std::time::Duration;

use sectile_test_servers::{Fault, Postgres, Proxy, S3};

use crate::client::{Answer, ask};
use crate::postgres::{connect, value};

fn with_object(text: &str) -> (S3, Proxy) {
    let s3 = S3::start();
    s3.bucket("notes");
    s3.put("notes", "a.md", text);
    let proxy = Proxy::to(s3.address());
    (s3, proxy)
}

fn get(s3: &S3, proxy: &Proxy) -> io::Result<Answer> {
    let range = [("Range", "bytes=0-")];
    ask(s3, proxy.address(), "GET", "/notes/a.md", &range, "")
}

#[test]
fn requests_are_remembered() {
    let (s3, proxy) = with_object("text");
    assert_eq!(get(&s3, &proxy).unwrap().body, "text");
    let put = ask(
        &s3,
        proxy.address(),
        "PUT",
        "/notes/b.md",
        &[],
        "GET / HTTP/1.1",
    )
    .unwrap();
    assert_eq!(put.status, 200);
    let seen = proxy.take_requests();
    let shown: Vec<_> = seen
        .iter()
        .map(|seen| {
            (
                seen.method.as_str(),
                seen.path.as_str(),
                seen.range.as_deref(),
            )
        })
        .collect();
    let expected = [
        ("GET", "/notes/a.md", Some("bytes=0-")),
        ("PUT", "/notes/b.md", None),
    ];
    assert_eq!(shown, expected);
    assert!(proxy.requests().is_empty());
    assert_eq!(proxy.connections(), 2);
}

#[test]
fn it_answers_for_the_server_and_then_passes() {
    let (s3, proxy) = with_object("text");
    proxy.set(Fault::Answer {
        status: 503,
        retry_after: Some(1),
        times: 2,
    });
    for _ in 0..2 {
        let answer = get(&s3, &proxy).unwrap();
        assert_eq!(
            (answer.status, answer.header("retry-after")),
            (503, Some("1"))
        );
    }
    assert_eq!(get(&s3, &proxy).unwrap().body, "text");
    assert_eq!(proxy.requests().len(), 3);
}

#[test]
fn a_cut_is_where_it_should_be() {
    let (s3, proxy) = with_object(&"x".repeat(100_000));
    let whole = get(&s3, &proxy).unwrap();
    let head = whole.head.len() + 4;
    proxy.set(Fault::Cut {
        after: head + 50_000,
        times: 1,
    });
    assert_eq!(get(&s3, &proxy).unwrap().body.len(), 50_000);
    assert_eq!(get(&s3, &proxy).unwrap().body.len(), 100_000);
    proxy.set(Fault::Cut { after: 0, times: 1 });
    assert!(get(&s3, &proxy).is_err());
}

#[test]
fn nobody_is_there_until_somebody_is() {
    let (s3, proxy) = with_object("text");
    for _ in 0..3 {
        proxy.set(Fault::Refuse);
        let error = get(&s3, &proxy).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        proxy.set(Fault::Pass);
        assert_eq!(get(&s3, &proxy).unwrap().body, "text");
    }
}

#[tokio::test]
async fn connections_to_postgres_hang_and_go_on() {
    let postgres = Postgres::start();
    postgres.create_role("reader", "secret");
    let proxy = Proxy::to(postgres.address());
    let url = postgres.url_at(proxy.address(), "reader", "secret", "postgres");
    let client = connect(&url).await.unwrap();
    proxy.set(Fault::Hang);
    let mut asked = Box::pin(value(&client, "SELECT 'late'"));
    let early = tokio::time::timeout(Duration::from_millis(200), &mut asked).await;
    assert!(early.is_err());
    proxy.set(Fault::Pass);
    assert_eq!(asked.await.unwrap(), "late");
    proxy.set(Fault::Cut { after: 3, times: 1 });
    assert!(value(&client, "SELECT 'lost'").await.is_err());
    let again = connect(&url).await.unwrap();
    assert_eq!(value(&again, "SELECT 'found'").await.unwrap(), "found");
    proxy.set(Fault::Refuse);
    assert!(value(&again, "SELECT 'lost'").await.is_err());
    assert!(connect(&url).await.is_err());
    assert!(proxy.requests().is_empty());
}
