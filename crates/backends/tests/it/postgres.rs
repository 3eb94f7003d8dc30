//! An index in PostgreSQL: whether it answers like the embedded engine, and what happens when something goes wrong.

mod answers;
mod faults;
mod fixture;
mod graph;
mod jail;
mod updates;
