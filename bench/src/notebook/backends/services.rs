//! The index in the emulated vector services: loading it, the requests and the time of a search, and what its candidates miss.
//!
//! An emulator compares everything with everything on the same core, so its own time is reported too, and a real service
//! would add its network.

use std::{fs, path::Path, path::PathBuf, process::Command, time::Duration};

use anyhow::Result;
use sectile_backends::{BlockingRuntime, ServiceKind, ServiceSettings, vector_service};
use sectile_library::{VectorSearch, tiers::Models};
use sectile_test_servers::{PineconeEmulator, WeaviateEmulator};

use super::{COMPARED, Hits, LIBRARY, NotebookLibrary, best, share_of};
use crate::{Bench, processes::finish, report::Report};

/// One emulator of each kind.
pub(super) struct EmulatedServices {
    pinecone: PineconeEmulator,
    weaviate: WeaviateEmulator,
}

impl EmulatedServices {
    pub(super) fn start() -> Self {
        Self {
            pinecone: PineconeEmulator::start(257, "dotproduct"),
            weaviate: WeaviateEmulator::start(),
        }
    }

    /// The settings of an index in each of them, with the key beside them.
    pub(super) fn settings(&self, at: &Path) -> Result<[String; 2]> {
        fs::write(at.join("pinecone"), self.pinecone.key())?;
        fs::write(at.join("weaviate"), self.weaviate.key())?;
        let urls = [
            ("pinecone", self.pinecone.url()),
            ("weaviate", self.weaviate.url()),
        ];
        Ok(urls.map(|(kind, url)| {
            format!(
                "[notebook.vector_storage]\ntype = '{kind}'\nurl = '{url}'\napi_key_file = '{kind}'\n\
                 allow_http = true\n"
            )
        }))
    }

    /// The number of requests to both, and the time that answering took, since the last call.
    fn work(&self) -> (usize, Duration) {
        let requests = self.pinecone.requests().len() + self.weaviate.requests().len();
        (requests, self.pinecone.busy() + self.weaviate.busy())
    }

    /// Measures a full load, a run without changes, and one after an edit.
    pub(super) fn load(
        &self,
        report: &mut Report,
        bench: &Bench,
        library: &NotebookLibrary,
        places: &[PathBuf; 2],
    ) -> Result<()> {
        for (kind, settings) in ["pinecone", "weaviate"].into_iter().zip(places) {
            let run = || -> Result<String> {
                let mut command = Command::new(bench.binaries.join("sectile"));
                command.args(["notebook", "index", "--json", "--to", kind]);
                command.arg(settings).arg(LIBRARY);
                self.work();
                let time = finish(&mut command)?.elapsed;
                let (requests, busy) = self.work();
                Ok(format!(
                    "{time:.1?} with {requests} requests ({busy:.1?} in the emulator)"
                ))
            };
            let (first, again) = (run()?, run()?);
            library.edit(0, 1)?;
            let edited = run()?;
            library.restore(0)?;
            run()?;
            report.seen(
                &format!("the index loaded into the emulated {kind}, again without changes, and after an edit"),
                &format!("{first}; {again}; {edited}"),
            );
        }
        Ok(())
    }

    /// Compares the hits with the best among all chunks, and counts what a search costs.
    pub(super) fn searches(
        &self,
        report: &mut Report,
        questions: &[String],
        exact: &[Hits],
    ) -> Result<()> {
        for (kind, url, key) in [
            (
                ServiceKind::Pinecone,
                self.pinecone.url(),
                self.pinecone.key(),
            ),
            (
                ServiceKind::Weaviate,
                self.weaviate.url(),
                self.weaviate.key(),
            ),
        ] {
            let settings = ServiceSettings {
                api_key: Some(key.to_owned()),
                allow_http: true,
                ..ServiceSettings::new(kind, url)
            };
            let index = vector_service(&settings, BlockingRuntime::new()?, Models::built_in()?)?;
            let index: &dyn VectorSearch = &*index;
            for time in ["first", "second"] {
                self.work();
                let started = std::time::Instant::now();
                let found = best(index, questions)?;
                let elapsed = started.elapsed();
                let (requests, busy) = self.work();
                let asked = u32::try_from(COMPARED)?;
                report.seen(
                    &format!(
                        "a search in the emulated {}, each question for the {time} time",
                        index.name()
                    ),
                    &format!(
                        "{:.1?} with {:.1} requests ({:.1?} in the emulator)",
                        elapsed / asked,
                        requests as f64 / f64::from(asked),
                        busy / asked
                    ),
                );
                if time == "first" {
                    report.seen(
                        &format!(
                            "of the ten best among all chunks, for {COMPARED} questions, found in the emulated {}",
                            index.name()
                        ),
                        &format!("{:.1} %", share_of(&found, exact) * 100.0),
                    );
                }
            }
        }
        Ok(())
    }
}
