//! Indexes in vector services, which are emulated: the rules of every index, and behaviour under faults.

mod faults;
mod pinecone;
mod weaviate;
