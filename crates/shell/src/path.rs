//! The files that words name.

use std::collections::BTreeSet;

use crate::values::Arg;

/// A file that a command may use.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedPath {
    /// An absolute path, or one that begins with `~/`. If the folder is not known, the name as the text has it.
    pub path: String,
    /// Whether it is this file, or these files, and no others. The text may not say it, or say it of a folder that is not known.
    pub certain: bool,
    /// Whether it is a pattern for names, as in `src/*.rs`.
    pub pattern: bool,
    /// Whether the command writes to it, moves it or removes it, as far as that is known.
    pub writes: bool,
}

/// A folder that a command may run in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Folder {
    pub(crate) path: String,
    /// Whether the text led there. It may be a link then, so it is not known what is above it.
    pub(crate) is_changed: bool,
}

/// The folders that a command may run in; `None` where they are not known.
pub(crate) type Folders = Option<BTreeSet<Folder>>;

/// An absolute path without `.`, `..` and empty names. Above the root is the root.
#[must_use]
pub fn normalized(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    match names.first() {
        Some(first) if path.starts_with('~') && first.starts_with('~') => names.join("/"),
        _ => format!("/{}", names.join("/")),
    }
}

/// Whether every program takes this text for the file of this name. Some take `~` for the user's folder, a text with a scheme for an
/// address, `%2e` for a dot, or drop what stands before and after the name, `@` at its beginning, or NUL anywhere in it.
#[must_use]
pub fn is_read_alike(path: &str) -> bool {
    // As programs in JavaScript know it.
    let is_space = |c: char| c.is_whitespace() || c == '\u{feff}';
    let is_relative = !path.starts_with('/');
    // A path that only one program reads differently is unknown for all: how they read changes with each version.
    let is_other = path.is_empty()
        || path.starts_with(['~', '@'])
        || path.starts_with(is_space)
        || path.ends_with(is_space)
        || path.chars().any(char::is_control)
        || (is_relative && path.contains(':'))
        || has_escape(path);
    !is_other
}

/// Whether a text has a byte as addresses write it, as in `%2e`.
fn has_escape(text: &str) -> bool {
    let mut parts = text.as_bytes().windows(3);
    parts.any(|part| matches!(part, [b'%', digits @ ..] if digits.iter().all(u8::is_ascii_hexdigit)))
}

/// The most signs of a word behind which a name may stand.
const MAX_NAMES: usize = 16;

/// Adds the files that an argument may name.
pub(crate) fn add(arg: &Arg, folders: &Folders, writes: bool, to: &mut BTreeSet<NamedPath>) {
    let Some(readings) = &arg.readings else {
        to.insert(NamedPath { path: arg.written.clone(), certain: false, pattern: false, writes });
        return;
    };
    for reading in readings {
        let names = names(&reading.text);
        if names.len() > MAX_NAMES {
            to.insert(NamedPath { path: arg.written.clone(), certain: false, pattern: false, writes });
            continue;
        }
        for name in names {
            let named = Named { name, pattern: reading.pattern, writes };
            match folders {
                Some(folders) => to.extend(folders.iter().map(|folder| named.below(Some(folder)))),
                None => drop(to.insert(named.below(None))),
            }
        }
    }
}

struct Named<'a> {
    name: &'a str,
    pattern: bool,
    writes: bool,
}

impl Named<'_> {
    fn below(&self, folder: Option<&Folder>) -> NamedPath {
        let path = match (self.name.starts_with(['/', '~']), folder) {
            (true, _) => normalized(self.name),
            (false, Some(folder)) => normalized(&format!("{}/{}", folder.path, self.name)),
            (false, None) => self.name.to_owned(),
        };
        let is_above = goes_up(self.name) && folder.is_some_and(|folder| folder.is_changed);
        let is_known = path.starts_with(['/', '~']) && !goes_back(self.name) && !is_above;
        let is_certain = is_known && !(self.pattern && hides(self.name));
        NamedPath { path, certain: is_certain, pattern: self.pattern, writes: self.writes }
    }
}

/// Whether a name goes up from a folder that it has named: if that is a link, it leads elsewhere.
#[must_use]
pub fn goes_back(name: &str) -> bool {
    let mut is_below = name.starts_with('/') || name.starts_with('~');
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." if is_below => return true,
            ".." => {}
            _ => is_below = true,
        }
    }
    false
}

/// Whether a name begins above the folder that it counts from.
pub(crate) fn goes_up(name: &str) -> bool {
    name.split('/').find(|part| !matches!(*part, "" | ".")) == Some("..") && !name.starts_with(['/', '~'])
}

/// Whether a pattern may match names that begin with a dot, or hides a letter of a name.
fn hides(pattern: &str) -> bool {
    pattern.split('/').any(|name| name.contains(['?', '[']) || (name.starts_with('.') && name.contains('*')))
}

/// The names of files that a word may have in it: the word itself, and what stands behind a sign that programs take for a separator.
fn names(word: &str) -> Vec<&str> {
    // An address may also be the name of a file, in a folder whose name ends with a colon.
    if word.contains("://") && !word.starts_with('-') {
        let file = word.split_once("file://").map(|(_, file)| file);
        return [word].into_iter().chain(file).collect();
    }
    let mut names = Vec::new();
    if !word.starts_with('-') {
        names.push(word);
    } else if !word.starts_with("--") {
        // `-ofile`, also behind a group of letters; what is shorter is more options, as in `-rn`.
        let attached = |number: usize| word.char_indices().nth(number).and_then(|(at, _)| word.get(at..));
        let is_path = |name: &&str| name.starts_with(['/', '~', '.']);
        let letters = word.chars().skip(2).take_while(char::is_ascii_alphabetic).count();
        let behind = attached(2 + letters).filter(is_path);
        names.extend((2..=8).filter_map(attached).filter(|name| name.len() > 2 || is_path(name)));
        names.extend(behind);
    }
    let after = word.char_indices().filter(|(_, c)| matches!(c, '=' | '@' | ':' | ','));
    names.extend(after.filter_map(|(at, _)| word.get(at + 1..)).take(MAX_NAMES + 1));
    names.retain(|name| !name.is_empty());
    names
}
