//! A project as a repository has it, and not as its folder does.

use std::collections::BTreeSet;
use std::path::Path;

use proofmark_checks::HostFolder;
use proofmark_git::{GitTree, NODE_MODULES, Repository};

use super::{MAX_NODE_MODULES, ProjectConfig, ProjectError, ProjectFiles, installed};

/// Reads the files that `folder` has in the commit or tree `name`, byte for byte. The packages are those installed in the folder,
/// beside folders that the tree has.
///
/// # Errors
/// When the tree cannot be read or is more than a project may have.
pub fn tree_files(folder: &Path, name: &str, config: &ProjectConfig) -> Result<ProjectFiles, ProjectError> {
    let repository = Repository::at(Some(folder));
    let revision = repository.revision_of_folder(name)?;
    let tree = GitTree::read(&repository, &revision.tree, &|path| config.excludes(path))?;
    let packages = packages(folder, &tree, config)?;
    Ok(ProjectFiles { files: tree.files, left_out: tree.left_out, packages, unknown_ignored: None })
}

/// The packages installed beside files of the tree.
pub(super) fn packages(folder: &Path, tree: &GitTree, config: &ProjectConfig) -> Result<Vec<HostFolder>, ProjectError> {
    let mut folders = BTreeSet::from([""]);
    for path in tree.files.keys() {
        folders.extend(path.match_indices('/').filter_map(|(at, _)| path.get(..=at)));
    }
    let mut packages = Vec::new();
    for above in folders {
        let below = format!("{above}{NODE_MODULES}");
        let path = folder.join(&below);
        // A link could lead anywhere.
        let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        if !is_folder || config.excludes(&below) {
            continue;
        }
        if packages.len() >= MAX_NODE_MODULES {
            return Err(ProjectError::TooManyPackages(folder.to_owned()));
        }
        packages.push(installed(&path, below)?);
    }
    Ok(packages)
}
