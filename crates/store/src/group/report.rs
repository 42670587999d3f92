//! What is told about a group of writes once it has ended and is answered.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::ends::Ends;
use crate::hint::{Hint, HintBox};

/// A group of writes, which is one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupReport {
    /// How many submissions it had.
    pub size: usize,
    /// How long it took, including the wait for groups of other processes.
    pub took: Duration,
    /// How long its commit took; zero where it did not come to that.
    pub commit: Duration,
    pub outcome: GroupOutcome,
}

/// What became of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupOutcome {
    /// It is on disk, but for submissions that were refused.
    Stored,
    /// Nothing of it is stored.
    Failed,
    /// The connection was lost during the commit, and the database could not be asked what became of it.
    Unknown,
}

/// A function that is told about each group. It must neither wait nor call the store.
pub(crate) type WatchGroups = Box<dyn Fn(&GroupReport) + Send + Sync>;

/// Who is told about groups.
#[derive(Default)]
pub(crate) struct Groups {
    /// The hints for other processes.
    pub(crate) hints: Arc<HintBox>,
    watch: OnceLock<WatchGroups>,
    /// Where the ends of chains are kept beside the database.
    pub(crate) ends: OnceLock<Arc<Ends>>,
}

impl Groups {
    /// From here on `watch` is told, unless another function is already.
    pub(crate) fn watch(&self, watch: WatchGroups) {
        let _first_stays = self.watch.set(watch);
    }

    /// Tells about a group that has ended, which hints at `hint`.
    pub(crate) fn ended(&self, report: &GroupReport, hint: Hint) {
        self.hints.add(hint);
        if let Some(watch) = self.watch.get() {
            watch(report);
        }
    }
}
