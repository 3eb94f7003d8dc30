//! The systems that the program is released for.

use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// A target of the compiler, and the names that package managers have for it.
#[derive(Debug)]
pub(super) struct ReleaseTarget {
    pub(super) triple: &'static str,
    pub(super) system: System,
    /// The processor, as Node names it.
    pub(super) cpu: &'static str,
    /// The tag of wheels. `{glibc}` is the version of glibc that the program needs.
    pub(super) wheel: &'static str,
    /// The architecture as Debian names it, where a Debian package is made.
    pub(super) debian: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    LinuxGnu,
    LinuxMusl,
    MacOs,
    Windows,
}

pub(super) const TARGETS: [ReleaseTarget; 7] = [
    ReleaseTarget {
        triple: "x86_64-unknown-linux-gnu",
        system: System::LinuxGnu,
        cpu: "x64",
        wheel: "manylinux_{glibc}_x86_64",
        debian: Some("amd64"),
    },
    ReleaseTarget {
        triple: "x86_64-unknown-linux-musl",
        system: System::LinuxMusl,
        cpu: "x64",
        wheel: "musllinux_1_2_x86_64",
        debian: None,
    },
    ReleaseTarget {
        triple: "aarch64-unknown-linux-gnu",
        system: System::LinuxGnu,
        cpu: "arm64",
        wheel: "manylinux_{glibc}_aarch64",
        debian: Some("arm64"),
    },
    ReleaseTarget {
        triple: "aarch64-unknown-linux-musl",
        system: System::LinuxMusl,
        cpu: "arm64",
        wheel: "musllinux_1_2_aarch64",
        debian: None,
    },
    ReleaseTarget {
        triple: "x86_64-apple-darwin",
        system: System::MacOs,
        cpu: "x64",
        wheel: "macosx_10_12_x86_64",
        debian: None,
    },
    ReleaseTarget {
        triple: "aarch64-apple-darwin",
        system: System::MacOs,
        cpu: "arm64",
        wheel: "macosx_11_0_arm64",
        debian: None,
    },
    ReleaseTarget {
        triple: "x86_64-pc-windows-msvc",
        system: System::Windows,
        cpu: "x64",
        wheel: "win_amd64",
        debian: None,
    },
];

impl ReleaseTarget {
    /// Returns the name of the program's file.
    pub(super) fn program(&self) -> &'static str {
        match self.system {
            System::Windows => "sectile.exe",
            _ => "sectile",
        }
    }

    /// Returns the system as Node and bundles name it.
    pub(super) fn node_system(&self) -> &'static str {
        match self.system {
            System::LinuxGnu | System::LinuxMusl => "linux",
            System::MacOs => "darwin",
            System::Windows => "win32",
        }
    }

    /// Returns the processors that the npm package is for. Windows on ARM runs programs for x64.
    pub(super) fn node_cpus(&self) -> Vec<&'static str> {
        match self.system {
            System::Windows => vec![self.cpu, "arm64"],
            _ => vec![self.cpu],
        }
    }

    /// Returns the C library as npm names it, where there is a choice.
    pub(super) fn libc(&self) -> Option<&'static str> {
        match self.system {
            System::LinuxGnu => Some("glibc"),
            System::LinuxMusl => Some("musl"),
            System::MacOs | System::Windows => None,
        }
    }

    /// Returns the name of the platform in npm packages and bundles, such as `linux-x64-musl`.
    pub(super) fn platform(&self) -> String {
        let musl = match self.system {
            System::LinuxMusl => "-musl",
            _ => "",
        };
        format!("{}-{}{musl}", self.node_system(), self.cpu)
    }

    /// Returns the name of the archive with the program.
    pub(super) fn archive(&self, version: &str) -> String {
        let extension = match self.system {
            System::Windows => "zip",
            _ => "tar.gz",
        };
        format!("sectile-{version}-{}.{extension}", self.triple)
    }

    /// Returns the name of the bundle for desktop clients.
    pub(super) fn bundle(&self, version: &str) -> String {
        format!("sectile-{version}-{}.mcpb", self.platform())
    }

    /// Returns the file of the npm package with the program, as `npm pack` names it.
    pub(super) fn npm_file(&self, version: &str) -> String {
        format!("sectile-{}-{version}.tgz", self.platform())
    }
}

/// Returns the targets with these names, or all that run on this machine.
pub(super) fn chosen(triples: &[String]) -> Result<Vec<&'static ReleaseTarget>> {
    if triples.is_empty() {
        return runnable();
    }
    triples.iter().map(|triple| find(triple)).collect()
}

/// Returns the targets whose programs run on this machine: on Linux, there is one for each C library.
pub(super) fn runnable() -> Result<Vec<&'static ReleaseTarget>> {
    let host = find(&host()?)?;
    let runs = |target: &&ReleaseTarget| {
        (target.node_system(), target.cpu) == (host.node_system(), host.cpu)
    };
    Ok(TARGETS.iter().filter(runs).collect())
}

/// Returns the target that the compiler of this machine builds for.
fn host() -> Result<String> {
    let version = process::stdout_of(Command::new("rustc").arg("-vV"))?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("rustc does not say for which system it builds")?;
    Ok(host.to_owned())
}

/// Returns the target of this name.
pub(super) fn find(triple: &str) -> Result<&'static ReleaseTarget> {
    TARGETS
        .iter()
        .find(|target| target.triple == triple)
        .with_context(|| {
            let names = TARGETS.map(|target| target.triple).join(", ");
            format!("nothing is released for {triple}; there are {names}")
        })
}
