//! Public projects that ship their tests: judged by their own runner, and by `proofmark init` and the `verify` that it names.
//!
//! Each is fetched from its registry and installed as its contributors do, once, below `target`. Both runs have no network. A project
//! whose tests fail under their own runner here says nothing about Proofmark, and is counted separately.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use proofmark_receipt::{Json, Object, Receipt};
use xtask::step::{cargo, run as run_step, run_quietly};

/// Releases of PyPI whose sdists have their tests, and what these need beside pytest.
const PYTHON: [(&str, &[&str]); 25] = [
    ("boltons==26.2.0", &[]),
    ("cachetools==8.0.2", &[]),
    ("click==8.5.1", &[]),
    ("freezegun==1.5.5", &["python-dateutil"]),
    ("h11==0.16.0", &[]),
    ("inflection==0.5.1", &[]),
    ("iniconfig==2.3.1", &[]),
    ("itsdangerous==2.2.0", &["freezegun"]),
    ("jinja2==3.1.6", &["trio"]),
    ("markupsafe==3.0.4", &[]),
    ("marshmallow==4.4.0", &["simplejson", "packaging"]),
    ("more-itertools==11.2.1", &[]),
    ("parse==1.22.4", &["pytest-cov"]),
    ("pluggy==1.7.0", &[]),
    ("prettytable==3.18.0", &["pytest-lazy-fixtures"]),
    ("python-dotenv==1.2.4", &["sh", "click"]),
    ("simplejson==4.3.0", &[]),
    ("sqlparse==0.6.1", &[]),
    ("tabulate==0.10.0", &[]),
    ("tenacity==9.2.1", &["typeguard", "tornado"]),
    ("termcolor==3.3.0", &[]),
    ("toolz==1.2.0", &[]),
    ("typing_extensions==4.16.0", &[]),
    ("wsproto==1.3.2", &["hypothesis"]),
    ("xmltodict==1.0.4", &[]),
];

/// Packages of npm that have their tests, and the script of `package.json` that runs them.
const NODE: [(&str, &str); 20] = [
    ("avvio@9.3.1", "test:unit"),
    ("deep-equal@2.2.3", "tests-only"),
    ("fast-redact@3.5.0", "test"),
    ("fast-uri@4.2.3", "test:unit"),
    ("fastq@1.20.3", "unit"),
    ("function-bind@1.1.2", "tests-only"),
    ("json-schema-traverse@1.0.0", "test-spec"),
    ("light-my-request@6.8.1", "test:unit"),
    ("minimist@1.2.8", "tests-only"),
    ("on-exit-leak-free@2.1.2", "test"),
    ("pino-abstract-transport@3.0.0", "test"),
    ("process-warning@5.1.1", "test:unit"),
    ("quick-format-unescaped@4.0.4", "test"),
    ("reusify@1.1.0", "test"),
    ("rfdc@1.4.1", "test"),
    ("secure-json-parse@4.1.1", "test:unit"),
    ("side-channel@1.1.1", "tests-only"),
    ("sonic-boom@5.0.2", "test:unit"),
    ("split2@4.2.0", "unit"),
    ("xtend@4.0.2", "test"),
];

/// Development dependencies that are for other work than tests, and large.
const NOT_FOR_TESTS: [&str; 12] = [
    "airtap",
    "aud",
    "benchmark",
    "eslint",
    "karma",
    "lint",
    "playwright",
    "prettier",
    "puppeteer",
    "safe-publish",
    "tsd",
    "webpack",
];

/// Linters that scripts run before the tests: programs that do nothing stand for them.
const LINTERS: [&str; 5] = ["eslint", "snazzy", "standard", "tsd", "xo"];

/// How many tests passed and, where the runner says it, were skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    passed: u64,
    skipped: Option<u64>,
}

/// A project that is ready to be tested.
struct Project {
    name: String,
    folder: PathBuf,
    /// `PATH` with its environment in front.
    path: OsString,
    /// The command of its own runner.
    own: Vec<String>,
    /// Reads what the runner wrote.
    counts: fn(&str) -> Option<Counts>,
}

pub(crate) fn run() -> anyhow::Result<()> {
    run_step(&mut cargo(&["build", "--quiet", "--release", "--package", "proofmark-cli"]))?;
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").canonicalize()?;
    let (binary, place) = (target.join("release/proofmark"), target.join("projects"));
    fs::create_dir_all(&place)?;
    println!(
        "| project | own runner | passed, skipped | `init`, `verify` | passed, skipped | as plain |\n|---|---|---|---|---|---|"
    );
    let (mut measured, mut as_plain, mut left_out) = (0, 0, 0);
    let python = PYTHON.iter().map(|(release, needs)| python(&place, release, needs));
    let node = NODE.iter().map(|(release, script)| node(&place, release, script));
    for project in python.chain(node) {
        let outcome = project.and_then(|project| judged(&project, &binary, &place.join("home")));
        match outcome {
            Ok(Some(true)) => (measured, as_plain) = (measured + 1, as_plain + 1),
            Ok(Some(false)) => measured += 1,
            Ok(None) => left_out += 1,
            Err(error) => {
                eprintln!("{error:#}");
                left_out += 1;
            }
        }
    }
    println!(
        "\n{as_plain} of {measured} that pass by their own runner pass at the first command with the same counts; {left_out} do not pass here or could not be installed"
    );
    Ok(())
}

