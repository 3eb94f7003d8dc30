//! Making, storing, finding and refusing keys.

use proptest::prelude::*;

use super::*;

const NOW: &str = "2026-11-15T12:00:00Z";

fn holder(user: &str) -> KeyHolder {
    KeyHolder {
        user: user.to_owned(),
        role: Role::Editor,
        vaults: vec!["default".to_owned(), "second".to_owned()],
        roots: (user == "bob").then(|| vec!["work".to_owned(), "Über uns".to_owned()]),
    }
}

fn file() -> (KeyFile, Vec<NewKey>) {
    let mut file = KeyFile::default();
    let keys = ["ann", "bob", "ann"].map(|user| file.add(holder(user), NOW).unwrap());
    (file, keys.into())
}

/// Returns a valid file with one key, in which a test can break something.
fn text() -> String {
    let mut file = KeyFile::default();
    file.add(holder("ann"), NOW).unwrap();
    file.to_text()
}

#[test]
fn keys_survive_the_file_and_their_texts_are_not_in_it() {
    let (mut file, keys) = file();
    assert!(file.revoke(&keys[2].id, "2026-11-16T00:00:00Z"));
    let text = file.to_text();
    let read = KeyFile::parse(&text).unwrap();
    assert_eq!(read.to_text(), text);
    assert!(read.entries().eq(file.entries()));
    assert_eq!(read.verify(keys[0].text.reveal()), Some(&holder("ann")));
    assert_eq!(read.verify(keys[1].text.reveal()), Some(&holder("bob")));
    assert_eq!(read.verify(keys[2].text.reveal()), None);
    assert_eq!(read.check(keys[2].text.reveal()), Err(KeyRefusal::Revoked));
    for key in &keys {
        let secret = key.text.reveal().rsplit_once(&key.id).unwrap().1;
        assert!(!text.contains(secret));
        let decoded = URL_SAFE_NO_PAD.decode(&secret[1..]).unwrap();
        assert!(!text.contains(&STANDARD.encode(decoded)));
        assert!(!format!("{file:?}").contains(&key.id));
    }
    let ids: Vec<&str> = read.entries().map(|entry| entry.id).collect();
    assert_eq!(ids, keys.iter().map(|key| &key.id).collect::<Vec<_>>());
}

#[test]
fn keys_have_the_form_that_is_promised() {
    let (_, keys) = file();
    for key in keys {
        let (id, secret) = key.text.reveal()["sectile_".len()..]
            .split_once('_')
            .unwrap();
        assert_eq!(id, key.id);
        assert_eq!(id.len(), 16);
        assert_eq!(secret.len(), 43);
        assert_eq!(format!("{:?}", key.text), "Secret");
    }
}

#[test]
fn a_secret_opens_nothing_but_its_own_id() {
    let (file, keys) = file();
    let [first, second] = [0, 1].map(|index| keys[index].text.reveal());
    let swapped = first.replacen(&keys[0].id, &keys[1].id, 1);
    assert_eq!(file.check(&swapped), Err(KeyRefusal::Unknown));
    let unknown = second.replacen(&keys[1].id, "0123456789abcdef", 1);
    assert_eq!(file.check(&unknown), Err(KeyRefusal::Unknown));
    // The value that an unknown id is compared with must not open anything either.
    let zeros = format!("sectile_0000000000000000_{}", "A".repeat(43));
    assert_eq!(file.check(&zeros), Err(KeyRefusal::Unknown));
    assert_eq!(KeyFile::default().check(first), Err(KeyRefusal::Unknown));
}

#[test]
fn every_other_text_is_refused() {
    let (file, keys) = file();
    let text = keys[0].text.reveal();
    for index in 0..text.len() {
        for replacement in ['A', 'B', 'a', '0', '_', '-', '=', ' ', 'ü'] {
            let mut other: String = text[..index].to_owned();
            other.push(replacement);
            other.push_str(&text[index + 1..]);
            assert_eq!(file.verify(&other).is_some(), other == text, "{index}");
        }
        assert!(file.verify(&text[..index]).is_none());
        assert!(file.verify(&text[index + 1..]).is_none());
    }
    for other in [format!("{text}="), format!("{text}A"), format!(" {text}")] {
        assert!(file.verify(&other).is_none());
    }
}

#[test]
fn revoking_is_for_good_and_for_one() {
    let (mut file, keys) = file();
    assert!(!file.revoke("0123456789abcdef", NOW));
    assert!(!file.revoke(&keys[0].id, "yesterday"));
    assert!(file.verify(keys[0].text.reveal()).is_some());
    assert!(file.revoke(&keys[0].id, "2026-11-16T00:00:00Z"));
    assert!(file.revoke(&keys[0].id, "2026-11-17T00:00:00Z"));
    let revoked: Vec<_> = file.entries().map(|entry| entry.revoked).collect();
    assert_eq!(revoked, [Some("2026-11-16T00:00:00Z"), None, None]);
    assert!(file.verify(keys[0].text.reveal()).is_none());
    assert!(file.verify(keys[2].text.reveal()).is_some());
    // A caller that guesses a secret does not learn that its key existed once.
    let wrong = format!("sectile_{}_{}", keys[0].id, "A".repeat(43));
    assert_eq!(file.check(&wrong), Err(KeyRefusal::Unknown));
}

