//! The lock file of a project, and what is read with it.

use std::collections::BTreeMap;

use proofmark_checks::{Language, ProjectFile};
use proofmark_git::whole;
use proofmark_receipt::Sha256Digest;
use proofmark_sandbox::Runtime;

use super::{LockError, npm};
use crate::environment::Kind;

/// The most bytes of the files that a tool reads.
const MAX_LOCK_BYTES: u64 = 32 << 20;
/// Lock files that nothing here installs.
const UNREAD: [&str; 7] =
    ["pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "pdm.lock", "pylock.toml", "Gemfile.lock"];
/// How many digits the name of an environment has.
const ID_DIGITS: usize = 32;

/// What a lock file is written by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Uv,
    Poetry,
    Pipfile,
    Requirements,
    Npm,
}

impl Form {
    /// By the names that are looked for, the most exact first.
    const NAMES: [(&'static str, Form); 6] = [
        ("uv.lock", Form::Uv),
        ("poetry.lock", Form::Poetry),
        ("Pipfile.lock", Form::Pipfile),
        ("requirements.txt", Form::Requirements),
        ("package-lock.json", Form::Npm),
        ("npm-shrinkwrap.json", Form::Npm),
    ];

    fn of(path: &str) -> Option<Form> {
        let named = Form::NAMES.iter().find(|(name, _)| *name == path).map(|(_, form)| *form);
        named.or_else(|| path.ends_with(".txt").then_some(Form::Requirements))
    }

    /// What its tree of packages is.
    pub(super) fn kind(self) -> Kind {
        match self {
            Form::Uv | Form::Poetry | Form::Pipfile | Form::Requirements => Kind::Python,
            Form::Npm => Kind::Node,
        }
    }

    fn language(self) -> Option<Language> {
        let is_of = |name: &&'static str| Form::of(name) == Some(self);
        Language::ALL.into_iter().find(|language| language.lock_files().iter().any(is_of))
    }

    /// The file beside it that the tool also reads.
    fn manifest(self) -> Option<&'static str> {
        match self {
            Form::Uv => Some("pyproject.toml"),
            Form::Poetry | Form::Pipfile | Form::Requirements => None,
            Form::Npm => Some("package.json"),
        }
    }
}

/// The lock file of a project.
#[derive(Debug)]
pub struct LockFile {
    pub(super) form: Form,
    language: Language,
    pub(super) path: String,
    /// It and its manifests, by path.
    pub(super) files: BTreeMap<String, Vec<u8>>,
}

impl LockFile {
    /// The lock file of a project that runs this language (`None`: of any), or the one with this path.
    ///
    /// # Errors
    /// When there is none, or it names what is not installed.
    pub fn find(files: &[ProjectFile], named: Option<&str>, language: Option<Language>) -> Result<LockFile, LockError> {
        let has = |path: &str| files.iter().any(|file| file.path == path);
        let languages = language.map_or_else(|| Language::ALL.to_vec(), |language| vec![language]);
        let names: Vec<&str> = languages.iter().flat_map(|language| language.lock_files()).copied().collect();
        let missing = || match UNREAD.iter().find(|name| has(name)) {
            Some(unread) => LockError::Form((*unread).to_owned()),
            None => LockError::Missing(names.join("`, `")),
        };
        let path = match named {
            Some(path) => path,
            None => names.iter().find(|name| has(name)).copied().ok_or_else(missing)?,
        };
        let form = Form::of(path).ok_or_else(|| LockError::Form(path.to_owned()))?;
        let language = form.language().filter(|of| languages.contains(of));
        let language = language.ok_or_else(|| LockError::Language(path.to_owned()))?;
        if !has(path) {
            return Err(LockError::Missing(path.to_owned()));
        }
        let is_read = |file: &&ProjectFile| {
            let name = file.path.rsplit('/').next();
            file.path == path || (form.manifest().is_some() && name == form.manifest())
        };
        let read: Vec<_> = files.iter().filter(is_read).collect();
        if read.iter().map(|file| file.content.bytes()).sum::<u64>() > MAX_LOCK_BYTES {
            return Err(LockError::TooLarge { path: path.to_owned(), most: MAX_LOCK_BYTES });
        }
        let bytes = |file: &ProjectFile| match whole(&file.content) {
            Ok(bytes) => Ok((file.path.clone(), bytes)),
            Err(error) => Err(LockError::Read(format!("read `{}` ({error})", file.path))),
        };
        let files = read.into_iter().map(bytes).collect::<Result<_, _>>()?;
        if form == Form::Npm {
            npm::check(path, &files)?;
        }
        Ok(LockFile { form, language, path: path.to_owned(), files })
    }

    /// Its path below the project.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The language of its packages.
    #[must_use]
    pub fn language(&self) -> Language {
        self.language
    }

    pub(super) fn content(&self) -> &[u8] {
        self.files.get(&self.path).map_or(&[], Vec::as_slice)
    }

    pub(super) fn digest(&self) -> Sha256Digest {
        Sha256Digest::of(self.content())
    }

    /// The name of the environment that it has with an interpreter.
    pub(super) fn id(&self, runtime: &Runtime) -> String {
        let mut text = format!("{:?}\n{}\n", self.form, self.path);
        for (path, content) in &self.files {
            text.push_str(&format!("{} {path:?}\n", Sha256Digest::of(content)));
        }
        let (path, machine) = (runtime.path.display(), std::env::consts::ARCH);
        text.push_str(&format!("{} {}\n{path}\n{machine}\n", runtime.name, runtime.version));
        Sha256Digest::of(text.as_bytes()).bare_hex().chars().take(ID_DIGITS).collect()
    }
}
