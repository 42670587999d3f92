//! The command as its users meet it: the real binary, the real sandbox, the real store.
#![allow(missing_docs, reason = "tests")]

mod bad_input;
mod batch;
mod chain;
mod help;
mod key;
mod receipt;
mod run;
mod verify;
