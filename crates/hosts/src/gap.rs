//! What hosts do without asking a hook, and what helps. `docs/hooks.md` shows the same table.

/// Something that a host does without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub what: &'static str,
    pub remedy: &'static str,
}

/// A row of the table.
pub(crate) const fn gap(what: &'static str, remedy: &'static str) -> Gap {
    Gap { what, remedy }
}

/// What no hook of any host can stop.
pub const EVERY_HOST: [Gap; 5] = [
    gap(
        "A hook sees the text of a shell command, not what the command does.",
        "Allow commands by name, as `examples/hooks/allowlist.yaml` does, and run the host in a sandbox.",
    ),
    gap(
        "An agent that may run any command can change the host's settings, and use keys that it can read.",
        "Install with `--scope system` where the host has it, and keep the keys of reviewers on another account.",
    ),
    gap(
        "An agent that may run any command can take calls out of the host's own record of the session.",
        "Rely on what hooks saw; the record can only show calls that no hook saw.",
    ),
    gap(
        "An agent that may run any command can have the host's shell start a hook with an event of its own, which then comes from the host's process.",
        "With `--workflow` the stop compares hooks with the host's record. Let another account decide, and do not rely on `calls` of hooks alone.",
    ),
    gap(
        "MCP servers act on their own between calls.",
        "Put them under `proofmark guard wrap`, and give them no more credentials than they need.",
    ),
];
