//! `verify --dir` over projects of Python: which packages their tests see, and that what runs is what is verified.
//!
//! The environments are written by hand, and the runner is `unittest`, so these tests need nothing that is installed.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use proofmark_receipt::{Json, Receipt, Verdict};

use crate::run::{Done, Place};

const UNITTEST: [&str; 5] = ["--", "python3", "-m", "unittest", "discover"];
const SHOP: &str = "def price(n):\n    return n * 2\n";
const TESTS: &str = "import unittest
from shop import price
class Shop(unittest.TestCase):
    def test_price(self):
        self.assertEqual(price(2), 4)
";

fn parsed(done: &Done) -> Receipt {
    Receipt::parse(done.stdout.trim().as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}

fn verify(place: &Place) -> Done {
    place.run(&[&["verify", "--dir", "p", "--json"], &UNITTEST[..]].concat())
}

/// A project whose one test has these lines.
fn test(place: &Place, lines: &[&str]) {
    let lines: String = lines.iter().map(|line| format!("        {line}\n")).collect();
    place.file(
        "p/test_it.py",
        format!("import sys, unittest\nclass It(unittest.TestCase):\n    def test_it(self):\n{lines}"),
    );
}

/// The first two numbers of the version of the `python3` on `PATH`.
fn version() -> String {
    let output = Command::new("python3").args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).output();
    String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
}

/// Makes a folder an environment, and returns its folder of packages.
pub(crate) fn environment(place: &Place, folder: &str, system_packages: bool) -> String {
    let version = version();
    let text = format!("home = /nowhere\ninclude-system-site-packages = {system_packages}\nversion = {version}.0\n");
    place.file(&format!("{folder}/pyvenv.cfg"), text);
    let packages = format!("{folder}/lib/python{version}/site-packages");
    fs::create_dir_all(place.path(&packages)).unwrap();
    packages
}

fn setting(receipt: &Receipt, name: &str) -> Option<String> {
    receipt.metadata().get("settings")?.as_object()?.get(name).map(Json::to_text)
}

/// Asserts that it passed, and returns the receipt.
fn passed(done: &Done) -> Receipt {
    let receipt = parsed(done);
    assert_eq!((done.code, receipt.verdict()), (0, Verdict::Pass), "{}", receipt.to_text());
    receipt
}

/// Asserts that it is an error that the project is not at fault for, and returns the message.
fn refused(done: &Done) -> String {
    let receipt = parsed(done);
    assert_eq!((done.code, receipt.verdict()), (2, Verdict::Error), "{}", receipt.to_text());
    assert_eq!(receipt.metadata().get("fault"), Some(&Json::from("verifier")));
    receipt.results().details[0].message.clone().unwrap()
}

#[test]
fn the_packages_are_those_of_the_projects_environment_and_no_others() {
    let place = Place::new();
    for folder in [".venv", "env"] {
        let packages = environment(&place, &format!("p/{folder}"), false);
        place.file(&format!("{packages}/dependency.py"), "name = 'dependency'\n");
        place.file(&format!("{packages}/more.pth"), "inner\nimport sys; sys.started = True\n/nowhere\n");
        place.file(&format!("{packages}/inner/hidden.py"), "");
        test(
            &place,
            &[
                "import dependency, hidden",
                "assert sys.started and sys.prefix == '/packages/python', sys.prefix",
                "others = [path for path in sys.path if path.endswith(('site-packages', 'dist-packages'))]",
                "self.assertEqual(others, [f'/packages/python/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages'])",
                "import os, subprocess",
                "assert not os.path.exists('.venv') and not os.path.exists('env')",
                "subprocess.run([sys.executable, '-c', 'import dependency'], cwd='/', check=True)",
                "with self.assertRaises(OSError): open(dependency.__file__, 'a')",
            ],
        );
        let done = verify(&place);
        assert_eq!(setting(&passed(&done), "packages"), Some(format!("[\"{folder}\"]")));
        assert!(done.stderr.contains(&format!("those of the environment `{folder}`")), "{done:?}");
        fs::remove_dir_all(place.path(&format!("p/{folder}"))).unwrap();
    }
}

