//! The project of `proofmark verify --dir`, and how it is verified.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, value_parser};
use proofmark_checks::{
    Checks, HostFolder, MAX_COMMAND_DISK_MB, MAX_COMMAND_MEMORY_MB, MAX_COMMAND_PROCESSES, MAX_OUTPUT_BYTES,
    MAX_TOTAL_TIMEOUT, Origin, Packages, Request,
};
use proofmark_git::{GitError, LeftOut};
use proofmark_receipt::{Json, Object, object};
use proofmark_verifier::{
    CONFIG_FILE, HeldTests, Lists, ProjectConfig, ProjectError, ProjectFiles, TestsFrom, folder_files, project_origin,
    project_request, require_all_tests, settings_in, tree_files,
};

mod owner;
mod patch;
mod tasks;

use crate::document;
use crate::error::with_help;
use crate::options::duration;
use crate::out;
use crate::paint::printable;

/// How many files that are left out are named.
const MAX_NAMED: usize = 10;

/// A project that was read.
pub(crate) struct Project {
    pub(crate) folder: PathBuf,
    pub(crate) request: Request,
    /// Installed packages, which its command may read.
    pub(crate) packages: Vec<HostFolder>,
    pub(crate) origin: Origin,
}

/// The project to verify, and settings that win over its `proofmark.yaml`.
#[derive(Args)]
#[command(next_help_heading = "Projects")]
pub(crate) struct ProjectOptions {
    /// Verify this project: run its command in a copy of it
    ///
    /// The command is behind `--`, or `command` in proofmark.yaml. Installed packages are shown to it read-only: those of the
    /// host's Python and `node_modules`. docs/projects.md says what a project may set.
    #[arg(long, value_name = "DIR", conflicts_with = "submission")]
    pub(crate) dir: Option<PathBuf>,
    /// Verify the files that DIR has in this commit or tree of its git repository, and not those of the folder
    #[arg(long, value_name = "TREE", requires = "dir")]
    tree: Option<String>,
    /// Take the tests, their configuration and the settings from this commit, branch, tag or folder, and not from the submission
    ///
    /// A folder is written with its path from the root, or with ./ or ../ before it. What the submission changed there is reported and
    /// never run. The commit is one of the git repository of DIR. docs/projects.md says which files these are.
    #[arg(long, value_name = "REF|DIR")]
    tests_from: Option<String>,
    /// Do not let a submission pass that has fewer tests than the owner
    #[arg(long, requires = "tests_from")]
    strict_tests: bool,
    /// Run nothing: print which file comes from where, and why
    #[arg(long, requires = "tests_from", conflicts_with_all = ["watch", "out", "chain"])]
    pub(crate) explain: bool,
    /// Read the settings from this file [default: proofmark.yaml in DIR, or where the tests come from, if it is there]
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    config: Option<PathBuf>,
    /// Ignore the project's proofmark.yaml
    #[arg(long)]
    no_config: bool,
    /// End the command after this time, as in 90s or 2m [default: 60s, at most 600s]
    #[arg(long, value_name = "DURATION", value_parser = timeout)]
    timeout: Option<Duration>,
    /// Let the command use this much memory, in MiB [default: 2048, at most 8192]
    #[arg(long, value_name = "MIB", value_parser = value_parser!(u32).range(1..=i64::from(MAX_COMMAND_MEMORY_MB)))]
    memory: Option<u32>,
    /// Let the command write this much to /tmp, in MiB [default: 1024, at most 8192]
    #[arg(long, value_name = "MIB", value_parser = value_parser!(u32).range(1..=i64::from(MAX_COMMAND_DISK_MB)))]
    disk: Option<u32>,
    /// Let the command have this many processes and threads [default: 4096, at most 16384]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=i64::from(MAX_COMMAND_PROCESSES)))]
    processes: Option<u32>,
    /// Let the command print this many bytes, and its report have as many [default: 1048576, at most 16777216]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=MAX_OUTPUT_BYTES as u64))]
    output_bytes: Option<u64>,
    /// Read the results from this file of JUnit XML or TAP, or from stdout:tap or stdout:junit
    #[arg(long, value_name = "FILE")]
    report: Option<String>,
    /// Run the command with this runtime, as in python3.12
    #[arg(long, value_name = "NAME")]
    runtime: Option<String>,
    /// How skipped tests count: not at all, as tests without an answer, or as failed [default: ignore]
    #[arg(long, value_name = "POLICY", value_parser = PossibleValuesParser::new(["ignore", "partial", "fail"]))]
    skipped: Option<String>,
    /// The tests whose texts the receipt shows [default: all]
    #[arg(long, value_name = "TESTS", value_parser = PossibleValuesParser::new(["all", "failures", "none"]))]
    reveal: Option<String>,
    /// Run held tests once only, and not again with wrong expectations; the receipt says so (docs/counter-runs.md)
    #[arg(long)]
    no_counter_run: bool,
    /// The packages that the command may read: installed, none, or lock: those that the project's lock file names, which are installed
    /// for it alone; lock:FILE names the lock file [default: installed]
    #[arg(long, value_name = "PACKAGES", value_parser = packages)]
    packages: Option<Json>,
    /// Set a variable of the command's environment; can be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Leave out what this glob matches, by path or by name; can be repeated
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Take what this glob matches, by path or by name, although git ignores it; can be repeated
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    #[command(flatten)]
    pub(crate) patch: patch::PatchOptions,
    #[command(flatten)]
    pub(crate) tasks: tasks::TaskOptions,
    /// The command that tests the project
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl ProjectOptions {
    /// The folder and the file that are read.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.dir.iter().chain(&self.config).chain(self.patch.paths())
    }

