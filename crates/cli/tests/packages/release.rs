//! The steps of a release after the packages: sums, and the receipt of its own tests.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::made::{Packages, ROOT, VERSION, ends_with, run, script};

fn receipt(program: &Path, release: &Path, home: &Path) -> Command {
    let mut receipt = script("release/receipt.sh");
    receipt.arg(program).arg(release).env("PROOFMARK_HOME", home);
    receipt
}

#[test]
fn a_release_has_a_receipt_of_its_own_tests() {
    let Some(packages) = Packages::new() else { return };
    let (release, home) = (packages.copy(), TempDir::new().unwrap());
    let proofmark = |words: &[&str]| {
        let mut command = Command::new(&packages.program);
        command.args(words).env("PROOFMARK_HOME", home.path());
        command
    };
    run(proofmark(&["key", "new", "release"]).stdout(std::process::Stdio::null()));
    let made = run(receipt(&packages.program, release.path(), home.path()).env("PROOFMARK_RELEASE_KEY", "release"));
    assert_eq!(made.trim(), format!("{}/proofmark-{VERSION}.receipt.json", release.path().display()));
    let text = fs::read_to_string(made.trim()).unwrap();
    assert!(!text.contains(&fs::canonicalize(ROOT).unwrap().display().to_string()), "{text}");
    let verify = ["receipt", "verify", made.trim(), "--trust", "release", "--verdict", "pass"];
    assert!(run(&mut proofmark(&verify)).contains("5 of 5 checks passed"));
    assert!(run(&mut proofmark(&["receipt", "list"])).contains("pass"));
}

#[test]
fn a_release_with_a_wrong_file_gets_none() {
    let Some(packages) = Packages::new() else { return };
    let (release, home) = (packages.copy(), TempDir::new().unwrap());
    // A consistent forgery: the sums are right again, and one package has another program.
    let archive = packages.file(".tar.gz");
    let archive = release.path().join(archive.file_name().unwrap());
    let name = archive.file_name().unwrap().to_str().unwrap().strip_suffix(".tar.gz").unwrap().to_owned();
    let folder = TempDir::new().unwrap();
    run(Command::new("tar").arg("-C").arg(folder.path()).arg("-xzf").arg(&archive));
    fs::write(folder.path().join(&name).join("proofmark"), "#!/bin/sh\n").unwrap();
    run(Command::new("tar").arg("-C").arg(folder.path()).arg("-czf").arg(&archive).arg(&name));
    run(script("release/sums.sh").arg(release.path()));
    let said = ends_with(&mut receipt(&packages.program, release.path(), home.path()), 1);
    assert!(said.contains("fail test_release.Release.test_all_packages_of_a_processor_have_one_program"), "{said}");
    assert!(!release.path().join(format!("proofmark-{VERSION}.receipt.json")).exists());
    fs::remove_file(release.path().join("SHA256SUMS")).unwrap();
    let said = ends_with(&mut receipt(&packages.program, release.path(), home.path()), 2);
    assert!(said.contains("it has no SHA256SUMS"), "{said}");
}

#[test]
fn a_program_of_another_version_is_not_packed() {
    let Some(packages) = Packages::new() else { return };
    let folder = TempDir::new().unwrap();
    for name in ["release/archive.sh", "release/deb.sh", "release/npm.sh", "release/receipt.sh"] {
        let said = ends_with(script(name).arg("/bin/true").arg(folder.path().join("out")), 2);
        assert!(said.contains("failed to pack `/bin/true`: it says that it is"), "{name}: {said}");
        let said = ends_with(script(name).arg("absent").arg(folder.path().join("out")), 2);
        assert!(said.contains("failed to find the program `absent`"), "{name}: {said}");
        assert!(ends_with(script(name).arg(&packages.program), 2).contains("usage: "), "{name}");
    }
    assert!(!folder.path().join("out").exists());
    assert!(ends_with(script("release/sums.sh").arg(folder.path()), 2).contains("it is empty"));
}
