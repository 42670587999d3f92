//! A program in a Markdown code block, as language models write it.

use crate::language::Language;

/// The fewest marks of a fence (CommonMark 0.31, section 4.5).
const MIN_FENCE: usize = 3;
/// The most spaces before a fence.
const MAX_INDENT: usize = 3;

/// The program in a text that may be Markdown: its only code block, or of several the only one that names the language.
/// A text without a code block is the program itself.
///
/// # Errors
/// Why it is unknown which block is the program.
pub(crate) fn program(text: &str, language: Language) -> Result<&str, String> {
    let blocks = blocks(text);
    let of_language = || blocks.iter().filter(|block| block.is_of(language));
    match (blocks.as_slice(), of_language().count()) {
        ([], _) => Ok(text),
        ([block], _) => Ok(block.content),
        (_, 1) => Ok(of_language().next().map_or(text, |block| block.content)),
        (several, named) => Err(format!(
            "the submission has {} code blocks, {named} of them marked `{language}`; write exactly one, or mark exactly one",
            several.len()
        )),
    }
}

/// Whether a text begins with a fence, so that as a program it is a mistake.
pub(crate) fn begins_with_fence(text: &str) -> bool {
    text.trim_start().lines().next().is_some_and(|line| Fence::opening(line).is_some())
}

struct Block<'a> {
    /// What follows the opening fence.
    info: &'a str,
    content: &'a str,
}

impl Block<'_> {
    fn is_of(&self, language: Language) -> bool {
        let word = self.info.split_whitespace().next().unwrap_or_default();
        word.to_ascii_lowercase().parse() == Ok(language)
    }
}

struct Fence<'a> {
    mark: char,
    length: usize,
    info: &'a str,
}

impl Fence<'_> {
    fn opening(line: &str) -> Option<Fence<'_>> {
        let text = line.trim_start_matches(' ');
        let mark = text.chars().next().filter(|first| matches!(first, '`' | '~'))?;
        let info = text.trim_start_matches(mark);
        let length = text.len() - info.len();
        // Backticks behind backticks are code within a line.
        let is_fence =
            line.len() - text.len() <= MAX_INDENT && length >= MIN_FENCE && !(mark == '`' && info.contains(mark));
        is_fence.then_some(Fence { mark, length, info })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        Fence::opening(line)
            .is_some_and(|end| end.mark == self.mark && end.length >= self.length && end.info.trim().is_empty())
    }
}

/// The code blocks of a text. One that is not closed ends with the text.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(Fence<'_>, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        open = match open.take() {
            None => Fence::opening(line.trim_end_matches(['\n', '\r'])).map(|fence| (fence, end)),
            Some((fence, from)) if fence.is_closed_by(line.trim_end_matches(['\n', '\r'])) => {
                blocks.push(Block { info: fence.info, content: text.get(from..start).unwrap_or_default() });
                None
            }
            inside => inside,
        };
    }
    blocks.extend(open.map(|(fence, from)| Block { info: fence.info, content: text.get(from..).unwrap_or_default() }));
    blocks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_program_is_the_only_block_or_the_only_one_of_its_language() {
        let table = [
            ("x = 1\n", "x = 1\n"),
            ("```\nx = 1\n```\n", "x = 1\n"),
            ("```python\nx = 1\n```", "x = 1\n"),
            ("Here it is:\n\n   ~~~~ py title=a\nx = 1\n~~~\n~~~~~  \r\nDone.", "x = 1\n~~~\n"),
            ("```bash\npip install x\n```\nand\n``` Python\nx = 1\n```\n", "x = 1\n"),
            ("```python\nx = 1", "x = 1"),
            ("```py\r\nx = 1\r\n```\r\n", "x = 1\r\n"),
            ("```\n```", ""),
            ("a `code` and ```more``` here\n", "a `code` and ```more``` here\n"),
            ("    ```\nx\n", "    ```\nx\n"),
            ("```python\ns = '''\n```md\n'''\n```\n", "s = '''\n```md\n'''\n"),
        ];
        for (text, content) in table {
            assert_eq!(program(text, Language::Python), Ok(content), "{text}");
        }
        for text in
            ["```\na\n```\n```\nb\n```\n", "```py\na\n```\n```python\nb\n```\n", "```sh\na\n```\n```js\nb\n```\n"]
        {
            assert!(program(text, Language::Python).is_err(), "{text}");
        }
        assert!(begins_with_fence("\n```python\nx"));
        assert!(!begins_with_fence("x\n```python\nx"));
    }

    proptest! {
        #[test]
        fn any_text_is_cut_within_itself(text in "([`~]{1,4}|[ a\\r]|\\n|python){0,40}") {
            if let Ok(program) = program(&text, Language::Python) {
                prop_assert!(text.contains(program));
            }
        }

        #[test]
        fn a_program_comes_back_out_of_its_fence(lines in prop::collection::vec("[a-z `~]{0,6}", 0..6)) {
            let source: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let text = format!("Text.\n`````````` ruby\n{source}``````````\n");
            prop_assert_eq!(program(&text, Language::Ruby), Ok(source.as_str()));
        }
    }
}
