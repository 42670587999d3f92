//! How a project's command is started: its files, its interpreter, its environment.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proofmark_checks::{PROJECT_FOLDER, Project};

use crate::program::{Launch, launch};
use crate::runtime::Runtime;
use crate::toolchain;
use crate::tree::Tree;

/// The tree of the runtime with the project in it, and what it may read besides.
pub(crate) fn tree(runtime: &Runtime, project: &Project, packages: &[PathBuf]) -> io::Result<Tree> {
    let mut tree = runtime.tree()?;
    for path in project.readable.iter().map(Path::new) {
        if path.starts_with("/tmp") {
            return Err(io::Error::other("the command has a `/tmp` of its own, so it cannot read the host's"));
        }
        tree.show(path)?;
    }
    for (index, folder) in packages.iter().enumerate() {
        tree.show_at(folder, &shown_packages(index))?;
    }
    let root = Path::new(PROJECT_FOLDER);
    let mut folders = BTreeSet::from([root.to_owned()]);
    for file in &project.files {
        let path = root.join(&file.path);
        folders.extend(path.ancestors().skip(1).filter(|above| above.starts_with(root)).map(Path::to_owned));
    }
    for folder in &folders {
        tree.writable_folder(folder)?;
    }
    for file in &project.files {
        tree.writable_file(&root.join(&file.path), file.content.clone())?;
    }
    Ok(tree)
}

/// The interpreter with the project's arguments.
pub(crate) fn command(runtime: &Runtime, project: &Project, packages: &[PathBuf]) -> io::Result<Launch> {
    let arguments: Vec<&str> = project.arguments.iter().map(String::as_str).collect();
    let mut launch = launch(runtime, &arguments)?;
    let mut variables = vec!["USER=sandbox".to_owned(), "LOGNAME=sandbox".to_owned()];
    // Those of all languages, since a bash script may run the interpreters of the others.
    variables.extend(toolchain::all().flat_map(|one| one.project_variables).map(ToString::to_string));
    if let Some(installed) = &runtime.toolchain().packages {
        let folders = std::env::join_paths((0..packages.len()).map(shown_packages)).map_err(io::Error::other)?;
        variables.push(format!("{}={}", installed.variable, folders.to_string_lossy()));
    }
    for variable in variables {
        launch.env.push(CString::new(variable).map_err(io::Error::other)?);
    }
    Ok(launch)
}

/// Why the command's test runner cannot be used, where it is not installed. Found before anything of the submission runs,
/// which could otherwise blame the host for its own failure.
pub(crate) fn lacking(runtime: &Runtime, project: &Project, packages: &[PathBuf]) -> Option<String> {
    let package = project.package?;
    let toolchain = runtime.toolchain().packages.as_ref()?;
    let module = format!("{package}.{}", toolchain.extension);
    let own = toolchain.folders.iter().flat_map(|name| runtime.needs.iter().map(move |need| need.join(name)));
    let mut folders = own.chain(packages.iter().cloned());
    let installed = folders.any(|folder| folder.join(package).is_dir() || folder.join(&module).is_file());
    let in_project =
        |path: &str| path == module || path.strip_prefix(package).is_some_and(|rest| rest.starts_with('/'));
    if installed || project.files.iter().any(|file| in_project(&file.path)) {
        return None;
    }
    let remedy = match project.packages {
        true => format!("install it on this host, as with `{} {package}`", toolchain.install),
        false => "write `packages: true` in the request".to_owned(),
    };
    Some(format!("failed to find the package `{package}` that runs the tests; {remedy}"))
}

/// Where the tree shows a folder of packages, wherever the host has it.
fn shown_packages(index: usize) -> PathBuf {
    PathBuf::from(format!("/packages/{index}"))
}

/// The folders of packages installed for the host's interpreter, where they are asked for.
pub(crate) fn packages(runtime: &Runtime, project: &Project) -> Vec<PathBuf> {
    let installed = runtime.toolchain().packages.as_ref().filter(|_| project.packages);
    let Some((program, arguments)) = installed.and_then(|installed| installed.list.split_first()) else {
        return Vec::new();
    };
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let folders = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    folders.lines().map(PathBuf::from).filter(|folder| folder.is_dir()).collect()
}
