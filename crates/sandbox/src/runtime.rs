//! The interpreters a host has, resolved once to real binaries.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use proofmark_checks::{Job, Language, Project};

use crate::environment::{Environment, EnvironmentError};
use crate::installed::{Installed, InstalledError, Interpreter};
use crate::modules;
use crate::toolchain::{self, Toolchain};
use crate::tree::Tree;

/// An interpreter found on this host.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// What it runs.
    pub language: Language,
    /// `python3.11`, `node20`, `bash5.2`: the name receipts carry.
    pub name: String,
    /// The whole version as the interpreter states it, for example `3.11.7`.
    pub version: String,
    /// The real binary, behind any shim or link.
    pub path: PathBuf,
    /// What is started to ask the interpreter about itself: it may be the link of a virtual environment.
    pub(crate) file: PathBuf,
    /// What of the host it needs to see.
    pub(crate) needs: Vec<PathBuf>,
    /// The installed packages that programs may import.
    pub(crate) installed: Installed,
    /// What the command of a project may import.
    pub(crate) environment: Option<Environment>,
    /// The modules that its harness loads first.
    pub(crate) modules: &'static str,
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Where shared libraries are, besides the Debian multi-architecture folders.
const LIBRARY_FOLDERS: [&str; 5] = ["/lib", "/lib64", "/usr/lib64", "/usr/lib/locale/C.utf8", "/etc/ld.so.cache"];

/// Looks interpreters up on `PATH`, and asks each binary once.
#[derive(Default)]
pub(crate) struct Finder {
    /// What was found, by the names of toolchains and by files: languages with the same interpreter have the same toolchain's name.
    probed: Mutex<BTreeMap<(&'static str, PathBuf), Option<Runtime>>>,
}

/// Who must be able to reach an interpreter by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// This process, which shows it to submissions.
    Own,
    /// Submissions, which run under another uid.
    Others,
}

impl Finder {
    /// The interpreter for `language`, of the version demanded where one is.
    ///
    /// `python3` asks for any 3, `python3.11` for that minor version, `3.11.7` or `python3.11.7` for just that; `node20`
    /// and `bash5.2` likewise.
    pub(crate) fn find(&self, language: Language, demand: Option<&str>, reach: Reach) -> Option<Runtime> {
        let toolchain = toolchain::of(language);
        let number = demand.map(|demanded| version_number(toolchain, demanded)).unwrap_or_default();
        let versioned = minor_version(&number).map(|minor| format!("{}{minor}", toolchain.name));
        let plain = toolchain.executables.iter().map(ToString::to_string);
        let mut files = versioned.into_iter().chain(plain).flat_map(|name| on_path(&name));
        files.find_map(|file| {
            self.probe(language, &file, reach)
                .filter(|runtime| runtime.is_usable() && satisfies(&runtime.version, &number))
        })
    }

    /// Everything this host has: each binary once.
    pub(crate) fn survey(&self, reach: Reach) -> Vec<Runtime> {
        Language::ALL
            .into_iter()
            .flat_map(|language| self.survey_of(language, reach))
            .filter(Runtime::is_usable)
            .collect()
    }

    /// Every runtime of one language, also those that are too old for it: each binary once.
    pub(crate) fn survey_of(&self, language: Language, reach: Reach) -> Vec<Runtime> {
        let names = executables(toolchain::of(language));
        let mut programs = BTreeSet::new();
        let mut files: Vec<PathBuf> = names.iter().flat_map(|name| on_path(name)).collect();
        files.retain(|file| programs.insert(program(file, &names)));
        let mut seen = BTreeSet::new();
        let runtimes = self.probe_all(language, &files, reach).into_iter().flatten();
        runtimes.filter(|runtime| seen.insert(runtime.path.clone())).collect()
    }

    /// Probes every file at the same time: each starts a process, and most of that time is spent waiting.
    fn probe_all(&self, language: Language, files: &[PathBuf], reach: Reach) -> Vec<Option<Runtime>> {
        thread::scope(|scope| {
            let probes: Vec<_> =
                files.iter().map(|file| scope.spawn(move || self.probe(language, file, reach))).collect();
            probes.into_iter().map(|probe| probe.join().ok().flatten()).collect()
        })
    }

