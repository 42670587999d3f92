//! Paths of files, as text: nothing is looked up.

use proofmark_shell::{is_read_alike, normalized};

/// The path below `cwd`, without `.` and `..`. `None` for a relative path where the folder is not known, and for one that hosts
/// take for another file than it says.
pub(crate) fn absolute(path: &str, cwd: Option<&str>) -> Option<String> {
    if !is_read_alike(path) {
        return None;
    }
    match (path.starts_with('/'), cwd.filter(|cwd| cwd.starts_with('/'))) {
        (true, _) => Some(normalized(path)),
        (false, Some(cwd)) => Some(normalized(&format!("{cwd}/{path}"))),
        (false, None) => None,
    }
}

/// Whether a path is that of a folder or below it.
pub(crate) fn is_within(path: &str, folder: &str) -> bool {
    let (path, folder) = (absolute(path, None), absolute(folder, None));
    path.zip(folder).is_some_and(|(path, folder)| {
        path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Whether files of a pattern may be outside of the folder that it is looked for in.
pub(crate) fn may_leave(pattern: &str) -> bool {
    let has = |parts: &[&str]| parts.iter().any(|part| pattern.contains(part));
    // Alternatives can put two dots together, and each may be a path of its own.
    let goes_up = has(&[".."]) || (has(&[".{"]) && has(&["{.", ",."])) || (has(&["}."]) && has(&[".}", ".,"]));
    let mut parts = pattern.split(['{', ',', '(', '|']);
    goes_up || pattern.chars().any(char::is_control) || parts.any(|part| part.trim_start().starts_with(['/', '~']))
}

/// The files that a patch in the form of `apply_patch` names, in order, as they stand there. Hosts do not agree on the space after
/// the colon.
pub(crate) fn of_patch(patch: &str) -> Vec<&str> {
    const HEADERS: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];
    patch
        .lines()
        .filter_map(|line| HEADERS.iter().find_map(|header| line.trim_start().strip_prefix(header)))
        .map(|name| name.strip_prefix(' ').unwrap_or(name))
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
            ("/srv/a:b", None, Some("/srv/a:b")),
            ("100% sure", Some("/repo"), Some("/repo/100% sure")),
            // What a host takes for another file.
            ("~/x", Some("/repo"), None),
            ("@.gemini/settings.json", Some("/repo"), None),
            ("@../x/../y", Some("/repo"), None),
            (" /etc/passwd", Some("/repo"), None),
            ("\u{a0}~/x", Some("/repo"), None),
            ("\u{feff}/etc/passwd", Some("/repo"), None),
            ("a ", Some("/repo"), None),
            (".g\0it/config", Some("/repo"), None),
            ("file:///etc/passwd", Some("/repo"), None),
            ("a/vscode:b", Some("/repo"), None),
            ("%2egit/config", Some("/repo"), None),
            ("/repo/.%67it/config", None, None),
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
        let patch = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** Update File: a b.rs\r\n*** Move to: /c.rs\n@@\n-x\n+y\n  *** Delete File:d\n*** Add File:  /e\n*** End Patch\n";
        assert_eq!(of_patch(patch), ["new.txt", "a b.rs", "/c.rs", "d", " /e"]);
        assert!(of_patch("").is_empty());
    }

    #[test]
    fn a_pattern_that_leaves_its_folder_is_noticed() {
        for (pattern, may) in [
            ("**/*.rs", false),
            ("src/{a,b}/*.{ts,tsx}", false),
            ("@(a|b)/{.env,.npmrc}", false),
            ("/etc/*", true),
            ("~/.ssh/*", true),
            ("../*", true),
            ("a/../../b", true),
            ("{/etc,src}/*", true),
            ("{src,/etc}/*", true),
            ("+(/etc|a)/*", true),
            (".{.,x}/*", true),
            ("{.,x}./*", true),
            (" /etc/*", true),
        ] {
            assert_eq!(may_leave(pattern), may, "{pattern}");
        }
    }
}
