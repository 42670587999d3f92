//! What is so for every text.

use proofmark_checks::Language;
use proofmark_mutation::{Kind, Tokens};
use proptest::prelude::*;

/// Parts of which the programs of all languages are made.
#[rustfmt::skip]
const PARTS: &[&str] = &[
    "a", "if", "return ", "def ", "class ", "1", "0x1f", "1.", ".5", "1e3", " ", "\n", "\t", "\\\n", "\r\n", "(", ")",
    "[", "]", "{", "}", "'", "\"", "'''", "\"\"\"", "`", "${", "#{", "$(", "f'", "rb\"", "%w[", "%(", "%q<", "<<~A\n",
    "\nA\n", "<<EOF\n", "\nEOF\n", "/", "//", "/*", "*/", "#", "\\", "=", "==", "!", "?", ":", "::", "<a>", "</a>",
    "<b/>", "<", ">", "é", "\u{feff}", "\u{2028}", "@", "$", "$1", "?a", ":a", "=begin\n", "\n=end\n", "__END__\n",
    "=>", "|", "&.", ";",
];

fn part() -> impl Strategy<Value = String> {
    prop_oneof![9 => prop::sample::select(PARTS).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)]
}

pub(crate) fn program() -> impl Strategy<Value = (Language, String)> {
    let text = prop::collection::vec(part(), 0..40).prop_map(|parts| parts.concat());
    (prop::sample::select(&Language::ALL[..]), text)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn tokens_cover_the_text_in_order((language, text) in program()) {
        let Ok(tokens) = Tokens::read(language, &text) else { return Ok(()) };
        let mut at = 0;
        for (index, token) in tokens.all().iter().enumerate() {
            prop_assert_eq!(token.start, at);
            prop_assert!(token.end > token.start);
            prop_assert_eq!(token.line, text[..token.start].matches('\n').count() + 1);
            at = token.end;
            if let Some(partner) = token.partner {
                prop_assert_eq!(tokens.get(partner).unwrap().partner, Some(index));
            }
            let is_paired = matches!(token.kind, Kind::Open | Kind::Close | Kind::Head | Kind::Tail);
            prop_assert!(!is_paired || token.partner.is_some());
        }
        prop_assert_eq!(at, text.len());
        let joined: String = (0..tokens.all().len()).map(|index| tokens.text(index)).collect();
        prop_assert_eq!(joined, text);
    }
}