    fn probe(&self, language: Language, file: &Path, reach: Reach) -> Option<Runtime> {
        let key = (toolchain::of(language).name, file.to_owned());
        let known = self.probed.lock().ok()?.get(&key).cloned();
        let found = known.unwrap_or_else(|| {
            let found = probe(language, file);
            if let Ok(mut probed) = self.probed.lock() {
                probed.insert(key, found.clone());
            }
            found
        });
        let found = found.filter(|found| reach == Reach::Own || open_to_others(&found.path))?;
        Some(Runtime { language, ..found })
    }
}

/// Whether any uid may reach and run the file.
fn open_to_others(file: &Path) -> bool {
    file.ancestors().all(|path| path.metadata().is_ok_and(|found| found.permissions().mode() & 0o001 != 0))
}

/// The number in a demanded runtime: `3.11` of `python3.11`.
fn version_number(toolchain: &Toolchain, demanded: &str) -> String {
    let demanded = demanded.trim().to_ascii_lowercase();
    let number = toolchain.prefixes.iter().find_map(|prefix| demanded.strip_prefix(prefix)).unwrap_or(&demanded);
    number.trim_start_matches(['-', ' ', 'v', '@']).to_owned()
}

/// The first two parts of a version that has as many.
fn minor_version(version: &str) -> Option<String> {
    let (major, rest) = version.split_once('.')?;
    let minor = rest.split('.').next()?;
    Some(format!("{major}.{minor}"))
}

fn satisfies(version: &str, number: &str) -> bool {
    number.is_empty() || version.strip_prefix(number).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The names under which interpreters may be on `PATH`, the likeliest first.
fn executables(toolchain: &Toolchain) -> Vec<String> {
    let versions =
        toolchain.versions.iter().flat_map(|(major, minors)| minors.clone().map(move |minor| (major, minor)));
    let versioned = versions.map(|(major, minor)| format!("{}{major}.{minor}", toolchain.name));
    toolchain.executables.iter().map(ToString::to_string).chain(versioned).collect()
}

/// What starting a file runs: the file that it leads to, since `/bin` may be `/usr/bin` and `python3` a link to `python3.11`. The
/// name is part of it unless that file has one of `names`: what a link leads to may go by the name that it is started with.
fn program(file: &Path, names: &[String]) -> (Option<PathBuf>, Option<OsString>) {
    let target = file.canonicalize().ok();
    let name_of = |path: &Path| path.file_name().map(OsString::from);
    let is_named = target.as_deref().and_then(name_of).is_some_and(|name| names.iter().any(|one| name == one.as_str()));
    let name = if is_named { None } else { name_of(file) };
    (target, name)
}

fn on_path(program: &str) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/local/bin:/usr/bin:/bin"));
    std::env::split_paths(&path).map(|folder| folder.join(program)).filter(|file| file.is_file()).collect()
}

fn probe(language: Language, binary: &Path) -> Option<Runtime> {
    let toolchain = toolchain::of(language);
    let output = output(binary, toolchain.probe)?;
    let mut lines = output.lines();
    let version = lines.next()?.to_owned();
    let binary = lines.next().filter(|path| !path.is_empty()).map_or(binary, Path::new);
    let (file, path) = (binary.to_owned(), binary.canonicalize().ok()?);
    let mut needs: Vec<PathBuf> = toolchain.needs.iter().map(PathBuf::from).collect();
    needs.push(path.clone());
    needs.extend(lines.map(PathBuf::from));
    let parts: Vec<&str> = version.split('.').take(toolchain.version_parts).collect();
    let name = format!("{}{}", toolchain.name, parts.join("."));
    Some(Runtime {
        language,
        name,
        version,
        path,
        file,
        needs,
        installed: Installed::default(),
        environment: None,
        modules: "",
    })
}

fn output(binary: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(binary);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    let done = command.output().ok()?;
    done.status.success().then_some(())?;
    String::from_utf8(done.stdout).ok()
}

