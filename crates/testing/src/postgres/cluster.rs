//! A server of PostgreSQL that a test may kill, stop and change.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::address::{Address, FIRST_DATABASE, OWNER, SUPERUSER, random_hex};
use super::keeper::Keeper;
use super::programs::{ClusterError, Programs, User, run};
use crate::network::Network;

/// A file system in memory: what is made there need not wait for a disk.
const MEMORY: &str = "/dev/shm";
/// So many KiB have to be free there.
const MIN_FREE_KIB: u64 = 1 << 20;
/// How often a server is started on another port, because another program took the first one.
const MAX_STARTS: u32 = 3;
/// How long PostgreSQL may need for what it is told, on a machine under load.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait before a question is asked again.
const ROUND: Duration = Duration::from_millis(20);
/// The folders of a backup, below that of the server.
const ARCHIVE: &str = "archive";
const BASE: &str = "base";
/// The version from which a database may sort texts by ICU.
const ICU_VERSION: u32 = 15;

/// What differs from the defaults, besides port and folder.
const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
max_connections = 300
shared_buffers = '32MB'
min_wal_size = '32MB'
max_wal_size = '256MB'
# In files of the folder, which end with it.
dynamic_shared_memory_type = mmap
";

/// A server of PostgreSQL with one or more databases. Dropping it ends the server and deletes its data.
///
/// Its functions panic when the server does not do what they ask.
#[derive(Debug)]
pub struct Cluster {
    programs: Programs,
    user: User,
    folder: PathBuf,
    address: Address,
    keeper: Keeper,
}

impl Cluster {
    /// Starts a server with its data in memory where there is room, or else in the folder for temporary files; `None` after a
    /// skip.
    ///
    /// # Panics
    /// When PostgreSQL is installed and cannot be started.
    #[must_use]
    pub fn start() -> Option<Self> {
        let started = Self::start_if_installed();
        if started.is_none() {
            skip_missing();
        }
        started
    }

    /// As [`Cluster::start`], for a program that is not a test.
    ///
    /// # Errors
    /// [`ClusterError`].
    pub fn try_start() -> Result<Self, ClusterError> {
        Self::start_below(&quick_folder())
    }

    /// As [`Cluster::start`], without a skip.
    pub(super) fn start_if_installed() -> Option<Self> {
        match Self::try_start() {
            Err(ClusterError::Missing) => None,
            started => Some(must(started)),
        }
    }

    /// Starts a server whose data is in a folder below `parent`, which every user must be able to enter.
    ///
    /// # Errors
    /// [`ClusterError`].
    pub fn start_below(parent: &Path) -> Result<Self, ClusterError> {
        let mut cluster = Self::prepare(parent)?;
        cluster.init()?;
        cluster.start_on_a_free_port()?;
        let role = format!("CREATE ROLE {OWNER} LOGIN PASSWORD '{}'", cluster.address.password);
        cluster.programs.psql(&cluster.address, FIRST_DATABASE, &[&role])?;
        Ok(cluster)
    }

