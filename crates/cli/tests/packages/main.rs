//! The packages of a release, made by the scripts of `packaging/` from this binary, and used as users do.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

mod deb;
mod install;
mod made;
mod man;
mod release;
mod sources;
mod wheel;
