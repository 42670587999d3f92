//! `packages: lock` and `proofmark env`: what a lock file names is installed, and nothing of the project is run for it.
//!
//! Wheels are made here and found in a folder, and the registry of npm is a server of the test.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use proofmark_receipt::{Json, Object, Receipt, Verdict};
use proofmark_testing::skip;

use crate::run::{Done, Place};

/// Makes the wheel `dependency-1.0`, and prints its digest.
const WHEEL: &str = "import hashlib, sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    for name, text in [
        ('dependency.py', sys.argv[2]),
        ('dependency-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: dependency\\nVersion: 1.0\\n'),
        ('dependency-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'),
        ('dependency-1.0.dist-info/RECORD', ''),
    ]:
        wheel.writestr(zipfile.ZipInfo(name), text)
print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())";

fn parsed(done: &Done) -> Receipt {
    Receipt::parse(done.stdout.trim().as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}

fn environment(receipt: &Receipt) -> Object {
    receipt.metadata().get("environment").and_then(Json::as_object).unwrap_or_else(|| panic!("{receipt:?}")).clone()
}

fn text<'a>(object: &'a Object, name: &str) -> &'a str {
    object.get(name).and_then(Json::as_str).unwrap_or_else(|| panic!("{name}: {object:?}"))
}

/// Writes a wheel whose module has this text, and returns its digest; `None` where the interpreter has no pip.
fn wheel(place: &Place, text: &str) -> Option<String> {
    let run = |arguments: &[&str]| Command::new("python3").args(arguments).output().unwrap();
    if !run(&[
        "-I",
        "-c",
        "import sys, os; os.execv(os.path.realpath(sys._base_executable), ['python3', '-I', '-m', 'pip', '--version'])",
    ])
    .status
    .success()
    {
        skip("pip", "the python3 on PATH has no pip");
        return None;
    }
    let path = place.file("wheels/dependency-1.0-py3-none-any.whl", "");
    let made = run(&["-I", "-c", WHEEL, &path, text]);
    assert!(made.status.success(), "{made:?}");
    Some(String::from_utf8(made.stdout).unwrap().trim().to_owned())
}

/// A project whose test imports the dependency.
fn project(place: &Place, digest: &str) {
    place.file("p/requirements.txt", format!("dependency==1.0 \\\n    --hash=sha256:{digest}\n"));
    place.file(
        "p/test_it.py",
        "import dependency, unittest\nclass It(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(dependency.name, 'locked')\n",
    );
    // What pip would read of the project.
    place.file("p/pip.conf", "[install]\nindex-url = https://evil.example/simple\n");
    place.file("p/setup.py", "raise SystemExit('run')\n");
}

fn verify(place: &Place, options: &[&str]) -> Done {
    let wheels = place.path("wheels");
    let pip = [("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", wheels.to_str().unwrap())];
    let command = ["--", "python3", "-m", "unittest", "discover"];
    place.run_with(&[&["verify", "--dir", "p", "--json", "--packages", "lock"], options, &command].concat(), &pip, b"")
}

#[test]
fn an_environment_is_built_once_from_requirements_and_again_when_it_was_changed() {
    let place = Place::new();
    let Some(digest) = wheel(&place, "name = 'locked'\n") else { return };
    project(&place, &digest);
    // Packages that the project brings do not count.
    place.file("p/.venv/pyvenv.cfg", "version = 3.0.0\n");
    let done = verify(&place, &[]);
    let receipt = parsed(&done);
    assert_eq!(receipt.verdict(), Verdict::Pass, "{}", receipt.to_text());
    assert!(done.stderr.contains("build the environment of `requirements.txt`"), "{done:?}");
    let first = environment(&receipt);
    assert_eq!((text(&first, "from"), first.get("packages")), ("lock", Some(&Json::from(1_u64))));
    let lock = first.get("lock").and_then(Json::as_object).unwrap();
    assert_eq!(text(lock, "file"), "requirements.txt");
    // Offline, since there is one; the wheels are gone.
    fs::remove_dir_all(place.path("wheels")).unwrap();
    let done = verify(&place, &[]);
    assert!(!done.stderr.contains("build the environment"), "{done:?}");
    assert_eq!(environment(&parsed(&done)), first);
    // One that holds anything else than what was built is built again, also if its record says so.
    let list = place.run(&["env", "list", "--json"]).stdout;
    let listed = Json::parse(list.trim().as_bytes()).unwrap();
    let folder = format!("home/cache/environments/{}", text(listed.as_object().unwrap(), "id"));
    place.file(&format!("{folder}/content/dependency.py"), "name = 'planted'\n");
    let done = verify(&place, &[]);
    assert_eq!(done.code, 2, "{done:?}");
    assert!(done.stdout.contains("failed to build the environment: `pip` failed"), "{done:?}");
    wheel(&place, "name = 'locked'\n").unwrap();
    assert_eq!(environment(&parsed(&verify(&place, &[]))), first);
    let record = fs::read_to_string(place.path(&format!("{folder}/record.json"))).unwrap();
    place.file(&format!("{folder}/record.json"), record.replace("\"packages\":1", "\"packages\":2"));
    assert!(verify(&place, &[]).stderr.contains("build the environment"));
    let removed = place.run(&["env", "prune", "--all"]);
    assert_eq!((removed.code, removed.stdout.as_str()), (0, "removed 1 environment\n"), "{removed:?}");
    assert_eq!(place.run(&["env", "list", "--json"]).stdout, "");
}

