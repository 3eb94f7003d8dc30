//! The files of a release that hold the program of one target.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use jiff::{Timestamp, fmt::rfc2822, tz::TimeZone};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::archives::{PackedFile, gz, tar_gz, zip};
use super::materials::Materials;
use super::program::BuiltProgram;
use super::targets::{ReleaseTarget, System};
use super::{DESCRIPTION, MAX_BUNDLE, REPOSITORY, Release, WHEEL, pretty};
use crate::{process, site};

/// Who is responsible for the Debian package.
const MAINTAINER: &str = "The Sectile developers <sectile@users.noreply.github.com>";
/// Shells, with the names that their completions have in archives.
const COMPLETIONS: [(&str, &str); 4] = [
    ("bash", "sectile.bash"),
    ("zsh", "_sectile"),
    ("fish", "sectile.fish"),
    ("powershell", "_sectile.ps1"),
];

/// Makes archive, bill of materials, bundle, npm package, wheel and, for Debian's architectures, the Debian package.
pub(super) fn make(
    release: &Release<'_>,
    target: &ReleaseTarget,
    program: &BuiltProgram,
) -> Result<()> {
    let version = &release.version;
    let materials = Materials::of(release, target)?;
    release.write(
        &bill_of_materials(target, version),
        &pretty(&materials.bill(release)?),
    )?;
    let licences = licences(release, &materials)?;
    let extras = extras(release, program)?;
    archive(release, target, program, &licences, &extras)?;
    bundle(release, target, program, &licences)?;
    npm(release, target, program, &licences)?;
    wheel(release, target, program, &licences)?;
    if let Some(architecture) = target.debian {
        debian(release, architecture, program, &licences, &extras)?;
    }
    Ok(())
}

/// Returns the names of the files that [`make`] makes, but for the wheel, whose name depends on the program.
pub(super) fn names(target: &ReleaseTarget, version: &str) -> Vec<String> {
    let mut names = vec![
        bill_of_materials(target, version),
        target.archive(version),
        target.bundle(version),
        target.npm_file(version),
    ];
    names.extend(
        target
            .debian
            .map(|architecture| debian_package(architecture, version)),
    );
    names
}

/// Returns the name of the file that lists what the program contains.
fn bill_of_materials(target: &ReleaseTarget, version: &str) -> String {
    format!("sectile-{version}-{}.cdx.json", target.triple)
}

/// Returns the name of the Debian package.
pub(super) fn debian_package(architecture: &str, version: &str) -> String {
    format!("sectile_{version}-1_{architecture}.deb")
}

/// Returns our licences, and those of everything that the program contains.
fn licences(release: &Release<'_>, materials: &Materials) -> Result<Vec<PackedFile>> {
    let mut files = vec![PackedFile::new("LICENSE-THIRD-PARTY", materials.notices()?)];
    for (name, path) in [
        ("LICENSE-APACHE", "LICENSE-APACHE"),
        ("LICENSE-MIT", "LICENSE-MIT"),
        ("LICENSE-all-MiniLM-L6-v2", "model/LICENSE-all-MiniLM-L6-v2"),
        ("NOTICE-MODELS", "model/NOTICE"),
    ] {
        files.push(PackedFile::new(
            name,
            fs::read(release.repo.root.join(path))?,
        ));
    }
    Ok(files)
}

/// Returns completions and man pages, which the program prints itself.
fn extras(release: &Release<'_>, program: &BuiltProgram) -> Result<Vec<PackedFile>> {
    let folder = release.repo.target.join("tmp/dist-extras");
    if folder.is_dir() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(folder.join("home"))?;
    let mut files = Vec::new();
    for (shell, name) in COMPLETIONS {
        let mut command = process::isolated(&program.path, &folder);
        let script = process::stdout_of(command.args(["completions", shell]))?;
        files.push(PackedFile::new(format!("completions/{name}"), script));
    }
    let pages = folder.join("man");
    let mut command = process::isolated(&program.path, &folder);
    process::stdout_of(command.args(["man", "--out"]).arg(&pages))?;
    for entry in fs::read_dir(&pages)? {
        let entry = entry?;
        let name = format!("man/man1/{}", entry.file_name().to_string_lossy());
        files.push(PackedFile::new(name, fs::read(entry.path())?));
    }
    fs::remove_dir_all(&folder)?;
    Ok(files)
}

