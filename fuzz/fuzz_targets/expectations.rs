//! The tests of any text of any language keep their lines when they are altered.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_checks::Language;
use proofmark_mutation::read_tests;

fuzz_target!(|source: &str| {
    for language in Language::ALL {
        let Ok(Some(file)) = read_tests(source, language) else { continue };
        let lines = |text: &str| text.matches('\n').count();
        let [altered, plain] = [true, false].map(|is_wrong| file.write(&|_| is_wrong, "test_canary"));
        assert_eq!(lines(&altered), lines(&plain));
        assert!(plain.starts_with(source));
    }
});
