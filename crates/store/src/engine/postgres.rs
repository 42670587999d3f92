//! The engine for stores that several servers share.
//!
//! **Connections.** The store has one thread that drives all its connections ([`driver`]); callers wait for it over channels, so
//! they may be inside another runtime. [`Session`] reads. [`Writing`] writes, and is the writer's alone. A third kind sends and
//! gets hints ([`hints`]).
//!
//! **Groups.** A group is one transaction, which begins by locking the one row of `clock`. So one group at a time is stored in the
//! whole database, whichever server stores it, as SQLite's lock for writing has it.
//!
//! **Outcomes.** A commit whose connection is lost may have taken effect. Each group has a marker, a row of `groups` whose key
//! only it inserts. On a new connection the writer inserts the same marker: where that is refused, the group is stored; where
//! it is not, the group never will be, because its own marker would be refused. See [`Writing::commit`].

mod asking;
mod batch;
mod bind;
mod connection;
mod driver;
mod flight;
mod hints;
mod passfile;
mod refusal;
mod schema;
mod session;
mod settings;
mod tls;
mod trouble;
mod writing;

pub(crate) use connection::Database;
#[cfg(test)]
pub(crate) use connection::Role;
pub(crate) use hints::exchange_hints;
pub(crate) use refusal::refusal;
pub(crate) use schema::{inspect, make};
pub(crate) use session::Session;
pub(crate) use writing::Writing;