    /// A standby of `primary`, which streams from it. If it is `synchronous`, the primary answers a commit only when it is on the
    /// standby's disk, too. The two have the same password.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn standby_of(primary: &Self, synchronous: bool) -> Self {
        let parent = primary.folder.parent().unwrap_or(&primary.folder);
        let mut standby = must(Self::prepare(parent));
        standby.address.password.clone_from(&primary.address.password);
        let mut copy = primary.programs.client("pg_basebackup", &primary.address);
        copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--pgdata", "data"]);
        must(run("pg_basebackup", standby.at_home(&mut copy)));
        must(standby.start_on_a_free_port());
        primary.wait_until("SELECT count(*) > 0 FROM pg_stat_replication WHERE state = 'streaming'");
        if synchronous {
            primary.set("synchronous_standby_names", "*");
            primary.wait_until("SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'");
        }
        standby
    }

    /// The URL of a database, with a role that has no rights but to its own databases.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        self.address.url(OWNER, database)
    }

    /// The URL of the database that every server has, with the role that may do everything.
    #[must_use]
    pub fn superuser_url(&self) -> String {
        self.address.url(SUPERUSER, FIRST_DATABASE)
    }

    /// Runs one of PostgreSQL's programs as the superuser, in the server's folder; what it wrote to standard output.
    ///
    /// # Panics
    /// When it fails.
    #[must_use]
    pub fn run(&self, program: &'static str, arguments: &[&str]) -> String {
        let mut client = self.programs.client(program, &self.address);
        must(run(program, self.at_home(client.args(arguments))))
    }

    /// Archives the log from here on, and makes a base backup.
    ///
    /// # Panics
    /// When it cannot.
    pub fn back_up(&self) {
        let log = self.folder.join(ARCHIVE);
        must(fs::create_dir(&log).and_then(|()| self.user.own(&log)));
        let copy = format!("test ! -f {0}/%f && cp %p {0}/%f", log.display());
        self.append("postgresql.conf", &format!("archive_mode = on\narchive_command = '{copy}'\n"));
        self.stop();
        self.restart();
        let _done = self.run("pg_basebackup", &["--checkpoint=fast", "--no-sync", "--pgdata", BASE]);
    }

    /// A server with what `primary` had at this time, made of its base backup and of its log.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn restored(primary: &Self, time: &str) -> Self {
        // What is in the file that is written at present is archived with it.
        let last = primary.psql("SELECT pg_walfile_name(pg_switch_wal())");
        primary.wait_until(&format!("SELECT coalesce(last_archived_wal >= '{last}', false) FROM pg_stat_archiver"));
        let parent = primary.folder.parent().unwrap_or(&primary.folder);
        let mut restored = must(Self::prepare(parent));
        restored.address.password.clone_from(&primary.address.password);
        let (base, data) = (primary.folder.join(BASE), restored.folder.join("data"));
        let mut copy = Command::new("cp");
        must(run("cp", copy.arg("--archive").arg(base).arg(&data)));
        let log = primary.folder.join(ARCHIVE);
        let settings = format!(
            "archive_mode = off\nrestore_command = 'cp {}/%f %p'\nrecovery_target_time = '{time}'\nrecovery_target_action = promote\n",
            log.display()
        );
        restored.append("postgresql.conf", &settings);
        must(
            fs::write(data.join("recovery.signal"), "").and_then(|()| restored.user.own(&data.join("recovery.signal"))),
        );
        must(restored.start_on_a_free_port());
        restored.wait_until("SELECT NOT pg_is_in_recovery()");
        restored
    }

    fn append(&self, file: &str, text: &str) {
        let opened = OpenOptions::new().append(true).open(self.folder.join("data").join(file));
        must(opened.and_then(|mut file| file.write_all(text.as_bytes())));
    }

    /// Listens in this network as well, and starts again.
    ///
    /// # Panics
    /// When it cannot.
    pub fn join(&self, network: &Network) {
        self.append("postgresql.conf", &format!("listen_addresses = '127.0.0.1,{}'\n", network.here()));
        self.append("pg_hba.conf", &format!("host all {OWNER} {}/32 scram-sha-256\n", network.there()));
        self.stop();
        self.restart();
    }

    /// The URL of the database with this URL for processes in a network that was joined.
    #[must_use]
    pub fn url_in(network: &Network, url: &str) -> String {
        // Its certificate would be for no name.
        url.replace("127.0.0.1", &network.here().to_string()) + "?sslmode=disable"
    }

    /// Makes an empty database; its URL.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn create_database(&self) -> String {
        self.url(&must(new_database(&self.programs, &self.address)))
    }

    /// Where it listens, as URLs say it.
    #[must_use]
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.address.port)
    }

    /// The folder of the server's socket, log and data.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the server answers to these statements as the superuser, in the database that every server has: a line for each
    /// row, its columns separated by `|`.
    ///
    /// # Panics
    /// When the server refuses them.
    #[must_use]
    pub fn psql(&self, sql: &str) -> String {
        must(self.try_psql(sql))
    }

    /// As [`Cluster::psql`].
    ///
    /// # Errors
    /// When the server refuses them, or is not there.
    pub fn try_psql(&self, sql: &str) -> Result<String, ClusterError> {
        self.programs.psql(&self.address, FIRST_DATABASE, &[sql])
    }

    /// Changes a setting of the server, for all that connect from now on.
    ///
    /// # Panics
    /// When the setting is unknown, or needs a restart to take effect.
    pub fn set(&self, parameter: &str, value: &str) {
        let change = format!("ALTER SYSTEM SET {parameter} = '{value}'");
        let loaded = self.psql("SELECT pg_conf_load_time()");
        must(self.programs.psql(&self.address, FIRST_DATABASE, &[&change, "SELECT pg_reload_conf()"]));
        self.wait_until(&format!("SELECT pg_conf_load_time() > '{loaded}'"));
        let pending = format!("SELECT pending_restart FROM pg_settings WHERE name = '{parameter}'");
        assert_ne!(self.psql(&pending), "t", "`{parameter}` needs a restart");
    }

    /// Waits until a question has the answer "true".
    ///
    /// # Panics
    /// When it does not have it after a minute.
    pub fn wait_until(&self, sql: &str) {
        let started = Instant::now();
        while self.psql(sql) != "t" {
            assert!(started.elapsed() < PATIENCE, "still not so after {PATIENCE:?}: {sql}");
            thread::sleep(ROUND);
        }
    }

    /// Kills all processes of the server, as a loss of power does; what the system has of its files stays.
    ///
    /// # Panics
    /// When they cannot be killed.
    pub fn kill(&self) {
        must(self.keeper.signal("KILL"));
    }

    /// Stops all processes of the server, until [`Cluster::resume`]: its connections stay, and nothing answers.
    ///
    /// # Panics
    /// When they cannot be stopped.
    pub fn pause(&self) {
        must(self.keeper.signal("STOP"));
    }

    /// Continues after [`Cluster::pause`].
    ///
    /// # Panics
    /// When the processes cannot be continued.
    pub fn resume(&self) {
        must(self.keeper.signal("CONT"));
    }

    /// Ends all connections, and the server in order.
    ///
    /// # Panics
    /// When it cannot be ended.
    pub fn stop(&self) {
        must(self.control(&["--mode=fast", "stop"]));
    }

    /// Starts the server again at the same address, after it was stopped or killed.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn restart(&self) {
        must(self.start_server());
    }

    /// Makes a primary of a standby.
    ///
    /// # Panics
    /// When it cannot be promoted.
    pub fn promote(&self) {
        must(self.control(&["promote"]));
    }

    /// An empty folder with its keeper.
    fn prepare(parent: &Path) -> Result<Self, ClusterError> {
        let (programs, user) = (Programs::find().ok_or(ClusterError::Missing)?, User::find()?);
        // The keeper finds processes by the path that the system shows, which has no links.
        let folder = parent.canonicalize()?.join(format!("proofmark-postgres-{}", random_hex()?));
        DirBuilder::new().mode(0o700).create(&folder)?;
        let keeper = Keeper::start(&folder)?;
        user.own(&folder)?;
        Ok(Self { programs, user, folder, address: Address::draw()?, keeper })
    }

    /// Makes the files of a server whose texts sort otherwise than by bytes, so that tests see a statement that relies on it.
    fn init(&self) -> Result<(), ClusterError> {
        let password = self.folder.join("password");
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&password)?
            .write_all(self.address.password.as_bytes())?;
        self.user.own(&password)?;
        let mut init = self.programs.command("initdb");
        init.args(["--pgdata=data", "--username", SUPERUSER, "--pwfile=password", "--auth=scram-sha-256"]);
        init.args(["--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]);
        if self.programs.version()? >= ICU_VERSION {
            init.args(["--locale-provider=icu", "--icu-locale=en-US"]);
        }
        run("initdb", self.at_home(&mut init))?;
        Ok(fs::remove_file(&password)?)
    }

    fn start_on_a_free_port(&mut self) -> Result<(), ClusterError> {
        let settings = self.folder.join("data/postgresql.conf");
        for tries in 1.. {
            // The last line of a name counts.
            let folder = self.folder.display();
            let own = format!("{SETTINGS}unix_socket_directories = '{folder}'\nport = {}\n", self.address.port);
            OpenOptions::new().append(true).open(&settings)?.write_all(own.as_bytes())?;
            match self.start_server() {
                Err(_) if tries < MAX_STARTS => self.address.port = Address::draw()?.port,
                started => return started,
            }
        }
        Ok(())
    }

    /// Starts the server, and waits until it answers.
    fn start_server(&self) -> Result<(), ClusterError> {
        let started = self.control(&["--log=log", "start"]);
        started.map_err(|error| match error {
            ClusterError::Program { program, output } => {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                ClusterError::Program { program, output: output + &log }
            }
            error => error,
        })
    }

    /// Runs `pg_ctl`, and waits until what it is told has happened.
    fn control(&self, arguments: &[&str]) -> Result<(), ClusterError> {
        let mut control = self.programs.command("pg_ctl");
        control.args(["--pgdata=data", "--wait", "--silent", "--timeout", &PATIENCE.as_secs().to_string()]);
        run("pg_ctl", self.at_home(control.args(arguments))).map(drop)
    }

    /// Has a command run in the folder, as the user who owns it.
    fn at_home<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        self.user.runs(command.current_dir(&self.folder))
    }
}

