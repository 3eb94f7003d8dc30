//! Everything that the simulation starts from: what was measured, what is assumed about a network, and prices.

use anyhow::{Context as _, Result, ensure};

/// A number that a reader can replace with `--set NAME=VALUE`.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) value: f64,
    /// Its unit and meaning.
    pub(super) meaning: &'static str,
    /// The command that measures it, or where it comes from.
    pub(super) source: &'static str,
}

const UNITS: &str = "`cargo xtask bench --only units`";
const BACKENDS: &str = "`cargo xtask bench --only backends`";
const DESIGN: &str = "the design";
const ASSUMED: &str = "assumed: replace";
const PRICE: &str = "price: replace";

/// The day on which the measured ones were measured.
pub(super) const MEASURED_ON: &str = "2026-11-19 and 20";

macro_rules! parameters {
    ($($name:ident = $value:expr, $source:expr, $meaning:literal;)*) => {
        /// The parameters of a run.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(super) struct Parameters {
            $(pub(super) $name: f64,)*
        }

        impl Default for Parameters {
            fn default() -> Self {
                Self { $($name: $value,)* }
            }
        }

        impl Parameters {
            /// Returns all parameters in the order of the page.
            pub(super) fn rows(&self) -> Vec<Parameter> {
                vec![$(Parameter {
                    name: stringify!($name),
                    value: self.$name,
                    meaning: $meaning,
                    source: $source,
                },)*]
            }

            fn field(&mut self, name: &str) -> Option<&mut f64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

parameters! {
    tenants = 10_000.0, DESIGN, "tenants";
    notes = 10_000_000.0, DESIGN, "notes of all tenants; the largest tenants have the most, as in Zipf's law";
    requests = 400_000.0, ASSUMED, "requests a day; the largest tenants make the most";
    edit_share = 0.1, ASSUMED, "share of the requests that are edits; the others search";
    replicas = 4.0, DESIGN, "replicas";
    cores = 2.0, DESIGN, "cores of a replica";
    cache_gb = 20.0, DESIGN, "GB of local disk for cached tenants on each replica";
    document_bytes = 3_467.0, UNITS, "bytes of a note";
    index_bytes = 2_348.0, UNITS, "bytes of a note in index segments";
    journal_bytes = 2_640.0, UNITS, "bytes that an edit adds to the journal";
    postgres_bytes = 30_511.0, BACKENDS, "bytes of a note in PostgreSQL with indexes and graph, if it also holds the index";
    search_ms = 0.67, UNITS, "ms of a processor for a search";
    search_1000_ms = 0.126, UNITS, "more of them for every 1,000 notes of its tenant";
    edit_ms = 4.15, UNITS, "ms of a processor for an edit";
    build_ms = 0.285, UNITS, "ms of a processor to index a note";
    get_ms = 30.0, ASSUMED, "ms of a GET or a conditional GET, without the bytes";
    put_ms = 60.0, ASSUMED, "ms of a PUT or a conditional PUT";
    storage_mb_s = 100.0, ASSUMED, "MB a second from object storage to one replica";
    transaction_ms = 5.0, ASSUMED, "ms of a transaction with a flush in PostgreSQL";
    segment_mb = 8.0, DESIGN, "MB of the largest object that is read at once";
    edit_puts = 4.0, DESIGN, "PUTs of an edit in object storage: document, journal, index segment, conditional head or manifest";
    check_seconds = 1.0, DESIGN, "seconds for which a manifest is not checked again";
    detect_seconds = 10.0, ASSUMED, "seconds until a dead replica gets no more requests";
    dead_minutes = 60.0, ASSUMED, "minutes until it is back, with an empty cache";
    price_core = 25.0, PRICE, "a core of a replica, a month";
    price_disk_gb = 0.1, PRICE, "a GB of local disk, a month";
    price_object_gb = 0.023, PRICE, "a GB of object storage, a month";
    price_put = 0.005, PRICE, "1,000 PUTs";
    price_get = 0.0004, PRICE, "1,000 GETs";
    price_postgres_gb = 0.2, PRICE, "a GB in PostgreSQL with a standby, a month";
    price_postgres = 200.0, PRICE, "a PostgreSQL server with a standby, a month";
}

impl Parameters {
    /// Replaces one parameter: `name=value`.
    pub(super) fn set(&mut self, text: &str) -> Result<()> {
        let (name, value) = text
            .split_once('=')
            .with_context(|| format!("`{text}` is not NAME=VALUE"))?;
        let value: f64 = value
            .parse()
            .with_context(|| format!("`{value}` is not a number"))?;
        ensure!(
            (0.0..=1e15).contains(&value),
            "`{name}` must be from 0 to 1e15"
        );
        let field = self
            .field(name)
            .with_context(|| format!("`{name}` is not a parameter; docs/scale.md lists them"))?;
        *field = value;
        Ok(())
    }

    /// Returns the same with this many times the tenants, notes and requests.
    pub(super) fn times(mut self, factor: f64) -> Self {
        self.tenants *= factor;
        self.notes *= factor;
        self.requests *= factor;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_set_by_name() {
        let mut parameters = Parameters::default();
        parameters.set("replicas=7").unwrap();
        assert_eq!(parameters.replicas, 7.0);
        for wrong in [
            "replicas",
            "replicas=x",
            "replicas=-1",
            "replicas=NaN",
            "what=1",
        ] {
            assert!(parameters.set(wrong).is_err(), "{wrong}");
        }
    }
}
