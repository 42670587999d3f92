//! Runs one [`Job`](proofmark_checks::Job) in isolation and returns one
//! [`Outcome`](proofmark_checks::Outcome).
//!
//! This crate does not judge: it never sees an expected output, a verdict or a
//! key. It is the only crate with `unsafe`, system calls and child processes.
//!
//! - [`Host`] is what a machine offers: the isolation [`Level`] that passed its
//!   self-test and the interpreters found.
//! - [`Worker`] runs jobs one after another, one leaf process a case. A thread
//!   that wants to run jobs makes its own. While a worker runs a job, others may
//!   join it ([`SharedJob`]).

#![expect(unsafe_code, reason = "isolation is made of system calls that no safe interface has")]

mod cell;
mod child;
mod files;
mod filter;
mod groups;
mod host;
mod init;
mod installed;
mod landlock;
mod level;
mod memory;
mod modules;
mod program;
mod project;
mod runtime;
mod selftest;
mod stage;
mod sys;
mod toolchain;
mod tree;
mod trials;
mod watch;
mod worker;
mod zygote;

pub use files::allow_many_files;
pub use host::Host;
pub use level::Level;
pub use runtime::Runtime;
pub use worker::{SharedJob, Watch, Worker};