/// Makes an empty database of a name that no other has; its name.
pub(super) fn new_database(programs: &Programs, address: &Address) -> Result<String, ClusterError> {
    let name = format!("test_{}", random_hex()?);
    let create = |strategy| {
        let create = format!("CREATE DATABASE {name} OWNER {OWNER}{strategy}");
        programs.psql(address, FIRST_DATABASE, &[&create])
    };
    // A copy of files takes two thirds of the time of writing all their pages to the log; PostgreSQL 14 knows no strategies.
    create(" STRATEGY FILE_COPY").or_else(|_| create(""))?;
    Ok(name)
}

/// Records that the calling test does not run, because PostgreSQL is not installed.
pub(super) fn skip_missing() {
    crate::skip("postgres", "PostgreSQL is missing; `apt-get install postgresql`");
}

/// What was to be done, in a test: panics where it failed.
#[expect(clippy::panic, reason = "tests fail by panicking")]
pub(crate) fn must<T, E: Into<ClusterError>>(result: Result<T, E>) -> T {
    match result.map_err(Into::into) {
        Ok(done) => done,
        Err(error) => panic!("failed to {error}"),
    }
}

fn quick_folder() -> PathBuf {
    match free_kib(MEMORY) {
        Some(free) if free >= MIN_FREE_KIB => PathBuf::from(MEMORY),
        _ => std::env::temp_dir(),
    }
}

/// How much is free in this file system, if it is in memory.
fn free_kib(folder: &str) -> Option<u64> {
    let output = Command::new("df").args(["--output=fstype,avail", "-k", folder]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (kind, free) = text.lines().nth(1)?.trim().split_once(' ')?;
    (kind == "tmpfs").then(|| free.trim().parse().ok())?
}
