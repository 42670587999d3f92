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
        let mut child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--rate", "1000000"])
            .args(policy.into_iter().flat_map(|policy| [Path::new("--action-policy"), policy]))
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

    /// The processor time it has used, in user space and in the kernel (proc_pid_stat(5)).
    pub(crate) fn processor_time(&self) -> anyhow::Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // Behind the name, which may hold spaces; the first field there is the third.
        let fields = stat.rsplit_once(')').context("an odd stat")?.1;
        let ticks = |field: usize| fields.split_whitespace().nth(field - 3).and_then(|ticks| ticks.parse::<u64>().ok());
        let ticks = ticks(14).zip(ticks(15)).map(|(user, system)| user + system).context("an odd stat")?;
        // The kernel counts for programs in hundredths of a second, whatever it counts in itself.
        Ok(Duration::from_millis(ticks * 10))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
