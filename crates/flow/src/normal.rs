//! The form in which values are compared: two that a person takes for the same are the same.

use proofmark_receipt::document::is_unseen;
use unicode_normalization::UnicodeNormalization;

/// Punctuation before a word. A `.`, `/`, `~`, `-` or `+` before a word belongs to it.
const BEFORE: &[char] = &[
    '"', '\'', '`', '“', '”', '‘', '’', '«', '»', '(', '[', '{', '<', '>', '*', '_', '#', '@', '$', '€', '£', ',', ';',
    ':', '!', '?',
];
const AFTER: &[char] = &[
    '"', '\'', '`', '“', '”', '‘', '’', '«', '»', ')', ']', '}', '<', '>', '*', '_', ',', ';', ':', '!', '?', '.', '€',
    '$', '£', '%',
];
/// What separates words without a space.
const BETWEEN: &[char] =
    &[',', ';', '|', '<', '>', '(', ')', '[', ']', '{', '}', '"', '“', '”', '`', '=', '—', '–', '…'];
/// What is written around a whole value.
const QUOTES: &[char] = &['"', '\'', '`', '“', '”', '‘', '’', '«', '»'];
/// Schemes of addresses that need no host.
const SCHEMES: [&str; 7] = ["data:", "javascript:", "vbscript:", "file:", "ftp:", "mailto:", "tel:"];
/// How many digits a number has at least that may be that of an account, a card or a telephone.
const ACCOUNT_DIGITS: usize = 8;

/// The form in which a value is compared: Unicode NFKC without what nobody sees, in lower case, with single spaces, without
/// quotes around it, the scheme of a web address and a `/` at its end. Numbers are compared by value.
#[must_use]
pub fn normal(text: &str) -> String {
    let joined = spaced(&folded(text));
    let bare = without_scheme(joined.trim_matches(QUOTES).trim());
    number(bare).unwrap_or_else(|| bare.to_owned())
}

/// The words of a text, as [`normal`] writes them, without the punctuation around them. An address, a file's path and a number
/// with its fraction are one word each.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    placed_words(&spaced(&folded(text))).into_iter().map(|(word, _)| word).collect()
}

/// A text in which words are looked for: folded, with single spaces.
pub(crate) fn searchable(text: &str) -> String {
    spaced(&folded(text))
}

/// The words of a [`searchable`] text, each with the byte at which it begins.
pub(crate) fn placed_words(searchable: &str) -> Vec<(String, usize)> {
    let mut words = Vec::new();
    each_word(searchable, |word| {
        let bare = without_scheme(word);
        let at = (bare.as_ptr() as usize).saturating_sub(searchable.as_ptr() as usize);
        words.push((finished(word), at));
    });
    words.retain(|(word, _)| !word.is_empty());
    words
}

/// Whether the bytes from `start` to `end` of a searchable text are whole words.
pub(crate) fn stands_alone(searchable: &str, start: usize, end: usize) -> bool {
    let (before, after) = (searchable.get(..start).unwrap_or_default(), searchable.get(end..).unwrap_or_default());
    let joins = |c: char| matches!(c, '@' | '.' | '_' | '-' | '/' | '+' | '\\' | '~');
    let goes_on = |c: char| joins(c) || matches!(c, '=' | '?' | '&' | '#' | '%');
    let is_scheme = before.ends_with("http://") || before.ends_with("https://");
    let begins = is_scheme || !before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || joins(c));
    let mut rest = after.chars();
    let ends = match rest.next() {
        Some(c) if goes_on(c) => !rest.find(|c| !goes_on(*c)).is_some_and(char::is_alphanumeric),
        Some(c) => !c.is_alphanumeric(),
        None => true,
    };
    begins && ends
}

/// The text with single spaces between its words, and none around it.
fn spaced(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(word);
    }
    joined
}

/// What a text points to: addresses of the web and of mail, names of hosts, and numbers of accounts, as [`words`] writes them.
/// The words of a number that is written in groups are one link.
#[must_use]
pub fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    // An address may look like the end of a sentence.
    for folded in [folded(text), folded_as_one(text)] {
        // A browser takes one for the other.
        links_in(&folded.replace('\\', "/"), &mut links);
    }
    links.retain(|link| !link.is_empty());
    links.sort();
    links.dedup();
    links
}

