//! Serves the emulated vector services until standard input ends: for clients that are other programs.
#![expect(clippy::print_stdout, reason = "says where they listen")]

#[cfg(unix)]
fn main() -> std::io::Result<()> {
    use sectile_test_servers::{PineconeEmulator, WeaviateEmulator};

    let (pinecone, weaviate) = (
        PineconeEmulator::start(257, "dotproduct"),
        WeaviateEmulator::start(),
    );
    println!("{} {}", pinecone.url(), pinecone.key());
    println!("{} {}", weaviate.url(), weaviate.key());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

#[cfg(not(unix))]
fn main() {
    println!("The servers of the tests run on Unix only.");
}
