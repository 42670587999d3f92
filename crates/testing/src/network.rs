//! A network with processes in it that a test cuts off from this machine.
//!
//! Unlike [`crate::postgres::Proxy`] it loses what is sent while it is cut. Nobody confirms it, so the timeouts of TCP expire. It is a
//! namespace of the system, which ends with the process that started it, however that ended.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::net::Ipv4Addr;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};

/// Addresses that are for tests of networks (RFC 2544): 198.18.0.0/15.
const TESTS: u32 = 0xc612_0000;
const TESTS_BITS: u32 = 17;

/// A card that no system has: what is sent to it is lost.
const NOWHERE: &str = "02:00:00:00:00:fe";

/// The cable's end in the network.
const INSIDE: &str = "cable";

/// A network with one cable to this machine. Dropping it ends the processes that hold nothing else, and the cable.
#[derive(Debug)]
pub struct Network {
    /// The first process in it, which ends when its standard input does.
    first: Child,
    /// The cable's end at this machine.
    cable: String,
    here: Ipv4Addr,
    there: Ipv4Addr,
}

impl Network {
    /// Makes it; `None` after a skip, where this user is not root.
    ///
    /// # Panics
    /// When root may not make it, or it does not work.
    #[must_use]
    pub fn start() -> Option<Self> {
        if !crate::has_program("ip", "iproute2") {
            return None;
        }
        let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        if !is_root {
            crate::skip("network", "this user may not make a network; run the test as root");
            return None;
        }
        let started = Self::make();
        assert!(started.is_ok(), "failed to make a network: {started:?}");
        started.ok()
    }

    fn make() -> io::Result<Self> {
        let mut unshare = Command::new("unshare");
        unshare.args(["--net", "sh", "-c", "ip link set lo up && echo up && read end"]);
        let mut first = unshare.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let up = first.stdout.take().map(|output| BufReader::new(output).lines().next());
        if !matches!(up, Some(Some(Ok(_)))) {
            drop(first.kill());
            return Err(io::Error::other("`unshare --net` failed"));
        }
        let mut random = [0; 4];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let number = u32::from_be_bytes(random);
        // Two addresses of four: the others are the network's own and that of all.
        let address = |host| Ipv4Addr::from(TESTS | (number & ((1 << TESTS_BITS) - 4)) | host);
        let network = Self { first, cable: format!("pm{number:08x}"), here: address(1), there: address(2) };
        let pid = network.first.id().to_string();
        let (cable, there) = (network.cable.as_str(), format!("{}/30", network.there));
        let new = ["link", "add", cable, "type", "veth", "peer", "name", INSIDE, "netns", &pid];
        run(Command::new("ip").args(new))?;
        run(Command::new("ip").args(["address", "add", &format!("{}/30", network.here), "dev", cable]))?;
        run(Command::new("ip").args(["link", "set", cable, "up"]))?;
        run(network.command("ip").args(["address", "add", &there, "dev", INSIDE]))?;
        run(network.command("ip").args(["link", "set", INSIDE, "up"]))?;
        Ok(network)
    }

    /// The address of this machine for processes in the network.
    #[must_use]
    pub fn here(&self) -> Ipv4Addr {
        self.here
    }

    /// The address of processes in the network.
    #[must_use]
    pub fn there(&self) -> Ipv4Addr {
        self.there
    }

    /// A command that runs a program in the network. It has the process of the program itself.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.first.id())).arg("--").arg(program);
        command
    }

    /// Loses what is sent in both directions, until [`Network::heal`].
    ///
    /// # Panics
    /// When it cannot be cut.
    pub fn cut(&self) {
        let to_nowhere = |ip: &mut Command, address: Ipv4Addr, cable: &str| {
            let entry = ["neighbor", "replace", &address.to_string(), "lladdr", NOWHERE, "dev", cable];
            must(ip.args(entry).args(["nud", "permanent"]));
        };
        to_nowhere(&mut Command::new("ip"), self.there, &self.cable);
        to_nowhere(&mut self.command("ip"), self.here, INSIDE);
    }

    /// Ends what [`Network::cut`] has begun. What was lost is sent again by those who sent it, if they still wait.
    ///
    /// # Panics
    /// When it cannot be healed.
    pub fn heal(&self) {
        let forget = |ip: &mut Command, address: Ipv4Addr, cable: &str| {
            must(ip.args(["neighbor", "delete", &address.to_string(), "dev", cable]));
        };
        forget(&mut Command::new("ip"), self.there, &self.cable);
        forget(&mut self.command("ip"), self.here, INSIDE);
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        drop(self.first.kill());
        drop(self.first.wait());
        // Processes that still run in the network keep it, and not the cable.
        drop(run(Command::new("ip").args(["link", "delete", &self.cable])));
    }
}

fn run(command: &mut Command) -> io::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))),
    }
}

fn must(command: &mut Command) {
    let done = run(command);
    assert!(done.is_ok(), "{done:?}");
}