fn archive(
    release: &Release<'_>,
    target: &ReleaseTarget,
    program: &BuiltProgram,
    licences: &[PackedFile],
    extras: &[PackedFile],
) -> Result<()> {
    let mut files = [licences, extras].concat();
    files.push(PackedFile::program(target.program(), &*program.bytes));
    for name in ["README.md", "CHANGELOG.md"] {
        files.push(PackedFile::new(
            name,
            fs::read(release.repo.root.join(name))?,
        ));
    }
    let name = target.archive(&release.version);
    let folder = format!("sectile-{}-{}", release.version, target.triple);
    let bytes = match target.system {
        System::Windows => {
            files
                .iter_mut()
                .for_each(|file| file.path = format!("{folder}/{}", file.path));
            zip(&files)?
        }
        _ => tar_gz(&folder, &files, release.time)?,
    };
    release.write(&name, &bytes)
}

/// Makes the bundle that desktop clients install with a click. It asks for the folder of the notes.
fn bundle(
    release: &Release<'_>,
    target: &ReleaseTarget,
    program: &BuiltProgram,
    licences: &[PackedFile],
) -> Result<()> {
    let entry_point = format!("server/{}", target.program());
    let mut command = process::isolated(&program.path, &release.repo.target);
    let contract = process::stdout_of(command.args(["tools", "desk", "--json"]))?;
    let contract: serde_json::Value = serde_json::from_str(&contract)?;
    let tools = contract[0]["tools"]
        .as_array()
        .context("the desk has no tools")?;
    let tools: Vec<_> = tools
        .iter()
        .map(|tool| json!({ "name": tool["name"], "description": tool["description"] }))
        .collect();
    let manifest = json!({
        "manifest_version": "0.3",
        "name": "sectile",
        "display_name": "Sectile",
        "version": release.version,
        "description": DESCRIPTION,
        "long_description": "Search, read, edit, follow links and undo in a folder of Markdown notes. Everything stays on your computer.",
        "author": { "name": "The Sectile developers", "url": REPOSITORY },
        "repository": { "type": "git", "url": format!("{REPOSITORY}.git") },
        "homepage": REPOSITORY,
        "documentation": format!("{REPOSITORY}/blob/main/docs/index.md"),
        "support": format!("{REPOSITORY}/issues"),
        "license": "MIT OR Apache-2.0",
        "keywords": ["markdown", "notes", "knowledge base", "search"],
        "server": {
            "type": "binary",
            "entry_point": entry_point,
            "mcp_config": {
                "command": format!("${{__dirname}}/{entry_point}"),
                "args": ["serve", "desk", "${user_config.folder}"],
                "env": {},
            },
        },
        "tools": tools,
        "compatibility": { "platforms": [target.node_system()] },
        "user_config": {
            "folder": {
                "type": "directory",
                "title": "Folder of notes",
                "description": "The folder of Markdown files that the agent may read and edit.",
                "required": true,
            },
        },
    });
    let mut files = licences.to_vec();
    files.push(PackedFile::new("manifest.json", pretty(&manifest)));
    files.push(PackedFile::program(entry_point, &*program.bytes));
    let bytes = zip(&files)?;
    ensure!(
        bytes.len() as u64 <= MAX_BUNDLE,
        "the bundle has {} bytes, and {MAX_BUNDLE} is the limit",
        bytes.len()
    );
    release.write(&target.bundle(&release.version), &bytes)
}

/// Makes the npm package with the program for one platform. Nobody installs it by name: the launcher does.
fn npm(
    release: &Release<'_>,
    target: &ReleaseTarget,
    program: &BuiltProgram,
    licences: &[PackedFile],
) -> Result<()> {
    let path = format!("bin/{}", target.program());
    let mut manifest = json!({
        "name": format!("@sectile/{}", target.platform()),
        "version": release.version,
        "description": format!("The program of the package sectile for {}.", target.platform()),
        "license": "MIT OR Apache-2.0",
        "repository": { "type": "git", "url": format!("git+{REPOSITORY}.git") },
        "os": [target.node_system()],
        "cpu": target.node_cpus(),
        "preferUnplugged": true,
        "sectile": { "program": path },
    });
    if let Some(libc) = target.libc() {
        manifest["libc"] = json!([libc]);
    }
    if let Some(glibc) = &program.glibc {
        manifest["sectile"]["glibc"] = json!(glibc);
    }
    let mut files = licences.to_vec();
    files.push(PackedFile::new("package.json", pretty(&manifest)));
    files.push(PackedFile::program(path, &*program.bytes));
    let bytes = tar_gz("package", &files, release.time)?;
    release.write(&target.npm_file(&release.version), &bytes)
}

