//! The files that a command names. One that is nowhere is a mistake in the command, and not of the tests.

use crate::job::ProjectFile;

/// What a shell or a runner replaces by the names of files.
const PATTERNS: [char; 5] = ['*', '?', '[', '{', '!'];

/// The first of these paths that is neither a file nor a folder of the project, as the command writes it.
pub(super) fn missing<'a>(named: &'a [String], files: &[ProjectFile]) -> Option<&'a str> {
    named.iter().map(String::as_str).find(|path| is_missing(path, files))
}

fn is_missing(named: &str, files: &[ProjectFile]) -> bool {
    let path = named.split_once("::").map_or(named, |(path, _)| path);
    let path = path.trim_start_matches("./").trim_end_matches('/');
    let elsewhere = path.starts_with('/') || path.split('/').any(|name| matches!(name, ".." | "node_modules"));
    if path.is_empty() || path == "." || elsewhere || path.contains(PATTERNS) {
        return false;
    }
    // A module of node may be named without its extension.
    !files
        .iter()
        .any(|file| file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.'])))
}
