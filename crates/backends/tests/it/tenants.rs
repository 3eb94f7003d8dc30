//! The folders of tenants: the shared rules, two servers on one tenant, and faults between them and the store.

use sectile_backends::{BlockingRuntime, PostgresTenants};
use sectile_library::{conformance::check_tenant_store, tenants::TenantStore as _};

use crate::postgres::fixture::Home;

fn postgres(home: &Home) -> PostgresTenants {
    let store = PostgresTenants::new(&home.settings(), BlockingRuntime::new().unwrap()).unwrap();
    store.prepare().unwrap();
    // A second time changes nothing.
    store.prepare().unwrap();
    store
}

#[test]
fn postgres_keeps_the_rules_of_all_stores() {
    let home = Home::new();
    check_tenant_store(&postgres(&home));
}
