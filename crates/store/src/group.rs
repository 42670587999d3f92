//! How a group of writes becomes one commit: what a write is settled by, the thread that writes, and the answers it gives.

pub(crate) mod pending;
pub(crate) mod report;
pub(crate) mod settle;
pub(crate) mod signing;
pub(crate) mod write;
pub(crate) mod writer;
pub(crate) mod written;
