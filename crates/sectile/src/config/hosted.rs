//! The settings of the hosted world, checked.

use std::{path::Path, time::Duration};

use super::{Loaded, Mistakes, front::Files};
use crate::access::Secret;
use sectile_client::{Client, ClientSettings, Target};

/// What the hosted world works with.
pub(crate) struct HostedSettings {
    pub(crate) store: Target,
    pub(crate) client: Client,
    pub(crate) gateway_secret: Option<Secret>,
    pub(crate) breaker_failures: u32,
    pub(crate) breaker_pause: Duration,
}

impl HostedSettings {
    /// Checks what was loaded; `None` when there is no store. Paths from a file count from its folder, `base`.
    pub(super) fn resolve(loaded: &Loaded, base: &Path) -> Result<Option<Self>, Mistakes> {
        let files = Files { loaded, base };
        let raw = &loaded.raw.hosted;
        let Some(store) = files.target("hosted.store_url", &raw.store_url)? else {
            return Ok(None);
        };
        let mut mistakes = Mistakes::default();
        let gateway_secret = mistakes.take(files.secret(
            ("hosted.gateway_secret_file", &raw.gateway_secret_file),
            ("hosted.gateway_secret_env", &raw.gateway_secret_env),
        ));
        let proxy = mistakes.take(files.proxy("hosted.proxy", &raw.proxy));
        let extra_roots = mistakes.take(files.text("hosted.ca_file", &raw.ca_file));
        let (Some(gateway_secret), Some(proxy), Some(extra_roots)) =
            (gateway_secret, proxy, extra_roots)
        else {
            return Err(mistakes);
        };
        let client = Client::new(ClientSettings {
            connect_timeout: Duration::from_millis(raw.connect_timeout_ms),
            timeout: Duration::from_millis(raw.timeout_ms),
            max_body_bytes: raw.max_response_bytes,
            proxy,
            extra_roots,
        });
        let client = client.map_err(|problem| {
            if problem.contains("proxy") {
                files.refuse("hosted.proxy", format!("one that can be used ({problem})"))
            } else {
                let expected = format!("a file of certificates ({problem})");
                files.refuse("hosted.ca_file", expected)
            }
        })?;
        Ok(Some(Self {
            store,
            client,
            gateway_secret,
            breaker_failures: raw.breaker_failures,
            breaker_pause: Duration::from_millis(raw.breaker_pause_ms),
        }))
    }
}
