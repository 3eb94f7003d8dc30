//! The `sectile` program. Everything is in the library; see [`sectile::cli`].

use std::process::ExitCode;

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    sectile::cli::main()
}
