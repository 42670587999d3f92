//! Where links lead. A repository may have links to anywhere, and a tool that writes to one writes to the file behind it.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The most links on the way to a file, as the system has it.
const MAX_LINKS: usize = 40;

/// The files, and behind those that links lead away from, the files that they lead to: within the project as paths of the project.
/// `None` where that cannot be found out. The links are those of the machine that this runs on.
#[must_use]
pub fn followed(paths: &[String], project: Option<&str>) -> Option<Vec<String>> {
    let project = project.map(Path::new);
    let real_project = project.and_then(real);
    let mut all = paths.to_vec();
    for path in paths {
        let found = real(Path::new(path))?;
        // The way to the project itself may have links.
        let within = project.zip(real_project.as_deref()).and_then(|(project, real_project)| {
            let rest = found.strip_prefix(real_project).ok()?;
            // Joined to nothing, it would end with a slash.
            Some(if rest.as_os_str().is_empty() { project.to_owned() } else { project.join(rest) })
        });
        let found = within.unwrap_or(found).to_str()?.to_owned();
        if !all.contains(&found) {
            all.push(found);
        }
    }
    Some(all)
}

/// The file that a path leads to, which need not exist. `None` for links that lead in a circle.
fn real(path: &Path) -> Option<PathBuf> {
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    let mut left = names(path);
    while let Some(name) = left.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(name);
        // What is no link, or is not there, leads nowhere else.
        let Ok(target) = fs::read_link(&at) else { continue };
        links += 1;
        if links > MAX_LINKS {
            return None;
        }
        at.pop();
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        left.extend(names(&target));
    }
    Some(at)
}

/// The names on the way, the last first.
fn names(path: &Path) -> Vec<OsString> {
    let steps = path.components().rev();
    steps
        .filter(|step| matches!(step, Component::Normal(_) | Component::ParentDir))
        .map(|step| step.as_os_str().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_to_files_that_are_named_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let at = |path: &str| root.join(path).to_str().unwrap().to_owned();
        fs::create_dir_all(at("project/src")).unwrap();
        fs::create_dir_all(at("home/.ssh")).unwrap();
        for (target, link) in [
            (at("home"), "project/notes"),
            // There is nothing yet.
            ("../home/.profile".to_owned(), "project/new"),
            ("src".to_owned(), "project/inner"),
            ("two".to_owned(), "project/one"),
            ("one".to_owned(), "project/two"),
            (at("project"), "linked"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        let of = |path: &str, project: &str| followed(&[at(path)], Some(&at(project)));
        for (path, behind) in [
            ("project/src/a.rs", None),
            ("project/notes/.ssh/config", Some("home/.ssh/config")),
            ("project/new", Some("home/.profile")),
            ("project/inner/a", Some("project/src/a")),
        ] {
            let expected: Vec<_> = [Some(path), behind].into_iter().flatten().map(at).collect();
            assert_eq!(of(path, "project"), Some(expected), "{path}");
        }
        assert_eq!(of("project/one/a", "project"), None);
        // A project that is reached by a link.
        assert_eq!(of("linked/src/a.rs", "linked"), Some(vec![at("linked/src/a.rs")]));
        assert_eq!(of("linked", "linked"), Some(vec![at("linked")]));
        assert_eq!(of("linked/new", "linked"), Some(vec![at("linked/new"), at("home/.profile")]));
    }
}
