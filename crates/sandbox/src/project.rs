//! How a project's command is started: its files, its interpreter, its environment.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proofmark_checks::{Language, PROJECT_FOLDER, Project};

use crate::program::{Launch, launch};
use crate::runtime::Runtime;
use crate::tree::Tree;

/// Prints the folders of installed packages that the host's interpreter uses.
const PACKAGES: &str = "import sys
print('\\n'.join(p for p in sys.path if p.endswith(('site-packages', 'dist-packages'))))";

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
    let shown = (0..packages.len()).map(shown_packages);
    let path = std::env::join_paths(shown).map_err(io::Error::other)?;
    for (name, value) in [
        ("USER", "sandbox".into()),
        ("LOGNAME", "sandbox".into()),
        ("PYTHONDONTWRITEBYTECODE", "1".into()),
        ("PYTHONPATH", path.to_string_lossy()),
    ] {
        launch.env.push(CString::new(format!("{name}={value}")).map_err(io::Error::other)?);
    }
    Ok(launch)
}

/// Why the command's test runner is not there, if it is not. Found before anything of the submission runs, which could
/// otherwise put the blame for its failure on the host.
pub(crate) fn lacking(runtime: &Runtime, project: &Project, packages: &[PathBuf]) -> Option<String> {
    let package = project.package?;
    let module = format!("{package}.py");
    let own = ["site-packages", "dist-packages"].map(|name| runtime.needs.iter().map(move |need| need.join(name)));
    let mut folders = own.into_iter().flatten().chain(packages.iter().cloned());
    let installed = folders.any(|folder| folder.join(package).is_dir() || folder.join(&module).is_file());
    let in_project =
        |path: &str| path == module || path.strip_prefix(package).is_some_and(|rest| rest.starts_with('/'));
    if installed || project.files.iter().any(|file| in_project(&file.path)) {
        return None;
    }
    let remedy = match project.packages {
        true => format!("install it for the `python3` of this host, as with `python3 -m pip install {package}`"),
        false => "write `packages: true` in the request".to_owned(),
    };
    Some(format!("failed to find the package `{package}` that runs the tests; {remedy}"))
}

/// Where the tree shows a folder of packages, wherever the host has it.
fn shown_packages(index: usize) -> PathBuf {
    PathBuf::from(format!("/packages/{index}"))
}

/// The folders of packages installed for the host's Python, where they are asked for.
pub(crate) fn packages(project: &Project, language: Language) -> Vec<PathBuf> {
    if !project.packages || language != Language::Python {
        return Vec::new();
    }
    let mut python = Command::new("python3");
    let said = python.args(["-c", PACKAGES]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    said.lines().map(PathBuf::from).filter(|folder| folder.is_dir()).collect()
}
