//! The library in other storages: its index in PostgreSQL, in S3 or in an emulated vector service, its notes in S3, side by
//! side with a folder.

mod services;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use sectile_backends::{BlockingRuntime, Postgres, PostgresSettings};
use sectile_library::{LocatedChunk, SearchQuery, VectorQuery, VectorSearch, tiers::Models};
use sectile_test_servers::{MemoryS3, Postgres as Database};
use serde_json::json;

use self::services::EmulatedServices;
use super::{
    QUESTIONS, asked,
    library::{LIBRARY, NotebookLibrary},
    new_words, prose, serve,
};
use crate::{
    Bench,
    measure::{middle, per_mille},
    processes::{finish, quickly},
    report::{Report, Verdict},
};

const ROLE: &str = "bench";
const PASSWORD: &str = "a password of the benchmark";
const NAME: &str = "notebooks";
/// The buckets of the notes and of their indexes.
const NOTES: &str = "notes";
const INDEXES: &str = "indexes";
/// The number of starts of a server with an index in S3, each without a copy and with one.
const STARTS: usize = 5;
/// The number of questions for each combination of storages.
const ASKED: usize = 200;
/// The number of questions whose hits are compared with those among all chunks, which takes half a second each.
const COMPARED: usize = 40;
/// All tables that a load fills.
const TABLES: [&str; 4] = ["chunk", "posting", "term", "notebook"];

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let library =
        NotebookLibrary::prepare(&bench.target, bench.size(super::NOTES, super::FEW_NOTES))?;
    let questions = prose::questions(&library.words, library.count, QUESTIONS);
    quickly(&mut library.index_command(bench, LIBRARY))?;
    let folder = tempfile::tempdir()?;
    let database = Database::start_on_disk();
    database.create_role(ROLE, PASSWORD);
    database.create_database(NAME);
    database.sql(
        "postgres",
        &format!("ALTER DATABASE {NAME} OWNER TO {ROLE}"),
    );
    database.sql(NAME, "CREATE EXTENSION vector");
    let bucket = bucket_of(&library)?;
    let services = EmulatedServices::start();
    let places = BackendConfigs::write(folder.path(), &library, &database, &bucket, &services)?;
    load(report, bench, &library, &database, &places)?;
    let exact = queries(report, &database, &questions)?;
    let [(_, embedded), (_, in_database), ..] = places.all.as_slice() else {
        anyhow::bail!("no settings of both");
    };
    let both = [embedded.as_path(), in_database];
    new_words::run(report, bench, &library.words, both, &questions)?;
    publish(report, bench, &places, &questions)?;
    services.load(report, bench, &library, &places.in_services)?;
    side_by_side(report, bench, &places, &questions)?;
    services.searches(report, &questions, &exact)
}

/// The hits of a question, which have the same scores in every index.
type Hits = Vec<(LocatedChunk, u64)>;

