//! Paths of files, as text: nothing is looked up.

/// The path below `cwd`, without `.` and `..`. `None` for a relative path where the folder is not known, and for one that
/// begins with `~`, which some hosts take for the user's folder.
pub(crate) fn absolute(path: &str, cwd: Option<&str>) -> Option<String> {
    if path.is_empty() || path.starts_with('~') {
        return None;
    }
    let whole = match (path.starts_with('/'), cwd.filter(|cwd| cwd.starts_with('/'))) {
        (true, _) => path.to_owned(),
        (false, Some(cwd)) => format!("{cwd}/{path}"),
        (false, None) => return None,
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

/// Whether a path is that of a folder or below it.
pub(crate) fn is_within(path: &str, folder: &str) -> bool {
    let (path, folder) = (absolute(path, None), absolute(folder, None));
    path.zip(folder).is_some_and(|(path, folder)| {
        path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// The files that a patch in the form of `apply_patch` names, in order.
pub(crate) fn of_patch(patch: &str) -> Vec<&str> {
    const HEADERS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let header = |line: &'_ str| HEADERS.iter().find_map(|header| line.trim_start().strip_prefix(header).map(str::len));
    patch
        .lines()
        .filter_map(|line| header(line).and_then(|length| line.get(line.len() - length..)))
        .map(str::trim)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_absolute_and_have_no_steps_back() {
        for (path, cwd, expected) in [
            ("/etc/passwd", None, Some("/etc/passwd")),
            ("src/../../etc/passwd", Some("/repo"), Some("/etc/passwd")),
            ("../../../../etc/passwd", Some("/repo"), Some("/etc/passwd")),
            ("./a//b/.", Some("/repo/"), Some("/repo/a/b")),
            ("a", None, None),
            ("a", Some("repo"), None),
            ("~/x", Some("/repo"), None),
            ("", Some("/repo"), None),
        ] {
            assert_eq!(absolute(path, cwd).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_folder_has_what_is_below_it() {
        for (path, folder, is_within_it) in [
            ("/a/b", "/a", true),
            ("/a", "/a/", true),
            ("/a", "/", true),
            ("/ab", "/a", false),
            ("/a/../b", "/a", false),
            ("a/b", "/a", false),
        ] {
            assert_eq!(is_within(path, folder), is_within_it, "{path} {folder}");
        }
    }

    #[test]
    fn a_patch_names_its_files() {
        let patch = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** Update File: a b.rs\n*** Move to: /c.rs \n@@\n-x\n+y\n*** End Patch\n";
        assert_eq!(of_patch(patch), ["new.txt", "a b.rs", "/c.rs"]);
        assert!(of_patch("").is_empty());
    }
}
