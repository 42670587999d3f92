//! The environment that Python runs a project's tests in: a virtual environment of the sandbox's own, whose packages are those of
//! one environment of the host and no others.
//!
//! The host's environment is found by its `pyvenv.cfg`, and only read: nothing in it is run outside of the sandbox. In the cell
//! its folders of packages are `/packages/0` and so on, and `/packages/python` is what the interpreter takes for the environment. Its only
//! packages are lines that lead to those folders, so the interpreter itself reads the `.pth` files there, as it does on the host.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proofmark_checks::{Origin, OwnModules, PROJECT_FOLDER, PackagesFrom, Project, RUNNING_MODULE, normalized};

use crate::installed::Interpreter;
use crate::scripts;
use crate::tree::Tree;

/// Where the tree of a cell shows the folders of packages, wherever the host has them.
const SHOWN: &str = "/packages";
/// The environment of the cell.
const OWN: &str = "/packages/python";
/// The file that makes a folder an environment.
const SETTINGS: &str = "pyvenv.cfg";
/// The most bytes of a file of an environment that are read: its settings, a `.pth` file, a list of what a package has.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// The most entries of a folder of packages that are looked at.
const MAX_ENTRIES: usize = 50_000;
/// The most lines of a `.pth` file.
const MAX_LINES: usize = 10_000;

/// The packages that the command of a project may import.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    from: PackagesFrom,
    /// Whether the packages are shown.
    is_shown: bool,
    /// The folders of packages, in the order in which they are searched.
    folders: Vec<PathBuf>,
    /// Where else modules are looked for, in the cell.
    paths: Vec<String>,
    /// Folders of the project that are looked in last.
    added: Vec<String>,
    /// Modules of editable installs, with the places of the cell for those of the host: a file's name and its text.
    modules: Vec<(String, String)>,
}

/// Why there is no environment.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EnvironmentError {
    #[error("read `{}`: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("list the packages of {0}: {1}")]
    List(String, String),
    #[error(
        "use the environment `{}`: it is of python{made_for}, and {runtime} runs the tests; \
         set `runtime: python{made_for}`, or make the environment anew", path.display()
    )]
    Version { path: PathBuf, made_for: String, runtime: String },
    #[error(
        "tell what is tested: the project's own `{module}` is also installed, in `{}`, and that copy might be what runs; \
         install the project with `python3 -m pip install -e`, or uninstall it", folder.display()
    )]
    Installed { module: String, folder: PathBuf },
}

/// What makes a folder an environment.
struct Venv {
    path: PathBuf,
    settings: String,
}

impl Venv {
    /// The environment whose `python3` this is.
    fn of_interpreter(file: &Path) -> Result<Option<Venv>, EnvironmentError> {
        file.parent().and_then(Path::parent).map_or(Ok(None), Venv::at)
    }

    fn at(path: &Path) -> Result<Option<Venv>, EnvironmentError> {
        let settings = path.join(SETTINGS);
        if !settings.is_file() {
            return Ok(None);
        }
        Ok(Some(Venv { path: path.to_owned(), settings: text(&settings)? }))
    }

    /// Where it is, as receipts say it.
    fn place(&self, origin: Option<&Origin>) -> PackagesFrom {
        let folder = self.path.canonicalize().ok().zip(origin);
        let below = folder.and_then(|(path, origin)| path.strip_prefix(&origin.folder).map(Path::to_owned).ok());
        below.map_or(PackagesFrom::Venv, |below| PackagesFrom::Project(below.to_string_lossy().into_owned()))
    }