/// Whether `verify` judges it as its own runner does; `None` where that one does not pass.
fn judged(project: &Project, binary: &Path, home: &Path) -> anyhow::Result<Option<bool>> {
    let offline = |command: &mut Command| -> anyhow::Result<(Output, Duration)> {
        command.current_dir(&project.folder).env("PATH", &project.path).env("PROOFMARK_HOME", home).env("CI", "1");
        let begun = Instant::now();
        Ok((command.output().context("failed to start a project's tests")?, begun.elapsed()))
    };
    clean(&project.folder)?;
    let mut own = Command::new("unshare");
    own.args(["--net", "sh", "-c", "ip link set lo up; exec \"$@\"", "sh"]).args(&project.own);
    let (plain, plain_time) = offline(&mut own)?;
    let said = String::from_utf8_lossy(&plain.stdout).into_owned();
    let counts = (project.counts)(&said);
    clean(&project.folder)?;
    if !plain.status.success() {
        println!("| {} | {} | | | | left out |", project.name, plain.status);
        return Ok(None);
    }
    let (init, _) = offline(Command::new(binary).arg("init"))?;
    let (verified, time) = offline(Command::new(binary).args(["verify", "--dir", ".", "--json"]))?;
    let receipt = Receipt::parse(String::from_utf8_lossy(&verified.stdout).trim().as_bytes());
    let found = receipt.as_ref().ok().map(|receipt| {
        let skipped = receipt
            .metadata()
            .get("skipped")
            .and_then(Json::as_object)
            .and_then(|skipped| skipped.get("count")?.as_number()?.as_u64());
        Counts { passed: receipt.results().passed, skipped: Some(skipped.unwrap_or_default()) }
    });
    let agrees = match (counts, found) {
        (Some(plain), Some(found)) => {
            plain.passed == found.passed && plain.skipped.is_none_or(|skipped| Some(skipped) == found.skipped)
        }
        (None, found) => found.is_some(),
        (Some(_), None) => false,
    };
    let passes = init.status.success() && verified.status.success();
    let shown = |counts: Option<Counts>| {
        let skipped = |counts: Counts| counts.skipped.map_or_else(|| "?".to_owned(), |skipped| skipped.to_string());
        counts.map_or_else(|| "?".to_owned(), |counts| format!("{}, {}", counts.passed, skipped(counts)))
    };
    let verdict = receipt.map_or_else(|_| "no receipt".to_owned(), |receipt| receipt.verdict().to_string());
    println!(
        "| {} | pass, {:.1} s | {} | {verdict}, {:.1} s | {} | {} |",
        project.name,
        plain_time.as_secs_f64(),
        shown(counts),
        time.as_secs_f64(),
        shown(found),
        if passes && agrees { "yes" } else { "no" }
    );
    Ok(Some(passes && agrees))
}

/// Removes what a run has left.
fn clean(folder: &Path) -> anyhow::Result<()> {
    let git = |arguments: &[&str]| run_quietly(Command::new("git").args(arguments).current_dir(folder));
    git(&["checkout", "--quiet", "."])?;
    git(&["clean", "--force", "-d", "--quiet"])
}