#[test]
fn the_packages_of_poetry_and_of_pipenv_are_installed() {
    let place = Place::new();
    let Some(digest) = wheel(&place, "name = 'locked'\n") else { return };
    project(&place, &digest);
    let pipfile = |package: &str| {
        format!(
            r#"{{"_meta": {{}}, "default": {{"dependency": {{"hashes": ["sha256:{digest}"], {package}}}}}, "develop": {{}}}}"#
        )
    };
    place.file("p/Pipfile.lock", pipfile(r#""version": "==1.0", "index": "pypi""#));
    let of_pipenv = environment(&parsed(&verify(&place, &[])));
    place.file(
        "p/poetry.lock",
        format!(
            "[[package]]\nname = \"dependency\"\nversion = \"1.0\"\ngroups = [\"main\"]\nfiles = [\n    \
             {{file = \"dependency-1.0-py3-none-any.whl\", hash = \"sha256:{digest}\"}},\n]\n\n[metadata]\nlock-version = \"2.1\"\n"
        ),
    );
    let of_poetry = environment(&parsed(&verify(&place, &[])));
    for (found, file) in [(&of_pipenv, "Pipfile.lock"), (&of_poetry, "poetry.lock")] {
        assert_eq!(found.get("packages"), Some(&Json::from(1_u64)), "{found:?}");
        assert_eq!(text(found.get("lock").and_then(Json::as_object).unwrap(), "file"), file);
    }
    assert_eq!(text(&of_pipenv, "digest"), text(&of_poetry, "digest"));
    place.file("p/Pipfile.lock", pipfile(r#""git": "https://evil.example/x.git", "ref": "1""#));
    fs::remove_file(place.path("p/poetry.lock")).unwrap();
    let done = verify(&place, &[]);
    assert!(done.code == 2 && done.stdout.contains("`dependency` is not of a registry"), "{done:?}");
}

#[test]
fn a_lock_file_that_nothing_installs_is_named() {
    let place = Place::new();
    place.file("p/it.test.js", "");
    place.file("p/pnpm-lock.yaml", "lockfileVersion: '9.0'\n");
    let done = place.run(&["verify", "--dir", "p", "--packages", "lock", "--", "node", "--test"]);
    assert!(
        done.code == 2 && done.stderr.contains("the lock file `pnpm-lock.yaml`: nothing here installs"),
        "{done:?}"
    );
    assert!(done.stderr.contains("`package-lock.json`"), "{done:?}");
}

#[test]
fn the_lock_file_is_the_owners_where_the_tests_are() {
    let place = Place::new();
    let Some(digest) = wheel(&place, "name = 'locked'\n") else { return };
    project(&place, &digest);
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"];
        let done = Command::new("git").args(identity).args(arguments).current_dir(place.path("p")).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "tests"]);
    let owner = environment(&parsed(&verify(&place, &["--tests-from", "refs/heads/main"])));
    place.file("p/requirements.txt", "--index-url https://evil.example/simple\nevil==1.0\n");
    let held = parsed(&verify(&place, &["--tests-from", "refs/heads/main"]));
    assert_eq!(held.verdict(), Verdict::Pass, "{}", held.to_text());
    assert_eq!(environment(&held), owner);
    let done = verify(&place, &[]);
    assert_eq!(done.code, 2, "{done:?}");
    assert!(done.stdout.contains("requirements.txt, line 1: options are not read here"), "{done:?}");
}

/// Makes the archive of a package in a folder, and prints its digest.
const ARCHIVE: &str = "const { execFileSync } = require('child_process'), fs = require('fs');
process.chdir(process.argv[1]);
execFileSync('tar', ['-czf', 'x.tgz', 'package']);
console.log(require('crypto').createHash('sha512').update(fs.readFileSync('x.tgz')).digest('base64'));";

/// Answers a request for the archive with it. A client may hang up at any time.
fn answer(mut stream: TcpStream, archive: &[u8]) {
    let mut request = [0; 4096];
    let length = stream.read(&mut request).unwrap_or_default();
    let is_archive = request[..length].starts_with(b"GET /x/-/x-1.0.0.tgz ");
    let (status, body) = if is_archive { ("200 OK", archive) } else { ("404 Not Found", &b""[..]) };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

#[test]
fn npm_installs_from_the_registry_of_the_user_and_runs_no_script() {
    let has_npm = Command::new("npm").arg("--version").output().is_ok_and(|done| done.status.success());
    if !has_npm {
        return skip("npm", "npm is not on PATH");
    }
    let place = Place::new();
    let marker = place.path("ran");
    let script = format!("touch {}", marker.display());
    place.file(
        "archive/package/package.json",
        format!(r#"{{"name": "x", "version": "1.0.0", "scripts": {{"postinstall": "{script}"}}}}"#),
    );
    place.file("archive/package/index.js", "exports.name = 'locked';\n");
    let made = Command::new("node").args(["-e", ARCHIVE]).arg(place.path("archive")).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let integrity = format!("sha512-{}", String::from_utf8(made.stdout).unwrap().trim());
    let archive = fs::read(place.path("archive/x.tgz")).unwrap();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let registry = format!("http://{}/", server.local_addr().unwrap());
    thread::spawn(move || {
        for stream in server.incoming().flatten() {
            answer(stream, &archive);
        }
    });
    let lock = |resolved: &str| {
        let package = format!(
            r#"{{"version": "1.0.0", "resolved": "{resolved}", "integrity": "{integrity}", "hasInstallScript": true}}"#
        );
        let own = r#"{"name": "p", "dependencies": {"x": "1.0.0"}}"#;
        format!(r#"{{"name": "p", "lockfileVersion": 3, "packages": {{"": {own}, "node_modules/x": {package}}}}}"#)
    };
    place.file(
        "p/package.json",
        format!(r#"{{"name": "p", "dependencies": {{"x": "1.0.0"}}, "scripts": {{"preinstall": "{script}", "prepare": "{script}"}}}}"#),
    );
    place.file("p/.npmrc", "registry=https://evil.example/\nignore-scripts=false\n");
    // What the folder has is not what the lock file names.
    place.file("p/node_modules/x/index.js", "exports.name = 'planted';\n");
    place.file(
        "p/it.test.js",
        "require('node:test').test('it', () => require('node:assert').equal(require('x').name, 'locked'));\n",
    );
    place.file("p/proofmark.yaml", "command: node --test\npackages: lock\n");
    let npm_cache = place.path("npm-cache");
    let settings = [
        ("npm_config_registry", registry.as_str()),
        ("npm_config_cache", npm_cache.to_str().unwrap()),
        ("npm_config_fetch_retries", "0"),
    ];
    // The host that the lock file names is not asked.
    place.file("p/package-lock.json", lock("https://evil.example/x/-/x-1.0.0.tgz"));
    let receipt = parsed(&place.run_with(&["verify", "--dir", "p", "--json"], &settings, b""));
    assert_eq!(receipt.verdict(), Verdict::Pass, "{}", receipt.to_text());
    let found = environment(&receipt);
    assert_eq!((text(&found, "from"), found.get("packages")), ("lock", Some(&Json::from(1_u64))));
    assert!(!marker.exists());
    place.file("p/package-lock.json", lock("git+ssh://git@evil.example/x.git"));
    let done = place.run_with(&["verify", "--dir", "p"], &settings, b"");
    assert_eq!(done.code, 2, "{done:?}");
    assert!(done.stderr.contains("`node_modules/x` is not of a registry"), "{done:?}");
    let other = ["--no-config", "--packages", "lock:package-lock.json", "--", "python3", "-m", "unittest"];
    let done = place.run(&[&["verify", "--dir", "p"], &other[..]].concat());
    assert!(done.code == 2 && done.stderr.contains("not of the language of the command"), "{done:?}");
    // An archive with another digest is refused by npm.
    place.file("p/package-lock.json", lock("https://r.example/x/-/x-1.0.0.tgz").replace("sha512-", "sha512-AAAA"));
    let done = place.run_with(&["verify", "--dir", "p"], &settings, b"");
    assert!(done.code == 2 && done.stderr.contains("`npm` failed"), "{done:?}");
    let done = place.run_with(&["env", "build", "--dir", "p"], &[("PATH", "/nowhere")], b"");
    assert!(done.code == 2 && done.stderr.contains("no runtime for javascript was found"), "{done:?}");
}
