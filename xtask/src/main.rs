//! Tests, benchmarks and checks of the tree.

fn main() {}
