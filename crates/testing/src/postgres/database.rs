//! A database for one test, in a server that tests share.

use std::io::{self, Write};
use std::process::{Child, Stdio};
use std::sync::OnceLock;

use super::address::{Address, FIRST_DATABASE, OWNER};
use super::cluster::{Cluster, must, new_database, skip_missing};
use super::programs::{ClusterError, Programs};

/// The variable with the URL of the server that tests share, with a role that may make databases.
pub const SHARED: &str = "PROOFMARK_TEST_POSTGRES";

/// An empty database. Dropping it deletes it, and ends the connections to it.
#[derive(Debug)]
pub struct Database {
    programs: Programs,
    address: Address,
    name: String,
}

impl Database {
    /// Its URL, with a role that has no rights but to its own databases.
    #[must_use]
    pub fn url(&self) -> String {
        self.address.url(OWNER, &self.name)
    }

    /// As [`psql`].
    ///
    /// # Panics
    /// When the server refuses them.
    #[must_use]
    pub fn psql(&self, sql: &str) -> String {
        psql(&self.url(), sql)
    }

    /// All rows of all tables, as text; bytes as characters where they are any.
    pub(crate) fn rows(&self) -> String {
        let names = self.psql("SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'");
        let rows = |name| format!("SELECT t::text FROM {name} AS t");
        let rows: Vec<_> = names.lines().map(rows).collect();
        assert!(!rows.is_empty(), "the store does not exist");
        self.psql(&format!("SET bytea_output = 'escape'; {}", rows.join(" UNION ALL ")))
    }

    /// Another process with a transaction that begins with this statement, and ends with the process's standard input. What it
    /// answers is on standard output.
    pub(crate) fn begin(&self, sql: &str) -> io::Result<Child> {
        let mut psql = self.programs.psql_at(&self.address, &self.name);
        let mut child = psql.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let begun = child.stdin.as_mut().map(|stdin| writeln!(stdin, "BEGIN; {sql};"));
        begun.unwrap_or(Ok(())).map(|()| child)
    }
}

/// What the database with this URL answers to statements, which run as the superuser: a line for each row, its columns separated by
/// `|`.
///
/// # Panics
/// When the server refuses them.
#[must_use]
pub fn psql(url: &str, sql: &str) -> String {
    let (address, database) = must(Address::of_url(url).ok_or(ClusterError::Url));
    must(must(Programs::find().ok_or(ClusterError::Missing)).psql(&address, database, &[sql]))
}

impl Drop for Database {
    fn drop(&mut self) {
        let delete = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        // It ends with its server, at the latest.
        drop(self.programs.psql(&self.address, FIRST_DATABASE, &[&delete]));
    }
}

/// Makes an empty database in the server that `PROOFMARK_TEST_POSTGRES` names, or else in one that this process starts; `None`
/// after a skip.
///
/// # Panics
/// When the database cannot be made.
#[must_use]
pub fn database() -> Option<Database> {
    let url = match std::env::var(SHARED) {
        Ok(url) => url,
        Err(_) => own_server()?.superuser_url(),
    };
    let (address, _) = must(Address::of_url(&url).ok_or(ClusterError::Url));
    let programs = must(Programs::find().ok_or(ClusterError::Missing));
    let name = must(new_database(&programs, &address));
    Some(Database { programs, address, name })
}

/// The server of this process, which ends with it.
fn own_server() -> Option<&'static Cluster> {
    static SERVER: OnceLock<Option<Cluster>> = OnceLock::new();
    let server = SERVER.get_or_init(Cluster::start_if_installed).as_ref();
    if server.is_none() {
        // Once for each test, so that each is listed.
        skip_missing();
    }
    server
}
