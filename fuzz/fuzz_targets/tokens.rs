//! Any text of any language is tokens that cover it, or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_checks::Language;
use proofmark_mutation::Tokens;

fuzz_target!(|source: &str| {
    for language in Language::ALL {
        let Ok(tokens) = Tokens::read(language, source) else { continue };
        let joined: String = (0..tokens.all().len()).map(|index| tokens.text(index)).collect();
        assert_eq!(joined, source);
        let _ = tokens.logical_lines();
    }
});