/// The settings of each combination.
struct BackendConfigs {
    all: Vec<(&'static str, PathBuf)>,
    without_graph: PathBuf,
    /// Those with the index in S3, for notes in the folder and in S3.
    mirrored: [PathBuf; 2],
    /// The folder of the copies of that index.
    copies: PathBuf,
    /// Those with the index in each vector service.
    in_services: [PathBuf; 2],
}

impl BackendConfigs {
    fn write(
        at: &Path,
        library: &NotebookLibrary,
        database: &Database,
        bucket: &MemoryS3,
        services: &EmulatedServices,
    ) -> Result<Self> {
        fs::write(at.join("password"), PASSWORD)?;
        fs::write(at.join("access"), bucket.access_key())?;
        fs::write(at.join("secret"), bucket.secret_key())?;
        let root = library.root.display();
        let index = library.index();
        let in_folder = format!("[notebook]\nroot = '{root}'\n");
        let copies = at.join("copies");
        // An index knows the state that a storage reports of a note, so each storage of notes has an index of its own.
        let index_in_bucket = |of: &str| {
            format!(
                "[notebook.vector_storage]\ntype = 's3'\npath = '{INDEXES}/{of}'\ncache = '{}'\n\
                 [notebook.vector_storage.s3]\nendpoint = '{}'\nallow_http = true\n\
                 access_key_file = 'access'\nsecret_key_file = 'secret'\n",
                copies.display(),
                bucket.endpoint()
            )
        };
        let in_bucket = format!(
            "[notebook]\nindex = '{}'\n[notebook.notebook_storage]\ntype = 's3'\npath = '{NOTES}'\n\
             [notebook.notebook_storage.s3]\nendpoint = '{}'\nallow_http = true\n\
             access_key_file = 'access'\nsecret_key_file = 'secret'\n",
            index.display(),
            bucket.endpoint()
        );
        let in_database = format!(
            "[notebook.vector_storage]\ntype = 'pgvector'\nconnection = 'postgres://{ROLE}@{}/{NAME}'\n\
             password_file = 'password'\n",
            database.address()
        );
        let [in_pinecone, in_weaviate] = services.settings(at)?;
        let mut all = Vec::new();
        for (name, text) in [
            ("folder, embedded", in_folder.clone()),
            ("folder, PostgreSQL", format!("{in_folder}{in_database}")),
            ("S3, PostgreSQL", format!("{in_bucket}{in_database}")),
            ("folder, S3", in_folder.clone() + &index_in_bucket("folder")),
            ("S3, S3", in_bucket + &index_in_bucket("bucket")),
            (
                "folder, emulated Pinecone",
                in_folder.clone() + &in_pinecone,
            ),
            (
                "folder, emulated Weaviate",
                in_folder.clone() + &in_weaviate,
            ),
        ] {
            let file = at.join(format!("{}.toml", all.len()));
            fs::write(&file, text)?;
            all.push((name, file));
        }
        let without_graph = at.join("without-graph.toml");
        let large = format!("{in_folder}{in_database}exact_below = {}\n", u32::MAX);
        fs::write(&without_graph, large)?;
        Ok(Self {
            all,
            without_graph,
            mirrored: [at.join("3.toml"), at.join("4.toml")],
            copies,
            in_services: [at.join("5.toml"), at.join("6.toml")],
        })
    }
}

/// Starts a server with a bucket that has the notes of the library, and an empty one.
fn bucket_of(library: &NotebookLibrary) -> Result<MemoryS3> {
    let server = MemoryS3::start();
    server.bucket(NOTES);
    server.bucket(INDEXES);
    let mut folders = vec![library.root.join(LIBRARY)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let key = path.strip_prefix(&library.root)?;
            let key = key.to_str().context("a note has an odd name")?;
            server.put(NOTES, key, fs::read(&path)?);
        }
    }
    Ok(server)
}

/// Measures the publication of an index in S3, and the first search of a server with and without a copy of it.
fn publish(
    report: &mut Report,
    bench: &Bench,
    places: &BackendConfigs,
    questions: &[String],
) -> Result<()> {
    let index = |settings: &Path| {
        let mut command = Command::new(bench.binaries.join("sectile"));
        command.args(["notebook", "index", "--json", "--to", "s3"]);
        command.args(["--tier", "static"]);
        command.arg(settings).arg(LIBRARY);
        finish(&mut command)
    };
    let [of_folder, of_bucket] = &places.mirrored;
    let (first, again) = (index(of_folder)?, index(of_folder)?);
    index(of_bucket)?;
    report.seen(
        "an index built and published in S3, then again without changes",
        &format!("{:.1?}, {:.1?}", first.elapsed, again.elapsed),
    );
    let question = questions.first().context("there is no question")?;
    let start = || -> Result<Duration> {
        let started = std::time::Instant::now();
        let mut server = serve(bench, of_folder)?;
        let (_, found) = server.call("semantic_search", &asked(question))?;
        let elapsed = started.elapsed();
        server.stop()?;
        ensure!(found["metadata"]["index_location"] == "s3", "found {found}");
        Ok(elapsed)
    };
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        if places.copies.is_dir() {
            fs::remove_dir_all(&places.copies)?;
        }
        cold.push(start()?);
        warm.push(start()?);
    }
    report.seen(
        "start of a server to its first answer from an index in S3, without a copy and with one",
        &format!("{:.0?}, {:.0?}", middle(cold), middle(warm)),
    );
    Ok(())
}

