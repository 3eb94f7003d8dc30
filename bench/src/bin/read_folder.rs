//! Reads every file below a folder with all cores, and does nothing with the bytes: the least that any index of them takes.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads files and prints what it found"
)]

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1).unwrap_or_default();
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let is_folder = entry.file_type()?.is_dir();
            // An index does not read its own files either.
            if is_folder && entry.file_name() != ".sectile" {
                folders.push(entry.path());
            } else if !is_folder {
                files.push(entry.path());
            }
        }
    }
    let next = AtomicUsize::new(0);
    let bytes = AtomicUsize::new(0);
    let read = || -> io::Result<()> {
        let mut buffer = Vec::new();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            buffer.clear();
            let length = File::open(file)?.read_to_end(&mut buffer)?;
            bytes.fetch_add(length, Ordering::Relaxed);
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| -> io::Result<()> {
        let readers: Vec<_> = (0..threads).map(|_| scope.spawn(read)).collect();
        for reader in readers {
            reader
                .join()
                .map_err(|_| io::Error::other("a reader panicked"))??;
        }
        Ok(())
    })?;
    println!("{}", bytes.into_inner());
    Ok(())
}
