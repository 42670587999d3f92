//! The Debian package, in an empty root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use proofmark_testing::has_program;
use tempfile::TempDir;

use crate::made::{Packages, ROOT, VERSION, ends_with, first_receipt, run, said, script};

/// A warning of lintian that does not apply: the package is not Debian's, so it does not close a request of Debian's.
const NOT_HERE: &str = "initial-upload-closes-no-bugs";

const UNIT: &str = "lib/systemd/system/proofmark.service";

/// The files of the package below a folder.
fn unpacked(packages: &Packages) -> TempDir {
    let root = TempDir::new().unwrap();
    run(Command::new("dpkg-deb").arg("-x").arg(packages.file(".deb")).arg(root.path()));
    root
}

fn control(packages: &Packages, field: &str) -> String {
    run(Command::new("dpkg-deb").arg("-f").arg(packages.file(".deb")).arg(field)).trim().to_owned()
}

#[test]
fn an_empty_root_gets_the_program_and_what_belongs_to_it() {
    let Some(packages) = Packages::new() else { return };
    let root = unpacked(&packages);
    first_receipt(&root.path().join("usr/bin/proofmark"));
    for (path, begins) in [
        ("usr/share/bash-completion/completions/proofmark", "_proofmark()"),
        ("usr/share/zsh/vendor-completions/_proofmark", "#compdef proofmark"),
        ("usr/share/fish/vendor_completions.d/proofmark.fish", "# "),
        ("usr/share/doc/proofmark/copyright", "Format: "),
        ("usr/share/doc/proofmark/README.Debian", "proofmark for Debian"),
    ] {
        let text = fs::read_to_string(root.path().join(path)).unwrap();
        assert!(text.starts_with(begins), "{path}: {text}");
    }
    for path in ["man/man1/proofmark.1.gz", "man/man1/proofmark-verify.1.gz", "doc/proofmark/changelog.gz"] {
        assert!(root.path().join("usr/share").join(path).exists(), "{path}");
    }
    let policy = root.path().join("usr/share/doc/proofmark/examples/policy.yaml");
    let mut serve = Command::new(root.path().join("usr/bin/proofmark"));
    run(serve.args(["serve", "--check", "--policy"]).arg(policy).env("PROOFMARK_HOME", root.path().join("home")));
    for path in ["usr", "usr/share/doc/proofmark"] {
        assert_eq!(fs::metadata(root.path().join(path)).unwrap().permissions().mode() & 0o7777, 0o755, "{path}");
    }
    assert!(control(&packages, "Version").starts_with(VERSION));
    assert_eq!(control(&packages, "Maintainer"), "A & B / Tests <tests@proofmark.invalid>");
    assert_eq!(control(&packages, "Recommends"), "python3, nodejs");
    // The sums are those of the files.
    let control = TempDir::new().unwrap();
    run(Command::new("dpkg-deb").arg("-e").arg(packages.file(".deb")).arg(control.path()));
    run(Command::new("md5sum")
        .args(["--check", "--quiet"])
        .arg(control.path().join("md5sums"))
        .current_dir(root.path()));
}

#[test]
fn dpkg_unpacks_it_into_a_system_of_its_own() {
    let Some(packages) = Packages::new() else { return };
    let root = TempDir::new().unwrap();
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    fs::write(root.path().join("var/lib/dpkg/status"), "").unwrap();
    let dpkg = |words: &[&str]| {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--root={}", root.path().display())).args(["--force-not-root", "--force-depends"]).args(words);
        run(&mut dpkg)
    };
    dpkg(&["--unpack", packages.file(".deb").to_str().unwrap()]);
    assert!(dpkg(&["--listfiles", "proofmark"]).contains("/usr/bin/proofmark"));
    run(Command::new(root.path().join("usr/bin/proofmark")).arg("--version"));
}

#[test]
fn lintian_finds_nothing() {
    let Some(packages) = Packages::new() else { return };
    if !has_program("lintian", "lintian") {
        return;
    }
    let mut lintian = Command::new("lintian");
    // It starts programs for each man page, and large pages make it cheaper for the kernel to do so.
    lintian.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
    // It warns of root on standard error.
    lintian.args(["--allow-root", "--suppress-tags", NOT_HERE, "--fail-on", "error,warning"]);
    let output = lintian.arg(packages.file(".deb")).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{}", said(&output));
}

#[test]
fn the_service_is_one_that_systemd_reads() {
    let Some(packages) = Packages::new() else { return };
    let root = unpacked(&packages);
    let unit = fs::read_to_string(root.path().join(UNIT)).unwrap();
    // A command that the program knows, up to the policy that is not there.
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/proofmark ")).unwrap();
    let mut serve = Command::new(root.path().join("usr/bin/proofmark"));
    serve.args(command.split(' ')).arg("--check").env("PROOFMARK_HOME", root.path().join("home"));
    let refused = ends_with(&mut serve, 2);
    assert!(refused.contains("/etc/proofmark/policy.yaml"), "{refused}");
    if has_program("systemd-analyze", "systemd") {
        let copy = root.path().join("proofmark.service");
        let program = root.path().join("usr/bin/proofmark");
        fs::write(&copy, unit.replace("/usr/bin/proofmark", program.to_str().unwrap())).unwrap();
        let output = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&copy).output().unwrap();
        assert!(output.status.success() && !said(&output).contains("proofmark"), "{}", said(&output));
    }
    if has_program("systemd-sysusers", "systemd") {
        fs::create_dir(root.path().join("etc")).unwrap();
        run(Command::new("systemd-sysusers").arg("--root").arg(root.path()));
        let accounts = fs::read_to_string(root.path().join("etc/passwd")).unwrap();
        assert!(accounts.contains("Proofmark:/var/lib/proofmark:/usr/sbin/nologin"), "{accounts}");
    }
}

#[test]
fn nobody_makes_a_package_without_a_name() {
    let Some(packages) = Packages::new() else { return };
    let out = TempDir::new().unwrap();
    let mut deb = script("release/deb.sh");
    deb.env_remove("DEBEMAIL").arg(&packages.program).arg(out.path());
    assert!(ends_with(&mut deb, 2).contains("DEBFULLNAME and DEBEMAIL"));
    let scripts: Vec<PathBuf> =
        fs::read_dir(Path::new(ROOT).join("packaging/debian")).unwrap().map(|one| one.unwrap().path()).collect();
    assert!(
        scripts.iter().all(|path| !fs::read_to_string(path).unwrap().contains("rm -rf")),
        "nothing of the user is removed"
    );
}
