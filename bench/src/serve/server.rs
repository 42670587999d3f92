//! The server that is measured: the real binary, in a process of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;

/// A running server; it ends with this value.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Server {
    /// Starts the binary that `PROOFMARK_BIN` names, with its home in `home`; without a policy it only verifies.
    pub(crate) fn start(home: &Path, policy: Option<&Path>) -> anyhow::Result<Self> {
        let binary = std::env::var_os("PROOFMARK_BIN").context("name the program to measure in PROOFMARK_BIN")?;
        Self::of(Path::new(&binary), home, policy)
    }

    /// As [`Server::start`], of another binary.
    pub(crate) fn of(binary: &Path, home: &Path, policy: Option<&Path>) -> anyhow::Result<Self> {
        let mut command = Command::new(binary);
        command.args(policy.into_iter().flat_map(|policy| [Path::new("--policy"), policy]));
        Self::started(command, home)
    }

    /// A server that leaves verifications to workers, on the store of this name.
    pub(crate) fn without_verifying(home: &Path, store: &str) -> anyhow::Result<Self> {
        let binary = std::env::var_os("PROOFMARK_BIN").context("name the program to measure in PROOFMARK_BIN")?;
        let mut command = Command::new(binary);
        command.args(["--no-verify", "--store", store]);
        Self::started(command, home)
    }

    fn started(of: Command, home: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(of.get_program())
            .args(["serve", "--listen", "127.0.0.1:0", "--rate", "1000000"])
            .args(of.get_args())
            .env("PROOFMARK_HOME", home)
            .stderr(Stdio::piped())
            .spawn()
            .context("failed to start the server")?;
        let mut said = BufReader::new(child.stderr.take().context("the server has no standard error")?).lines();
        let address = loop {
            let line = said.next().context("the server ended before it served")??;
            if let Some(address) = line.strip_prefix("serving on http://") {
                break address.split(' ').next().unwrap_or_default().to_owned();
            }
        };
        // What it says later must not fill the pipe.
        std::thread::spawn(move || said.for_each(drop));
        Ok(Self { child, address })
    }
}

impl Server {
    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The processor time it has used, in user space and in the kernel.
    pub(crate) fn processor_time(&self) -> anyhow::Result<Duration> {
        measure::of_process(self.child.id())
    }

    /// A figure of `/proc/<pid>/status` in MiB: `VmRSS`, what is in memory, or `VmHWM`, the most that was.
    pub(crate) fn memory(&self, name: &str) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        Ok(kibibytes.context("an odd status")? / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
