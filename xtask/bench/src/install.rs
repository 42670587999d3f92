//! From nothing to the first receipt: the size of each package of the binary, and the seconds until a new user has a receipt.
//!
//! The variable `PROOFMARK_PROGRAM` names the binary that is packed; without it, one is built with the profile `dist`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use xtask::step::{cargo, run as run_step};

/// How often each is installed into an empty environment.
const TURNS: usize = 3;

/// What a package should take at most: bytes, and seconds.
const MOST: (u64, f64) = (12_000_000, 20.0);

/// The folder of the scripts that make packages.
const PACKAGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");

/// A package of the binary.
struct Package {
    name: &'static str,
    /// Writes it into a folder, and returns its path.
    pack: fn(&Path, &Path) -> anyhow::Result<PathBuf>,
    /// Installs it into an empty folder, and returns the program that is installed.
    install: fn(&Path, &Path) -> anyhow::Result<PathBuf>,
}

const PACKAGES: [Package; 2] = [
    Package { name: "wheel", pack: pack_wheel, install: install_wheel },
    Package { name: "npm", pack: pack_npm, install: install_npm },
];

pub(crate) fn run() -> anyhow::Result<()> {
    let program = std::env::var_os("PROOFMARK_PROGRAM").map(PathBuf::from).map_or_else(build, Ok)?;
    println!("From nothing to the first receipt, {TURNS} times in empty environments; aims: 12 MB, 20 s\n");
    println!("| package | MB | seconds, median | installation | first receipt | aim |\n|---|---|---|---|---|---|");
    for package in &PACKAGES {
        let folder = tempfile::tempdir()?;
        let file = (package.pack)(&program, folder.path())?;
        let size = std::fs::metadata(&file)?.len();
        let mut turns = Vec::new();
        for _ in 0..TURNS {
            turns.push(package.turn(&file)?);
        }
        turns.sort_by_key(|(installed, receipt)| *installed + *receipt);
        let (installed, receipt) = *turns.get(TURNS / 2).context("no turn was measured")?;
        let all = (installed + receipt).as_secs_f64();
        let aim = if size <= MOST.0 && all <= MOST.1 { "met" } else { "missed" };
        println!(
            "| {} | {:.1} | {all:.1} | {:.1} | {:.1} | {aim} |",
            package.name,
            size as f64 / 1e6,
            installed.as_secs_f64(),
            receipt.as_secs_f64()
        );
    }
    Ok(())
}

impl Package {
    /// How long the installation takes, and then the first receipt.
    fn turn(&self, file: &Path) -> anyhow::Result<(Duration, Duration)> {
        let folder = tempfile::tempdir()?;
        let start = Instant::now();
        let program = (self.install)(file, folder.path())?;
        let installed = start.elapsed();
        for words in [&["examples"][..], &["verify", "examples/sort.json"]] {
            let mut command = Command::new(&program);
            printed(command.args(words).current_dir(folder.path()).env("PROOFMARK_HOME", folder.path().join("home")))?;
        }
        Ok((installed, start.elapsed() - installed))
    }
}

fn build() -> anyhow::Result<PathBuf> {
    run_step(&mut cargo(&["build", "--quiet", "--profile", "dist", "--package", "proofmark-cli"]))?;
    let folder = std::env::current_exe()?;
    let target = folder.ancestors().nth(2).context("find the target folder")?;
    Ok(target.join("dist/proofmark"))
}

fn pack_wheel(program: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let mut pack = Command::new("python3");
    let path = printed(pack.arg(Path::new(PACKAGING).join("wheel.py")).arg(program).arg(folder))?;
    Ok(PathBuf::from(path.trim()))
}

fn install_wheel(file: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let environment = folder.join("environment");
    printed(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let mut pip = Command::new(environment.join("bin/pip"));
    printed(pip.args(["install", "--quiet", "--no-index", "--disable-pip-version-check"]).arg(file))?;
    Ok(environment.join("bin/proofmark"))
}

/// The package that has the program. The two that are the same everywhere are beside it.
fn pack_npm(program: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let script = |name: &str| Command::new(Path::new(PACKAGING).join("release").join(name));
    printed(script("npm-clients.sh").arg(folder))?;
    let path = printed(script("npm.sh").arg(program).arg(folder))?;
    Ok(PathBuf::from(path.trim()))
}

fn install_npm(file: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let packed = file.parent().context("find the folder of the packages")?;
    let packages = std::fs::read_dir(packed)?.map(|entry| entry.map(|entry| entry.path()));
    let packages = packages.collect::<Result<Vec<_>, _>>()?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--offline", "--no-audit", "--no-fund", "--prefix"]).arg(folder);
    printed(npm.args(packages))?;
    Ok(folder.join("node_modules/.bin/proofmark"))
}

/// Runs a command, which must succeed, and returns what it prints.
fn printed(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("failed to start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