#[test]
fn the_programs_of_packages_are_on_the_path() {
    let place = Place::new();
    let packages = environment(&place, "p/.venv", false);
    place.file(&format!("{packages}/greet.py"), "def main():\n    print('hello')\n    return 3\n");
    let entry_points = "[console_scripts]\ngreet = greet:main\n";
    place.file(&format!("{packages}/greet-1.dist-info/entry_points.txt"), entry_points);
    // What the environment's own folder has is of the host's interpreter, and not there.
    place.file("p/.venv/bin/other", "#!/bin/sh\n");
    test(
        &place,
        &[
            "import shutil, subprocess",
            "done = subprocess.run(['greet'], capture_output=True, text=True)",
            "self.assertEqual((done.returncode, done.stdout), (3, 'hello\\n'))",
            "assert shutil.which('other') is None",
            "with self.assertRaises(OSError): open(shutil.which('greet'), 'a')",
        ],
    );
    passed(&verify(&place));
}

#[test]
fn an_environment_may_have_the_packages_of_its_interpreter_too() {
    let place = Place::new();
    let folders = |system_packages| {
        environment(&place, "p/.venv", system_packages);
        let count = "sum(path.startswith('/packages/') and path[10:].isdigit() for path in sys.path)";
        test(&place, &[&format!("self.fail('it has %d folders' % {count})")]);
        let text = parsed(&verify(&place)).to_text();
        (0..9_usize).find(|count| text.contains(&format!("it has {count} folders"))).unwrap_or_else(|| panic!("{text}"))
    };
    let list = "import os, site; print(sum(map(os.path.isdir, site.getsitepackages())))";
    let host = Command::new("python3").args(["-I", "-c", list]).output().unwrap().stdout;
    let host: usize = String::from_utf8(host).unwrap().trim().parse().unwrap();
    assert_eq!(folders(false), 1);
    // Without a folder of its own user's.
    assert!(folders(true) > host.min(1), "{host}");
}

#[test]
fn packages_that_are_not_asked_for_are_not_there() {
    let place = Place::new();
    let packages = environment(&place, "p/.venv", true);
    place.file(&format!("{packages}/dependency.py"), "");
    place.file("p/proofmark.yaml", "packages: false\n");
    test(
        &place,
        &[
            "with self.assertRaises(ImportError): import dependency",
            "assert not [path for path in sys.path if path.endswith('dist-packages')], sys.path",
        ],
    );
    assert_eq!(setting(&passed(&verify(&place)), "packages").as_deref(), Some("[]"));
}

