//! The `proofmark` command.

fn main() {}
