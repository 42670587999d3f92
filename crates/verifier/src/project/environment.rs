//! The virtual environment that a project has in its folder.

use std::path::Path;

use proofmark_checks::Origin;
use proofmark_git::{ENVIRONMENT_FILE, Repository};

use super::{ProjectError, installed};

/// What the folder of an environment is usually called, the likeliest first.
const NAMES: [&str; 3] = [".venv", "venv", "env"];

/// The folder, with the environment that was made in it. One that git tracks is not used: it came with the submission, which
/// would choose its test runner so.
///
/// # Errors
/// Where the folder cannot be read.
pub fn project_origin(folder: &Path) -> Result<Origin, ProjectError> {
    let failed = |error| ProjectError::Io { path: folder.to_owned(), error };
    let mut origin = Origin { folder: folder.canonicalize().map_err(failed)?, environment: None };
    for name in NAMES {
        let path = folder.join(name);
        // A link could lead anywhere.
        let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        if is_folder && path.join(ENVIRONMENT_FILE).is_file() && !is_tracked(folder, name) {
            origin.environment = Some(installed(&path, name.to_owned())?);
            break;
        }
    }
    Ok(origin)
}

fn is_tracked(folder: &Path, name: &str) -> bool {
    let in_repository =
        || folder.canonicalize().is_ok_and(|folder| folder.ancestors().any(|above| above.join(".git").exists()));
    // Where git cannot say it of a repository, it might.
    Repository::at(Some(folder)).tracks(name).unwrap_or_else(|_| in_repository())
}