    /// The last value of a setting, as Python reads the file.
    fn setting(&self, name: &str) -> Option<&str> {
        let mut lines = self.settings.lines().filter_map(|line| line.split_once('='));
        lines.rfind(|(key, _)| key.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    fn has_system_packages(&self) -> bool {
        self.setting("include-system-site-packages").is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Its folder of packages for an interpreter of this version.
    fn folder(&self, interpreter: &Interpreter<'_>, minor: &str) -> Result<PathBuf, EnvironmentError> {
        let made_for = self.setting("version_info").or_else(|| self.setting("version")).and_then(minor_version);
        if let Some(made_for) = made_for.filter(|made_for| made_for != minor) {
            return Err(EnvironmentError::Version {
                path: self.path.clone(),
                made_for,
                runtime: interpreter.name.to_owned(),
            });
        }
        Ok(self.path.join(format!("lib/python{minor}/site-packages")))
    }
}

/// The first two numbers of a version.
fn minor_version(version: &str) -> Option<String> {
    let mut parts = version.split('.');
    Some(format!("{}.{}", parts.next()?, parts.next()?))
}

impl Environment {
    /// What the command of a project may import: the packages of the environment whose `python3` is the first on `PATH`, else of the one in
    /// the project's folder, else those of the interpreter.
    ///
    /// # Errors
    /// Where the environment cannot be read or is of another interpreter, or has a copy of the project.
    pub(crate) fn of_project(
        interpreter: &Interpreter<'_>,
        project: &Project,
    ) -> Result<Environment, EnvironmentError> {
        let mut environment = Environment::empty();
        if let Some(locked) = &project.locked {
            environment.from = PackagesFrom::Lock;
            environment.folders = locked.packages.iter().cloned().collect();
            environment.is_shown = locked.packages.is_some();
        } else if project.packages {
            let origin = project.origin.as_ref();
            let own =
                || origin.and_then(|origin| origin.environment.as_ref()).map_or(Ok(None), |own| Venv::at(&own.host));
            let venv = Venv::of_interpreter(interpreter.file)?.map_or_else(own, |venv| Ok(Some(venv)))?;
            environment.from = venv.as_ref().map_or(PackagesFrom::Host, |venv| venv.place(origin));
            environment.folders = folders(interpreter, venv.as_ref())?;
            environment.is_shown = true;
            if let Some(origin) = origin {
                environment.lead_to(&origin.folder)?;
            }
        }
        if let Some(modules) = &project.modules {
            environment.refuse_copies(modules)?;
            let is_missing = |root: &&String| !environment.paths.contains(&format!("{PROJECT_FOLDER}/{root}"));
            environment.added = modules.roots.iter().filter(is_missing).cloned().collect();
        }
        Ok(environment)
    }

    /// An interpreter with nothing but its own library.
    fn empty() -> Environment {
        let (folders, paths, added, modules) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Environment { from: PackagesFrom::Host, is_shown: false, folders, paths, added, modules }
    }

    /// Whose packages are shown, if any are.
    pub(crate) fn from(&self) -> Option<PackagesFrom> {
        self.is_shown.then(|| self.from.clone())
    }

    /// Folders of the project that are looked in last.
    pub(crate) fn added(&self) -> &[String] {
        &self.added
    }

    /// The folders of packages, in the order in which they are searched.
    pub(crate) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The packages that every project may import.
    pub(crate) fn of_interpreter(interpreter: &Interpreter<'_>) -> Result<Environment, EnvironmentError> {
        let venv = Venv::of_interpreter(interpreter.file)?;
        Ok(Environment { folders: folders(interpreter, venv.as_ref())?, ..Environment::empty() })
    }

    /// Whether it has a package or a module of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        let module = format!("{name}.py");
        self.folders.iter().any(|folder| folder.join(name).is_dir() || folder.join(&module).is_file())
    }

    /// Refuses an environment that has a copy of the project, which would run in place of the files that are verified.
    fn refuse_copies(&self, own: &OwnModules) -> Result<(), EnvironmentError> {
        for folder in &self.folders {
            let found = own.modules.iter().find(|module| has_module(folder, module)).cloned();
            let found = match (found, &own.distribution) {
                (None, Some(name)) => installed_module(folder, name)?,
                (found, _) => found,
            };
            if let Some(module) = found {
                return Err(EnvironmentError::Installed { module, folder: folder.clone() });
            }
        }
        Ok(())
    }

    /// Has everything that leads to the project's folder on the host lead to the copy.
    fn lead_to(&mut self, project: &Path) -> Result<(), EnvironmentError> {
        for folder in self.folders.clone() {
            for name in names(&folder)?.iter().filter(|name| name.ends_with(".pth") && !name.starts_with('.')) {
                self.lead_lines(&folder, &text(&folder.join(name))?, project)?;
            }
        }
        Ok(())
    }

    /// The same for the lines of a `.pth` file.
    fn lead_lines(&mut self, folder: &Path, lines: &str, project: &Path) -> Result<(), EnvironmentError> {
        for line in
            lines.lines().take(MAX_LINES).map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            if let Some(imported) = line.strip_prefix("import ").or_else(|| line.strip_prefix("import\t")) {
                self.lead_module(folder, imported, project)?;
            } else if let Some(path) = in_project(&folder.join(line), project) {
                self.paths.push(path);
            }
        }
        Ok(())
    }

    /// The module that a line of a `.pth` file imports, where it names the project's folder.
    fn lead_module(&mut self, folder: &Path, imported: &str, project: &Path) -> Result<(), EnvironmentError> {
        let name = imported.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let file = format!("{name}.py");
        let path = folder.join(&file);
        if name.is_empty() || !path.is_file() {
            return Ok(());
        }
        let (module, project) = (text(&path)?, project.to_string_lossy());
        let mut leading = module.clone();
        for end in ['/', '\'', '"'] {
            leading = leading.replace(&format!("{project}{end}"), &format!("{PROJECT_FOLDER}{end}"));
        }
        if leading != module {
            self.modules.push((file, leading));
        }
        Ok(())
    }

    /// Puts the environment into a tree.
    pub(crate) fn show(&self, tree: &mut Tree, interpreter: &Interpreter<'_>) -> io::Result<()> {
        for (index, folder) in self.folders.iter().enumerate() {
            tree.show_at(folder, &shown(index))?;
        }
        let own = Path::new(OWN);
        let home = interpreter.path.parent().unwrap_or(Path::new("/")).display();
        let settings =
            format!("home = {home}\ninclude-system-site-packages = false\nversion = {}\n", interpreter.version);
        tree.file(&own.join(SETTINGS), settings.into_bytes())?;
        for name in ["python", "python3"]
            .map(str::to_owned)
            .into_iter()
            .chain(interpreter_name(interpreter))
            .collect::<BTreeSet<_>>()
        {
            tree.link(interpreter.path, &own.join("bin").join(name))?;
        }
        for (name, script) in self.scripts(&program(interpreter)) {
            tree.program(&own.join("bin").join(name), script)?;
        }
        let packages =
            own.join(format!("lib/python{}/site-packages", minor_version(interpreter.version).unwrap_or_default()));
        let folders =
            (0..self.folders.len()).map(|index| format!("import site; site.addsitedir({:?})\n", shown(index)));
        // Behind all that is installed, where an editable install would put them.
        let added = self.added.iter().map(|root| format!("{PROJECT_FOLDER}/{root}"));
        let paths = self.paths.iter().cloned().chain(added).map(|path| format!("{path}\n"));
        tree.file(&packages.join("proofmark.pth"), folders.chain(paths).collect::<String>().into_bytes())?;
        let (module, text) = RUNNING_MODULE;
        tree.file(&packages.join(format!("{module}.py")), text.as_bytes().to_vec())?;
        for (name, text) in &self.modules {
            tree.file(&packages.join(name), text.clone().into_bytes())?;
        }
        Ok(())
    }

    /// The programs of its packages. What cannot be read has none.
    fn scripts(&self, interpreter: &Path) -> BTreeMap<String, Vec<u8>> {
        let mut scripts = BTreeMap::new();
        for folder in &self.folders {
            let described = names(folder).unwrap_or_default();
            for name in described.iter().filter(|name| name.ends_with(".dist-info") || name.ends_with(".egg-info")) {
                let file = folder.join(name).join("entry_points.txt");
                // A pipe would keep its reader waiting.
                if let Some(text) = file.is_file().then(|| text(&file).ok()).flatten() {
                    scripts::add(&text, interpreter, &mut scripts);
                }
            }
        }
        scripts
    }
}

/// What the interpreter is started as, so that it finds the environment.
pub(crate) fn program(interpreter: &Interpreter<'_>) -> PathBuf {
    Path::new(OWN).join("bin").join(interpreter_name(interpreter).unwrap_or_else(|| "python3".to_owned()))
}

/// Where the programs of the environment are.
pub(crate) fn programs() -> String {
    format!("{OWN}/bin")
}

fn interpreter_name(interpreter: &Interpreter<'_>) -> Option<String> {
    Some(interpreter.path.file_name()?.to_str()?.to_owned())
}

fn shown(index: usize) -> PathBuf {
    Path::new(SHOWN).join(index.to_string())
}

/// The folders of packages of an environment, or of the interpreter.
fn folders(interpreter: &Interpreter<'_>, venv: Option<&Venv>) -> Result<Vec<PathBuf>, EnvironmentError> {
    let minor = minor_version(interpreter.version).unwrap_or_default();
    let mut folders: Vec<_> = venv.map(|venv| venv.folder(interpreter, &minor)).transpose()?.into_iter().collect();
    if venv.is_none_or(Venv::has_system_packages) {
        folders.extend(of_interpreter(interpreter)?);
    }
    folders.retain(|folder| folder.is_dir());
    Ok(folders)
}

/// The folders of packages that belong to the interpreter itself, and not to an environment.
fn of_interpreter(interpreter: &Interpreter<'_>) -> Result<Vec<PathBuf>, EnvironmentError> {
    let failed = |why: String| EnvironmentError::List(interpreter.name.to_owned(), why);
    // Nothing is imported from the folder that this process happens to be in.
    let mut command = Command::new(interpreter.path);
    let output = command.args(interpreter.packages.site).current_dir("/").stdin(Stdio::null()).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(failed(errors.lines().last().unwrap_or("it failed").to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect())
}

/// Whether a folder of packages has this module: a package's folder, or a file.
fn has_module(folder: &Path, module: &str) -> bool {
    let path = folder.join(module);
    if module.ends_with(".py") { path.is_file() } else { path.is_dir() }
}

/// What a folder of packages has of a distribution beside its description and what leads to a project.
fn installed_module(folder: &Path, distribution: &str) -> Result<Option<String>, EnvironmentError> {
    for name in names(folder)? {
        let described = name.strip_suffix(".dist-info").and_then(|name| name.rsplit_once('-'));
        if described.is_none_or(|(name, _)| normalized(name) != distribution) {
            continue;
        }
        let record = folder.join(&name).join("RECORD");
        let record = if record.is_file() { text(&record)? } else { String::new() };
        let tops = record.lines().filter_map(|line| line.split(['/', ',']).next());
        let is_module = |top: &&str| {
            !matches!(*top, "" | ".." | "__pycache__")
                && !top.ends_with(".dist-info")
                && !top.ends_with(".pth")
                && !top.starts_with("__editable__")
                && !top.starts_with("_editable_impl_")
        };
        if let Some(module) = tops.into_iter().find(is_module) {
            return Ok(Some(module.to_owned()));
        }
    }
    Ok(None)
}

/// Where the copy has what a path of the host leads to, if that is in the project's folder.
fn in_project(path: &Path, project: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let below = path.strip_prefix(project).ok()?.to_str()?;
    let below = if below.is_empty() { String::new() } else { format!("/{below}") };
    Some(format!("{PROJECT_FOLDER}{below}"))
}

/// The names of the entries of a folder of packages, sorted as the interpreter does.
fn names(folder: &Path) -> Result<BTreeSet<String>, EnvironmentError> {
    let failed = |error| EnvironmentError::Io { path: folder.to_owned(), error };
    let entries = folder.read_dir().map_err(failed)?.take(MAX_ENTRIES);
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
}

/// A file of an environment.
fn text(path: &Path) -> Result<String, EnvironmentError> {
    let failed = |error| EnvironmentError::Io { path: path.to_owned(), error };
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(failed(io::Error::other(format!("it has more than {MAX_FILE_BYTES} bytes"))));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