#[test]
fn holders_that_cannot_stand_in_a_header_get_no_key() {
    let long = "x".repeat(257);
    for name in ["", " ", "a b", "a\nb", "a\u{7f}", "ä", "a\0", &long] {
        let mut file = KeyFile::default();
        let refused = file.add(holder(name), NOW).err();
        assert_eq!(refused, Some(KeyError::User), "{name:?}");
        let mut other = holder("ann");
        other.vaults.push(name.to_owned());
        assert_eq!(
            file.add(other, NOW).err(),
            Some(KeyError::Vault),
            "{name:?}"
        );
        assert_eq!(file.entries().count(), 0);
    }
    let mut file = KeyFile::default();
    for time in ["", "2026", "2026-11-15", "12:00", "\""] {
        assert_eq!(file.add(holder("ann"), time).err(), Some(KeyError::Time));
    }
    assert!(file.add(holder(&long[1..]), NOW).is_ok());
}

#[test]
fn a_file_that_is_not_right_is_refused_without_showing_it() {
    let good = text();
    assert!(KeyFile::parse(&good).is_ok());
    assert!(KeyFile::parse("version = 1").is_ok());
    let value = |name: &str| {
        let line = good.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_once(" = ").unwrap().1.to_owned()
    };
    let table = good.split_once("[[key]]").unwrap().1;
    let cases = [
        (String::new(), "line 1 "),
        ("version = 2".to_owned(), "only version 1"),
        ("version = \"VERYSECRET\"".to_owned(), "line 1 "),
        ("version = 1\nVERYSECRET = 1".to_owned(), "line 2 "),
        (
            "version = 1\n[[key]]\nid = \"VERYSECRET".to_owned(),
            "line 3 ",
        ),
        (good.replace("user = ", "VERYSECRET = 1\nuser = "), "line "),
        (good.replace("user = \"ann\"\n", ""), "line "),
        (good.replace("\"ann\"", "\"VERYSECRET \""), "the user"),
        (good.replace("\"ann\"", "\"\""), "the user"),
        (good.replace("\"second\"", "\"VERYSECRET \""), "a vault"),
        (good.replace("\"editor\"", "\"VERYSECRET\""), "the role"),
        (good.replace("\"editor\"", "\"Editor\""), "the role"),
        (good.replace(NOW, "VERYSECRET"), "a time"),
        (
            good.replace("\nsalt", "\nrevoked = \"VERYSECRET\"\nsalt"),
            "a time",
        ),
        (good.replace(&value("salt"), "\"VERYSECRET\""), "the salt"),
        (good.replace(&value("salt"), "\"\""), "the salt"),
        (good.replace(&value("hash"), "\"VERYSECRET\""), "the hash"),
        (good.replace(&value("hash"), &value("salt")), "the hash"),
        (
            good.replace(&value("id"), "\"VERYSECRET\""),
            "the id of key 1",
        ),
        (
            good.replace(&value("id"), "\"0123456789ABCDEF\""),
            "the id of key 1",
        ),
        (format!("{good}\n[[key]]{table}"), "appears twice"),
    ];
    for (text, expected) in cases {
        let problem = KeyFile::parse(&text).unwrap_err();
        assert!(problem.contains(expected), "{problem} / {expected}");
        assert!(!problem.contains("VERYSECRET"), "{problem}");
    }
}

proptest! {
    #[test]
    fn no_text_is_a_key_by_chance(text in "(sectile_)?[0-9a-f_]{0,20}.{0,50}") {
        let (file, _) = file();
        prop_assert!(file.verify(&text).is_none());
    }

    #[test]
    fn no_text_is_too_odd_to_be_refused(text in ".{0,200}") {
        prop_assert!(KeyFile::parse(&text).is_err());
    }
}

#[test]
fn a_key_may_be_bound_to_roots() {
    let bound = |roots: &[&str]| KeyHolder {
        roots: Some(roots.iter().map(|&root| root.to_owned()).collect()),
        ..holder("ann")
    };
    let mut file = KeyFile::default();
    let long = "x".repeat(257);
    for wrong in [&[][..], &[""], &["a\nb"], &["work", long.as_str()]] {
        let refused = file.add(bound(wrong), NOW).err();
        assert_eq!(refused, Some(KeyError::Root), "{wrong:?}");
    }
    let key = file.add(bound(&["work", "Über uns"]), NOW).unwrap();
    let text = file.to_text();
    assert!(
        text.contains("roots = [\"work\", \"Über uns\"]\n"),
        "{text}"
    );
    let read = KeyFile::parse(&text).unwrap();
    let expected = bound(&["work", "Über uns"]);
    assert_eq!(read.verify(key.text.reveal()), Some(&expected));
    for wrong in ["[]", "[\"\"]", "[\"a\\u0000\"]", "[1]", "\"work\""] {
        let damaged = text.replace("[\"work\", \"Über uns\"]", wrong);
        assert!(KeyFile::parse(&damaged).is_err(), "{wrong}");
    }
    // A key that is not bound is written as it always was.
    assert!(!self::text().contains("roots"));
}
