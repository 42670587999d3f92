//! `proofmark env`: the environments that are built from lock files.

use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use clap::{Args, Subcommand};
use proofmark_checks::{Locked, ProjectFile};
use proofmark_receipt::document::counted;
use proofmark_receipt::{Json, Timestamp, object};
use proofmark_sandbox::Host;
use proofmark_verifier::{
    BuiltEnvironment, Issuer, LockFile, LockedEnvironments, ProjectConfig, folder_files, tree_files,
};

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::listing::Listing;
use crate::options::{Signing, duration};
use crate::out;
use crate::paint::printable;
use crate::progress::{Progress, Work};

/// How many digits of a name and of a digest a list has.
const SHORT: usize = 12;
/// The longest time that an environment may be kept without being used.
const MAX_UNUSED: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// Build, list and remove the environments of `packages: lock`
#[derive(Subcommand)]
pub(crate) enum Env {
    Build(Build),
    List(List),
    Prune(Prune),
}

/// Install what a lock file names, as `proofmark verify` does at the first run with `packages: lock`
///
/// The tools of the ecosystem do it, without running any code of the project or of what they install. docs/projects.md says which lock
/// files are known, and what of them is refused.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark env build --dir locked
  proofmark env build --dir locked --lock package-lock.json --json

Exit codes: 0 there is an environment; 2 it could not be built.")]
pub(crate) struct Build {
    /// The folder of the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Take the lock file from this commit or tree of the folder's git repository
    #[arg(long, value_name = "TREE")]
    tree: Option<String>,
    /// The lock file, a path below the folder [default: the one that is there]
    #[arg(long, value_name = "FILE")]
    lock: Option<String>,
    /// Build for this runtime, as in python3.12
    #[arg(long, value_name = "NAME")]
    runtime: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    signing: Signing,
}

/// List the environments, the one that was used last first
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark env list
  proofmark env list --json

Exit code: 0, also where there are none.")]
pub(crate) struct List {
    /// Print JSON, one environment a line
    #[arg(long)]
    json: bool,
}

/// Remove environments that are not used; they are built again when they are needed
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark env prune
  proofmark env prune --unused-for 7d
  proofmark env prune --all --json

Exit code: 0, also where none was removed.")]
pub(crate) struct Prune {
    /// Remove environments that were not used for this long, as in 7d or 12h
    #[arg(long, value_name = "DURATION", value_parser = age, default_value = "30d")]
    unused_for: Duration,
    /// Remove all of them
    #[arg(long, conflicts_with = "unused_for")]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Env {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Env::Build(command) => command.run(config),
            Env::List(command) => command.run(config),
            Env::Prune(command) => command.run(config),
        }
    }
}

/// The environment of a lock file. It is built if it does not exist yet.
pub(crate) fn build(
    environments: &LockedEnvironments,
    lock: &LockFile,
    host: &Host,
    runtime: Option<&str>,
) -> anyhow::Result<(BuiltEnvironment, Locked)> {
    let language = lock.language();
    let found = host.runtime(language, runtime).ok_or_else(|| {
        let wanted = runtime.map_or_else(|| language.to_string(), str::to_owned);
        with_help(
            format!(
                "build the environment of `{}`: no runtime for {} was found",
                printable(lock.path()),
                printable(&wanted)
            ),
            "`proofmark doctor` lists the runtimes",
        )
    })?;
    let progress = RefCell::new(None);
    let building = || {
        out::note(format_args!("build the environment of `{}` for {found}", printable(lock.path())));
        *progress.borrow_mut() = Some(Progress::new(Work::Whole("installing the packages")));
    };
    Ok(environments.get(lock, &found, &building)?)
}

impl Build {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let settings = ProjectConfig::default();
        let files = match &self.tree {
            Some(tree) => tree_files(&self.dir, tree, &settings)?,
            None => folder_files(&self.dir, &settings)?,
        };
        let files: Vec<_> = files.files.into_iter().map(|(path, content)| ProjectFile { path, content }).collect();
        let lock = LockFile::find(&files, self.lock.as_deref(), None)?;
        // What is built is signed with the key that will sign the receipts.
        let issuer = Issuer::new(Some(self.signing.key(config)?), None);
        let environments = LockedEnvironments::of(&config.cache(), &issuer);
        let (built, _) = build(&environments, &lock, &Host::untested(None), self.runtime.as_deref())?;
        let mut out = out::stdout();
        if self.json {
            out.json(&Json::from(built.to_object()).to_text())?;
            return Ok(Exit::Yes);
        }
        let BuiltEnvironment { lock, runtime, packages, digest, .. } = &built;
        let packages = counted(*packages, "package");
        writeln!(out, "{} of `{}` for {runtime}: {packages}, {digest}", short(&built.id), printable(lock))?;
        Ok(Exit::Yes)
    }
}

impl List {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let mut listing = Listing::new(["ENVIRONMENT", "LOCK FILE", "RUNTIME", "PACKAGES", "BUILT", "USED"]);
        let mut out = out::stdout();
        for built in all(config).list()? {
            let used = time(built.used);
            if self.json {
                let mut object = built.to_object();
                object.insert("used_at", used);
                out.json(&Json::from(object).to_text())?;
                continue;
            }
            let packages = built.packages.to_string();
            let id = short(&built.id).to_owned();
            listing.push([
                id.into(),
                built.lock.into(),
                built.runtime.into(),
                packages.into(),
                built.built_at.into(),
                used.into(),
            ]);
        }
        drop(out);
        if !self.json {
            listing.print("no environments: `proofmark verify` builds one where the settings say `packages: lock`")?;
        }
        Ok(Exit::Yes)
    }
}

impl Prune {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let now = SystemTime::now();
        let since = if self.all {
            now + self.unused_for
        } else {
            now.checked_sub(self.unused_for).context("read the clock")?
        };
        let removed = all(config).prune(since)?;
        let mut out = out::stdout();
        if self.json {
            let removed: Vec<Json> = removed.iter().map(|id| Json::from(id.as_str())).collect();
            out.json(&Json::from(object! { "removed": removed }).to_text())?;
        } else {
            writeln!(out, "removed {}", counted(removed.len() as u64, "environment"))?;
        }
        Ok(Exit::Yes)
    }
}

/// The environments, to look at and to remove.
fn all(config: &Config) -> LockedEnvironments {
    LockedEnvironments::of(&config.cache(), &Issuer::new(None, None))
}

fn age(text: &str) -> Result<Duration, String> {
    duration(text, MAX_UNUSED)
}

fn short(id: &str) -> &str {
    id.get(..SHORT).unwrap_or(id)
}

fn time(at: SystemTime) -> String {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)).to_string()
}
