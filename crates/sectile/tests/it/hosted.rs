//! The hosted world: the real server between a real note store and callers with tokens.

/// The seven tiers of its contract, by name.
mod data_integrity;
mod end_to_end;
mod integration;
mod performance;
mod security;
mod stress;
mod unit;

/// A store that has gone away is left alone for a while.
mod breaker;
/// What clients can rely on, pinned in files.
mod contract;
/// Everything that can go wrong with a store, one by one.
mod faults;
/// A store that tells all it knows.
mod leaks;
/// A tool that is denied leaves no trace.
mod planning_phase;
/// A store that sends more than it was asked for.
mod shifts;
/// Users and vaults never mix.
mod tenants;
/// The contract's vectors.
mod vectors;
