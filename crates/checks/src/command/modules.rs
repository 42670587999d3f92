//! The modules that a Python project has itself, as its build would install them.
//!
//! The submission writes every file that is read here. It can only name folders of its own: what it names comes behind the
//! installed packages, as the path of an editable install does.

use std::collections::BTreeSet;

use toml_edit::{DocumentMut, Item};

use crate::files;
use crate::job::{OwnModules, ProjectFile};

/// The most bytes of a file of settings that are read.
const MAX_SETTINGS_BYTES: usize = 1 << 20;
/// The most folders that are added to where Python looks for modules.
const MAX_ROOTS: usize = 16;
/// The folder that holds modules where nothing says so.
const USUAL_ROOT: &str = "src";

/// Names at the top of a project that belong to its development, and that many projects have alike.
const NOT_INSTALLED: [&str; 20] = [
    "bench",
    "benchmark",
    "benchmarks",
    "build",
    "ci",
    "conftest",
    "dist",
    "doc",
    "docs",
    "example",
    "examples",
    "fabfile",
    "noxfile",
    "scripts",
    "setup",
    "tasks",
    "test",
    "testing",
    "tests",
    "tools",
];

/// Where `pyproject.toml` says that modules are, and in which form.
const ROOTS: [(&str, Form); 9] = [
    ("tool.setuptools.package-dir", Form::OfAll),
    ("tool.setuptools.packages.find.where", Form::Folders),
    ("tool.poetry.packages", Form::From),
    ("tool.hatch.build.sources", Form::Folders),
    ("tool.hatch.build.targets.wheel.sources", Form::Folders),
    ("tool.hatch.build.targets.wheel.packages", Form::Packages),
    ("tool.pdm.build.package-dir", Form::Folders),
    ("tool.uv.build-backend.module-root", Form::Folders),
    ("tool.maturin.python-source", Form::Folders),
];
/// Where it says what the distribution is called.
const NAMES: [&str; 3] = ["project.name", "tool.poetry.name", "tool.flit.metadata.dist-name"];

#[derive(Clone, Copy)]
enum Form {
    /// A folder, or several.
    Folders,
    /// Folders of packages, which are beside each other in what is meant.
    Packages,
    /// A table, whose empty name has the folder of all packages.
    OfAll,
    /// Tables, whose `from` is a folder.
    From,
}

/// The modules of a project of these files.
pub(crate) fn own_modules(files: &[ProjectFile]) -> OwnModules {
    let settings = Settings::read(files);
    let mut roots: Vec<String> = Vec::new();
    for root in settings.roots.iter().filter_map(|root| folder(root)).chain([USUAL_ROOT.to_owned()]) {
        let named = |path: &str| below(path, &root).is_some_and(|rest| is_python(rest) && rest != "__init__.py");
        if !root.is_empty() && !roots.contains(&root) && files.iter().any(|file| named(&file.path)) {
            roots.push(root);
        }
    }
    roots.truncate(MAX_ROOTS);
    let modules = modules(files, &roots);
    OwnModules { distribution: settings.name.map(|name| normalized(&name)), roots, modules }
}

/// A distribution's name in the form in which two of them are compared (packaging.python.org, "Name normalization").
pub fn normalized(name: &str) -> String {
    let mut text = String::new();
    for part in name.trim().split(['-', '_', '.']).filter(|part| !part.is_empty()) {
        if !text.is_empty() {
            text.push('-');
        }
        text.push_str(&part.to_ascii_lowercase());
    }
    text
}

/// A folder of the project as paths of files have it; empty for the project itself.
fn folder(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches("./").trim_end_matches('/');
    match text {
        "" | "." => Some(String::new()),
        text => files::check(text).is_ok().then(|| text.to_owned()),
    }
}

/// The path below a folder, of a file that is in it.
fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder.is_empty() { Some(path) } else { path.strip_prefix(folder)?.strip_prefix('/') }
}

fn is_python(path: &str) -> bool {
    let stem = path.strip_suffix(".py").unwrap_or_default();
    !stem.is_empty()
        && stem.split('/').all(|name| {
            name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_ascii_digit())
        })
}

