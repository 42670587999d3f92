//! Reads sources and manifests for the rules.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::Package;

use crate::folder_of;

/// What `public_functions_and_types_are_documented` looks for.
const DOCUMENTED: &[&str] = &["const", "enum", "fn", "mod", "static", "struct", "trait", "type", "union"];

pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The files of `src` with their text, without test modules, which come last in a file.
pub(crate) fn product_sources(package: &Package) -> Vec<(PathBuf, String)> {
    let files = rust_files(&folder_of(package).join("src"));
    files.into_iter().map(|file| (file.clone(), without_tests(&fs::read_to_string(file).unwrap()).to_owned())).collect()
}

pub(crate) fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

/// The line without its comment.
pub(crate) fn code_of(line: &str) -> &str {
    line.split("//").next().unwrap_or(line)
}

/// The crates of the project that this source names, as `receipt` for `proofmark_receipt::…`.
pub(crate) fn named_crates(text: &str) -> BTreeSet<String> {
    let ends = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let of_line = |line| code_of(line).split("proofmark_").skip(1).collect::<Vec<_>>();
    let paths = text.lines().flat_map(of_line).filter(|rest| {
        let path = rest.trim_start_matches(|letter| !ends(letter));
        path.starts_with("::") || path.starts_with(" as ") || path.starts_with("};")
    });
    paths.map(|rest| rest.split(ends).next().unwrap_or(rest).to_owned()).collect()
}

/// Public items without a doc comment, with their line numbers; fields and variants need none.
pub(crate) fn undocumented(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut documented, mut in_attribute) = (false, false);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let begins_attribute = line.starts_with("#[");
        if in_attribute || begins_attribute {
            in_attribute = !line.ends_with(']');
            continue;
        }
        if is_public_item(line) && !documented && !takes_nothing(line) {
            found.push(format!("{}: {line}", number + 1));
        }
        documented = line.starts_with("///");
    }
    found
}

/// Whether this is a method that takes only `self`, or `new()`: its name and its type say what it returns.
fn takes_nothing(line: &str) -> bool {
    ["(&self) ->", "(self) ->", " new() ->"].iter().any(|arguments| line.contains(arguments))
}

/// `pub mod name;` is documented in its own file.
fn is_public_item(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("pub ") else { return false };
    let modifiers = ["async", "const", "extern", "unsafe", "\"C\""];
    let mut words = rest.split_whitespace().skip_while(|word| modifiers.contains(word)).peekable();
    let is_constant = rest.starts_with("const ") && !rest.starts_with("const fn");
    let is_item = words.peek().is_some_and(|word| DOCUMENTED.contains(word));
    (is_constant || is_item) && !(rest.starts_with("mod ") && rest.ends_with(';'))
}

/// Whether code on this line uses `unsafe`, or lifts the lint that denies it.
pub(crate) fn mentions_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or(line);
    // In content security policies, `'unsafe-inline'` is a word.
    let mut words = code.split(|letter: char| !letter.is_alphanumeric() && !['_', '-'].contains(&letter));
    words.any(|word| word == "unsafe" || word == "unsafe_code")
}

/// Whether a line names a variant of `Language`; its constants are in capitals.
pub(crate) fn names_a_language(line: &str) -> bool {
    let mut paths = line.split("Language::").skip(1);
    paths.any(|path| {
        let mut letters = path.chars();
        letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase)
    })
}

/// The lines of one section of a manifest, comments and empty ones left out.
pub(crate) fn section<'a>(manifest: &'a str, name: &str) -> Vec<&'a str> {
    let heading = format!("[{name}]");
    content(
        manifest.lines().skip_while(|line| line.trim() != heading).skip(1).take_while(|line| !line.starts_with('[')),
    )
}

/// The lines of all dependency sections of a manifest.
pub(crate) fn dependency_lines(manifest: &str) -> Vec<&str> {
    let mut inside = false;
    content(manifest.lines().filter(|line| {
        if line.starts_with('[') {
            inside = line.trim().ends_with("dependencies]");
            return false;
        }
        inside
    }))
}

fn content<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    lines.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}