/// Makes the wheel: the program as a script, and a command with the name of the package that starts it.
fn wheel(
    release: &Release<'_>,
    target: &ReleaseTarget,
    program: &BuiltProgram,
    licences: &[PackedFile],
) -> Result<()> {
    let version = &release.version;
    let glibc = program
        .glibc
        .as_deref()
        .unwrap_or_default()
        .replace('.', "_");
    let tag = format!("py3-none-{}", target.wheel.replace("{glibc}", &glibc));
    let module = WHEEL.replace('-', "_");
    let info = format!("{module}-{version}.dist-info");
    let readme = readme_for_pypi(release)?;
    let licence_files: String = licences
        .iter()
        .map(|file| format!("License-File: {}\n", file.path))
        .collect();
    let metadata = format!(
        "Metadata-Version: 2.4\nName: {WHEEL}\nVersion: {version}\nSummary: {DESCRIPTION}\n\
         Keywords: agents,knowledge-base,markdown,mcp,search\nAuthor: The Sectile developers\n\
         License-Expression: MIT OR Apache-2.0\n{licence_files}\
         Project-URL: Repository, {REPOSITORY}\n\
         Project-URL: Changelog, {REPOSITORY}/blob/main/CHANGELOG.md\n\
         Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{readme}"
    );
    let wheel =
        format!("Wheel-Version: 1.0\nGenerator: sectile\nRoot-Is-Purelib: false\nTag: {tag}\n");
    let mut files: Vec<PackedFile> = licences
        .iter()
        .map(|file| PackedFile::new(format!("{info}/licenses/{}", file.path), &*file.bytes))
        .collect();
    files.push(PackedFile::new(format!("{info}/METADATA"), metadata));
    files.push(PackedFile::new(format!("{info}/WHEEL"), wheel));
    let script = format!("{module}-{version}.data/scripts/{}", target.program());
    files.push(PackedFile::program(script, &*program.bytes));
    let starter = fs::read(release.repo.root.join("xtask/dist/sectile_mcp.py"))?;
    files.push(PackedFile::new(format!("{module}/__init__.py"), starter));
    let commands = format!("[console_scripts]\n{WHEEL} = {module}:main\n");
    files.push(PackedFile::new(
        format!("{info}/entry_points.txt"),
        commands,
    ));
    let record = format!("{info}/RECORD");
    let mut lines: Vec<String> = files
        .iter()
        .map(|file| {
            let digest = url_base64(&Sha256::digest(&file.bytes));
            format!("{},sha256={digest},{}\n", file.path, file.bytes.len())
        })
        .collect();
    lines.sort();
    files.push(PackedFile::new(
        &*record,
        format!("{}{record},,\n", lines.concat()),
    ));
    release.write(&format!("{module}-{version}-{tag}.whl"), &zip(&files)?)
}

/// Returns the README with addresses instead of paths: unlike npm and crates.io, PyPI does not know the repository.
fn readme_for_pypi(release: &Release<'_>) -> Result<String> {
    let page = fs::read(release.repo.root.join("README.md"))?;
    let page = site::with_addresses("", &page, |target| {
        let is_page = !target.starts_with("docs/pictures/");
        let kind = if is_page { "blob" } else { "raw" };
        Some(format!("{REPOSITORY}/{kind}/v{}/{target}", release.version))
    });
    Ok(String::from_utf8(
        page.context("the links of the README cannot be rewritten")?,
    )?)
}

/// Returns bytes in the alphabet of base64 for addresses, without padding.
fn url_base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

