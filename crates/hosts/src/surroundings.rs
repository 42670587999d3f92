//! Where a user and a project have their files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where the user and the project are, and the variables by which hosts find them.
pub struct Surroundings {
    pub home: PathBuf,
    pub project: PathBuf,
    /// The value of a variable, unless it is empty.
    pub variable: fn(&str) -> Option<OsString>,
}

/// Whom a configuration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    User,
    Project,
    System,
}

/// A file in which a host finds settings, and whom it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub scope: Scope,
    pub path: PathBuf,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 3] = [Scope::User, Scope::Project, Scope::System];

    /// Whom it is for, in words.
    pub fn description(self) -> &'static str {
        match self {
            Scope::User => "All projects of this user",
            Scope::Project => "This project, on this machine",
            Scope::System => "All users of this machine; an administrator owns the file",
        }
    }

    /// `user`, `project` or `system`.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
            Scope::System => "system",
        }
    }
}

impl Surroundings {
    /// The folder that a variable names, or one below the home folder.
    pub(crate) fn folder(&self, variable: &str, below_home: &str) -> PathBuf {
        // The doctor has to look where the host looks, and each host lets a user move its folder.
        (self.variable)(variable).map_or_else(|| self.home.join(below_home), PathBuf::from)
    }

    /// A file of the project.
    pub(crate) fn in_project(&self, path: &str) -> Layer {
        Layer { scope: Scope::Project, path: self.project.join(path) }
    }
}

impl Layer {
    /// A file of an administrator.
    pub(crate) fn of_system(path: impl AsRef<Path>) -> Self {
        Self { scope: Scope::System, path: path.as_ref().to_owned() }
    }

    /// A file of the user.
    pub(crate) fn of_user(path: PathBuf) -> Self {
        Self { scope: Scope::User, path }
    }
}