/// The files and folders below the roots that are modules: of a package the folder above all others that has an `__init__.py`,
/// since a folder without one may be shared between distributions.
fn modules(files: &[ProjectFile], roots: &[String]) -> BTreeSet<String> {
    let packages: BTreeSet<&str> = files.iter().filter_map(|file| file.path.strip_suffix("/__init__.py")).collect();
    let mut modules = BTreeSet::new();
    for path in files.iter().map(|file| file.path.as_str()).filter(|path| path.ends_with(".py")) {
        let root = roots.iter().find(|root| below(path, root).is_some()).map_or("", String::as_str);
        let Some(rest) = below(path, root).filter(|rest| is_python(rest)) else { continue };
        let first = rest.split(['/', '.']).next().unwrap_or_default();
        if NOT_INSTALLED.contains(&first) {
            continue;
        }
        let start = path.len() - rest.len();
        let package = rest
            .match_indices('/')
            .find(|(at, _)| path.get(..start + at).is_some_and(|folder| packages.contains(folder)))
            .and_then(|(at, _)| rest.get(..at));
        modules.insert(package.unwrap_or(rest).to_owned());
    }
    modules
}

/// What the files that describe the build say.
#[derive(Default)]
struct Settings {
    name: Option<String>,
    roots: Vec<String>,
}

impl Settings {
    fn read(files: &[ProjectFile]) -> Settings {
        let text = |path: &str| {
            let file = files.iter().find(|file| file.path == path)?;
            let text = file.content.here().filter(|text| text.len() <= MAX_SETTINGS_BYTES)?;
            Some(String::from_utf8_lossy(text).into_owned())
        };
        let mut settings = Settings::default();
        if let Some(document) = text("pyproject.toml").and_then(|text| text.parse::<DocumentMut>().ok()) {
            settings.of_pyproject(document.as_item());
        }
        settings.of_setup_cfg(&text("setup.cfg").unwrap_or_default());
        settings.of_setup_py(&text("setup.py").unwrap_or_default());
        let named = text("PKG-INFO").and_then(|text| {
            text.lines()
                .take_while(|line| !line.is_empty())
                .find_map(|line| Some(line.strip_prefix("Name:")?.to_owned()))
        });
        settings.named(named);
        settings
    }

    fn named(&mut self, name: Option<String>) {
        self.name = self.name.take().or(name);
    }

    fn of_pyproject(&mut self, document: &Item) {
        let at = |path: &str| path.split('.').try_fold(document, |item, name| item.get(name));
        let text = |item: &Item| item.as_str().map(str::to_owned);
        NAMES.iter().for_each(|path| self.named(at(path).and_then(text)));
        for (path, form) in ROOTS {
            let Some(item) = at(path) else { continue };
            let texts = texts(item);
            match form {
                Form::Folders => self.roots.extend(texts),
                Form::Packages => {
                    let above = texts
                        .iter()
                        .map(|text| text.trim_end_matches('/').rsplit_once('/').map_or("", |(above, _)| above));
                    self.roots.extend(above.map(str::to_owned));
                }
                Form::OfAll => self.roots.extend(item.get("").and_then(text)),
                Form::From => self.roots.extend(tables_with(item, "from")),
            }
        }
    }

    /// The few options of `setup.cfg` that say where modules are. Its lines are those of an INI file.
    fn of_setup_cfg(&mut self, text: &str) {
        let (mut section, mut option) = ("", "");
        for line in text.lines().filter(|line| !line.trim_start().starts_with(['#', ';'])) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
                (section, option) = (name.trim(), "");
                continue;
            }
            let is_continued = line.starts_with([' ', '\t']);
            let value = match line.split_once('=').filter(|_| !is_continued) {
                Some((name, value)) => {
                    option = name.trim();
                    value.trim()
                }
                None => line.trim(),
            };
            match (section, option) {
                ("metadata", "name") if !value.is_empty() => self.named(Some(value.to_owned())),
                ("options", "package_dir") => {
                    self.roots.extend(value.strip_prefix('=').map(|root| root.trim().to_owned()));
                }
                ("options.packages.find", "where") if !value.is_empty() => self.roots.push(value.to_owned()),
                _ => {}
            }
        }
    }

    /// What a `setup.py` says in the usual words. It is a program, so it may say it in others.
    fn of_setup_py(&mut self, text: &str) {
        let plain: String =
            text.chars().filter(|c| !c.is_whitespace()).map(|c| if c == '\'' { '"' } else { c }).collect();
        let after = |words: &str| Some(plain.split_once(words)?.1.split('"').next()?.to_owned());
        self.named(after("(name=\"").or_else(|| after(",name=\"")));
        for words in
            ["package_dir={\"\":\"", "package_dir=dict(**{\"\":\"", "find_packages(\"", "find_packages(where=\""]
        {
            self.roots.extend(after(words));
        }
    }
}

/// A text, or the texts of an array.
fn texts(item: &Item) -> Vec<String> {
    match (item.as_str(), item.as_array()) {
        (Some(text), _) => vec![text.to_owned()],
        (None, Some(array)) => array.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect(),
        (None, None) => Vec::new(),
    }
}

