//! Files that `node --test` runs because of where they are, and that only help the tests.

use std::sync::LazyLock;

use regex::bytes::Regex;

/// Names `node:test`, or calls what is named as its functions are.
const TESTS: &str = r"(?-u)node:test|\b(?:test|it|describe|suite)\b\s*(?:\.\s*\w+\s*)*\(";
/// Loads a module that is built into Node.
const BUILT_IN: &str = r#"(?x-u)
    (?: \brequire\s*\(\s* | \b(?:import|export)\b[^'"();]* )
    ['"](?: node:[a-z_/]+ | assert | buffer | child_process | crypto | events | fs | http | net | os | path | stream | timers | url | util
        | worker_threads | zlib )['"]"#;
/// Loads any other code.
const LOADS: &str = r#"(?-u)\b(?:require|import|createRequire|eval|Function)\b|\bfrom\s*['"]"#;

/// How a text is read; `None` if an expression is invalid.
static EXPRESSIONS: LazyLock<Option<[Regex; 3]>> =
    LazyLock::new(|| Some([Regex::new(TESTS).ok()?, Regex::new(BUILT_IN).ok()?, Regex::new(LOADS).ok()?]));

/// Whether a file of JavaScript has no tests, and loads nothing that could have any, or that could end the process before its tests run:
/// only modules that are built into Node. What cannot be told apart counts as a file with tests.
pub(super) fn only_helps(text: &[u8]) -> bool {
    EXPRESSIONS.as_ref().is_some_and(|[tests, built_in, loads]| {
        !tests.is_match(text) && !loads.is_match(&built_in.replace_all(text, b"".as_slice()))
    })
}

#[cfg(test)]
mod tests {
    use super::only_helps;

    #[test]
    fn a_file_that_loads_code_of_others_may_have_tests() {
        for text in [
            "",
            "module.exports = 1\n",
            "export const wait = ms => new Promise(done => setTimeout(done, ms))\n",
            "import { join } from 'node:path'\nimport fs from \"fs\"\nexport * from 'node:url'\nexport default join('a', 'b')\n",
            "const { once } = require('events'); const a = require( \"node:fs/promises\" )\n",
        ] {
            assert!(only_helps(text.as_bytes()), "{text}");
        }
        for text in [
            "const t = require('node:test')\n",
            "test('one', () => {})\n",
            "describe.only('a', () => {})\n",
            "require('./helper.js')(require('./a.js'))\n",
            "import './a.js'\n",
            "import run from \"../run.mjs\"\n",
            "export { run } from './run.mjs'\n",
            "const run = await import(name)\n",
            "import { join } from 'node:path'; import run from 'left-pad'\n",
            "const load = createRequire(import.meta.url)\n",
            "eval(text)\n",
        ] {
            assert!(!only_helps(text.as_bytes()), "{text}");
        }
    }
}
