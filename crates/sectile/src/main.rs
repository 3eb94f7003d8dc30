//! The `sectile` program. Everything is in the library; see [`sectile::cli`].

use std::process::ExitCode;

/// A parse allocates and frees a few hundred kilobytes. The system's allocator gives such memory back to the kernel at
/// the end of every call and faults it in again at the next, which costs as much as the parse itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    sectile::cli::main()
}