/// Makes the Debian package with `dpkg-deb`.
fn debian(
    release: &Release<'_>,
    architecture: &str,
    program: &BuiltProgram,
    licences: &[PackedFile],
    extras: &[PackedFile],
) -> Result<()> {
    let name = debian_package(architecture, &release.version);
    if !process::is_present("dpkg-deb", &["--version"]) {
        println!("{name} is not made: dpkg-deb is not installed on this machine");
        return Ok(());
    }
    let folder = release.repo.target.join("tmp/dist-debian");
    if folder.is_dir() {
        fs::remove_dir_all(&folder)?;
    }
    for file in debian_files(release, architecture, program, licences, extras)? {
        write_with_mode(&folder, &file)?;
    }
    let mut build = Command::new("dpkg-deb");
    build.args(["--build", "--root-owner-group", "-Zxz"]);
    build.arg(&folder).arg(release.folder.join(name));
    process::run(build.env("SOURCE_DATE_EPOCH", release.time.to_string()))?;
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Returns the files of the Debian package, with the one that describes it.
fn debian_files(
    release: &Release<'_>,
    architecture: &str,
    program: &BuiltProgram,
    licences: &[PackedFile],
    extras: &[PackedFile],
) -> Result<Vec<PackedFile>> {
    let doc = "usr/share/doc/sectile";
    let mut files = vec![PackedFile::program("usr/bin/sectile", &*program.bytes)];
    let changes = fs::read(release.repo.root.join("CHANGELOG.md"))?;
    files.push(PackedFile::new(
        format!("{doc}/changelog.gz"),
        gz(&changes)?,
    ));
    files.push(PackedFile::new(
        format!("{doc}/changelog.Debian.gz"),
        gz(debian_changelog(release)?.as_bytes())?,
    ));
    files.push(PackedFile::new(
        format!("{doc}/copyright"),
        debian_copyright(release)?,
    ));
    // Our own licences are in the file above.
    let ours = ["LICENSE-APACHE", "LICENSE-MIT"];
    for file in licences
        .iter()
        .filter(|file| !ours.contains(&file.path.as_str()))
    {
        files.push(PackedFile::new(
            format!("{doc}/{}", file.path),
            &*file.bytes,
        ));
    }
    for file in extras {
        let (path, bytes) = match file.path.as_str() {
            "completions/sectile.bash" => (
                "usr/share/bash-completion/completions/sectile".to_owned(),
                file.bytes.clone(),
            ),
            "completions/_sectile" => (
                "usr/share/zsh/vendor-completions/_sectile".to_owned(),
                file.bytes.clone(),
            ),
            "completions/sectile.fish" => (
                "usr/share/fish/vendor_completions.d/sectile.fish".to_owned(),
                file.bytes.clone(),
            ),
            page if page.starts_with("man/") => (format!("usr/share/{page}.gz"), gz(&file.bytes)?),
            _ => continue,
        };
        files.push(PackedFile::new(path, bytes));
    }
    let size: usize = files
        .iter()
        .map(|file| file.bytes.len().div_ceil(1024))
        .sum();
    let glibc = program
        .glibc
        .as_deref()
        .context("the program does not name a glibc")?;
    let control = format!(
        "Package: sectile\nVersion: {}-1\nArchitecture: {architecture}\n\
         Maintainer: {MAINTAINER}\nInstalled-Size: {size}\n\
         Depends: libc6 (>= {glibc}), libgcc-s1 | libgcc1\nSection: utils\nPriority: optional\nHomepage: {REPOSITORY}\n\
         Description: Markdown for AI agents, one section at a time\n \
         Serves a folder of notes to MCP clients, to search, read, edit, follow links\n and undo. The same tools are commands.\n",
        release.version
    );
    files.push(PackedFile::new("DEBIAN/control", control));
    Ok(files)
}

/// Returns the changelog of the package itself: for us, each version has one package.
fn debian_changelog(release: &Release<'_>) -> Result<String> {
    let time = Timestamp::from_second(release.time.try_into()?)?;
    let time = rfc2822::to_string(&time.to_zoned(TimeZone::UTC))?;
    Ok(format!(
        "sectile ({}-1) unstable; urgency=medium\n\n  * New version. What changed is in changelog.gz.\n\n -- {MAINTAINER}  {time}\n",
        release.version
    ))
}

/// Returns the licences as Debian writes them. It has the text of the Apache License itself.
fn debian_copyright(release: &Release<'_>) -> Result<String> {
    let mit = fs::read_to_string(release.repo.root.join("LICENSE-MIT"))?;
    let lines = mit
        .lines()
        .skip_while(|line| !line.starts_with("Permission"));
    let lines = lines.map(|line| match line.is_empty() {
        true => " .\n".to_owned(),
        false => format!(" {line}\n"),
    });
    let mit: String = lines.collect();
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nSource: {REPOSITORY}\n\n\
         Files: *\nCopyright: The Sectile developers\nLicense: Expat or Apache-2.0\nComment:\n \
         The licences of the packages that the program contains are in LICENSE-THIRD-PARTY in this folder;\n \
         NOTICE-MODELS says what its models are derived from.\n\n\
         License: Expat\n{mit}\nLicense: Apache-2.0\n \
         On Debian systems, the text of this licence is in /usr/share/common-licenses/Apache-2.0.\n"
    ))
}

/// Writes a file below `folder`, with its mode whatever the mask of this process is.
fn write_with_mode(folder: &Path, file: &PackedFile) -> Result<()> {
    let path = folder.join(&file.path);
    let parent = path.parent().context("a file without a folder")?;
    fs::create_dir_all(parent)?;
    fs::write(&path, &file.bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&path, fs::Permissions::from_mode(file.mode()))?;
        for above in parent
            .ancestors()
            .take_while(|above| above.starts_with(folder))
        {
            fs::set_permissions(above, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}
