//! Programs that a launcher starts in a warm cell, and those that get a cell of their own.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Instant;

use proofmark_checks::{Language, Limits};

use super::{Backend, cpu_seconds};
use crate::cell::{Body, Cell};
use crate::program::{self, ProgramFile};
use crate::runtime::Runtime;
use crate::sys::{self, Exit};
use crate::watch::Why;
use crate::zygote::{Leaf, LeafLimits, Site, Zygote, ZygoteError};

/// What counts as the user's processes beside a case's and its init: the launcher and the init of the warm cell.
const OWN_PROCESSES: u64 = 2;

/// What a warm process does for each case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// The interpreter runs the harness and forks.
    Harness,
    /// The launcher starts the interpreter with the harness.
    LaunchedHarness,
    /// The launcher starts the interpreter with the submission as a whole program.
    LaunchedProgram,
}

/// What a warm process can be used for.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    role: Role,
    language: Language,
    interpreter: PathBuf,
    packages: Vec<String>,
    /// What a warm interpreter has loaded.
    modules: &'static str,
}

impl Kind {
    pub(super) fn of(runtime: &Runtime, role: Role) -> Kind {
        let packages = runtime.installed.names().to_vec();
        let (interpreter, modules) = (runtime.path.clone(), runtime.modules);
        Kind { role, language: runtime.language, interpreter, packages, modules }
    }
}

/// A program that is to be started for one case.
pub(super) struct Start<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) limits: &'a Limits,
    pub(super) deadline: Instant,
    /// The submission as a whole program; without one the harness is started.
    pub(super) source: Option<&'a str>,
}

impl Start<'_> {
    fn role(&self) -> Role {
        if self.source.is_some() { Role::LaunchedProgram } else { Role::LaunchedHarness }
    }
}

/// A program that runs.
pub(super) enum Running {
    Leaf { leaf: Leaf, launcher: Zygote, kind: Kind },
    Cell(Cell),
}

impl Running {
    /// Stands for the init above the program.
    pub(super) fn pidfd(&self) -> &OwnedFd {
        match self {
            Running::Leaf { leaf, .. } => &leaf.pidfd,
            Running::Cell(cell) => cell.pidfd(),
        }
    }
}

impl Backend {
    /// Whether a launcher starts the cases: they have no disk, which would need mounts of their own, and there are namespaces to
    /// tell them apart.
    pub(super) fn launches(&self, limits: &Limits) -> bool {
        limits.disk_mb == 0 && self.level.has_namespaces()
    }

    /// Starts a program with `fds` as its descriptors 0, 1, 2, ….
    pub(super) fn begin(&mut self, start: &Start<'_>, fds: Vec<OwnedFd>) -> Result<Running, ZygoteError> {
        if !self.launches(start.limits) {
            return self.begin_in_own_cell(start, fds);
        }
        match self.launch(start, &fds) {
            Ok(running) => Ok(running),
            // A fresh launcher has seen nothing of the failure.
            Err(_first) => self.launch(start, &fds),
        }
    }

    /// How the program ended.
    pub(super) fn end(&mut self, running: Running, why: Why) -> Result<Exit, ZygoteError> {
        match running {
            Running::Leaf { launcher, kind, .. } => {
                let exit = launcher.reaped()?;
                if why != Why::Stuck {
                    self.zygotes.insert(kind, launcher);
                }
                Ok(exit)
            }
            Running::Cell(cell) => Ok(cell.wait()?),
        }
    }

    fn launch(&mut self, start: &Start<'_>, fds: &[OwnedFd]) -> Result<Running, ZygoteError> {
        let Start { runtime, limits, deadline, source } = *start;
        // It is out of the map while in use: an error on the way drops it, and with it whatever state it was in.
        let mut launcher = self.take_launcher(runtime, start.role())?;
        if let Some(source) = source {
            launcher.put(source)?;
        }
        let limits = LeafLimits {
            data_bytes: program::data_bytes(runtime.toolchain(), limits),
            processes: program::tasks(runtime.toolchain(), limits) + OWN_PROCESSES,
            cpu_seconds: cpu_seconds(deadline),
            waits: self.group.is_some(),
        };
        let leaf = launcher.fork(&limits, fds)?;
        if let Some(group) = &self.group {
            let pid = sys::pid_of(&leaf.pidfd).ok_or(std::io::ErrorKind::NotFound);
            group.admit(pid.map_err(std::io::Error::from)?)?;
            launcher.release()?;
        }
        Ok(Running::Leaf { leaf, launcher, kind: Kind::of(runtime, start.role()) })
    }

    fn begin_in_own_cell(&self, start: &Start<'_>, mut fds: Vec<OwnedFd>) -> Result<Running, ZygoteError> {
        let runtime = start.runtime;
        let mut tree = runtime.tree()?;
        let launch = match start.source {
            Some(source) => {
                let file = ProgramFile::put(self.level, &mut tree, source, runtime.toolchain().extension)?;
                let launch = program::whole(runtime, file.path())?;
                fds.extend(file.into_descriptor());
                launch
            }
            None => program::harness_once(runtime)?,
        };
        let body = Body::Program { path: &launch.path, argv: &launch.argv, env: &launch.env };
        Ok(Running::Cell(self.start_body(runtime, start.limits, &body, &tree, &fds, start.deadline)?))
    }

    pub(super) fn take_launcher(&mut self, runtime: &Runtime, role: Role) -> Result<Zygote, ZygoteError> {
        if let Some(launcher) = self.zygotes.remove(&Kind::of(runtime, role)).filter(|launcher| !launcher.is_worn()) {
            return Ok(launcher);
        }
        self.forget_packages(role);
        let mut tree = runtime.tree()?;
        let launch = if role == Role::LaunchedProgram {
            let file = ProgramFile::refilled(&mut tree, runtime.toolchain().extension)?;
            program::whole(runtime, file.path())?
        } else {
            program::harness_once(runtime)?
        };
        let site = Site { level: self.level, slot: self.slot, ground: &self.ground };
        Zygote::start_launcher(&launch, &tree, &site)
    }

    /// Requests may name any packages, so only one process of a role with packages stays warm.
    pub(super) fn forget_packages(&mut self, role: Role) {
        self.zygotes.retain(|kind, _| kind.role != role || kind.packages.is_empty());
    }

    /// Empties the files of whole programs.
    pub(super) fn forget_submission(&mut self) {
        self.zygotes.retain(|_, zygote| zygote.put("").is_ok());
    }
}
