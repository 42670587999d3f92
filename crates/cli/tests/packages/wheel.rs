//! The wheel: what its tag says, where it is found, and what cannot be packed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use proofmark_testing::{has_program, python_with};
use tempfile::TempDir;

use crate::made::{Packages, VERSION, ends_with, first_receipt, run, wheel_of};

/// A Python environment with nothing in it, and the pip of another one that installs into it.
struct Environment {
    folder: TempDir,
    pip: PathBuf,
}

impl Environment {
    fn new() -> Option<Self> {
        let pip = python_with("pip", "pip")?;
        let folder = TempDir::new().unwrap();
        run(Command::new(&pip).args(["-m", "venv", "--without-pip"]).arg(folder.path().join("env")));
        Some(Self { folder, pip })
    }

    fn python(&self) -> PathBuf {
        self.folder.path().join("env/bin/python3")
    }

    fn install(&self, wheel: &Path, options: &[&str]) {
        let mut pip = Command::new(&self.pip);
        pip.args(["-m", "pip", "--python"]).arg(self.python()).args(["install", "--quiet", "--no-index"]);
        run(pip.args(options).arg(wheel).env("PIP_DISABLE_PIP_VERSION_CHECK", "1"));
    }

    /// Runs Python in it, with these packages beside its own.
    fn run(&self, packages: Option<&Path>, words: &[&str]) -> Command {
        let mut python = Command::new(self.python());
        python.args(words).env_remove("PYTHONPATH").env("HOME", self.folder.path());
        if let Some(packages) = packages {
            python.env("PYTHONPATH", packages);
        }
        python
    }

    fn found(&self, packages: Option<&Path>) -> String {
        let find = "import proofmark_bin; print(proofmark_bin.find_proofmark_bin())";
        run(&mut self.run(packages, &["-c", find])).trim().to_owned()
    }
}

#[test]
fn an_empty_environment_gets_its_first_receipt() {
    let Some(packages) = Packages::new() else { return };
    let Some(environment) = Environment::new() else { return };
    environment.install(&packages.file(".whl"), &[]);
    let program = environment.folder.path().join("env/bin/proofmark");
    first_receipt(&program);
    assert_eq!(environment.found(None), program.to_str().unwrap());
    // The module is the program: the same words, and the same exit codes.
    let module = |words: &[&str]| environment.run(None, &[&["-m", "proofmark_bin"], words].concat());
    assert_eq!(run(&mut module(&["--version"])).trim(), format!("proofmark {VERSION}"));
    let folder = TempDir::new().unwrap();
    run(module(&["examples"]).current_dir(folder.path()));
    ends_with(module(&["verify", "examples/median.yaml"]).current_dir(folder.path()), 1);
    ends_with(&mut module(&["receipt", "verify", "absent file"]), 2);
    fs::remove_file(program).unwrap();
    let gone = ends_with(&mut module(&["--version"]), 2);
    assert!(gone.contains("error: failed to find the program `proofmark`") && !gone.contains("Traceback"), "{gone}");
}

#[test]
fn the_program_is_found_where_pip_puts_it() {
    let Some(packages) = Packages::new() else { return };
    let Some(environment) = Environment::new() else { return };
    let wheel = packages.file(".whl");
    let (target, prefix) = (environment.folder.path().join("target"), environment.folder.path().join("prefix"));
    environment.install(&wheel, &["--target", target.to_str().unwrap()]);
    assert_eq!(environment.found(Some(&target)), target.join("bin/proofmark").to_str().unwrap());
    environment.install(&wheel, &["--prefix", prefix.to_str().unwrap()]);
    let site = fs::read_dir(prefix.join("lib")).unwrap().next().unwrap().unwrap().path().join("site-packages");
    assert_eq!(environment.found(Some(&site)), prefix.join("bin/proofmark").to_str().unwrap());
    // A file that is not a program is passed over.
    fs::set_permissions(prefix.join("bin/proofmark"), fs::Permissions::from_mode(0o644)).unwrap();
    ends_with(&mut environment.run(Some(&site), &["-m", "proofmark_bin", "--version"]), 2);
}

#[test]
fn the_tag_names_the_oldest_glibc_that_the_program_runs_with() {
    let Some(packages) = Packages::new() else { return };
    let wheel = packages.file(".whl");
    let name = wheel.file_name().unwrap().to_str().unwrap();
    let tag = name.strip_prefix(&format!("proofmark_bin-{VERSION}-py3-none-manylinux_2_")).unwrap();
    let (glibc, rest) = tag.split_once(['_', '.']).unwrap();
    assert!(rest.ends_with(&format!("{}.whl", std::env::consts::ARCH)), "{name}");
    // Another reader of the same program.
    if !has_program("objdump", "binutils") {
        return;
    }
    let symbols = run(Command::new("objdump").arg("-T").arg(&packages.program));
    let versions = symbols.split("GLIBC_2.").skip(1).filter_map(|rest| {
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u32>().ok()
    });
    assert_eq!(glibc.parse::<u32>().unwrap(), versions.max().unwrap().max(17));
}

#[test]
fn the_same_program_makes_the_same_wheel() {
    let Some(packages) = Packages::new() else { return };
    let again = TempDir::new().unwrap();
    let path = run(&mut wheel_of(&packages.program, again.path()));
    assert_eq!(fs::read(path.trim()).unwrap(), fs::read(packages.file(".whl")).unwrap());
}

#[test]
fn what_is_not_a_program_of_this_version_is_refused() {
    let Some(packages) = Packages::new() else { return };
    let folder = TempDir::new().unwrap();
    let refused = |name: &str, content: &[u8], says: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let said = ends_with(&mut wheel_of(&path, &folder.path().join("out")), 2);
        assert!(said.starts_with("error: failed to ") && said.contains(says) && !said.contains("Traceback"), "{said}");
    };
    let version = format!("#!/bin/sh\necho proofmark {VERSION}\n");
    refused("script", version.as_bytes(), "it is not a 64-bit ELF file");
    refused("other", b"#!/bin/sh\necho proofmark 9.9.9\n", "says that it is `proofmark 9.9.9`");
    refused("text", b"text", "failed to start");
    let absent = ends_with(&mut wheel_of(Path::new("/absent"), folder.path()), 2);
    assert!(absent.contains("failed to start `/absent`"), "{absent}");
    assert!(!folder.path().join("out").exists());
    // The tables of a program that is cut off, or whose numbers lie.
    let program = fs::read(&packages.program).unwrap();
    let reader = Path::new(crate::made::ROOT).join("packaging/elf.py");
    for (name, length, changes) in [
        ("half", program.len() / 2, &[][..]),
        ("far", program.len(), &[(40, 0xff), (46, 0xff)]),
        ("many", program.len(), &[(60, 0xff), (61, 0xff)]),
        ("arm32", program.len(), &[(18, 40)]),
        ("narrow", program.len(), &[(4, 1)]),
    ] {
        let mut bytes = program.get(..length).unwrap().to_vec();
        for (at, byte) in changes {
            *bytes.get_mut(*at).unwrap() = *byte;
        }
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let said = ends_with(Command::new("python3").arg(&reader).arg(&path), 2);
        assert!(said.contains("failed to read the program") && !said.contains("Traceback"), "{name}: {said}");
    }
}
