//! Settings of a host by which installed hooks do not run.

use std::path::PathBuf;

use proofmark_receipt::{Json, Object};

use crate::finding::Finding;
use crate::surroundings::{Layer, Scope, Surroundings};

/// Where a host has such settings, and what they say.
pub struct Switches {
    /// Files that may have them beside those with hooks.
    pub files: fn(&Surroundings) -> Vec<Layer>,
    /// A folder of an administrator, all of whose files count.
    pub folder: Option<&'static str>,
    /// What is switched off.
    pub findings: fn(&SettingsFound<'_>) -> Vec<Finding>,
}

/// A file of settings that could be read.
pub struct Settings {
    pub scope: Scope,
    pub path: PathBuf,
    pub object: Object,
}

/// The settings of a host, and the hooks that are installed in it.
pub struct SettingsFound<'a> {
    pub settings: &'a [Settings],
    /// Whether an administrator has installed the hooks.
    pub is_managed: bool,
    /// The command lines of the hooks.
    pub lines: &'a [String],
}

impl Settings {
    /// Whether a member is `true`.
    pub(crate) fn says(&self, name: &str) -> bool {
        self.object.get(name).and_then(Json::as_bool) == Some(true)
    }

    /// A member within a member.
    pub(crate) fn within(&self, outer: &str, name: &str) -> Option<&Json> {
        self.object.get(outer)?.as_object()?.get(name)
    }

    /// A finding for the member that switches all hooks off in several hosts.
    pub(crate) fn all_hooks_disabled(&self) -> Option<Finding> {
        // Anything but `true` leaves the hooks on, in every host that has this member.
        self.says("disableAllHooks").then(|| {
            let what = format!("{} switches hooks off (`disableAllHooks`)", self.path.display());
            Finding::bad(what, "take that line out")
        })
    }
}