    /// The project, if one is to be verified. Whoever asks for more is told of the file with its settings.
    pub(crate) fn read(&self, verbose: bool) -> anyhow::Result<Option<Project>> {
        let Some(folder) = self.folder() else {
            // clap waives `requires` where what is required conflicts with another argument, as the files of requests.
            return match self.given() {
                _ if self.tasks.is_given() => Ok(None),
                None => Ok(None),
                Some(option) => Err(with_help(
                    format!("verify without `--dir`: {option} is for projects"),
                    "write it in the request, or name the project with `--dir`",
                )),
            };
        };
        let mut reading = self.read_in(folder, verbose)?;
        let origin = project_origin(folder)?;
        if let Some(environment) = origin.environment.as_ref().map(|environment| environment.at.as_str()) {
            // It is left out, but of all environments it is the one that is used.
            reading.left_out.retain(|(path, _)| path != environment);
            if has_packages(&reading.request) {
                out::note(format_args!(
                    "the packages are those of the environment `{environment}`, unless the `python3` on PATH is of another one"
                ));
            }
        }
        note_left_out(&reading.left_out);
        if let Some(error) = &reading.unknown_ignored {
            out::note(format_args!("files that git ignores are verified, too: failed to {error}"));
        }
        match &reading.held {
            Some((tests, held)) => owner::tell(tests, held),
            None => owner::tell_own(folder),
        }
        let Reading { request, packages, .. } = reading;
        Ok(Some(Project { folder: folder.to_owned(), request, packages, origin }))
    }

    /// The projects that the tasks make, if tasks are named. Their settings are those of options: a task has none.
    pub(crate) fn tasks(&self) -> anyhow::Result<Option<tasks::Tasks>> {
        if !self.tasks.is_given() {
            return Ok(None);
        }
        let config = self.config.as_deref().map(read_settings).transpose()?.unwrap_or_default();
        let config = config.with(&self.flags().into())?;
        if !config.settings.contains("command") {
            let help = "write it behind `--`, as in `-- pytest -q`, or as `command` in the file of `--config`";
            return Err(with_help("verify the predictions: there is no command", help));
        }
        self.tasks.open(config)
    }

