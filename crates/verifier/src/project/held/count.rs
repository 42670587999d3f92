//! The tests that files define, found by how definitions look.
//!
//! No runner collects them: it would have to run the submission's files. So this is told, and what a runner ran is judged.

use std::collections::BTreeMap;

use proofmark_checks::Content;

/// How a line begins that defines a test, in files with these extensions.
const DEFINITIONS: [(&[&str], &[&str]); 5] = [
    (&["py"], &["def test", "async def test"]),
    (
        &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"],
        &["it(", "test(", "it.", "test.", "specify(", "t.test(", "await t.test(", "tap.test("],
    ),
    (&["rb"], &["def test_", "it \"", "it '", "it(", "it {", "specify ", "test \"", "test '", "scenario "]),
    (&["bats"], &["@test "]),
    (&["go"], &["func Test", "func Fuzz", "func Example"]),
];

/// How many tests there are of each name.
#[derive(Default)]
pub(super) struct Defined(BTreeMap<String, u64>);

impl Defined {
    /// Adds the tests of a file. One whose text is not at hand counts as one test: what is not known of it counts against a submission
    /// that changed it.
    pub(super) fn add(&mut self, path: &str, content: &Content) {
        let Some(begins) = definitions(path) else { return };
        let Some(content) = content.here() else {
            *self.0.entry(content.digest().to_string()).or_default() += 1;
            return;
        };
        let text = String::from_utf8_lossy(content);
        let lines = text.lines().map(str::trim_start).filter(|line| begins.iter().any(|begin| line.starts_with(begin)));
        for line in lines {
            *self.0.entry(line.to_owned()).or_default() += 1;
        }
    }

    /// How many of these tests the other lacks.
    pub(super) fn missing_in(&self, other: &Defined) -> u64 {
        let missing = |(name, count): (&String, &u64)| count.saturating_sub(other.0.get(name).copied().unwrap_or(0));
        self.0.iter().map(missing).sum()
    }
}

/// How lines begin that define tests in a file with this path; none where none do.
pub(super) fn definitions(path: &str) -> Option<&'static [&'static str]> {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    DEFINITIONS.iter().find(|(extensions, _)| extensions.contains(&extension)).map(|(_, begins)| *begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defined(files: &[(&str, &str)]) -> Defined {
        let mut defined = Defined::default();
        files.iter().for_each(|(path, text)| defined.add(path, &text.as_bytes().to_vec().into()));
        defined
    }

    #[test]
    fn a_test_that_moved_is_not_missing() {
        let base = defined(&[("test_a.py", "def test_a():\n  pass\nclass T:\n    def test_b(self): pass\n")]);
        let moved = defined(&[("test_b.py", "def test_a():\n  1\n"), ("t/test_c.py", "    def test_b(self): pass\n")]);
        assert_eq!((base.missing_in(&moved), moved.missing_in(&base)), (0, 0));
        let fewer = defined(&[("test_b.py", "# def test_a():\ndef test_c():\n")]);
        assert_eq!(base.missing_in(&fewer), 2);
    }

    #[test]
    fn each_language_has_its_definitions() {
        for (path, text, count) in [
            ("a.test.ts", "it('a', () => {\n  test.each([1])('b', f)\n// it('c')\nitem(1)", 2),
            ("a_spec.rb", "describe 'x' do\n  it 'a' do\n  def test_b\n", 2),
            ("a.bats", "@test \"a\" {\n", 1),
            ("a_test.go", "func TestA(t *testing.T) {\nfunc helper() {\n", 1),
            ("data.json", "it(", 0),
        ] {
            assert_eq!(defined(&[(path, text)]).missing_in(&Defined::default()), count, "{path}");
        }
    }
}