/// Measures a full load, against cutting and embedding the notes and copying the same bytes.
fn load(
    report: &mut Report,
    bench: &Bench,
    library: &NotebookLibrary,
    database: &Database,
    places: &BackendConfigs,
) -> Result<()> {
    let scratch = library.scratch.join("backends");
    let mut to_folder = library.index_command(bench, LIBRARY);
    to_folder.arg("--index").arg(&scratch);
    let cut = finish(&mut to_folder)?.elapsed;
    fs::remove_dir_all(&scratch)?;
    let to_database = |settings: &Path| {
        let mut command = Command::new(bench.binaries.join("sectile"));
        command.args(["notebook", "index", "--json", "--to", "postgres"]);
        // The transformer tier is measured with an index in a folder.
        command.args(["--tier", "static"]);
        command.arg(settings).arg(LIBRARY);
        finish(&mut command)
    };
    let loaded = to_database(&places.without_graph)?;
    let rows: serde_json::Value = serde_json::from_str(&loaded.output)?;
    let (copied, bytes) = copy(database)?;
    let share = (cut + copied).as_secs_f64() / loaded.elapsed.as_secs_f64();
    report.line(
        &format!(
            "loading {} chunks into PostgreSQL, of the speed of cutting and embedding them and a plain COPY of {} MB",
            rows[0]["chunks"],
            bytes / 1_000_000
        ),
        &format!(
            "{:.0} % (target 60 % or more; {:.1?} against {:.1?} + {:.1?})",
            share * 100.0,
            loaded.elapsed,
            cut,
            copied
        ),
        Verdict::at_least(share, 0.6),
    );
    // A graph is built when something changes in a collection that is large enough and has none yet.
    library.edit(0, 1)?;
    let graph = to_database(&places.all[1].1)?.elapsed;
    let bytes = database.sql(
        NAME,
        "SELECT sum(pg_total_relation_size(oid)) FROM pg_class
        WHERE relnamespace = 'sectile'::regnamespace AND relkind = 'r'",
    );
    let bytes = bytes.trim().parse::<u64>()? / library.count as u64;
    report.seen(
        "tables, indexes and graph in PostgreSQL",
        &format!("{bytes} bytes a note"),
    );
    library.restore(0)?;
    let back = to_database(&places.all[1].1)?.elapsed;
    report.seen(
        "one edited note indexed in PostgreSQL, first with building the graph of all vectors, then without",
        &format!("{graph:.1?}, {back:.1?}"),
    );
    Ok(())
}

/// Returns the time and the bytes of a plain COPY of all tables, into tables without indexes or constraints.
fn copy(database: &Database) -> Result<(Duration, u64)> {
    let folder = tempfile::tempdir()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The database runs as another user.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
    }
    let (mut time, mut bytes) = (Duration::ZERO, 0);
    for table in TABLES {
        let file = folder.path().join(table);
        let place = file.display();
        database.sql(
            NAME,
            &format!("COPY sectile.{table} TO '{place}' (FORMAT binary)"),
        );
        bytes += fs::metadata(&file)?.len();
        database.sql(
            NAME,
            &format!("CREATE TABLE plain_{table} AS SELECT * FROM sectile.{table} LIMIT 0"),
        );
        let started = std::time::Instant::now();
        database.sql(
            NAME,
            &format!("COPY plain_{table} FROM '{place}' (FORMAT binary)"),
        );
        time += started.elapsed();
        database.sql(NAME, &format!("DROP TABLE plain_{table}"));
    }
    Ok((time, bytes))
}