    /// The folder of the project, or of the repository that it is a commit of.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.dir.as_deref().or(self.patch.repo.as_deref())
    }

    /// Prints which file of the project comes from where.
    pub(crate) fn print_explanation(&self, json: bool) -> anyhow::Result<()> {
        let Some(folder) = self.folder() else { return Ok(()) };
        let reading = self.read_in(folder, false)?;
        match &reading.held {
            Some((tests, held)) => owner::explain(tests, held, &reading.request, &reading.left_out, json),
            None => Ok(()),
        }
    }

    fn read_in(&self, folder: &Path, verbose: bool) -> anyhow::Result<Reading> {
        require_folder(folder)?;
        let tests = self.tests_from.as_ref().map(|name| TestsFrom::find(folder, name)).transpose()?;
        let config = self.config(folder, tests.as_ref(), verbose)?.with(&self.flags().into())?;
        if !config.settings.contains("command") {
            return Err(with_help(
                format!("verify the project `{}`: there is no command", folder.display()),
                format!("write it behind `--`, as in `-- pytest -q`, or as `command` in `{CONFIG_FILE}`"),
            ));
        }
        let (files, patch) = match (self.patch.read(&config)?, &self.tree) {
            (Some((files, patch)), _) => (files, Some(patch)),
            (None, Some(tree)) => (tree_files(folder, tree, &config)?, None),
            (None, None) => (folder_files(folder, &config)?, None),
        };
        let mut reading = Reading::new(folder, files, &config, tests, &self.patch.lists()?)?;
        if let Some(patch) = patch {
            reading.request.known.insert("patch", patch);
        }
        if let Some((_, held)) = reading.held.as_ref().filter(|_| self.strict_tests) {
            require_all_tests(&mut reading.request, held);
        }
        Ok(reading)
    }

    /// The base with the owner's tests, and the commit that the tests come from: what `--derive-lists` runs.
    pub(crate) fn derivation(&self) -> anyhow::Result<Option<[Project; 2]>> {
        let (Some(folder), Some(name)) = (self.folder(), &self.tests_from) else { return Ok(None) };
        let tests = TestsFrom::find(folder, name)?;
        let config = self.config(folder, Some(&tests), false)?.with(&self.flags().into())?;
        let own = tree_files(folder, name, &config)?;
        let before = self.read_in(folder, false)?;
        let after = Reading::new(folder, own, &config, Some(tests), &Lists::default())?;
        Ok(Some([before.into_project(folder)?, after.into_project(folder)?]))
    }

    /// An option that means nothing without a project.
    fn given(&self) -> Option<&'static str> {
        let given = [
            ("`--tree`", self.tree.is_some()),
            ("`--tests-from`", self.tests_from.is_some()),
            ("`--strict-tests`", self.strict_tests),
            ("`--explain`", self.explain),
            ("`--config`", self.config.is_some()),
            ("`--no-config`", self.no_config),
            ("`--timeout`", self.timeout.is_some()),
            ("`--memory`", self.memory.is_some()),
            ("`--disk`", self.disk.is_some()),
            ("`--processes`", self.processes.is_some()),
            ("`--output-bytes`", self.output_bytes.is_some()),
            ("`--report`", self.report.is_some()),
            ("`--runtime`", self.runtime.is_some()),
            ("`--skipped`", self.skipped.is_some()),
            ("`--reveal`", self.reveal.is_some()),
            ("`--no-counter-run`", self.no_counter_run),
            ("`--packages`", self.packages.is_some()),
            ("`--env`", !self.env.is_empty()),
            ("`--exclude`", !self.exclude.is_empty()),
            ("`--include`", !self.include.is_empty()),
            ("a command", !self.command.is_empty()),
        ];
        given.into_iter().chain(self.patch.given()).find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// The settings, which come from where the tests do: a submission's own could loosen them.
    fn config(&self, folder: &Path, tests: Option<&TestsFrom>, verbose: bool) -> anyhow::Result<ProjectConfig> {
        let (label, config) = match (&self.config, tests) {
            (Some(path), _) => (path.display().to_string(), Some(read_settings(path)?)),
            (None, _) if self.no_config => return Ok(ProjectConfig::default()),
            (None, Some(tests)) => (format!("{CONFIG_FILE} of {}", tests.shown()), owner::settings(tests)?),
            (None, None) => {
                let help = "name the file with `--config`, or ignore it with `--no-config`";
                (folder.join(CONFIG_FILE).display().to_string(), settings_of(folder, help)?)
            }
        };
        if verbose && config.is_some() {
            out::note(format_args!("read the settings in `{}`", printable(&label)));
        }
        Ok(config.unwrap_or_default())
    }

    /// The options as settings.
    fn flags(&self) -> Object {
        let texts = |texts: &[String]| {
            (!texts.is_empty()).then(|| texts.iter().map(|text| Json::from(text.as_str())).collect::<Vec<_>>())
        };
        let mut env = Object::new();
        self.env.iter().for_each(|(name, value)| drop(env.insert(name.as_str(), value.as_str())));
        let limits = object! {
            "timeout_ms"?: self.timeout.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            "memory_mb"?: self.memory.map(u64::from),
            "disk_mb"?: self.disk.map(u64::from),
            "processes"?: self.processes.map(u64::from),
            "output_bytes"?: self.output_bytes,
        };
        object! {
            "command"?: texts(&self.command),
            "report"?: self.report.as_deref(),
            "runtime"?: self.runtime.as_deref(),
            "skipped"?: self.skipped.as_deref(),
            "reveal"?: self.reveal.as_deref(),
            "counter_run"?: self.no_counter_run.then_some(false),
            "packages"?: self.packages.clone(),
            "env"?: (!self.env.is_empty()).then_some(env),
            "limits"?: limits.iter().next().is_some().then(|| limits.clone()),
            "exclude"?: texts(&self.exclude),
            "include"?: texts(&self.include),
        }
    }
}