#[test]
fn modules_in_src_are_found_as_an_editable_install_would_find_them() {
    let place = Place::new();
    place.file("p/src/shop/__init__.py", SHOP);
    place.file("p/tests/test_shop.py", TESTS);
    let verify =
        || place.run(&["verify", "--dir", "p", "--json", "--", "python3", "-m", "unittest", "discover", "tests"]);
    let receipt = passed(&verify());
    assert_eq!(setting(&receipt, "pythonpath").as_deref(), Some(r#"["src"]"#));
    fs::rename(place.path("p/src"), place.path("p/lib")).unwrap();
    assert_eq!(parsed(&verify()).verdict(), Verdict::Fail);
    place.file("p/pyproject.toml", "[tool.setuptools.packages.find]\nwhere = [\"lib\"]\n");
    assert_eq!(setting(&passed(&verify()), "pythonpath").as_deref(), Some(r#"["lib"]"#));
}

/// The attack: a module of the project that has the name of an installed one.
#[test]
fn modules_of_the_project_do_not_hide_what_is_installed() {
    let place = Place::new();
    let packages = environment(&place, "p/.venv", false);
    place.file(&format!("{packages}/runner/__init__.py"), "whose = 'installed'");
    place.file("p/src/runner.py", "whose = 'submitted'");
    test(&place, &["import runner", "self.assertEqual(runner.whose, 'installed')"]);
    passed(&verify(&place));
}

/// What `pip install .` leaves: the copy would run, whatever the project has by then.
#[test]
fn a_copy_of_the_project_that_is_installed_is_an_error() {
    let place = Place::new();
    let packages = environment(&place, "p/.venv", false);
    place.file("p/pyproject.toml", "[project]\nname = \"The.Shop\"\n");
    place.file("p/src/shop/__init__.py", "def price(n):\n    return n * 3\n");
    place.file("p/test_shop.py", TESTS);
    place.file(&format!("{packages}/shop/__init__.py"), SHOP);
    let message = refused(&verify(&place));
    assert!(message.contains("own `shop` is also installed") && message.contains("install -e"), "{message}");
    // By its name, where no module has the same.
    fs::rename(place.path(&format!("{packages}/shop")), place.path(&format!("{packages}/shop_old"))).unwrap();
    assert_eq!(parsed(&verify(&place)).verdict(), Verdict::Fail);
    place.file(
        &format!("{packages}/the_shop-1.0.dist-info/RECORD"),
        "shop_old/__init__.py,,\nthe_shop-1.0.dist-info/RECORD,,\n",
    );
    assert!(refused(&verify(&place)).contains("own `shop_old` is also installed"));
}

#[test]
fn an_editable_install_of_the_project_leads_to_the_copy() {
    let place = Place::new();
    let packages = environment(&place, "p/.venv", false);
    place.file("p/pyproject.toml", "[project]\nname = \"shop\"\n");
    place.file("p/code/the_shop.py", SHOP);
    place.file("p/test_shop.py", format!("{TESTS}    def test_version(self):\n        from importlib import metadata\n        self.assertEqual(metadata.version('shop'), '7')\n"));
    place.file(&format!("{packages}/shop-7.dist-info/METADATA"), "Name: shop\nVersion: 7\n");
    place.file(
        &format!("{packages}/shop-7.dist-info/RECORD"),
        "__editable__.shop.pth,,\n__editable___shop_finder.py,,\n",
    );
    // As setuptools writes it where a package has another place than its name says.
    place.file(
        &format!("{packages}/__editable__.shop.pth"),
        "import __editable___shop_finder; __editable___shop_finder.install()\n",
    );
    let finder = |folder: &str| {
        let text = format!(
            "import sys\nfrom importlib.util import spec_from_file_location\nMAPPING = {{'shop': {folder:?}}}\n\
            class Finder:\n    @staticmethod\n    def find_spec(name, path=None, target=None):\n        \
            if name in MAPPING: return spec_from_file_location(name, MAPPING[name])\n\
            def install():\n    sys.meta_path.append(Finder)\n"
        );
        place.file(&format!("{packages}/__editable___shop_finder.py"), text);
    };
    let folder = place.path("p").canonicalize().unwrap();
    finder(&format!("{}/code/the_shop.py", folder.display()));
    passed(&verify(&place));
    place.file("p/code/the_shop.py", "def price(n):\n    return n * 3\n");
    assert_eq!(parsed(&verify(&place)).verdict(), Verdict::Partial);
    // What leads to another folder of the host leads nowhere.
    place.file("outside/the_shop.py", SHOP);
    finder(&place.path("outside/the_shop.py").display().to_string());
    assert_eq!(parsed(&verify(&place)).verdict(), Verdict::Fail);
    // A path, as most tools write it.
    fs::rename(place.path("p/code/the_shop.py"), place.path("p/code/shop.py")).unwrap();
    place.file("p/code/shop.py", SHOP);
    place.file(&format!("{packages}/__editable__.shop.pth"), format!("{}/code\n", folder.display()));
    assert_eq!(setting(&passed(&verify(&place)), "pythonpath"), None);
}

/// The attack: an environment that came with the submission, and with it the runner.
#[test]
fn an_environment_that_was_submitted_is_not_used() {
    let place = Place::new();
    let packages = environment(&place, "p/.venv", false);
    place.file(&format!("{packages}/dependency.py"), "");
    test(&place, &["with self.assertRaises(ImportError): import dependency"]);
    let git = |arguments: &[&str]| {
        let done = Command::new("git").arg("-C").arg(place.path("p")).args(arguments).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    assert_eq!(parsed(&verify(&place)).verdict(), Verdict::Fail);
    git(&["add", "-f", &format!("{}/dependency.py", packages.strip_prefix("p/").unwrap())]);
    passed(&verify(&place));
    fs::remove_dir_all(place.path("p/.git")).unwrap();
    fs::rename(place.path("p/.venv"), place.path("elsewhere")).unwrap();
    symlink(place.path("elsewhere"), place.path("p/.venv")).unwrap();
    passed(&verify(&place));
}

#[test]
fn environments_of_any_name_are_not_copied() {
    let place = Place::new();
    let packages = environment(&place, "p/.v", false);
    place.file(&format!("{packages}/dependency.py"), "");
    test(&place, &["import os", "assert not os.path.exists('.v')"]);
    let done = verify(&place);
    passed(&done);
    assert!(done.stderr.contains("left out `.v`"), "{done:?}");
}

#[test]
fn an_environment_of_another_python_is_an_error_that_names_the_setting() {
    let place = Place::new();
    environment(&place, "p/.venv", false);
    place.file("p/.venv/pyvenv.cfg", "version_info = 3.1.4.final.0\n");
    test(&place, &["pass"]);
    let message = refused(&verify(&place));
    assert!(message.contains("`runtime: python3.1`") && message.contains(".venv"), "{message}");
}
