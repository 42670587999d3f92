//! Reserved words: conditions, loops, `case`, functions, and what belongs to them before the next command.

use crate::Cause;
use crate::reader::{Loop, Reader};
use crate::word::Word;

impl Reader {
    /// `case` patterns: words between `|`, up to `)`.
    pub(crate) fn pattern(&mut self, cases: &mut Vec<bool>) -> Result<(), Cause> {
        if self.peek() == Some('(') {
            self.at += 1;
        }
        loop {
            self.skip_blanks();
            let word = self.word()?;
            if word.plain().as_deref() == Some("esac") {
                cases.pop();
                self.compounds = self.compounds.saturating_sub(1);
                return Ok(());
            }
            if word.written.is_empty() {
                return Err(Cause::Syntax);
            }
            self.skip_blanks();
            match self.next() {
                Some('|') => {}
                Some(')') => {
                    *cases.last_mut().ok_or(Cause::Syntax)? = false;
                    return Ok(());
                }
                _ => return Err(Cause::Syntax),
            }
        }
    }

    /// `((…))`. A shell that does not know it has commands in parentheses there, so it may only set or step a variable.
    pub(crate) fn arithmetic_command(&mut self) -> Result<(), Cause> {
        self.skip_blanks();
        let name = self.take_while(|c| c == '_' || c.is_ascii_alphanumeric());
        let rest = self.take_while(|c| c.is_ascii_alphanumeric() || "_$+-*=".contains(c));
        self.skip_blanks();
        let sets = rest == "++" || rest == "--" || rest.trim_start_matches(['+', '-', '*']).starts_with('=');
        if name.is_empty() || !sets || !self.takes("))") {
            return Err(Cause::Syntax);
        }
        // Its value is evaluated, and is not known then.
        let steps = rest == "++" || rest == "--";
        let is_number =
            rest.trim_start_matches(['+', '-', '*']).trim_start_matches('=').chars().all(|c| c.is_ascii_digit());
        if !steps && !is_number {
            return Err(Cause::Evaluates);
        }
        self.found.evaluated.push((name, self.found.commands.len()));
        Ok(())
    }

    /// Takes a reserved word, and what belongs to it before the next command. Says whether it is one.
    pub(crate) fn reserved(&mut self, word: &str, cases: &mut Vec<bool>) -> Result<bool, Cause> {
        match word {
            "if" | "{" => self.compounds += 1,
            "while" | "until" => {
                self.compounds += 1;
                self.loops += 1;
                self.open_loops.push(None);
            }
            "then" | "elif" | "else" | "do" => {}
            "!" => self.is_negated = true,
            "time" => {
                self.skip_blanks();
                let _has_option = self.takes("-p ");
                self.skip_blanks();
                if self.peek() == Some('-') {
                    return Err(Cause::Syntax);
                }
            }
            "fi" | "}" => self.compounds = self.compounds.saturating_sub(1),
            "done" => {
                self.compounds = self.compounds.saturating_sub(1);
                self.loops = self.loops.saturating_sub(1);
                let end = self.found.commands.len();
                let ended = self.open_loops.pop().flatten().and_then(|number| self.found.loops.get_mut(number));
                if let Some(ended) = ended {
                    ended.end = Some(end);
                }
            }
            "esac" => {
                self.compounds = self.compounds.saturating_sub(1);
                cases.pop().ok_or(Cause::Syntax)?;
            }
            "case" => {
                self.skip_blanks();
                self.word()?;
                self.skip_lines()?;
                if self.word()?.plain().as_deref() != Some("in") {
                    return Err(Cause::Syntax);
                }
                self.compounds += 1;
                cases.push(true);
            }
            "for" | "select" => self.loop_words()?,
            "function" => {
                self.skip_blanks();
                self.word()?;
                self.skip_blanks();
                if self.takes("(") {
                    self.skip_blanks();
                    if !self.takes(")") {
                        return Err(Cause::Syntax);
                    }
                }
                self.found.has_functions = true;
            }
            "[[" => self.condition()?,
            // Other shells have these, or they start commands in ways that are not followed here.
            "coproc" | "foreach" | "repeat" | "end" | "always" => return Err(Cause::Syntax),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn skip_lines(&mut self) -> Result<(), Cause> {
        self.skip_blanks();
        while self.peek() == Some('\n') {
            // Lines of here-documents would come first.
            if !self.heredocs.is_empty() {
                return Err(Cause::Syntax);
            }
            self.at += 1;
            self.skip_blanks();
        }
        Ok(())
    }

    fn loop_words(&mut self) -> Result<(), Cause> {
        self.compounds += 1;
        self.loops += 1;
        self.skip_blanks();
        // What it counts with is evaluated.
        if self.takes("((") {
            return Err(Cause::Evaluates);
        }
        let name = self.word()?.plain().ok_or(Cause::Syntax)?;
        self.skip_lines()?;
        let words_begin = self.at;
        if self.word()?.plain().as_deref() != Some("in") {
            self.at = words_begin;
            self.begin_loop(name, Vec::new());
            return Ok(());
        }
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('\n' | ';') => break,
                Some('#') => return Err(Cause::Syntax),
                Some('&' | '|' | '(' | ')' | '<' | '>') if !matches!(self.peek_at(1), Some('(')) => {
                    return Err(Cause::Syntax);
                }
                Some(_) => words.push(self.word()?),
            }
        }
        self.begin_loop(name, words);
        Ok(())
    }

    fn begin_loop(&mut self, name: String, words: Vec<Word>) {
        self.open_loops.push(Some(self.found.loops.len()));
        self.found.loops.push(Loop { name, words, begin: self.found.commands.len(), end: None });
    }

    /// `[[ … ]]`. A shell that does not know it takes what stands within for words of a command, and for commands after `&&` and `||`.
    fn condition(&mut self) -> Result<(), Cause> {
        let mut may_be_command = false;
        loop {
            self.skip_blanks();
            match self.peek().ok_or(Cause::Syntax)? {
                '&' | '|' => {
                    if !self.takes("&&") && !self.takes("||") {
                        return Err(Cause::Syntax);
                    }
                    may_be_command = true;
                }
                '\n' | ';' | '(' | ')' | '<' | '>' | '#' => return Err(Cause::Syntax),
                c => {
                    let word = self.word()?;
                    let plain = word.plain();
                    match plain.as_deref() {
                        Some("]]") => return Ok(()),
                        Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v" | "-R" | "-o" | "-t") => {
                            return Err(Cause::Evaluates);
                        }
                        _ if word.written.is_empty() => return Err(Cause::Syntax),
                        _ => {}
                    }
                    let is_negation = plain.as_deref() == Some("!");
                    if may_be_command && c != '-' && !is_negation {
                        return Err(Cause::Syntax);
                    }
                    may_be_command &= is_negation;
                }
            }
        }
    }
}
