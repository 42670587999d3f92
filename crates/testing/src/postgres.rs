//! PostgreSQL for tests: servers of the tests' own, made of Debian's package `postgresql`.
//!
//! Most tests need a [`database`] only, and share one server. A test that kills, stops or changes a server starts a [`Cluster`].
//! A [`Proxy`] delays or cuts the network between a test and its server.
//!
//! A server listens on the loopback, and runs as an unprivileged user in a folder of its own. Both are gone when the process that
//! started it has ended, however it ended.

mod address;
mod cluster;
mod database;
mod keeper;
mod programs;
mod proxy;

pub use cluster::Cluster;
pub(crate) use cluster::must;
pub use database::{Database, SHARED, database, psql};
pub use programs::{ClusterError, is_installed};
pub use proxy::{Moment, Proxy};
