//! How a project's command is started: its files, its interpreter, its environment.

mod machine;

use std::collections::BTreeSet;
use std::ffi::CString;
use std::io;
use std::path::Path;

use proofmark_checks::{HostFolder, Need, PROJECT_FOLDER, Project};

use crate::environment::{self, Environment};
use crate::program::{Launch, launch};
use crate::runtime::Runtime;
use crate::toolchain;
use crate::tree::{Tree, c_string};

/// How many entries a folder of installed packages may have: each is a mount.
const MAX_INSTALLED: usize = 4_096;
/// Where tools keep what they computed. The command begins with empty ones.
pub const CACHES: [&str; 4] = [".cache", ".vite", ".vite-temp", ".vitest"];

/// The tree of the runtime with the project in it, and what it may read besides.
pub(crate) fn tree(runtime: &Runtime, project: &Project) -> io::Result<Tree> {
    let readable: Vec<&Path> = project.readable.iter().map(Path::new).collect();
    readable.iter().try_for_each(|path| check_readable(path))?;
    let mut tree = machine::tree(runtime, &readable)?;
    if let Some((environment, interpreter)) = runtime.environment.as_ref().zip(runtime.interpreter()) {
        environment.show(&mut tree, &interpreter)?;
    }
    let root = Path::new(PROJECT_FOLDER);
    let mut folders = BTreeSet::from([root.to_owned()]);
    for file in &project.files {
        let path = root.join(&file.path);
        folders.extend(path.ancestors().skip(1).filter(|above| above.starts_with(root)).map(Path::to_owned));
    }
    for folder in &project.folders {
        folders.extend(root.join(&folder.at).parent().into_iter().flat_map(Path::ancestors).map(Path::to_owned));
    }
    for folder in folders.iter().filter(|folder| folder.starts_with(root)) {
        tree.writable_folder(folder)?;
    }
    for file in &project.files {
        tree.writable_file(&root.join(&file.path), file.content.clone())?;
    }
    for folder in &project.folders {
        show_packages(&mut tree, folder)?;
    }
    Ok(tree)
}

