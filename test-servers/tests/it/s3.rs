//! S3, through signed requests.

use sectile_test_servers::S3;

use crate::client::{ask, get};

#[test]
fn an_object_is_there_until_it_is_deleted() {
    let s3 = S3::start();
    s3.bucket("notes");
    s3.put("notes", "a/b c.md", "# One");
    let first = get(&s3, "/notes/a/b%20c.md");
    assert_eq!((first.status, first.body.as_str()), (200, "# One"));
    let tag = first.header("etag").unwrap();
    assert_eq!(tag, get(&s3, "/notes/a/b%20c.md").header("etag").unwrap());

    s3.put("notes", "a/b c.md", "# Two");
    let second = get(&s3, "/notes/a/b%20c.md");
    assert_eq!(second.body, "# Two");
    assert_ne!(tag, second.header("etag").unwrap());

    s3.delete("notes", "a/b c.md");
    let gone = get(&s3, "/notes/a/b%20c.md");
    assert_eq!(
        (gone.status, gone.elements("Code")),
        (404, vec!["NoSuchKey"])
    );
    s3.delete("notes", "a/b c.md");
}

#[test]
fn what_came_by_http_is_forgotten_with_the_object() {
    let s3 = S3::start();
    s3.bucket("notes");
    let put = ask(&s3, s3.address(), "PUT", "/notes/a.md", &[], "by HTTP").unwrap();
    assert_eq!(put.status, 200, "{}", put.body);
    let first = get(&s3, "/notes/a.md");
    assert_eq!(first.body, "by HTTP");
    s3.put("notes", "a.md", "as a file");
    let second = get(&s3, "/notes/a.md");
    assert_eq!(second.body, "as a file");
    assert_ne!(first.header("etag"), second.header("etag"));
}

#[test]
fn a_range_is_a_part() {
    let s3 = S3::start();
    s3.bucket("notes");
    s3.put("notes", "a.md", "0123456789");
    let range = |range| {
        ask(
            &s3,
            s3.address(),
            "GET",
            "/notes/a.md",
            &[("Range", range)],
            "",
        )
        .unwrap()
    };
    let part = range("bytes=2-4");
    assert_eq!((part.status, part.body.as_str()), (206, "234"));
    assert_eq!(part.header("content-range"), Some("bytes 2-4/10"));
    assert_eq!(part.header("etag"), get(&s3, "/notes/a.md").header("etag"));
    assert_eq!(range("bytes=20-30").status, 416);
}

#[test]
fn lists_come_in_pages() {
    let s3 = S3::start();
    s3.bucket("notes");
    for number in 0..5 {
        s3.put("notes", &format!("c/{number}.md"), "x");
    }
    s3.put("notes", "d.md", "x");
    let mut keys = Vec::new();
    let mut target = "/notes?list-type=2&max-keys=2&prefix=c%2F".to_owned();
    let mut pages = 0;
    loop {
        let page = get(&s3, &target);
        assert_eq!(page.status, 200, "{}", page.body);
        pages += 1;
        keys.extend(page.elements("Key").iter().map(|key| (*key).to_owned()));
        let Some(token) = page.elements("NextContinuationToken").first().copied() else {
            assert_eq!(page.elements("IsTruncated"), ["false"]);
            break;
        };
        let token = token.replace('/', "%2F");
        target = format!("/notes?continuation-token={token}&list-type=2&max-keys=2&prefix=c%2F");
    }
    assert_eq!(pages, 3);
    assert_eq!(keys, ["c/0.md", "c/1.md", "c/2.md", "c/3.md", "c/4.md"]);
    let folders = get(&s3, "/notes?delimiter=%2F&list-type=2");
    assert_eq!(folders.elements("Key"), ["d.md"]);
    assert_eq!(folders.elements("Prefix").last(), Some(&"c/"));
}

/// The limitations in the module documentation of the server. If one of these fails, that documentation is outdated.
#[test]
fn what_it_does_not_do() {
    let s3 = S3::start();
    s3.bucket("notes");
    s3.put("notes", "a.md", "x");
    let list = get(&s3, "/notes?list-type=2");
    assert!(list.elements("ETag").is_empty());
    let condition = [("If-Match", "\"00000000000000000000000000000000\"")];
    let condition = ask(&s3, s3.address(), "GET", "/notes/a.md", &condition, "").unwrap();
    assert_eq!(condition.status, 200);
    assert_eq!(get(&s3, "/nowhere/a.md").elements("Code"), ["NoSuchKey"]);
    assert_eq!(
        get(&s3, "/nowhere?list-type=2").elements("Code"),
        ["NoSuchBucket"]
    );
}

#[test]
fn a_restart_keeps_data_and_port() {
    let mut s3 = S3::start();
    s3.bucket("notes");
    s3.put("notes", "a.md", "x");
    let endpoint = s3.endpoint();
    s3.stop();
    assert!(ask(&s3, s3.address(), "GET", "/notes/a.md", &[], "").is_err());
    s3.put("notes", "b.md", "while it was down");
    s3.start_again();
    assert_eq!(s3.endpoint(), endpoint);
    assert_eq!(get(&s3, "/notes/a.md").body, "x");
    assert_eq!(get(&s3, "/notes/b.md").body, "while it was down");
}

#[test]
fn two_do_not_know_each_other_and_a_folder_can_be_given() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (S3::start(), S3::start_in(folder.path()));
    for (s3, text) in [(&one, "one"), (&two, "two")] {
        s3.bucket("notes");
        s3.put("notes", "a.md", text);
    }
    assert_eq!(get(&one, "/notes/a.md").body, "one");
    assert_eq!(get(&two, "/notes/a.md").body, "two");
    drop(two);
    assert_eq!(
        std::fs::read(folder.path().join("notes/a.md")).unwrap(),
        b"two"
    );
}
