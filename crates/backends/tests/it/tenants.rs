//! The folders of tenants: the shared rules, two servers on one tenant, and faults between them and the store.

use sectile_backends::{BlockingRuntime, ObjectTenants, PostgresTenants};
use sectile_library::{conformance::check_tenant_store, tenants::TenantStore as _};

use sectile_test_servers::MemoryS3;

use crate::{blobs, postgres::fixture::Home};

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

#[test]
fn object_storage_keeps_the_rules_of_all_stores() {
    let s3 = MemoryS3::start();
    s3.bucket(blobs::BUCKET);
    let settings = blobs::settings(&s3.endpoint());
    let store = ObjectTenants::s3(&settings, BlockingRuntime::new().unwrap()).unwrap();
    store.prepare().unwrap();
    check_tenant_store(&store);
}
