//! Runs the command of a project.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use proofmark_checks::{End, Job, MAX_RUNNING_BYTES, PROJECT_FOLDER, Project, Written};

use super::{Backend, CANCELLED, STDERR_KEPT, STUCK};
use crate::cell::Body;
use crate::init::REPORT_MARK;
use crate::runtime::Runtime;
use crate::stage::Overseen;
use crate::sys::{self, Exit};
use crate::tree::c_string;
use crate::watch::{Bounds, Input, Output, Why, finish, finish_tail, watch};
use crate::zygote::ZygoteError;
use crate::{program, project};

/// What a shell adds to the signal that ended a command, for its exit status.
const SIGNALLED: i32 = 128;

impl Backend {
    /// A project's command, whose report the init of its cell hands over.
    pub(super) fn run_project(
        &mut self,
        runtime: &Runtime,
        job: &Job,
        project: &Project,
        deadline: Instant,
    ) -> Result<(End, Written), ZygoteError> {
        if let Some(lacking) = project::lacking(runtime, project) {
            return Ok((End::Unavailable(lacking), Written::default()));
        }
        let tree = project::tree(runtime, project)?;
        let mut launch = project::command(runtime, project)?;
        let report = project.report.as_ref().map(|path| c_string(Path::new(path))).transpose()?;
        let folder = c_string(Path::new(PROJECT_FOLDER))?;
        let (stdout_out, stdout) = sys::pipe()?;
        let (stderr_out, stderr) = sys::pipe()?;
        let (report_out, report_in) = sys::pipe()?;
        let (running_out, running) = sys::pipe()?;
        [&stdout, &stderr].into_iter().try_for_each(sys::allow_reopening)?;
        let mut fds = vec![program::null(false)?, stdout, stderr];
        if project.tells_tests {
            launch.env.push(running_variable(fds.len(), &running)?);
            fds.push(running);
        } else {
            drop(running);
        }
        let overseen = Overseen { folder: &folder, report: report.as_deref() };
        let body =
            Body::Project { path: &launch.path, argv: &launch.argv, env: &launch.env, overseen, report: &report_in };
        let cell = self.start_body(runtime, &job.limits, &body, &tree, &fds, deadline)?;
        drop((fds, report_in));
        let cap = job.limits.output_bytes;
        let mut outputs = [
            Output::fatal_past(cap, stdout_out)?,
            Output::last(STDERR_KEPT, stderr_out)?,
            Output::fatal_past(cap, report_out)?,
            Output::last(MAX_RUNNING_BYTES, running_out)?,
        ];
        let bounds = Bounds { is_command: true, ..self.bounds(&job.limits, deadline) };
        let why = watch(cell.pidfd(), &mut Input::none(), &mut outputs, &bounds)?;
        let exit = cell.wait()?;
        let [output, errors, report, running] = outputs;
        let end = match why {
            Why::Ended => {
                let status = match exit {
                    Exit::Code(status) => status,
                    Exit::Signal(signal) => SIGNALLED + signal,
                };
                let report = finish(report);
                let report = report.split_first().filter(|(mark, _)| **mark == REPORT_MARK);
                let report = report.map(|(_, bytes)| bytes.to_vec());
                let end = End::Ran { status, output: finish(output), errors: finish(errors), report };
                return Ok((end, Written::default()));
            }
            Why::Deadline => End::Timeout,
            Why::Memory => End::MemoryLimit,
            Why::Output => End::OutputLimit,
            Why::Cancelled => End::Unavailable(CANCELLED.to_owned()),
            Why::Stuck => End::Unavailable(STUCK.to_owned()),
        };
        Ok((end, Written { stdout: finish_tail(output), stderr: finish_tail(errors), running: finish(running) }))
    }
}

/// What tells the test runner its pipe: the descriptor, and the inode, since a process that it starts may have another file there.
fn running_variable(number: usize, pipe: &OwnedFd) -> io::Result<CString> {
    let inode = File::from(pipe.try_clone()?).metadata()?.ino();
    CString::new(format!("PROOFMARK_RUNNING={number}:{inode}")).map_err(io::Error::other)
}
