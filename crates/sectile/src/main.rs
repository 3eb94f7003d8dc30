//! The `sectile` program. Everything is in the library; see [`sectile::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    sectile::cli::main()
}