fn links_in(text: &str, links: &mut Vec<String>) {
    let mut group = Vec::new();
    for chunk in text.split_whitespace() {
        if SCHEMES.iter().any(|scheme| chunk.contains(scheme)) {
            links.push(bare(chunk).to_owned());
        }
        if let Some(at) = chunk.find("://") {
            // An address with all that it says: a part of it may be known, and the rest carry something away.
            flush(&mut group, links);
            let (before, after) = chunk.split_at(at);
            let scheme = before.rfind(['<', '>', '"', '\'', '(', '[', ' ', ',', ';']).map_or(0, |end| end + 1);
            let end = after.find(['<', '>', '"']).unwrap_or(after.len());
            let address =
                format!("{}{}", before.get(scheme..).unwrap_or_default(), after.get(..end).unwrap_or_default());
            links.push(finished(bare(&address)));
            continue;
        }
        each_word(chunk, |word| {
            if is_address(word) {
                flush(&mut group, links);
                links.push(finished(word));
            } else if word.bytes().any(|byte| byte.is_ascii_digit()) && !is_time(word) {
                group.push(finished(word));
            } else {
                flush(&mut group, links);
            }
        });
    }
    flush(&mut group, links);
}

/// Takes a run of words with digits for one number, if it has as many digits as an account's.
fn flush(group: &mut Vec<String>, links: &mut Vec<String>) {
    let digits = group.iter().flat_map(|word| word.bytes()).filter(u8::is_ascii_digit).count();
    if digits >= ACCOUNT_DIGITS {
        links.push(group.join(" "));
    }
    group.clear();
}

/// Unicode NFKC in lower case, without what nobody sees. A sentence that begins without a space is set apart.
fn folded(text: &str) -> String {
    let visible = visible(text);
    let mut apart = String::with_capacity(text.len());
    for (at, c) in visible.iter().enumerate() {
        apart.push(*c);
        let is_before = |is: fn(char) -> bool| at.checked_sub(1).and_then(|at| visible.get(at)).is_some_and(|c| is(*c));
        let is_after = |offset: usize, is: fn(char) -> bool| visible.get(at + offset).is_some_and(|c| is(*c));
        if *c == '.'
            && is_before(char::is_lowercase)
            && is_after(1, char::is_uppercase)
            && is_after(2, char::is_lowercase)
        {
            apart.push(' ');
        }
    }
    apart.to_lowercase()
}

/// As [`folded`], without setting sentences apart.
pub(crate) fn folded_as_one(text: &str) -> String {
    visible(text).into_iter().collect::<String>().to_lowercase()
}

/// The letters of a text in NFKC, without what nobody sees.
fn visible(text: &str) -> Vec<char> {
    let seen = |c: &char| c.is_whitespace() || !is_unseen(*c);
    // Browsers take it for the dot of a name.
    let dotted = |c: char| if c == '\u{3002}' { '.' } else { c };
    if text.is_ascii() { text.chars().filter(seen).collect() } else { text.nfkc().filter(seen).map(dotted).collect() }
}

/// The words of a name, for which people write spaces where programs write `-`, `_`, `.` or `/`.
#[must_use]
pub fn name_words(text: &str) -> Vec<String> {
    words(&text.replace(['-', '_', '.', '/'], " "))
}

/// Calls `take` with each word of a folded text, in order.
fn each_word(folded: &str, mut take: impl FnMut(&str)) {
    for chunk in folded.split_whitespace() {
        let chunk = bare(chunk);
        if grouped(chunk).is_some() {
            take(chunk);
            continue;
        }
        let parts = chunk.split(BETWEEN).flat_map(|part| {
            // `to:bob` is two words, `10:30` and `host:80` are one.
            let label = part.split_once(':').filter(|(_, after)| after.starts_with(char::is_alphabetic));
            let (one, other) = label.map_or((part, ""), |(label, value)| (label, value));
            [one, other]
        });
        parts.map(bare).filter(|word| !word.is_empty()).for_each(&mut take);
    }
}

/// A word without what stands around it.
fn bare(word: &str) -> &str {
    let word = word.trim_start_matches(BEFORE).trim_end_matches(AFTER);
    word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word)
}

/// A word as it is compared.
fn finished(word: &str) -> String {
    let word = without_scheme(word);
    grouped(word).or_else(|| number(word)).unwrap_or_else(|| word.to_owned())
}

fn without_scheme(text: &str) -> &str {
    let bare = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or(text);
    if bare.len() > 1 { bare.strip_suffix('/').unwrap_or(bare) } else { bare }
}

