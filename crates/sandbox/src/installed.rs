//! Packages installed on the host, as far as a suite names them.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::toolchain::Packages;
use crate::tree::Tree;

/// Where the tree of a cell shows the packages, wherever the host has them.
const SHOWN: &str = "/packages";

/// The installed packages that programs may import.
#[derive(Clone, Debug, Default)]
pub(crate) struct Installed {
    names: Vec<String>,
    /// The files and folders of the host, and where they are shown.
    entries: Vec<(PathBuf, PathBuf)>,
    /// Where programs look for packages.
    folders: Vec<PathBuf>,
}

/// Why packages cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstalledError {
    #[error(
        "find the package `{name}`: it is not installed for {runtime}; install it on this host, as with `{install} {name}`"
    )]
    Missing { name: String, runtime: String, install: &'static str },
    #[error("list the packages of {0}: {1}")]
    List(String, String),
    #[error("find packages: {0} has none")]
    Unsupported(&'static str),
}

/// The interpreter whose packages are looked for.
pub(crate) struct Interpreter<'a> {
    /// What is started to ask it.
    pub(crate) file: &'a Path,
    /// The real binary.
    pub(crate) path: &'a Path,
    /// What receipts call it.
    pub(crate) name: &'a str,
    /// Its whole version.
    pub(crate) version: &'a str,
    pub(crate) packages: &'a Packages,
}

impl Installed {
    /// The packages of these names and all that they require.
    ///
    /// With a file tree of its own, a cell shows only them; otherwise the folders that hold them become readable.
    ///
    /// # Errors
    /// Where one of them is not installed.
    pub(crate) fn find(of: &Interpreter<'_>, names: &[String], own_tree: bool) -> Result<Installed, InstalledError> {
        let mut installed = Installed { names: names.to_vec(), ..Installed::default() };
        let mut folders = BTreeSet::new();
        for line in list(of, names)?.lines() {
            match line.split('\t').collect::<Vec<_>>().as_slice() {
                ["missing", name] => {
                    let (name, runtime) = ((*name).to_owned(), of.name.to_owned());
                    return Err(InstalledError::Missing { name, runtime, install: of.packages.install });
                }
                [name, _, path] if own_tree => {
                    installed.entries.push((PathBuf::from(path), Path::new(SHOWN).join(name)));
                }
                [_, folder, _] if folders.insert((*folder).to_owned()) => {
                    installed.entries.push((PathBuf::from(folder), PathBuf::from(folder)));
                    installed.folders.push(PathBuf::from(folder));
                }
                _ => {}
            }
        }
        if own_tree {
            installed.folders.push(PathBuf::from(SHOWN));
        }
        Ok(installed)
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn show(&self, tree: &mut Tree) -> io::Result<()> {
        self.entries.iter().try_for_each(|(path, at)| tree.show_at(path, at))
    }

    pub(crate) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }
}

/// What the interpreter says of the packages, outside of the sandbox and without running any of them.
fn list(of: &Interpreter<'_>, names: &[String]) -> Result<String, InstalledError> {
    let failed = |why: String| InstalledError::List(of.name.to_owned(), why);
    let mut command = Command::new(of.file);
    // Nothing is imported from the folder that this process happens to be in.
    command.args(["-c", of.packages.find]).args(names).current_dir("/").stdin(Stdio::null());
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(failed(errors.lines().last().unwrap_or("it failed").to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