/// Whether a project's command may import what is installed for Python.
fn has_packages(request: &Request) -> bool {
    matches!(&request.checks, Checks::Command(command) if command.packages == Packages::Installed && command.language.has_packages())
}

/// A project as it was read.
struct Reading {
    request: Request,
    left_out: Vec<(String, LeftOut)>,
    unknown_ignored: Option<GitError>,
    packages: Vec<HostFolder>,
    /// The owner's tests, and where they come from.
    held: Option<(TestsFrom, HeldTests)>,
}

impl Reading {
    fn into_project(self, folder: &Path) -> anyhow::Result<Project> {
        let Reading { request, packages, .. } = self;
        Ok(Project { folder: folder.to_owned(), request, packages, origin: project_origin(folder)? })
    }

    fn new(
        folder: &Path,
        project: ProjectFiles,
        config: &ProjectConfig,
        tests: Option<TestsFrom>,
        lists: &Lists,
    ) -> anyhow::Result<Reading> {
        let ProjectFiles { files, left_out, packages, unknown_ignored } = project;
        let held = tests.map(|tests| anyhow::Ok((tests.hold(&files, config)?, tests))).transpose()?;
        let request = project_request(folder, files, config, held.as_ref().map(|(held, _)| held), lists)?;
        Ok(Reading { request, left_out, unknown_ignored, packages, held: held.map(|(held, tests)| (tests, held)) })
    }
}

/// Refuses a path that is not a folder, and names it. Without this, the message would name the first file that is missing in it.
fn require_folder(folder: &Path) -> anyhow::Result<()> {
    let shown = folder.display();
    match std::fs::metadata(folder) {
        Ok(found) if !found.is_dir() => Err(with_help(
            format!("verify the project `{shown}`: it is a file"),
            format!("name the folder that holds the project, or verify a request by `proofmark verify {shown}`"),
        )),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(with_help(
            format!("verify the project `{shown}`: the folder does not exist"),
            "check its name, which is looked up from the current folder",
        )),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Says what of the files is left out.
fn note_left_out(left_out: &[(String, LeftOut)]) {
    for (path, why) in left_out.iter().take(MAX_NAMED) {
        out::note(format_args!("left out `{}`: {why}", printable(path)));
    }
    if let Some(more) = left_out.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        out::note(format_args!("left out {more} more files and folders"));
    }
}

/// The settings that a project has in its folder, if it has any. `help` says what to do about a link.
pub(crate) fn settings_of(folder: &Path, help: &str) -> anyhow::Result<Option<ProjectConfig>> {
    match settings_in(folder) {
        Ok(Some(_)) => read_settings(&folder.join(CONFIG_FILE)).map(Some),
        Ok(None) => Ok(None),
        Err(error @ ProjectError::SettingsLink(_)) => Err(with_help(error.to_string(), help)),
        Err(error) => Err(error.into()),
    }
}

fn read_settings(path: &Path) -> anyhow::Result<ProjectConfig> {
    document::read_as(path, "settings", ProjectConfig::read)
}

fn timeout(text: &str) -> Result<Duration, String> {
    duration(text, MAX_TOTAL_TIMEOUT)
}

fn packages(text: &str) -> Result<Json, String> {
    match (text, text.strip_prefix("lock:")) {
        ("installed", _) => Ok(true.into()),
        ("none", _) => Ok(false.into()),
        ("lock", _) => Ok(text.into()),
        (_, Some(file)) if !file.is_empty() => Ok(object! { "lock": file }.into()),
        _ => Err("write installed, none, lock, or lock: with a file, as in lock:requirements/test.txt".to_owned()),
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write a name, `=` and a value, as in `CI=1`")?;
    Ok((name.to_owned(), value.to_owned()))
}