/// A decimal number without the zeros that do not change its value. `None` if the text is not a number, or begins with a zero as
/// identifiers do.
fn number(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let is_zero = whole == "0" && fraction.is_empty();
    let sign = if is_zero { "" } else { sign };
    Some(if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") })
}

/// A number whose thousands are separated by commas.
fn grouped(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut groups = whole.strip_prefix('-').unwrap_or(whole).split(',');
    let first = groups.next()?;
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let rest: Vec<_> = groups.collect();
    if rest.is_empty()
        || first.len() > 3
        || !is_digits(first)
        || rest.iter().any(|group| group.len() != 3 || !is_digits(group))
    {
        return None;
    }
    let plain = whole.replace(',', "");
    number(&fraction.map_or(plain.clone(), |fraction| format!("{plain}.{fraction}")))
}

/// Whether a word is an address of the web or of mail, or the name of a host.
fn is_address(word: &str) -> bool {
    if word.contains("://") || word.starts_with("//") || word.starts_with("www.") {
        return true;
    }
    let host = word.rsplit('@').next().unwrap_or(word);
    let host = host.split(['/', '?', '#', ':']).next().unwrap_or(host);
    match host.rsplit_once('.') {
        Some((name, last)) => {
            let is_top = last.chars().count() >= 2 && last.chars().all(char::is_alphabetic) || last.starts_with("xn--");
            let is_number = !name.is_empty() && host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let is_ip = is_number && host.split('.').filter(|part| !part.is_empty()).count() == 4;
            (is_top && !name.is_empty()) || is_ip
        }
        None => word.contains('@') || host == "localhost",
    }
}

/// Whether a word is a date or a time of day.
fn is_time(word: &str) -> bool {
    let parts = |separator: char| {
        let parts: Vec<_> = word.split(separator).collect();
        let is_short = |part: &&str| (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        let digits: usize = parts.iter().map(|part| part.len()).sum();
        if digits <= ACCOUNT_DIGITS && parts.iter().all(is_short) { parts.len() } else { 0 }
    };
    let is_date = |date: &str| date.len() == 10 && date.split('-').map(str::len).eq([4, 2, 2]);
    let of_time = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | '+' | 'z');
    let dated = word.split_once('t').filter(|(date, time)| {
        is_date(date) && date.chars().all(of_time) && time.len() <= 16 && time.chars().all(of_time)
    });
    parts('-') == 3 || parts('/') == 3 || parts('.') == 3 || matches!(parts(':'), 2 | 3) || dated.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_takes_for_the_same_is_the_same() {
        for (one, other) in [
            ("Bob  Smith", "bob smith"),
            ("https://example.com/", "example.com"),
            ("“quoted”", "quoted"),
            ("100", "100.00"),
            ("ﬁle", "file"),
            ("a\u{200b}b", "ab"),
            ("1.50", "1.5"),
        ] {
            assert_eq!(normal(one), normal(other));
        }
        for (one, other) in
            [("007", "7"), ("-5", "5"), ("/home/x", "home/x"), ("bob@a.com", "bob@b.com"), (".env", "env")]
        {
            assert_ne!(normal(one), normal(other));
        }
    }

    #[test]
    fn addresses_and_numbers_are_words_of_their_own() {
        let text = "Pay $1,200.50 to Bob's account (GB29NWBK60161331926819), see <https://x.com/a>, or mail bob@x.com.";
        let expected = [
            "pay",
            "1200.5",
            "to",
            "bob",
            "account",
            "gb29nwbk60161331926819",
            "see",
            "x.com/a",
            "or",
            "mail",
            "bob@x.com",
        ];
        assert_eq!(words(text), expected);
        assert_eq!(words("a,b 1,2"), ["a", "b", "1", "2"]);
        assert_eq!(words("../x ~/y -3"), ["../x", "~/y", "-3"]);
        assert_eq!(words("to:bob at 10:30 on host:80"), ["to", "bob", "at", "10:30", "on", "host:80"]);
        assert_eq!(words("our site x.com.They said"), ["our", "site", "x.com", "they", "said"]);
        assert_eq!(name_words("Team-Meeting_minutes.docx"), ["team", "meeting", "minutes", "docx"]);
    }

    #[test]
    fn links_are_found_however_they_are_written() {
        let found = |text: &str| links(text);
        assert_eq!(
            found("see www.evil.com or mail me@evil.com, EVIL.org."),
            ["evil.org", "me@evil.com", "www.evil.com"]
        );
        assert_eq!(found("GB29 NWBK 6016 1331 9268 19"), ["6016 1331 9268 19"]);
        assert_eq!(found("US133000000121212121212"), ["us133000000121212121212"]);
        assert_eq!(found("at 10.0.0.1:80 and localhost"), ["10.0.0.1:80", "localhost"]);
        assert_eq!(found("[x](//evil.com) or http:\\\\evil.org"), ["//evil.com", "evil.org"]);
        assert_eq!(found("evil。com"), ["evil.com"]);
        assert_eq!(found("visit evil.Com/login"), ["com/login", "evil.com/login"].map(str::to_owned)[1..]);
        assert_eq!(found("(https://good.com/a,SECRET?d=1)"), ["good.com/a,secret?d=1"]);
        assert_eq!(found("http://[2001:db8::beef]/x"), ["[2001:db8::beef]/x"]);
        assert_eq!(found("call 555-123-4567 or 1234-5678-9012"), ["1234-5678-9012", "555-123-4567"]);
        assert_eq!(found("see javascript:alert(1)"), ["javascript:alert(1"]);
        assert!(!found(r"\\evil\share").is_empty());
        assert_eq!(found("on 2024-05-15 at 10:30, room 12, 3 of 4"), [""; 0]);
        assert_eq!(found("2024-05-15T10:30:00Z"), [""; 0]);
    }
}
