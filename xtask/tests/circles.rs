//! Modules of one crate that need each other in a circle: none of them can be read without the others.
//!
//! A file and the modules below it are one module in several files, which may need each other. To all others they are one.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests, which may fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Circles that stay, by a file of each, and why a cut would make the code worse.
const ALLOWED: &[(&str, &str)] =
    &[("server/mcp", "the state holds the sessions of the protocol, and the handlers of the protocol get the state")];

/// A module's path in its crate, such as `["json", "reader"]`; the crate's root is empty.
type Module = Vec<String>;

type Uses = BTreeMap<Module, BTreeSet<Module>>;

#[test]
fn no_modules_need_each_other_in_a_circle() {
    let mut found = Vec::new();
    for source in sources() {
        for circle in circles(&uses(&source)) {
            let names: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
            let name = source.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
            if !ALLOWED.iter().any(|(allowed, _)| names.iter().any(|module| *allowed == format!("{name}/{module}"))) {
                found.push(format!("{name}: {}", names.join(", ")));
            }
        }
    }
    assert!(found.is_empty(), "{} circles of modules:\n{}", found.len(), found.join("\n"));
}

/// The `src` folders of the workspace.
fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let mut sources: Vec<PathBuf> = crates.filter(|folder| folder.is_dir()).collect();
    sources.sort();
    assert!(sources.len() > 5, "only {} crates found", sources.len());
    sources
}

/// Which modules each module names in its `use` lines, names that another module passes on followed to their own.
fn uses(source: &Path) -> Uses {
    let mut texts = BTreeMap::new();
    read(source, &Vec::new(), &mut texts);
    let imports: BTreeMap<&Module, Vec<Module>> =
        texts.iter().map(|(module, text)| (module, imported(module, text))).collect();
    let home = |path: &Module| home(path, &imports, 0);
    imports.iter().map(|(module, paths)| ((*module).clone(), paths.iter().filter_map(home).collect())).collect()
}

fn read(folder: &Path, above: &Module, texts: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let below = || [above.as_slice(), std::slice::from_ref(&name)].concat();
        if path.is_dir() {
            read(&path, &below(), texts);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let is_root = above.is_empty() && (name == "lib" || name == "main");
            // Tests at the end of a file may use whatever they test.
            let text = fs::read_to_string(&path).unwrap().split("#[cfg(test)]").next().unwrap().to_owned();
            texts.insert(if is_root { Vec::new() } else { below() }, text);
        }
    }
}

/// The paths of all `use` items of a module, from the crate's root.
fn imported(module: &Module, text: &str) -> Vec<Module> {
    let mut paths = Vec::new();
    for line in text.lines() {
        let line = line.trim_start();
        let visible = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub(super) "));
        let Some(rest) = visible.or_else(|| line.strip_prefix("pub ")).unwrap_or(line).strip_prefix("use ") else {
            continue;
        };
        // An item over several lines continues in the text behind this line's beginning.
        let start = rest.as_ptr() as usize - text.as_ptr() as usize;
        let tree = text[start..].split(';').next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        expand(&tree, &Vec::new(), &mut paths);
    }
    paths.into_iter().filter_map(|path| absolute(module, path)).collect()
}

/// `a::{b, c::d as e}` as `a::b` and `a::c::d`.
fn expand(tree: &str, above: &Module, paths: &mut Vec<Module>) {
    let path = |words: &str| {
        let words = words.split(" as ").next().unwrap_or(words).split("::").map(str::trim);
        above.iter().cloned().chain(words.filter(|word| !word.is_empty()).map(str::to_owned)).collect::<Module>()
    };
    let Some((head, group)) = tree.split_once('{') else {
        paths.push(path(tree));
        return;
    };
    let head = path(head);
    let (mut depth, mut start) = (0, 0);
    let group = group.trim_end().strip_suffix('}').unwrap_or(group);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&group[start..at], &head, paths);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !group[start..].trim().is_empty() {
        expand(&group[start..], &head, paths);
    }
}

