//! The interpreters a host has, resolved once to real binaries.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
const LIBRARY_FOLDERS: [&str; 4] = ["/lib", "/lib64", "/usr/lib64", "/etc/ld.so.cache"];

/// Looks for every interpreter on `PATH`. What does not start is not there.
pub(crate) fn find_all() -> Vec<Runtime> {
    let mut seen = BTreeSet::new();
    let mut found: Vec<Runtime> = Vec::new();
    for (language, program) in candidates() {
        let Some(binary) = on_path(&program) else { continue };
        if let Some(runtime) = probe(language, &binary)
            && seen.insert(runtime.path.clone())
        {
            found.push(runtime);
        }
    }
    found
}

/// The interpreter for `language`, of the version demanded where one is.
///
/// `python3` asks for any 3, `python3.11` for that minor version, `3.11.7` or
/// `python3.11.7` for just that; `node20` and `bash5.2` likewise.
pub(crate) fn choose<'a>(runtimes: &'a [Runtime], language: Language, demand: Option<&str>) -> Option<&'a Runtime> {
    let fits = |runtime: &&Runtime| runtime.language == language && demand.is_none_or(|wanted| satisfies(runtime, wanted));
    runtimes.iter().find(fits)
}

fn satisfies(runtime: &Runtime, wanted: &str) -> bool {
    let wanted = wanted.trim().to_ascii_lowercase();
    let prefixes: &[&str] = match runtime.language {
        Language::Python => &["python", "cpython"],
        Language::JavaScript => &["nodejs", "node"],
        Language::Bash => &["bash"],
    };
    let number = prefixes.iter().find_map(|prefix| wanted.strip_prefix(prefix)).unwrap_or(&wanted);
    let number = number.trim_start_matches(['-', ' ', 'v', '@']);
    number.is_empty() || runtime.version == number || runtime.version.strip_prefix(number).is_some_and(|rest| rest.starts_with('.'))
}

fn candidates() -> Vec<(Language, String)> {
    let mut all = vec![(Language::Python, "python3".to_owned())];
    all.extend((8..20).rev().map(|minor| (Language::Python, format!("python3.{minor}"))));
    all.push((Language::JavaScript, "node".to_owned()));
    all.push((Language::JavaScript, "nodejs".to_owned()));
    all.push((Language::Bash, "bash".to_owned()));
    all
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/local/bin:/usr/bin:/bin"));
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
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
            Some(Runtime { language, name: format!("bash{minor}"), path, needs: needs.collect(), version: version.clone() })
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