/// Whether a path can be read in the cell. A socket or a pipe would be a way to a process of the host.
fn check_readable(path: &Path) -> io::Result<()> {
    if path.starts_with("/tmp") {
        return Err(io::Error::other("the command has a `/tmp` of its own, so it cannot read the host's"));
    }
    match path.metadata() {
        Ok(found) if !found.is_dir() && !found.is_file() => Err(io::Error::other(format!(
            "`{}` is neither a file nor a folder, so the command cannot read it",
            path.display()
        ))),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Shows each package read-only in a folder that the command can write, since tools keep their caches beside packages.
fn show_packages(tree: &mut Tree, folder: &HostFolder) -> io::Result<()> {
    // A link would show what it leads to, wherever on the host that is.
    if folder.host.canonicalize()? != folder.host || !folder.host.is_dir() {
        return Err(io::Error::other(format!("`{}` is no longer a folder", folder.host.display())));
    }
    let at = Path::new(PROJECT_FOLDER).join(&folder.at);
    tree.writable_folder(&at)?;
    for (index, entry) in folder.host.read_dir()?.enumerate() {
        let name = entry?.file_name();
        if index >= MAX_INSTALLED {
            let message = format!("`{}` has more than {MAX_INSTALLED} entries", folder.host.display());
            return Err(io::Error::other(message));
        }
        if !CACHES.iter().any(|cache| name == *cache) {
            tree.show_on_disk(&folder.host.join(&name), &at.join(&name))?;
        }
    }
    Ok(())
}

/// The interpreter with the project's arguments.
pub(crate) fn command(runtime: &Runtime, project: &Project) -> io::Result<Launch> {
    let other = match &project.needs {
        Some(Need::Script(script)) if !has_script(project, script) => Some((script.as_str(), linked(script))),
        _ => None,
    };
    let argument = |word: &String| match &other {
        Some((script, linked)) if word == script => linked.clone(),
        _ => word.clone(),
    };
    let arguments: Vec<String> = project.arguments.iter().map(argument).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut launch = launch(runtime, &arguments)?;
    launch.env.retain(|variable| !machine::LEFT_OUT.iter().any(|name| has_name(variable, name)));
    let mut variables: Vec<String> = machine::VARIABLES.map(str::to_owned).into();
    // A bash script may run the interpreters of the other languages, so it gets the variables of all.
    variables.extend(toolchain::all().flat_map(|one| one.project_variables).map(ToString::to_string));
    let mut path = machine::PATH.to_owned();
    if let Some(interpreter) = runtime.interpreter() {
        launch.path = c_string(&environment::program(&interpreter))?;
        launch.argv.splice(..1, [launch.path.clone()]);
        path = format!("{}:{path}", environment::programs());
    }
    variables.push(format!("PATH={path}"));
    variables.extend(project.env.iter().map(|(name, value)| format!("{name}={value}")));
    for variable in variables {
        // Of two variables of a name, programs differ in which they take.
        let name = variable.split('=').next().unwrap_or_default();
        launch.env.retain(|other| !has_name(other, name));
        launch.env.push(CString::new(variable).map_err(io::Error::other)?);
    }
    Ok(launch)
}

/// Whether a variable `NAME=value` has this name.
fn has_name(variable: &CString, name: &str) -> bool {
    variable.as_bytes().strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
}

/// Why the command's test runner cannot be used, where it is not installed. Found before anything of the submission runs,
/// which could otherwise blame the host for its own failure.
pub(crate) fn lacking(runtime: &Runtime, project: &Project) -> Option<String> {
    match project.needs.as_ref()? {
        Need::Package(package) => lacks_package(runtime, project, package),
        Need::Version(least) => lacks_version(runtime, *least),
        Need::Script(script) => lacks_script(project, script),
    }
}

fn lacks_package(runtime: &Runtime, project: &Project, package: &str) -> Option<String> {
    let toolchain = runtime.toolchain().packages.as_ref()?;
    let module = format!("{package}.py");
    let in_project =
        |path: &str| path == module || path.strip_prefix(package).is_some_and(|rest| rest.starts_with('/'));
    if runtime.environment.as_ref().is_some_and(|environment| environment.has(package))
        || project.files.iter().any(|file| in_project(&file.path))
    {
        return None;
    }
    let remedy = if project.locked.is_some() {
        "add it to the lock file".to_owned()
    } else if project.packages {
        format!("install it on this host, as with `{} {package}`", toolchain.install)
    } else {
        "write `packages: true` in the request".to_owned()
    };
    Some(format!("failed to find the package `{package}` that runs the tests; {remedy}"))
}

fn lacks_version(runtime: &Runtime, [major, minor]: [u32; 2]) -> Option<String> {
    let mut parts = runtime.version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let found = [parts.next().unwrap_or(0), parts.next().unwrap_or(0)];
    let name = runtime.toolchain().name;
    (found < [major, minor]).then(|| {
        format!("{name} {} has no test runner that reports; install {name} {major}.{minor} or later", runtime.version)
    })
}

fn has_script(project: &Project, script: &str) -> bool {
    let mut shown =
        project.folders.iter().filter_map(|folder| Some((folder, Path::new(script).strip_prefix(&folder.at).ok()?)));
    shown.any(|(folder, below)| folder.host.join(below).is_file())
        || project.files.iter().any(|file| file.path == script)
}

/// The package that a script belongs to.
fn package_of(script: &str) -> &str {
    let mut names = script.split('/').skip_while(|name| *name != "node_modules").skip(1).filter(|name| *name != ".bin");
    names.next().unwrap_or(script)
}

/// The link to the program of the same package, which versions have at other places.
fn linked(script: &str) -> String {
    format!("node_modules/.bin/{}", package_of(script))
}

fn lacks_script(project: &Project, script: &str) -> Option<String> {
    if has_script(project, script) || has_script(project, &linked(script)) {
        return None;
    }
    let package = package_of(script);
    let remedy = if project.locked.is_some() {
        "add it to the lock file".to_owned()
    } else if project.packages {
        format!("install it in the project, as with `npm install --save-dev {package}`")
    } else {
        "use `proofmark verify --dir`, with packages".to_owned()
    };
    Some(format!("failed to find the package `{package}` that runs the tests: there is no `{script}`; {remedy}"))
}

impl Runtime {
    /// Whether projects can use a package: of Python, one that is installed. `None` for languages without packages.
    pub fn has_package(&self, package: &str) -> Option<bool> {
        let environment = self.interpreter().map(|interpreter| Environment::of_interpreter(&interpreter));
        environment.map(|found| found.is_ok_and(|environment| environment.has(package)))
    }
}
