//! The log against its conformance data, and properties of trees.
mod tree;
