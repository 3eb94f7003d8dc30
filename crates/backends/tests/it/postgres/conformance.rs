//! The rules of every index outside this process.

use sectile_backends::{BlockingRuntime, Postgres};
use sectile_library::{
    conformance::{IndexHandles, check_index},
    testing::SecondTierModel,
    tiers::Models,
};

use super::fixture::{Home, model, models};

#[test]
fn postgres_keeps_the_rules_of_indexes() {
    let home = Home::new();
    let foreign = Models {
        first: SecondTierModel::new("another"),
        ..models()
    };
    let foreign = Postgres::new(&home.settings(), BlockingRuntime::new().unwrap(), foreign);
    check_index(&IndexHandles {
        one: &home.open(),
        other: &home.open(),
        foreign: &foreign.unwrap(),
        model: model(),
    });
}