/// Measures searches in PostgreSQL, against the bare statements that they send.
/// Returns the ten best hits among all chunks.
fn queries(report: &mut Report, database: &Database, questions: &[String]) -> Result<Vec<Hits>> {
    let settings = PostgresSettings {
        password: Some(PASSWORD.to_owned()),
        ..PostgresSettings::new(format!("postgres://{ROLE}@{}/{NAME}", database.address()))
    };
    let index = Postgres::new(&settings, BlockingRuntime::new()?, Models::built_in()?)?;
    let state = index.state(LIBRARY)?;
    let mut at = 0;
    let mut ask = |only_statements: bool| {
        let text = questions[at / 2 % questions.len()].as_str();
        at += 1;
        let query = SearchQuery::parse(text)?;
        let question = VectorQuery {
            collection: LIBRARY,
            query: &query,
            most: 26,
            stop: &|| false,
        };
        match only_statements {
            true => ensure!(index.offered(&question)? > 0, "nothing is offered"),
            false => ensure!(
                !index.search(&question)?.hits.is_empty(),
                "nothing is found"
            ),
        }
        Ok(())
    };
    let mut searches = Vec::new();
    let mut bare = Vec::new();
    for _ in 0..ASKED + 20 {
        let started = std::time::Instant::now();
        ask(false)?;
        searches.push(started.elapsed());
        let started = std::time::Instant::now();
        ask(true)?;
        bare.push(started.elapsed());
    }
    // The first ones read from disk.
    let (search, bare) = (middle(searches.split_off(20)), middle(bare.split_off(20)));
    let what = format!(
        "search of {} chunks in PostgreSQL ({}) / its statements alone",
        state.chunks,
        if state.is_exact { "exact" } else { "graph" }
    );
    report.ratio(&what, search, bare, 3.0);
    recall(report, &settings, questions)
}

/// Compares the ten best hits in PostgreSQL with those among all chunks, which it returns.
fn recall(
    report: &mut Report,
    settings: &PostgresSettings,
    questions: &[String],
) -> Result<Vec<Hits>> {
    let found = |candidates: usize| -> Result<Vec<Hits>> {
        let settings = PostgresSettings {
            candidates,
            ..settings.clone()
        };
        let index = Postgres::new(&settings, BlockingRuntime::new()?, Models::built_in()?)?;
        best(&index, questions)
    };
    let (usual, all) = (found(settings.candidates)?, found(usize::MAX)?);
    let share = share_of(&usual, &all);
    let what = format!("of the ten best among all chunks, for {COMPARED} questions, found");
    report.line(
        &what,
        &format!("{:.1} % (target 99 % or more)", share * 100.0),
        Verdict::at_least(share, 0.99),
    );
    Ok(all)
}

/// Returns the ten best hits for the first questions.
fn best(index: &dyn VectorSearch, questions: &[String]) -> Result<Vec<Hits>> {
    let best = questions.iter().take(COMPARED).map(|text| {
        let query = SearchQuery::parse(text)?;
        let found = index.search(&VectorQuery {
            collection: LIBRARY,
            query: &query,
            most: 10,
            stop: &|| false,
        })?;
        let hits = found.hits.into_iter();
        Ok(hits.map(|hit| (hit.located, hit.fused)).collect())
    });
    best.collect()
}

/// Returns the share of the hits among all chunks that were found.
fn share_of(found: &[Hits], all: &[Hits]) -> f64 {
    let count: usize = all.iter().map(Vec::len).sum();
    let pairs = found.iter().zip(all);
    let same = pairs.map(|(found, all)| all.iter().filter(|hit| found.contains(hit)).count());
    same.sum::<usize>() as f64 / count.max(1) as f64
}

/// Measures the same questions and quotes in each combination.
fn side_by_side(
    report: &mut Report,
    bench: &Bench,
    places: &BackendConfigs,
    questions: &[String],
) -> Result<()> {
    for (name, settings) in &places.all {
        let mut server = serve(bench, settings)?;
        let mut ids = Vec::new();
        let mut searches = Vec::new();
        for question in questions.iter().take(bench.size(ASKED, 40)) {
            let (time, found) = server.call("semantic_search", &asked(question))?;
            searches.push(time);
            if let Some(id) = found["results"][0]["reference_id"].as_str() {
                ids.push(id.to_owned());
            }
        }
        let mut quotes = Vec::new();
        for id in &ids {
            let (time, quoted) = server.call("fetch_passage", &json!({ "source_id": id }))?;
            ensure!(quoted["integrity"]["verified"] == true, "quoted {quoted}");
            quotes.push(time);
        }
        server.stop()?;
        let [half, slow] = [500, 990].map(|share| per_mille(&mut searches, share));
        let quote = per_mille(&mut quotes, 500);
        report.seen(
            &format!("{name}: semantic_search with 10 hits, and fetch_passage"),
            &format!("p50 {half:.1?}, p99 {slow:.1?}; p50 {quote:.2?}"),
        );
    }
    Ok(())
}
