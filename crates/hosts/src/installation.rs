//! How hooks are installed in a host.

use std::path::PathBuf;

use proofmark_receipt::{Json, Object};

use crate::hook_server::HookServer;
use crate::surroundings::{Layer, Scope, Surroundings};
use crate::switches::Switches;

/// How long hosts wait for a hook, in seconds. The hook has a deadline of its own, which is shorter: some hosts run the call
/// when theirs has passed.
pub const TIMEOUT_SECONDS: u64 = 60;
/// The version of the form of a host's file where its events have lists of hooks.
const ENTRIES_VERSION: u64 = 1;

/// How hooks are installed in a host.
pub struct Installation {
    /// The name of the host that the installed command names. Hosts that read the same file are named alike.
    pub runs_as: &'static str,
    pub form: Form,
    /// Whether the host's own reader takes comments out of its file.
    pub has_comments: bool,
    pub(crate) layers: fn(&Surroundings) -> Vec<Layer>,
    /// A hook that starts this command line.
    pub(crate) hook: fn(Moment, &str) -> Object,
    /// How many of the host's units of time a second has.
    pub units_of_a_second: u64,
    pub on_failure: OnFailure,
    /// What the host starts a command line with.
    pub shell: Shell,
    /// What the person does before the hooks count.
    pub next: fn(Scope) -> &'static str,
    /// The place that only an administrator can change.
    pub administrator: &'static str,
    /// The settings by which installed hooks do not run.
    pub switches: Option<Switches>,
    /// Where the host itself says which hooks it runs.
    pub server: Option<HookServer>,
}

/// What a hook is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The user asks for something.
    Asked,
    Before,
    After,
    Stop,
}

/// How a host's file holds its hooks.
#[derive(Clone, Copy)]
pub enum Form {
    /// For each event a list of groups, each with a list of hooks.
    Groups,
    /// For each event a list of hooks.
    Entries,
    /// A program of the host's own language.
    Plugin {
        /// The program that starts this command.
        text: fn(&[String]) -> String,
        /// The command of an installed program; `None` for a program of somebody else.
        command: fn(&str) -> Option<Vec<String>>,
    },
}

/// What a host does with a call whose hook fails.
#[derive(Clone, Copy)]
pub enum OnFailure {
    Runs,
    Blocks,
    /// It blocks the call if the hook asks for that, in the member of this name, and runs it otherwise.
    BlocksIf {
        member: &'static str,
        is_asked_for: fn(&Object) -> bool,
    },
}

/// What starts a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// Nothing: the host starts the program itself.
    None,
    /// This program.
    Named(&'static str),
    /// The one that the user has chosen.
    OfUser,
}

/// A hook that starts this command line, in the form that several hosts have. The command is one text: a host that passed over
/// arguments beside it would start something else.
pub(crate) fn hook_in_common_form(line: &str) -> Object {
    proofmark_receipt::object! { "type": "command", "command": line, "timeout": TIMEOUT_SECONDS }
}

impl OnFailure {
    /// Whether the host runs a call if this hook fails.
    #[must_use]
    pub fn runs(self, hook: &Object) -> bool {
        match self {
            Self::Runs => true,
            Self::Blocks => false,
            Self::BlocksIf { is_asked_for, .. } => !is_asked_for(hook),
        }
    }
}

impl Installation {
    /// The files that may have hooks, those of administrators first.
    #[must_use]
    pub fn layers(&self, place: &Surroundings) -> Vec<Layer> {
        (self.layers)(place)
    }

    /// The file that an installation is written to. Of several, the last: administrators add a file of their own, and a
    /// project has one that is not shared, because the paths in it are those of this machine.
    #[must_use]
    pub fn file(&self, scope: Scope, place: &Surroundings) -> Option<PathBuf> {
        let layers = self.layers(place).into_iter();
        layers.filter(|layer| layer.scope == scope).map(|layer| layer.path).next_back()
    }

    /// The version that the host's file must name beside its hooks.
    pub fn version(&self) -> Option<u64> {
        matches!(self.form, Form::Entries).then_some(ENTRIES_VERSION)
    }

    /// What is added to the list of an event: this command line, in the form of this host.
    #[must_use]
    pub fn item(&self, moment: Moment, line: &str) -> Json {
        let hook = (self.hook)(moment, line);
        if matches!(self.form, Form::Entries) {
            return hook.into();
        }
        let mut group = Object::new();
        // A request and a stop are of no tool, so there is nothing to match.
        if !matches!(moment, Moment::Asked | Moment::Stop) {
            group.insert("matcher", "*");
        }
        group.insert("hooks", vec![Json::from(hook)]);
        group.into()
    }
}
