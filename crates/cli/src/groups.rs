//! The groups in which `proofmark --help` lists the commands. The parser knows headings for options alone.

use clap::Command;

/// Each group with its commands, in the order in which a newcomer meets them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Verify", &["verify", "suite", "workflow", "lint", "receipt", "quorum", "review"]),
    ("Decide and review", &["decide", "decision", "policy"]),
    ("Stand in the path", &["guard", "hook", "gate", "serve", "work", "mcp"]),
    ("Records", &["session", "run", "finding", "store", "log", "env", "acp", "x402"]),
    ("Set up", &["init", "key", "trust", "reviewer", "api-key", "setup", "doctor", "examples", "completions", "help"]),
];

/// What the parser adds where the list is printed, which is not among the commands before.
const HELP: (&str, &str) = ("help", "Print this message or the help of a command");

/// The command, with its subcommands in groups in its help.
pub(crate) fn in_help(command: Command) -> Command {
    let about = |name: &str| {
        let found = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
        found.unwrap_or_else(|| HELP.1.to_owned())
    };
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or_default();
    let mut list = String::new();
    for (group, names) in GROUPS {
        list.push_str(&format!("\n{group}:\n"));
        names.iter().for_each(|name| list.push_str(&format!("  {name:<width$}  {}\n", about(name))));
    }
    command
        .help_template(format!("{{about}}\n\n{{usage-heading}} {{usage}}\n{list}\nOptions:\n{{options}}{{after-help}}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let command = crate::Arguments::command();
        let listed = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut all: Vec<&str> = listed.map(Command::get_name).chain([HELP.0]).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }
}
