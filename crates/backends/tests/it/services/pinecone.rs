//! An index in Pinecone.

use std::{sync::Arc, time::Duration};

use sectile_backends::{BlockingRuntime, ServiceKind, ServiceSettings, vector_service};
use sectile_library::{
    VectorIndexing,
    conformance::{IndexHandles, check_index},
    testing::SameSizeModel,
    tiers::Models,
};
use sectile_test_servers::PineconeEmulator;

use crate::postgres::fixture::{model, models};

/// The dimension of the index: one more than that of the model.
pub(crate) const DIMENSION: usize = 257;

pub(crate) fn settings(pinecone: &PineconeEmulator) -> ServiceSettings {
    ServiceSettings {
        api_key: Some(pinecone.key().to_owned()),
        allow_http: true,
        candidates: 100_000,
        settle: Duration::from_secs(5),
        ..ServiceSettings::new(ServiceKind::Pinecone, pinecone.url())
    }
}

#[track_caller]
pub(crate) fn open_with(settings: &ServiceSettings, models: Models) -> Arc<dyn VectorIndexing> {
    vector_service(settings, BlockingRuntime::new().unwrap(), models).unwrap()
}

#[track_caller]
pub(crate) fn open(settings: &ServiceSettings) -> Arc<dyn VectorIndexing> {
    open_with(settings, models())
}

#[test]
fn pinecone_keeps_the_rules_of_indexes() {
    let pinecone = PineconeEmulator::start(DIMENSION, "dotproduct");
    let settings = settings(&pinecone);
    let foreign = Models {
        first: SameSizeModel::new("another"),
        ..models()
    };
    check_index(&IndexHandles {
        one: &*open(&settings),
        other: &*open(&settings),
        foreign: &*open_with(&settings, foreign),
        model: model(),
    });
}
