//! Parsing of one page of a listing, as the storage writes it.
//!
//! The library that requests pages would reject a whole page because of one key that is not a path to it (`a//b.md`), and
//! strip the slashes from others (`a.md/`). So pages are parsed here, and keys stay what they are.

use jiff::Timestamp;
use serde::Deserialize;

use super::error::ObjectError;

/// One page of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) entries: Vec<Entry>,
    /// Common prefixes of keys up to the next slash, if they were requested.
    pub(super) folders: Vec<String>,
    /// The token that requests the next page, if there is one.
    pub(super) next: Option<String>,
}

/// An object in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) bytes: u64,
    pub(super) modified: Timestamp,
    pub(super) tag: Option<String>,
}

/// The only root element that a listing may have: parsing a web page as an empty listing would hide everything.
#[derive(Deserialize)]
enum ListResponse {
    ListBucketResult(BucketListing),
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BucketListing {
    #[serde(default)]
    is_truncated: bool,
    next_continuation_token: Option<String>,
    #[serde(default)]
    contents: Vec<Contents>,
    #[serde(default)]
    common_prefixes: Vec<CommonPrefix>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Contents {
    key: String,
    size: u64,
    last_modified: String,
    #[serde(rename = "ETag")]
    tag: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CommonPrefix {
    prefix: String,
}

impl Page {
    pub(super) fn parse(body: &[u8]) -> Result<Self, ObjectError> {
        let text = std::str::from_utf8(body).map_err(|_| ObjectError::Unclear)?;
        let ListResponse::ListBucketResult(listed) =
            quick_xml::de::from_str(text).map_err(|_| ObjectError::Unclear)?;
        let next = match listed.next_continuation_token {
            // Truncated, but without a token for the rest: an incomplete answer.
            None if listed.is_truncated => return Err(ObjectError::Unclear),
            next => next.filter(|_| listed.is_truncated),
        };
        let entries = listed.contents.into_iter().map(Entry::try_from);
        Ok(Self {
            entries: entries.collect::<Result<_, _>>()?,
            folders: listed
                .common_prefixes
                .into_iter()
                .map(|one| one.prefix)
                .collect(),
            next,
        })
    }
}

impl TryFrom<Contents> for Entry {
    type Error = ObjectError;

    fn try_from(contents: Contents) -> Result<Self, ObjectError> {
        Ok(Self {
            modified: contents
                .last_modified
                .parse()
                .map_err(|_| ObjectError::Unclear)?,
            key: contents.key,
            bytes: contents.size,
            tag: contents.tag.filter(|tag| !tag.is_empty()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(inside: &str) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{inside}</ListBucketResult>"
        )
    }

    fn contents(key: &str) -> String {
        format!(
            "<Contents><Key>{key}</Key><LastModified>2026-01-02T03:04:05.006Z</LastModified>\
             <ETag>&quot;abc&quot;</ETag><Size>7</Size><StorageClass>STANDARD</StorageClass></Contents>"
        )
    }

    #[test]
    fn keys_stay_what_they_are() {
        for (written, key) in [
            ("a/b.md", "a/b.md"),
            (" a/b ", " a/b "),
            ("a//b.md", "a//b.md"),
            ("/a.md/", "/a.md/"),
            ("../a.md", "../a.md"),
            ("a&amp;b&lt;&quot;&#39;.md", "a&b<\"'.md"),
            ("a%2Fb+c.md", "a%2Fb+c.md"),
            ("Caf\u{e9}/\u{65e5}.md", "Caf\u{e9}/\u{65e5}.md"),
            ("a&#x9;b&#xd;&#x1;.md", "a\tb\r\u{1}.md"),
            ("a\u{1}b\u{fffe}.md", "a\u{1}b\u{fffe}.md"),
        ] {
            let page = Page::parse(list(&contents(written)).as_bytes()).unwrap();
            assert_eq!(page.entries[0].key, key);
        }
    }

    #[test]
    fn a_page_is_whole_or_none() {
        let inside = format!(
            "<IsTruncated>true</IsTruncated>{}<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes>{}\
             <CommonPrefixes><Prefix>b/</Prefix></CommonPrefixes>\
             <NextContinuationToken>t=&amp;</NextContinuationToken>",
            contents("x"),
            contents("y")
        );
        let page = Page::parse(list(&inside).as_bytes()).unwrap();
        assert_eq!(page.folders, ["a/", "b/"]);
        assert_eq!(page.entries.len(), 2);
        assert_eq!(page.entries[0].bytes, 7);
        assert_eq!(page.entries[0].tag.as_deref(), Some("\"abc\""));
        assert_eq!(page.entries[0].modified.as_millisecond(), 1_767_323_045_006);
        assert_eq!(page.next.as_deref(), Some("t=&"));
        assert_eq!(
            Page::parse(list("<IsTruncated>false</IsTruncated>").as_bytes()),
            Ok(Page::default())
        );
        assert_eq!(Page::parse(list("").as_bytes()), Ok(Page::default()));
        for broken in [
            "",
            "{}",
            "<html><body>Welcome</body></html>",
            "<Error><Code>InternalError</Code></Error>",
            &list("<IsTruncated>true</IsTruncated>"),
            &list("<Contents><Key>a</Key></Contents>"),
            &list(&contents("a").replace("2026", "yesterday")),
            &list(&contents("a").replace(">7<", ">-7<")),
            &list(&contents("a")).replace("</ListBucketResult>", ""),
            &list(&contents("&nothing;")),
        ] {
            assert_eq!(
                Page::parse(broken.as_bytes()),
                Err(ObjectError::Unclear),
                "{broken}"
            );
        }
        assert_eq!(Page::parse(b"\xff"), Err(ObjectError::Unclear));
    }

    #[test]
    fn the_beginning_of_a_page_is_no_page() {
        let whole = list(&format!("{}{}", contents("a"), contents("b")));
        assert!(Page::parse(whole.as_bytes()).is_ok());
        for end in 0..whole.len() {
            let begun = Page::parse(&whole.as_bytes()[..end]);
            assert_eq!(begun, Err(ObjectError::Unclear), "{end}");
        }
    }
}
