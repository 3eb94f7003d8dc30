//! The image for containers. It holds the static program and nothing else, so that no base image has to be fetched.

use std::ffi::OsStr;
use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};

use super::super::REGISTRY_NAME;
use super::super::targets::System;
use super::{Checkup, unpack_tar_gz};
use crate::install;
use crate::process;

/// The files that make images, in the folder `deploy`.
const FILES: [&str; 2] = ["Containerfile", "Containerfile.release"];

/// Checks the files with hadolint; builds the image of the release and runs it, where there is a builder.
pub(super) fn image(checkup: &Checkup<'_>) -> Result<Option<String>> {
    if let Some(missing) = install::RELEASE_TOOLS.missing(&checkup.outside) {
        return Ok(Some(format!(
            "the files for images were not checked: {missing}"
        )));
    }
    let deploy = checkup.release.repo.root.join("deploy");
    let tools = install::RELEASE_TOOLS.python(&checkup.outside);
    let mut hadolint = Command::new(tools.with_file_name("hadolint"));
    process::stdout_of(
        hadolint
            .args(["--no-color", "--failure-threshold", "style"])
            .args(FILES.map(|name| deploy.join(name))),
    )?;
    let mut targets = checkup.targets.iter();
    let Some(target) = targets.find(|target| target.system == System::LinuxMusl) else {
        return Ok(Some(
            "no image was built: the release has no static program".to_owned(),
        ));
    };
    if !process::is_present("buildah", &["--version"]) {
        return Ok(Some(
            "no image was built: apt-get install buildah".to_owned(),
        ));
    }
    let environment = checkup.environment("image")?;
    let folder = &environment.folder;
    unpack_tar_gz(
        &checkup.artifact(&target.archive(&checkup.release.version)),
        folder,
    )?;
    let unpacked = format!("sectile-{}-{}", checkup.release.version, target.triple);
    fs::create_dir(folder.join(&unpacked).join("empty"))?;
    let store = |name: &str| folder.join(name).display().to_string();
    let (graph, run) = (store("graph"), store("run"));
    let buildah = |arguments: &[&str]| {
        let mut command = Command::new("buildah");
        command.args(["--storage-driver=vfs", "--root", &graph, "--runroot", &run]);
        command.args(arguments).current_dir(folder);
        environment.output_of(&mut command, arguments[0])
    };
    let file = deploy.join("Containerfile.release").display().to_string();
    buildah(&[
        "build",
        "--isolation=chroot",
        "--file",
        &file,
        "--tag=sectile",
        &unpacked,
    ])?;
    let labels = buildah(&[
        "inspect",
        "--type=image",
        "--format={{.OCIv1.Config.Labels}}",
        "sectile",
    ])?;
    ensure!(
        labels.contains(REGISTRY_NAME),
        "the image does not name its server: {labels}"
    );
    let container = buildah(&["from", "--pull-never", "--name=sectile-check", "sectile"])?;
    let place = buildah(&["mount", container.trim()])?;
    let system = folder.join(place.trim());
    let owner = fs::metadata(system.join("var/lib/sectile"))?;
    #[cfg(unix)]
    ensure!(
        std::os::unix::fs::MetadataExt::uid(&owner) == 65_532,
        "the state belongs to another user"
    );
    #[cfg(not(unix))]
    drop(owner);
    let words = [
        "chroot",
        "--userspec=65532:65532",
        place.trim(),
        "/usr/local/bin/sectile",
    ]
    .map(OsStr::new);
    environment.run(&words, &["demo"])?;
    buildah(&["rm", "--all"])?;
    Ok(None)
}
