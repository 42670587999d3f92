//! Where the values of a call were read before. What an agent is given gets labels when it is read; the values of a later call
//! are looked for in it.
//!
//! 1. [`each_leaf`] goes through a value: its texts, numbers and names, each with its place.
//! 2. Who knows the policy gives each of them a label, or none: [`SeenResult`] is what is recorded of that.
//! 3. [`Origins`] holds what a session has seen, and what the agent has written. [`Origins::about`] says of every value of a
//!    call which labels it has, as facts of a decision.
//! 4. [`normal`] is the form in which values are compared, [`words`] and [`links`] take texts apart, [`counted`] is the
//!    form in which limits count them.
//!
//! The crate has no clock and does not know policies. Nothing here asks the agent: a value that it has made itself has no label.

mod counted;
mod index;
mod leaves;
mod normal;
mod origins;
mod seen;

pub use counted::counted;
pub use leaves::{Leaf, Step, each_leaf, path_text};
pub use normal::{links, name_words, normal, words};
pub use origins::{Hit, MAX_ARGUMENT_VALUES, Origins, REQUEST};
pub use seen::{MAX_SEEN_VALUES, MAX_WITHIN_BYTES, SeenResult, SeenText, SeenValue, value_digest};