/// Makes the folder a repository in which what is installed is ignored.
fn commit(folder: &Path) -> anyhow::Result<()> {
    let git = |arguments: &[&str]| run_quietly(Command::new("git").args(arguments).current_dir(folder));
    git(&["init", "--quiet"])?;
    fs::write(folder.join(".git/info/exclude"), ".venv\nnode_modules\n*.egg-info\n")?;
    git(&["add", "--all"])?;
    git(&["-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "--quiet", "--message", "As released"])
}

fn python(place: &Path, release: &str, needs: &[&str]) -> anyhow::Result<Project> {
    let name = release.split("==").next().unwrap_or(release);
    let unpacked = place.join(release.replace("==", "-"));
    let folder = match only_folder(&unpacked) {
        Some(folder) if folder.join(".git/HEAD").exists() => folder,
        _ => {
            fetch(&unpacked, &["pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", release])?;
            let folder = only_folder(&unpacked).with_context(|| format!("`{release}` has no sdist"))?;
            run_quietly(Command::new("python3").args(["-m", "venv", ".venv"]).current_dir(&folder))?;
            let pip = [&["install", "--quiet", "pytest"], needs, &["--editable", "."]].concat();
            run_quietly(Command::new(".venv/bin/pip").args(pip).current_dir(&folder))?;
            commit(&folder)?;
            folder
        }
    };
    let path = in_front(&folder.join(".venv/bin"))?;
    let own = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider"].map(str::to_owned).into();
    Ok(Project { name: name.to_owned(), folder, path, own, counts: of_pytest })
}

fn node(place: &Path, release: &str, script: &str) -> anyhow::Result<Project> {
    let name = release.split('@').next().unwrap_or(release);
    let unpacked = place.join(release.replace('@', "-"));
    let folder = unpacked.join("package");
    if !folder.join(".git/HEAD").exists() {
        fetch(&unpacked, &["npm", "pack", "--silent", release])?;
        let manifest = folder.join("package.json");
        let text = fs::read(&manifest).with_context(|| format!("failed to read the package of `{release}`"))?;
        fs::write(&manifest, for_tests(&text)?)?;
        let npm = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--legacy-peer-deps"];
        run_quietly(Command::new("npm").args(npm).current_dir(&folder))?;
        for linter in LINTERS {
            let program = folder.join("node_modules/.bin").join(linter);
            drop(fs::remove_file(&program));
            std::os::unix::fs::symlink("/bin/true", program)?;
        }
        commit(&folder)?;
    }
    let path = in_front(&folder.join("node_modules/.bin"))?;
    let own = ["npm", "run", "--silent", script].map(str::to_owned).into();
    Ok(Project { name: name.to_owned(), folder, path, own, counts: of_tap_or_mocha })
}

/// Downloads an archive into an empty folder, and unpacks it there.
fn fetch(folder: &Path, command: &[&str]) -> anyhow::Result<()> {
    drop(fs::remove_dir_all(folder));
    fs::create_dir_all(folder)?;
    let (program, arguments) = command.split_first().context("there is no command")?;
    run_quietly(Command::new(program).args(arguments).current_dir(folder))?;
    let is_archive = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "gz" || extension == "tgz");
    let mut entries = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let archive = entries.find(is_archive).context("the registry gave no archive")?;
    let unpack = Command::new("tar")
        .args(["--extract", "--no-same-owner", "--file"])
        .arg(&archive)
        .current_dir(folder)
        .status()?;
    fs::remove_file(archive)?;
    if unpack.success() { Ok(()) } else { bail!("`tar` ended with {unpack}") }
}

fn only_folder(folder: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    entries.find(|path| path.is_dir())
}

fn in_front(folder: &Path) -> anyhow::Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths([folder.to_owned()].into_iter().chain(std::env::split_paths(&path)))?)
}

/// A `package.json` without the development dependencies that tests do not need.
fn for_tests(manifest: &[u8]) -> anyhow::Result<String> {
    let mut package = Json::parse(manifest)?.as_object().context("`package.json` is no object")?.clone();
    if let Some(needs) = package.get("devDependencies").and_then(Json::as_object) {
        let kept = needs
            .iter()
            .filter(|(name, _)| !NOT_FOR_TESTS.iter().any(|other| name.contains(other)) && !LINTERS.contains(name));
        let kept = kept.fold(Object::new(), |mut kept, (name, version)| {
            kept.insert(name, version.clone());
            kept
        });
        package.insert("devDependencies", kept);
    }
    Ok(Json::from(package).to_text())
}

/// The counts of pytest's last line. It lists subtests separately; they are not counted here.
fn of_pytest(text: &str) -> Option<Counts> {
    let last = text.trim_end().lines().last()?;
    let parts: Vec<Vec<&str>> =
        last.trim_matches('=').split([',', '(']).map(|part| part.split_whitespace().collect()).collect();
    let count = |wanted: &str| {
        let counted = |part: &Vec<&str>| match part.as_slice() {
            [count, word, ..] if *word == wanted => count.parse::<u64>().ok(),
            _ => None,
        };
        parts.iter().find_map(counted).unwrap_or_default()
    };
    let has_any = parts.iter().any(|part| part.get(1).is_some_and(|word| *word == "passed"));
    // A test that was expected to fail tested nothing, so it counts as skipped here as there.
    has_any.then(|| Counts {
        passed: count("passed") + count("xpassed"),
        skipped: Some(count("skipped") + count("xfailed")),
    })
}

/// The last count of passing tests in the words of TAP (`# pass 3`), of node's `spec` (`ℹ pass 3`) or of mocha (`3 passing`).
fn of_tap_or_mocha(text: &str) -> Option<Counts> {
    let count = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["#" | "ℹ", "pass", count] | [count, "passing", ..] => count.parse().ok(),
            _ => None,
        }
    };
    text.lines().rev().find_map(count).map(|passed| Counts { passed, skipped: None })
}
