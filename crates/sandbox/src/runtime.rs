//! The interpreters a host has, resolved once to real binaries.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use proofmark_checks::Language;

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
    /// What of the host it needs to see.
    pub(crate) needs: Vec<PathBuf>,
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Prints, one a line: version, real binary, then every path the runtime needs.
const PYTHON_PROBE: &str = "import os,sys,sysconfig
p=sysconfig.get_paths()
v=sysconfig.get_config_var
print('%d.%d.%d'%sys.version_info[:3])
print(os.path.realpath(sys.executable))
print(p['stdlib'])
print(p['platstdlib'])
print(os.path.join(v('LIBDIR') or '',v('INSTSONAME') or 'none'))";

/// Where shared libraries are, besides the Debian multi-architecture folders.
const LIBRARY_FOLDERS: [&str; 5] = ["/lib", "/lib64", "/usr/lib64", "/usr/lib/locale/C.utf8", "/etc/ld.so.cache"];

/// Looks interpreters up on `PATH`, each binary once.
pub(crate) struct Finder {
    /// Whether submissions run under another uid than ours, which must then be
    /// able to reach the binary by its path.
    reached_by_others: bool,
    probed: Mutex<BTreeMap<PathBuf, Option<Runtime>>>,
}

impl Finder {
    pub(crate) fn new(reached_by_others: bool) -> Finder {
        Finder { reached_by_others, probed: Mutex::new(BTreeMap::new()) }
    }

    /// The interpreter for `language`, of the version demanded where one is.
    ///
    /// `python3` asks for any 3, `python3.11` for that minor version, `3.11.7` or
    /// `python3.11.7` for just that; `node20` and `bash5.2` likewise.
    pub(crate) fn find(&self, language: Language, demand: Option<&str>) -> Option<Runtime> {
        let number = demand.map(|wanted| version_number(language, wanted));
        let fits = |runtime: &Runtime| number.as_deref().is_none_or(|number| satisfies(runtime, number));
        names(language, number.as_deref())
            .iter()
            .flat_map(|name| on_path(name))
            .find_map(|file| self.probe(language, &file).filter(fits))
    }

    /// Everything this host has: each binary once.
    pub(crate) fn survey(&self) -> Vec<Runtime> {
        let mut seen = BTreeSet::new();
        let minors = (8..=20).map(|minor| format!("3.{minor}"));
        let numbers: Vec<Option<String>> = [None].into_iter().chain(minors.map(Some)).collect();
        let pythons = numbers.iter().flat_map(|number| names(Language::Python, number.as_deref()));
        let mut wanted: Vec<(Language, String)> = pythons.map(|name| (Language::Python, name)).collect();
        for language in [Language::JavaScript, Language::Bash] {
            wanted.extend(names(language, None).into_iter().map(|name| (language, name)));
        }
        let files =
            wanted.iter().flat_map(|(language, name)| on_path(name).into_iter().map(move |file| (*language, file)));
        files
            .filter_map(|(language, file)| self.probe(language, &file))
            .filter(|found| seen.insert(found.path.clone()))
            .collect()
    }

    fn probe(&self, language: Language, file: &Path) -> Option<Runtime> {
        let known = self.probed.lock().ok()?.get(file).cloned();
        known.unwrap_or_else(|| {
            let found = probe(language, file).filter(|found| !self.reached_by_others || open_to_others(&found.path));
            if let Ok(mut probed) = self.probed.lock() {
                probed.insert(file.to_owned(), found.clone());
            }
            found
        })
    }
}

/// Whether any uid may reach and run the file.
fn open_to_others(file: &Path) -> bool {
    let open = |path: &Path| path.metadata().is_ok_and(|found| found.permissions().mode() & 0o001 != 0);
    file.ancestors().all(open)
}

