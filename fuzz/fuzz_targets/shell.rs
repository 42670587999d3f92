//! Any text is commands, in bounded time and space.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let commands = proofmark_shell::read(text, Some("/repo"));
    assert!(commands.len() <= proofmark_shell::MAX_COMMANDS);
    for command in &commands {
        assert!(command.program.is_some() || !command.opaque.is_empty());
        assert!(command.paths.len() <= proofmark_shell::MAX_PATHS);
        assert!(command.paths.iter().all(|path| !path.certain || path.path.starts_with(['/', '~'])));
    }
});