/// A path from the crate's root, or `None` for another crate's.
fn absolute(module: &Module, path: Module) -> Option<Module> {
    let above = path.iter().take_while(|word| *word == "super").count();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module.as_slice(), &path[1..]].concat()),
        "super" => Some([&module[..module.len().checked_sub(above)?], &path[above..]].concat()),
        _ => Some([module.as_slice(), &path].concat()),
    }
}

/// The module where the item of this path is, through modules that only import it.
fn home(path: &Module, imports: &BTreeMap<&Module, Vec<Module>>, depth: usize) -> Option<Module> {
    let module =
        (0..=path.len()).rev().map(|length| path[..length].to_vec()).find(|start| imports.contains_key(start))?;
    let Some(name) = path.get(module.len()) else { return Some(module) };
    let passed_on = imports[&module].iter().find(|import| import.last() == Some(name) && *import != path);
    match passed_on {
        Some(import) if depth < 8 => home(import, imports, depth + 1),
        // A name of another crate, which `absolute` took for one of this module.
        _ if path.len() > module.len() + 1 && module.is_empty() => None,
        _ => Some(module),
    }
}

/// Modules side by side that reach each other. What a folder's files need, its module needs, and what is needed of a file is
/// needed of its folder: who reads one side of such a circle has to read the other, whichever files the two ends are in.
fn circles(uses: &Uses) -> Vec<BTreeSet<Module>> {
    let folders: BTreeSet<&[String]> =
        uses.keys().filter_map(|module| module.split_last()).map(|(_, above)| above).collect();
    folders.into_iter().flat_map(|folder| circles_of(&beside(folder, uses))).collect()
}

/// Which of the modules directly in this folder need which others of them.
fn beside(folder: &[String], uses: &Uses) -> Uses {
    let member =
        |module: &Module| module.starts_with(folder).then(|| module.get(..=folder.len())).flatten().map(<[_]>::to_vec);
    let mut needs = Uses::new();
    for (module, used) in uses {
        let Some(from) = member(module) else { continue };
        let others = used.iter().filter_map(member).filter(|to| *to != from).collect::<BTreeSet<_>>();
        needs.entry(from).or_default().extend(others);
    }
    needs
}

fn circles_of(needs: &Uses) -> BTreeSet<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<Module>> = needs.keys().map(|from| (from, reach(from, needs))).collect();
    let circle = |module: &Module| -> BTreeSet<Module> {
        let back = |other: &&Module| reached.get(*other).is_some_and(|back| back.contains(module));
        reached[module].iter().filter(back).cloned().collect()
    };
    needs.keys().map(circle).filter(|circle| circle.len() > 1).collect()
}

fn reach(from: &Module, needs: &Uses) -> BTreeSet<Module> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from.clone()]);
    while let Some(next) = open.pop() {
        let more = needs.get(&next).into_iter().flatten().filter(|more| reached.insert((*more).clone()));
        open.extend(more.cloned().collect::<Vec<_>>());
    }
    reached
}

#[test]
fn a_circle_by_way_of_a_folder_is_found() {
    let uses = |rows: &[(&str, &[&str])]| -> Uses {
        let module = |path: &&str| path.split('/').map(str::to_owned).collect::<Module>();
        rows.iter().map(|(from, to)| (module(from), to.iter().map(module).collect())).collect()
    };
    // `state` needs one file of the folder `ui`, and another file of that folder needs `state`.
    let by_folder = uses(&[("state", &["ui/sign_ins"]), ("ui", &[]), ("ui/sign_ins", &[]), ("ui/entry", &["state"])]);
    assert_eq!(circles(&by_folder).len(), 1, "{:?}", circles(&by_folder));
    let cut =
        uses(&[("state", &["sign_ins"]), ("sign_ins", &[]), ("ui", &["ui/entry"]), ("ui/entry", &["state", "ui"])]);
    assert!(circles(&cut).is_empty(), "{:?}", circles(&cut));
}
