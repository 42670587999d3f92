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
//!
//! Read the files from the outside in. `host` says what there is: `selftest` tries each `level` of isolation, `runtime` and
//! `toolchain` find the interpreters, `installed` their packages. `worker` runs jobs: as forks of a `zygote`, which `trials`
//! and `modules` prepare, or as a program of its own (`program`, `project`). Either is in a `cell`, whose `child` isolates
//! itself: `stage` is what both sides share, `tree` the files that it sees, `landlock` and `filter` what it may do, `init`
//! what ends it. `watch` feeds and reads it and ends it at the first limit, which `memory` and `groups` count. `sys` has the
//! system calls of our side.
//!
//! The folder `cell/` beside `src/` has the programs that run inside a cell, without a standard library: `init`, the
//! `launcher` of whole programs, and the modules that a warm Python and a warm Node.js load. `kernel` has their system calls, and
//! `case` what they and `src/zygote.rs` say to each other.
//!
//! `inheritance` keeps the secrets of this process from every program that it starts, `files` raises its limit of open files,
//! `core_dumps` keeps what runs from leaving any, and `account` makes it a process of another account.

#![expect(unsafe_code, reason = "isolation is made of system calls that no safe interface has")]

mod account;
mod cell;
mod child;
mod core_dumps;
mod environment;
mod files;
mod filter;
mod groups;
mod host;
mod inheritance;
mod init;
mod installed;
mod landlock;
mod level;
mod machine;
mod memory;
mod modules;
mod program;
mod project;
mod runtime;
mod scripts;
mod selftest;
mod stage;
mod sys;
mod toolchain;
mod tree;
mod trials;
mod watch;
mod worker;
mod zygote;

pub use account::become_account;
pub use files::allow_many_files;
pub use host::Host;
pub use inheritance::{hide_from_account, keep_from_children};
pub use level::Level;
pub use project::CACHES;
pub use runtime::Runtime;
pub use worker::{SharedJob, Watch, Worker};