impl Runtime {
    /// The Debian package that installs an interpreter of the language.
    pub fn debian_package(language: Language) -> &'static str {
        toolchain::of(language).package
    }

    /// Whether an interpreter of this version is what a job demands, for example `python3.12`.
    pub fn satisfies(language: Language, version: &str, demand: &str) -> bool {
        satisfies(version, &version_number(toolchain::of(language), demand))
    }

    pub(crate) fn toolchain(&self) -> &'static Toolchain {
        toolchain::of(self.language)
    }

    /// The tree in which this runtime works: its own files and the shared libraries, nothing else of the host.
    pub(crate) fn tree(&self) -> io::Result<Tree> {
        let mut tree = Tree::new()?;
        for folder in LIBRARY_FOLDERS {
            let path = Path::new(folder);
            // A real /lib is a folder of its own on hosts that have not merged it into /usr; a link leads to what is
            // shown below.
            tree.show(path)?;
        }
        let triplet = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let merged = if Path::new(&triplet).is_dir() { triplet } else { "/usr/lib".to_owned() };
        tree.show(Path::new(&merged))?;
        for need in &self.needs {
            tree.show(need)?;
        }
        self.installed.show(&mut tree)?;
        Ok(tree)
    }

    /// The same interpreter, whose programs may import these packages. With a file tree of its own (`own_tree`), a cell
    /// shows nothing else that is installed.
    ///
    /// # Errors
    /// Where one of them is not installed.
    pub(crate) fn with_packages(self, names: &[String], own_tree: bool) -> Result<Runtime, InstalledError> {
        if names.is_empty() {
            return Ok(self);
        }
        let interpreter = self.interpreter().ok_or(InstalledError::Unsupported(self.toolchain().name))?;
        let installed = Installed::find(&interpreter, names, own_tree)?;
        Ok(Runtime { installed, ..self })
    }

    /// The same interpreter, which runs the command of this project in an environment, where it has any.
    ///
    /// # Errors
    /// As for [`Environment::of_project`].
    pub(crate) fn with_environment(self, project: &Project) -> Result<Runtime, EnvironmentError> {
        let interpreter = self.interpreter();
        let environment = interpreter.map(|interpreter| Environment::of_project(&interpreter, project)).transpose()?;
        Ok(Runtime { environment, ..self })
    }

    /// What the command of a project can import beside its files.
    pub(crate) fn importable(&self) -> proofmark_checks::Environment {
        let environment = self.environment.as_ref();
        proofmark_checks::Environment {
            from: environment.and_then(Environment::from),
            added: environment.map(|environment| environment.added().to_vec()).unwrap_or_default(),
            packages: environment.map(|environment| environment.folders().to_vec()).unwrap_or_default(),
            library: self.toolchain().has_own_library.then(|| self.needs.clone()),
            version: self.version.clone(),
        }
    }

    /// How it is asked about packages, where its language has any.
    pub(crate) fn interpreter(&self) -> Option<Interpreter<'_>> {
        let packages = self.toolchain().packages.as_ref()?;
        Some(Interpreter { file: &self.file, path: &self.path, name: &self.name, version: &self.version, packages })
    }

    /// The same interpreter, which loads what the job is likely to import before the job is read.
    pub(crate) fn loading_for(self, job: &Job) -> Runtime {
        let modules = modules::likely(self.toolchain().modules, job);
        Runtime { modules, ..self }
    }

    /// Whether it is as new as its language needs.
    pub(crate) fn is_usable(&self) -> bool {
        let mut parts = self.version.split('.').map(|part| part.parse().unwrap_or(0));
        let own = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        self.toolchain().minimum.is_none_or(|minimum| own >= minimum)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::write;
    use std::os::unix::fs::symlink;

    use super::program;

    #[test]
    fn a_link_to_an_interpreter_is_that_interpreter_and_one_to_another_program_counts_by_its_name() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for (name, target) in [("node", None), ("nodejs", Some("node")), ("manager", None), ("node20", Some("manager"))]
        {
            match target {
                Some(target) => symlink(at(target), at(name)).unwrap(),
                None => write(at(name), "").unwrap(),
            }
        }
        let names = ["node", "nodejs", "node20"].map(str::to_owned);
        let [node, linked, managed] = ["node", "nodejs", "node20"].map(|name| program(&at(name), &names));
        assert_eq!(node, linked);
        assert_ne!(managed, program(&at("manager"), &names));
    }
}
