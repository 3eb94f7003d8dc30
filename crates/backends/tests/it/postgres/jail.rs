//! A collection is visible only to transactions that name it, whatever its name.

use sectile_library::{StorageError, VectorIndexing as _, VectorSearch as _};

use super::fixture::{
    DATABASE, Home, PASSWORD, ROLE, Text, ask, fill, found, load, models, update,
};

const TABLES: [&str; 7] = [
    "collection",
    "notebook",
    "chunk",
    "term",
    "posting",
    "meaning",
    "tombstone",
];

fn note(body: &str) -> super::fixture::Notebooks {
    [("a.md".to_owned(), vec![Text::new("", body)])].into()
}

#[test]
fn nothing_of_another_collection_can_be_selected() {
    let home = Home::new();
    let postgres = home.prepared();
    for (name, notebooks) in [
        ("cats", note("Cats sleep.")),
        ("dogs", note("Dogs bark loudly at night.")),
    ] {
        load(&postgres, name, &notebooks);
        let second = models().second.unwrap();
        assert!(fill(&postgres, name, &notebooks, second));
    }
    home.sql("INSERT INTO sectile.tombstone SELECT id, 1, 7, 0 FROM sectile.collection");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let url = home.server.url(ROLE, PASSWORD, DATABASE);
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls)
            .await
            .unwrap();
        tokio::spawn(connection);
        let bound = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user";
        assert!(!client.query_one(bound, &[]).await.unwrap().get::<_, bool>(0));
        for table in TABLES {
            let owned = format!("SELECT tableowner = current_user, rowsecurity FROM pg_tables WHERE schemaname = 'sectile' AND tablename = '{table}'");
            let row = client.query_one(&owned, &[]).await.unwrap();
            assert!(row.get::<_, bool>(0) && row.get::<_, bool>(1));
            let all = format!("SELECT count(*) FROM sectile.{table}");
            let count = async || client.query_one(&all, &[]).await.unwrap().get::<_, i64>(0);
            client.batch_execute("RESET sectile.collection").await.unwrap();
            assert_eq!(count().await, 0, "{table}");
            let mut counts = Vec::new();
            for name in ["cats", "dogs"] {
                let set = "SELECT set_config('sectile.collection', $1, false)";
                client.execute(set, &[&name]).await.unwrap();
                counts.push(count().await);
                if table != "collection" {
                    let of = format!("SELECT count(DISTINCT collection) FROM sectile.{table}");
                    assert_eq!(client.query_one(&of, &[]).await.unwrap().get::<_, i64>(0), 1);
                }
            }
            let all = home.sql(&all).parse::<i64>().unwrap();
            assert_eq!(counts.iter().sum::<i64>(), all, "{table}");
        }
        // Nor can anything be written there.
        let id = home.sql("SELECT id FROM sectile.collection WHERE name = 'cats'");
        let meaning = home.sql("SELECT meaning FROM sectile.collection WHERE name = 'cats'");
        for statement in [
            format!("INSERT INTO sectile.notebook VALUES ({id}, 'x', '', '')"),
            format!("INSERT INTO sectile.meaning SELECT {meaning}, model, 'x', square, vector FROM sectile.meaning"),
            "INSERT INTO sectile.collection SELECT * FROM sectile.collection".to_owned(),
            format!("UPDATE sectile.notebook SET collection = {id}"),
        ] {
            assert!(client.batch_execute(&statement).await.is_err(), "{statement}");
        }
        let deleted = format!("DELETE FROM sectile.chunk WHERE collection = {id}");
        assert_eq!(client.execute(&deleted, &[]).await.unwrap(), 0);
        let deleted = format!("DELETE FROM sectile.meaning WHERE collection = {meaning}");
        assert_eq!(client.execute(&deleted, &[]).await.unwrap(), 0);
    });
    assert_eq!(found(&postgres, "cats", "sleep"), ["a.md"]);
    assert_eq!(
        ask(&postgres, "cats", "\"bark\"", 5)
            .unwrap()
            .remarks
            .unknown,
        ["bark"]
    );
}

#[test]
fn names_made_of_sql_are_names() {
    let home = Home::new();
    let postgres = home.prepared();
    let long = "x".repeat(2_000);
    let names = [
        "'; DROP SCHEMA sectile CASCADE; --",
        "x' OR '1'='1",
        "$1",
        "\\",
        "\"",
        "%",
        "{}",
        "Ärger 漢 \u{1f600}",
        "a\nb",
        long.as_str(),
    ];
    for (number, name) in names.iter().enumerate() {
        load(
            &postgres,
            name,
            &note(&format!("Note number n{number}n about cats.")),
        );
    }
    for (number, name) in names.iter().enumerate() {
        assert_eq!(postgres.state(name).unwrap().chunks, 1);
        assert_eq!(found(&postgres, name, &format!("\"n{number}n\"")), ["a.md"]);
        let other = ask(&postgres, name, &format!("n{}n", number + 1), 5).unwrap();
        let matched = other
            .hits
            .iter()
            .any(|hit| hit.lexical > 0 && hit.matches.is_empty());
        assert!(!matched);
    }
    postgres.remove(names[1]).unwrap();
    assert_eq!(home.sql("SELECT count(*) FROM sectile.collection"), "9");
    for name in ["", "no\0where", "' OR true --"] {
        let result = postgres.state(name);
        assert!(result.is_err(), "{name}");
    }
    let error = update(&postgres, "no\0where", true, vec![]).unwrap_err();
    assert!(matches!(error, StorageError::Failed { .. }), "{error}");
}
