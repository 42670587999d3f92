//! A host that says itself which hooks it knows, and which of them it runs.

use proofmark_receipt::Object;

use crate::finding::Finding;

/// A program of the host that is asked on its standard input, in JSON-RPC with one message a line.
pub struct HookServer {
    pub program: &'static str,
    pub arguments: &'static [&'static str],
    /// What asks for the hooks of agents in this folder.
    pub list: fn(folder: &str) -> Question,
    /// The hooks in the result of that.
    pub listed: fn(result: &Object) -> Option<Vec<ListedHook>>,
    /// What has the host trust these hooks as it listed them, as its own dialog does. The next list shows whether it does.
    pub trust: fn(hooks: &[&ListedHook]) -> Question,
    /// What is to be said of installed hooks; `None` where the host listed none.
    pub findings: fn(installed: &[InstalledHook], listed: Option<&[ListedHook]>) -> Vec<Finding>,
}

/// A hook that is installed, by its event and its command line.
pub struct InstalledHook {
    pub event: String,
    pub line: String,
}

/// A method and its parameters.
pub struct Question {
    pub method: &'static str,
    pub params: Object,
}

/// A hook, as the host lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedHook {
    pub command: String,
    /// As in the file, in another case.
    pub event: String,
    pub is_enabled: bool,
    /// The host's word for how far it trusts the hook.
    pub trust: String,
    pub is_trusted: bool,
    /// What the host calls the hook, and the digest of what it listed.
    pub(crate) key: String,
    pub(crate) hash: String,
}

impl ListedHook {
    /// Whether it is this hook.
    #[must_use]
    pub fn is(&self, event: &str, command: &str) -> bool {
        self.event.eq_ignore_ascii_case(event) && self.command == command
    }
}
