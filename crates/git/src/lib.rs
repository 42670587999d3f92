//! Trees, notes and pushes of a git repository, read through the host's `git`.
//!
//! Every object is taken by its id, and its content is held against it: replaced objects, grafts and filters are not followed.

mod gate;
mod left_out;
mod pack;
mod repository;

pub use gate::{Candidate, ParseUpdateError, RefUpdate, changes_how_others_are_read};
pub use left_out::{ENVIRONMENT_FILE, LeftOut, MAX_ENTRIES, MAX_FOLDER_DEPTH, NODE_MODULES, is_left_out};
pub use pack::{Pack, whole};
pub use repository::{
    GitError, GitRef, GitTree, MAX_COMMITS, NOTES, Note, Repository, Revision, TreeSummary, ignored_below,
};