/// The number in a demanded runtime: `3.11` of `python3.11`.
fn version_number(language: Language, wanted: &str) -> String {
    let wanted = wanted.trim().to_ascii_lowercase();
    let prefixes: &[&str] = match language {
        Language::Python => &["cpython", "python"],
        Language::JavaScript => &["nodejs", "node", "javascript"],
        Language::Bash => &["bash"],
    };
    let number = prefixes.iter().find_map(|prefix| wanted.strip_prefix(prefix)).unwrap_or(&wanted);
    number.trim_start_matches(['-', ' ', 'v', '@']).to_owned()
}

fn satisfies(runtime: &Runtime, number: &str) -> bool {
    let longer = |rest: &str| rest.is_empty() || rest.starts_with('.');
    number.is_empty() || runtime.version.strip_prefix(number).is_some_and(longer)
}

/// The names under which an interpreter may be on `PATH`, the likeliest first.
fn names(language: Language, number: Option<&str>) -> Vec<String> {
    let minor = number.map(|number| number.split('.').take(2).collect::<Vec<_>>().join("."));
    let versioned = minor.filter(|minor| minor.contains('.')).map(|minor| format!("python{minor}"));
    let (versioned, plain): (Option<String>, &[&str]) = match language {
        Language::Python => (versioned, &["python3", "python"]),
        Language::JavaScript => (None, &["node", "nodejs"]),
        Language::Bash => (None, &["bash"]),
    };
    versioned.into_iter().chain(plain.iter().map(|name| (*name).to_owned())).collect()
}

fn on_path(program: &str) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/local/bin:/usr/bin:/bin"));
    std::env::split_paths(&path).map(|folder| folder.join(program)).filter(|file| file.is_file()).collect()
}

fn probe(language: Language, binary: &Path) -> Option<Runtime> {
    match language {
        Language::Python => {
            let said = output(binary, &["-I", "-S", "-c", PYTHON_PROBE])?;
            let mut lines = said.lines().map(str::to_owned);
            let (version, path) = (lines.next()?, PathBuf::from(lines.next()?));
            let mut needs = vec![path.clone()];
            needs.extend(lines.map(PathBuf::from));
            let minor = version.rsplit_once('.')?.0;
            Some(Runtime { language, name: format!("python{minor}"), path, needs, version })
        }
        Language::JavaScript => {
            let said = output(binary, &["-p", "process.versions.node+'\\n'+process.execPath"])?;
            let (version, path) = said.trim().split_once('\n')?;
            let path = PathBuf::from(path).canonicalize().ok()?;
            let needs = vec![path.clone(), PathBuf::from("/usr/share/nodejs")];
            let major = version.split('.').next()?;
            Some(Runtime { language, name: format!("node{major}"), path, needs, version: version.to_owned() })
        }
        Language::Bash => {
            let said = output(binary, &["-c", "echo ${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}.${BASH_VERSINFO[2]}"])?;
            let version = said.trim().to_owned();
            let path = binary.canonicalize().ok()?;
            let needs = ["/usr/bin", "/bin", "/etc/alternatives"].map(PathBuf::from).into_iter().chain([path.clone()]);
            let minor = version.rsplit_once('.')?.0;
            Some(Runtime {
                language,
                name: format!("bash{minor}"),
                path,
                needs: needs.collect(),
                version: version.clone(),
            })
        }
    }
}

fn output(binary: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(binary);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    let done = command.output().ok()?;
    done.status.success().then_some(())?;
    String::from_utf8(done.stdout).ok()
}

impl Runtime {
    /// The tree in which this runtime works: its own files and the shared
    /// libraries, nothing else of the host.
    pub(crate) fn tree(&self) -> io::Result<Tree> {
        let mut tree = Tree::new()?;
        for folder in LIBRARY_FOLDERS {
            let path = Path::new(folder);
            // A real /lib is a folder of its own on hosts that have not merged it
            // into /usr; a link leads to what is shown below.
            tree.show(path)?;
        }
        let triplet = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let merged = if Path::new(&triplet).is_dir() { triplet } else { "/usr/lib".to_owned() };
        tree.show(Path::new(&merged))?;
        for need in &self.needs {
            tree.show(need)?;
        }
        Ok(tree)
    }
}
