//! Packages installed on the host, in programs that name them and in those that do not.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may stop anywhere, and shares its helpers with others"
)]

#[path = "support/levels.rs"]
mod levels;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use proofmark_checks::{Case, End, Job, Language, Limits, Outcome, Program};
use proofmark_sandbox::{Host, Level};

/// A program for all modes: what it can import, and what it can do to what it can import.
const SUBMISSION: &str = "
import importlib, os
def imports(name):
    try:
        return importlib.import_module(name).__name__
    except ImportError:
        return None
def changes(name):
    folder = os.path.dirname(importlib.import_module(name).__file__)
    for attempt in (
        lambda: open(folder + '/left.py', 'w'),
        lambda: open(folder + '/__init__.py', 'a'),
        lambda: os.remove(folder + '/__init__.py'),
        lambda: os.chmod(folder, 0o777),
        lambda: os.rename(folder, folder + '2'),
    ):
        try:
            attempt()
            return True
        except OSError:
            pass
    return False
def f(name):
    return [imports(name), bool(imports('greeting')) and changes('greeting')]
if __name__ == '__main__':
    print(f(input()))
";

/// A virtual environment of the host's python with three packages: one that needs another, and one beside them.
fn environment(folder: &Path) -> bool {
    let made = Command::new("/usr/bin/python3").args(["-m", "venv", "--without-pip"]).arg(folder).output();
    if !made.is_ok_and(|made| made.status.success()) {
        return false;
    }
    let lib = fs::read_dir(folder.join("lib")).unwrap().next().unwrap().unwrap().path();
    let packages = lib.join("site-packages");
    for (name, module, requires) in [
        (
            "Greeting.Package",
            "greeting",
            "Requires-Dist: polite_words>=1; python_version > '3'\nRequires-Dist: other-one; extra == 'all'\n",
        ),
        ("polite-words", "polite", ""),
        ("other-one", "other", ""),
    ] {
        let info = format!("{}-1.0.dist-info", name.replace(['-', '.'], "_"));
        fs::create_dir_all(packages.join(module)).unwrap();
        fs::create_dir_all(packages.join(&info)).unwrap();
        fs::write(packages.join(module).join("__init__.py"), "").unwrap();
        fs::write(
            packages.join(&info).join("METADATA"),
            format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{requires}"),
        )
        .unwrap();
        fs::write(
            packages.join(&info).join("RECORD"),
            format!("{module}/__init__.py,,\n{info}/METADATA,,\n../../../bin/x,,\n"),
        )
        .unwrap();
    }
    fs::write(packages.join("greeting/__init__.py"), "import polite\n").unwrap();
    true
}

fn job(packages: &[&str], program: Program, disk_mb: u32, inputs: &[&str]) -> Job {
    Job {
        language: Language::Python,
        runtime: None,
        packages: packages.iter().map(ToString::to_string).collect(),
        program,
        cases: inputs
            .iter()
            .map(|input| Case { input: (*input).to_owned(), timeout: Duration::from_secs(10) })
            .collect(),
        limits: Limits {
            memory_mb: 128,
            total_timeout: Duration::from_secs(60),
            output_bytes: 1 << 16,
            processes: 16,
            disk_mb,
        },
    }
}

fn call() -> Program {
    Program::Call { source: SUBMISSION.to_owned(), entrypoint: "f".to_owned() }
}

fn stdio() -> Program {
    Program::Stdio { source: SUBMISSION.to_owned() }
}

fn values(outcome: &Outcome) -> Vec<String> {
    let shown = |end: &End| match end {
        End::Value(bytes) | End::Text(bytes) => String::from_utf8_lossy(bytes).trim_end().to_owned(),
        other => format!("{other:?}"),
    };
    outcome.cases.iter().map(|case| shown(&case.end)).collect()
}

#[test]
fn only_named_packages_and_what_they_require_can_be_imported_and_nothing_can_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    if !environment(&folder.path().join("venv")) {
        return proofmark_testing::skip("python", "/usr/bin/python3 cannot make a virtual environment");
    }
    // SAFETY: the only test of this process, before any thread of its own reads the environment.
    #[expect(unsafe_code, reason = "interpreters are looked up on PATH")]
    unsafe {
        let path = std::env::var("PATH").unwrap_or_default();
        std::env::set_var("PATH", format!("{}/venv/bin:{path}", folder.path().display()));
    }
    for level in [Level::A, Level::B, Level::C] {
        if levels::has(level) {
            at_level(level);
        }
    }
}

fn at_level(level: Level) {
    let mut worker = Host::probe(Some(level)).worker();
    let mut run =
        |packages: &[&str], program, disk, inputs: &[&str]| values(&worker.run(&job(packages, program, disk, inputs)));
    let inputs = [r#"["greeting"]"#, r#"["polite"]"#, r#"["other"]"#, r#"["json"]"#];
    // Without a file tree of its own, a program sees whole folders of packages.
    let other = if level == Level::C { r#"["other",false]"# } else { "[null,false]" };
    let named = [r#"["greeting",false]"#, r#"["polite",false]"#, other, r#"["json",false]"#];
    for name in ["greeting", "greeting-package", "Greeting_Package"] {
        assert_eq!(run(&[name], call(), 0, &inputs), named, "{level} {name}");
    }
    // The interpreter that was warm with packages is not the one of programs without.
    let plain = ["[null,false]", "[null,false]", "[null,false]", r#"["json",false]"#];
    assert_eq!(run(&[], call(), 0, &inputs), plain, "{level}");
    assert_eq!(
        run(&["polite", "json"], call(), 0, &["[\"greeting\"]"])[0],
        if level == Level::C { named[0] } else { "[null,false]" }
    );
    assert_eq!(
        run(&["greeting"], Program::Pristine, 0, &["__import__('greeting').__name__"]),
        [r#""greeting""#],
        "{level}"
    );
    assert_eq!(run(&["greeting"], stdio(), 0, &["greeting"]), ["['greeting', False]"], "{level}");
    assert_eq!(run(&[], stdio(), 0, &["greeting"]), ["[None, False]"], "{level}");
    if level != Level::C {
        assert_eq!(run(&["greeting"], call(), 8, &inputs), named, "{level} with a disk");
        assert_eq!(run(&["greeting"], stdio(), 8, &["greeting"]), ["['greeting', False]"], "{level} with a disk");
    }
    for missing in [run(&["greeting", "absent"], call(), 0, &inputs[..1]), run(&["absent"], stdio(), 0, &["x"])] {
        assert!(missing[0].starts_with("Unavailable(\"failed to find the package `absent`"), "{level} {missing:?}");
    }
}
