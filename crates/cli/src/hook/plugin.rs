//! The plugin for opencode, which has no hooks that start a command.

use proofmark_receipt::Json;

/// The plugin, with an empty command.
const PLUGIN: &str = include_str!("plugin.js");
/// The line with the command.
const COMMAND: &str = "const COMMAND = ";
/// The line that an installed plugin begins with.
const FIRST: &str = "// Written by `proofmark hook install opencode`.";

/// The plugin that starts this command.
pub(super) fn text(command: &[String]) -> String {
    let words: Vec<Json> = command.iter().map(|word| Json::from(word.as_str())).collect();
    PLUGIN.replacen(&format!("{COMMAND}[];"), &format!("{COMMAND}{};", Json::from(words).to_text()), 1)
}

/// The command of an installed plugin; `None` for a program of somebody else.
pub(super) fn command(text: &str) -> Option<Vec<String>> {
    let list = text.lines().find_map(|line| line.strip_prefix(COMMAND)?.strip_suffix(';'))?;
    let words = Json::parse(list.as_bytes()).ok()?;
    let words = words.as_array()?.iter().map(|word| word.as_str().map(str::to_owned));
    words.collect::<Option<Vec<_>>>().filter(|words| text.starts_with(FIRST) && !words.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_plugin_is_read_again() {
        let words = ["/a b/proofmark", "hook", "it's \"x\" \\ \u{2028}"].map(str::to_owned);
        assert_eq!(command(&text(&words)).as_deref(), Some(&words[..]));
        assert_eq!(command("const COMMAND = [\"a\"];"), None);
        assert_eq!(command(PLUGIN), None);
    }
}
