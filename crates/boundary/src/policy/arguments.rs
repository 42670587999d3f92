//! What arguments of tools are about: amounts, and files.

use proofmark_receipt::Json;
use proofmark_shell::{goes_back, is_read_alike, normalized};

/// The most files that an argument may name.
const MAX_PATHS: usize = 1_000;
/// Signs of currencies that are of one currency only.
const SIGNS: [(char, &str); 2] = [('€', "EUR"), ('£', "GBP")];

/// An amount, and the currency where the argument says it.
#[derive(Debug)]
pub(super) struct Amount {
    pub(super) number: Json,
    pub(super) currency: Option<String>,
}

/// The amount that an argument is: a number, or a text that can be read in one way only, as `-12.50`, `EUR 12.50` or `12.50 EUR`.
/// A text with other signs, such as the comma of `1,000`, has no amount.
pub(super) fn amount(argument: &Json) -> Option<Amount> {
    let text = match argument {
        Json::Number(_) => return Some(Amount { number: argument.clone(), currency: None }),
        Json::String(text) => text.as_str(),
        _ => return None,
    };
    let (number, currency) = without_currency(text)?;
    let digits = number.strip_prefix('-').unwrap_or(number);
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    // A number of JSON has no zeros before it.
    let is_plain = match digits.split_once('.') {
        Some((whole, rest)) => is_number(whole) && is_number(rest),
        None => is_number(digits),
    };
    let has_zeros = digits.starts_with('0') && digits.chars().nth(1).is_some_and(|c| c.is_ascii_digit());
    let number = Json::parse(number.as_bytes()).ok().filter(|_| is_plain && !has_zeros)?;
    Some(Amount { number, currency })
}

fn without_currency(text: &str) -> Option<(&str, Option<String>)> {
    let is_code = |code: &str| code.len() == 3 && code.chars().all(|c| c.is_ascii_alphabetic());
    let sign = |code: &str| SIGNS.iter().find(|(sign, _)| code.chars().eq([*sign])).map(|(_, code)| *code);
    let known = |code: &str| sign(code).map(str::to_owned).or_else(|| is_code(code).then(|| code.to_ascii_uppercase()));
    let is_digit = |c: char| c.is_ascii_digit() || c == '-';
    let begin = text.find(is_digit)?;
    let end = text.rfind(|c: char| c.is_ascii_digit())? + 1;
    let (before, number, after) = (text.get(..begin)?, text.get(begin..end)?, text.get(end..)?);
    match (before, after) {
        ("", "") => Some((number, None)),
        ("", after) => known(after.strip_prefix(' ').unwrap_or(after)).map(|code| (number, Some(code))),
        (before, "") => known(before.strip_suffix(' ').unwrap_or(before)).map(|code| (number, Some(code))),
        _ => None,
    }
}

/// The code of a currency, as ISO 4217 writes it: the argument itself, or what it has beside an amount.
pub(super) fn currency(argument: &Json) -> Option<String> {
    let code = argument.as_str()?;
    let is_code = code.len() == 3 && code.chars().all(|c| c.is_ascii_alphabetic());
    if is_code { Some(code.to_ascii_uppercase()) } else { amount(argument)?.currency }
}

/// The files that an argument names: a text, or a list of texts. `None` where programs may take one of them for another file. A name
/// that does not begin at the root stays as it is; the server knows from which folder.
pub(super) fn paths(argument: &Json) -> Option<Vec<Json>> {
    let texts = match argument {
        Json::String(text) => vec![text.as_str()],
        Json::Array(items) if items.len() <= MAX_PATHS => items.iter().map(Json::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    texts.into_iter().map(|text| path(text).map(Json::from)).collect()
}

fn path(text: &str) -> Option<String> {
    // A separator of another system may lead elsewhere, as may the way back from a link.
    if !is_read_alike(text) || text.contains('\\') || goes_back(text) {
        return None;
    }
    if text.starts_with('/') {
        return Some(normalized(text));
    }
    let goes_up = text.split('/').any(|name| name == "..");
    let whole = normalized(text);
    if goes_up { None } else { Some(whole.trim_start_matches('/').to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_in_one_way_or_not_at_all() {
        for (text, expected) in [
            ("12.50", Some(("12.50", None))),
            ("-12", Some(("-12", None))),
            ("0", Some(("0", None))),
            ("EUR 12.50", Some(("12.50", Some("EUR")))),
            ("12.50 eur", Some(("12.50", Some("EUR")))),
            ("€5", Some(("5", Some("EUR")))),
            ("USD-5", Some(("-5", Some("USD")))),
            // Of one of several currencies.
            ("$5", None),
            ("1,000", None),
            ("1.000,00", None),
            ("1 000", None),
            ("1e9", None),
            ("012", None),
            (" 12", None),
            ("12 ", None),
            ("+5", None),
            ("--5", None),
            ("5-", None),
            ("0x10", None),
            ("１２", None),
            ("EUR 5 USD", None),
            ("", None),
            ("ten", None),
        ] {
            let found = amount(&Json::from(text)).map(|amount| (amount.number.to_text(), amount.currency));
            let expected = expected.map(|(number, code)| (number.to_owned(), code.map(str::to_owned)));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_file_is_named_in_one_way_or_not_at_all() {
        for (text, expected) in [
            ("/srv/a/./b", Some("/srv/a/b")),
            ("/srv/a/../b", None),
            ("a/./b", Some("a/b")),
            ("../b", None),
            ("a/../../b", None),
            ("file:///etc/passwd", None),
            ("/srv/%2e%2e/etc", None),
            ("~/x", None),
            ("a\\b", None),
            ("/srv/a\0", None),
            ("", None),
        ] {
            assert_eq!(path(text).as_deref(), expected, "{text}");
        }
    }
}