/// The texts of this name in an array of tables.
fn tables_with(item: &Item, name: &str) -> Vec<String> {
    let inline = item.as_array().into_iter().flat_map(|array| array.iter()).filter_map(|value| value.as_inline_table());
    let inline = inline.filter_map(|table| Some(table.get(name)?.as_str()?.to_owned()));
    let tables = item.as_array_of_tables().into_iter().flat_map(|tables| tables.iter());
    inline.chain(tables.filter_map(|table| Some(table.get(name)?.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn own(files: &[(&str, &str)]) -> OwnModules {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| ProjectFile { path: (*path).to_owned(), content: text.as_bytes().to_vec().into() })
            .collect();
        own_modules(&files)
    }

    #[test]
    fn modules_are_found_where_each_build_looks_for_them() {
        let table = [
            ("src/a/__init__.py", "x", "", "src"),
            ("a/__init__.py", "pyproject.toml", "[project]\nname='a'", ""),
            ("lib/a/__init__.py", "pyproject.toml", "[tool.setuptools.package-dir]\n'' = 'lib'", "lib"),
            ("lib/a.py", "pyproject.toml", "[tool.setuptools.packages.find]\nwhere = ['lib']", "lib"),
            ("lib/a.py", "pyproject.toml", "[tool.poetry]\npackages = [{include = 'a', from = './lib/'}]", "lib"),
            ("lib/a.py", "pyproject.toml", "[[tool.poetry.packages]]\nfrom = 'lib'", "lib"),
            ("lib/a/b.py", "pyproject.toml", "[tool.hatch.build.targets.wheel]\npackages = ['lib/a']", "lib"),
            ("lib/a.py", "pyproject.toml", "[tool.pdm.build]\npackage-dir = 'lib'", "lib"),
            ("lib/a.py", "setup.cfg", "[options]\npackage_dir =\n    = lib\n", "lib"),
            ("lib/a.py", "setup.cfg", "[options.packages.find]\nwhere = lib\n", "lib"),
            ("lib/a.py", "setup.py", "setup(name='a', package_dir = {'': 'lib'})", "lib"),
            ("lib/a.py", "setup.py", "setup(packages=find_packages(where=\"lib\"))", "lib"),
            ("src/data.txt", "x", "", ""),
            ("src/__init__.py", "x", "", ""),
        ];
        for (module, settings, text, root) in table {
            assert_eq!(own(&[(module, ""), (settings, text)]).roots.join(" "), root, "{module}: {text}");
        }
    }

    #[test]
    fn a_module_is_the_folder_that_a_distribution_would_have_for_itself() {
        let files =
            ["src/google/cloud/shop/__init__.py", "src/google/cloud/shop/a.py", "src/one.py", "top/__init__.py"];
        let others = ["top/in/__init__.py", "tests/test_a.py", "setup.py", "docs/conf.py", "plain/a.py", "a-b.py"];
        let files: Vec<_> = files.into_iter().chain(others).map(|path| (path, "")).collect();
        let modules = own(&files).modules.into_iter().collect::<Vec<_>>();
        assert_eq!(modules, ["google/cloud/shop", "one.py", "plain/a.py", "top"]);
    }

    #[test]
    fn the_distribution_has_one_name_however_it_is_written() {
        let named = |path, text| own(&[(path, text)]).distribution;
        for (path, text) in [
            ("pyproject.toml", "[project]\nname = 'My.Shop__cart'"),
            ("setup.cfg", "[metadata]\nname = my_shop-cart\n[x]\nname = other"),
            ("setup.py", "from setuptools import setup\nsetup(\n    name = 'my-shop-cart',\n)"),
            ("PKG-INFO", "Metadata-Version: 2.1\nName: my-shop-cart\n\nName: other"),
        ] {
            assert_eq!(named(path, text).as_deref(), Some("my-shop-cart"), "{text}");
        }
        assert_eq!(named("pyproject.toml", "[project"), None);
    }

    /// The attack: settings that name folders outside of the project.
    #[test]
    fn no_folder_outside_of_the_project_is_named() {
        for root in ["/etc", "../up", "a/../../b", "src\u{0}", "~"] {
            let text = format!("[tool.setuptools.packages.find]\nwhere = [{root:?}]");
            assert!(own(&[("a.py", ""), ("pyproject.toml", &text)]).roots.is_empty(), "{root}");
        }
    }

    proptest! {
        #[test]
        fn any_settings_are_read(text in ".{0,200}", path in "pyproject.toml|setup.cfg|setup.py|PKG-INFO") {
            let found = own(&[("lib/a.py", ""), (&path, &text)]);
            prop_assert!(found.roots.iter().all(|root| root == "lib"));
        }
    }
}
