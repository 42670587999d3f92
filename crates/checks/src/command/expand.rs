//! Patterns in a command, which stand for files of the project: no shell expands them.

use crate::job::ProjectFile;

/// How many patterns of one command are expanded.
const MAX_PATTERNS: usize = 16;
/// How many patterns one with `{a,b}` may stand for.
const MAX_ALTERNATIVES: usize = 32;
/// The longest pattern that is expanded, in bytes: a comparison recurses as deep as pattern and path are long.
const MAX_PATTERN_BYTES: usize = 512;
/// How many steps all comparisons may take together, since a hostile pattern backtracks. What is left then matches nothing.
const MAX_STEPS: usize = 2_000_000;

/// The arguments with each of `patterns` replaced by the files that it matches, in the order of their paths; one that matches none stays, as
/// in a shell.
pub(super) fn expanded(arguments: Vec<String>, patterns: &[String], files: &[ProjectFile]) -> Vec<String> {
    let patterns: Vec<&String> = patterns
        .iter()
        .filter(|word| word.contains('*') && word.len() <= MAX_PATTERN_BYTES)
        .take(MAX_PATTERNS)
        .collect();
    let mut steps = MAX_STEPS;
    let expand = |word: String| {
        if !patterns.contains(&&word) {
            return vec![word];
        }
        let pattern = word.strip_prefix("./").unwrap_or(&word);
        let alternatives = alternatives(pattern);
        let paths: Vec<String> = files
            .iter()
            .map(|file| &file.path)
            .filter(|path| alternatives.iter().any(|pattern| matches(pattern, path, &mut steps)))
            .cloned()
            .collect();
        if paths.is_empty() { vec![word] } else { paths }
    };
    arguments.into_iter().flat_map(expand).collect()
}

/// The patterns that `{a,b}` stands for; nested braces are left as they are.
fn alternatives(pattern: &str) -> Vec<String> {
    let mut done = vec![String::new()];
    let mut rest = pattern;
    while let Some((before, (inside, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        let many = inside.split(',').flat_map(|one| done.iter().map(move |done| format!("{done}{before}{one}")));
        done = many.take(MAX_ALTERNATIVES).collect();
        rest = after;
    }
    done.iter().map(|done| format!("{done}{rest}")).collect()
}

/// Whether a pattern matches a path: `*` is any run of characters without `/`, and `**/` any folders, or none.
fn matches(pattern: &str, path: &str, steps: &mut usize) -> bool {
    matches_bytes(pattern.as_bytes(), path.as_bytes(), steps)
}

fn matches_bytes(pattern: &[u8], path: &[u8], steps: &mut usize) -> bool {
    let Some(left) = steps.checked_sub(1) else { return false };
    *steps = left;
    if let Some(rest) = pattern.strip_prefix(b"**/") {
        let folders = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at + 1);
        return [0]
            .into_iter()
            .chain(folders)
            .any(|at| path.get(at..).is_some_and(|path| matches_bytes(rest, path, steps)));
    }
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), None) => matches_bytes(rest, path, steps),
        (Some((b'*', rest)), Some((next, after))) => {
            matches_bytes(rest, path, steps) || (*next != b'/' && matches_bytes(pattern, after, steps))
        }
        (Some((one, rest)), Some((next, after))) => one == next && matches_bytes(rest, after, steps),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, path, due) in [
            ("test/*.js", "test/a.js", true),
            ("test/*.js", "test/b/a.js", false),
            ("test/**/*.js", "test/b/c/a.js", true),
            ("test/**/*.js", "test/a.js", true),
            ("**/*.test.ts", "a.test.ts", true),
            ("*", "a/b", false),
            ("*.js", "a.jsx", false),
        ] {
            assert_eq!(matches(pattern, path, &mut 1_000), due, "{pattern} {path}");
        }
    }

    #[test]
    fn braces_are_lists() {
        assert_eq!(alternatives("a"), ["a"]);
        assert_eq!(alternatives("*.{test,spec}.{ts,js}x"), ["*.test.tsx", "*.spec.tsx", "*.test.jsx", "*.spec.jsx"]);
        assert_eq!(alternatives("a{b"), ["a{b"]);
        assert_eq!(alternatives(&"{a,b}".repeat(50)).len(), MAX_ALTERNATIVES);
    }

    #[test]
    fn a_pattern_that_backtracks_ends() {
        let mut steps = 10_000;
        assert!(!matches(&"*a".repeat(100), &format!("{}b", "a".repeat(500)), &mut steps));
        assert_eq!(steps, 0);
    }

    #[test]
    fn only_names_of_files_are_expanded_and_what_matches_nothing_stays() {
        let file = |path: &str| ProjectFile { path: path.to_owned(), content: Vec::new().into() };
        let files = [file("test/a.js"), file("test/b.js")];
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let arguments = words(&["--test", "./test/*.js", "--grep=*", "no/*"]);
        let named = words(&["./test/*.js", "no/*"]);
        assert_eq!(
            expanded(arguments, &named, &files),
            words(&["--test", "test/a.js", "test/b.js", "--grep=*", "no/*"])
        );
    }
}
