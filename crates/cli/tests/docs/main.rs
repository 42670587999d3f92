//! Every command that the documentation and the help print runs as printed, in an empty folder with a fresh home.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which may fail by panicking"
)]

mod commands;
mod help;
mod init;
mod mappings;
mod page;
mod pages;
mod session;
