//! Finds the commands of a text. Reserved words are taken as separators: what runs under which condition is not said here, so every
//! command that some run of the text may reach is found, and a text that a shell would refuse may have commands too many.

use crate::word::Word;
use crate::{Cause, MAX_COMMANDS, MAX_DEPTH};

/// Where a list of commands ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Text,
    Parenthesis,
}

/// How a command is joined to what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    /// `;`, a new line, or the end.
    Then,
    And,
    Or,
    Pipe,
    Background,
}

/// A command before its words are expanded.
#[derive(Clone, Debug)]
pub(crate) struct RawCommand {
    pub(crate) assignments: Vec<(String, Option<Word>)>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
    /// The shell that runs it: commands in parentheses, substitutions and their like have one of their own.
    pub(crate) shell: usize,
    pub(crate) before: Joint,
    pub(crate) after: Joint,
    /// Whether its shell always comes to it: it is not within a condition, a loop, a group or a function.
    pub(crate) is_plain: bool,
    pub(crate) is_in_loop: bool,
}

/// A file that a command reads or writes through a redirection.
#[derive(Clone, Debug)]
pub(crate) struct Redirect {
    pub(crate) file: Word,
    pub(crate) writes: bool,
}

/// A loop over words.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) name: String,
    /// No words are those that the text was started with.
    pub(crate) words: Vec<Word>,
    /// The first command of it, and the first one after it.
    pub(crate) begin: usize,
    pub(crate) end: Option<usize>,
}

/// All that was found in a text and in the texts within it.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) commands: Vec<RawCommand>,
    /// The shell that each one was started by.
    pub(crate) shells: Vec<Option<usize>>,
    pub(crate) loops: Vec<Loop>,
    /// Variables whose values are evaluated as expressions, and the command that this happens at.
    pub(crate) evaluated: Vec<(String, usize)>,
    /// Variables whose value some expansion may have set.
    pub(crate) changed: Vec<String>,
    /// Whether a function is defined.
    pub(crate) has_functions: bool,
}

/// Reads one text.
#[derive(Debug)]
pub(crate) struct Reader {
    text: Vec<char>,
    pub(crate) at: usize,
    depth: usize,
    pub(crate) found: Found,
    shell: usize,
    pub(crate) heredocs: Vec<(String, bool, bool)>,
    pub(crate) compounds: usize,
    pub(crate) loops: usize,
    before: Joint,
    /// The command that ended right here.
    last: Option<usize>,
    /// Whether `!` stands before the next command.
    pub(crate) is_negated: bool,
    /// The loops that have begun, by their numbers; `None` for those without words.
    pub(crate) open_loops: Vec<Option<usize>>,
    /// Whether a line goes on within what could be an operator.
    pub(crate) is_broken: bool,
}

impl Reader {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.chars().collect(),
            at: 0,
            depth: 0,
            found: Found { shells: vec![None], ..Found::default() },
            shell: 0,
            heredocs: Vec::new(),
            compounds: 0,
            loops: 0,
            before: Joint::Then,
            last: None,
            is_negated: false,
            open_loops: Vec::new(),
            is_broken: false,
        }
    }

    /// Reads all of it.
    pub(crate) fn read(mut self) -> Result<Found, Cause> {
        self.list(End::Text)?;
        if self.is_broken { Err(Cause::Syntax) } else { Ok(self.found) }
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    pub(crate) fn peek_at(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    pub(crate) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    pub(crate) fn text_from(&self, from: usize) -> String {
        self.text.get(from..self.at).unwrap_or_default().iter().collect()
    }

    pub(crate) fn take_while(&mut self, takes: impl Fn(char) -> bool) -> String {
        let from = self.at;
        while self.peek().is_some_and(&takes) {
            self.at += 1;
        }
        self.text_from(from)
    }

    pub(crate) fn takes(&mut self, text: &str) -> bool {
        let is_next = text.chars().enumerate().all(|(ahead, c)| self.peek_at(ahead) == Some(c));
        if is_next {
            self.at += text.chars().count();
        }
        is_next
    }

    pub(crate) fn deeper(&mut self) -> Result<(), Cause> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Cause::TooLarge) } else { Ok(()) }
    }

    pub(crate) fn shallower(&mut self) {
        self.depth -= 1;
    }

    /// Reads the commands of a shell within this one.
    pub(crate) fn nested(&mut self, end: End) -> Result<(), Cause> {
        self.deeper()?;
        // Shells differ on whether their lines come within what begins here.
        if !self.heredocs.is_empty() {
            return Err(Cause::Syntax);
        }
        let outer = (self.shell, self.compounds, self.loops, self.before);
        self.found.shells.push(Some(self.shell));
        self.shell = self.found.shells.len() - 1;
        (self.compounds, self.loops, self.before) = (0, 0, Joint::Then);
        self.list(end)?;
        (self.shell, self.compounds, self.loops, self.before) = outer;
        self.last = None;
        self.shallower();
        Ok(())
    }

    /// Reads a text that is a part of this one.
    pub(crate) fn inner_text(&mut self, text: Vec<char>) -> Result<(), Cause> {
        if !self.heredocs.is_empty() {
            return Err(Cause::Syntax);
        }
        self.within(text, |reader| reader.nested(End::Text))
    }

    pub(crate) fn within(
        &mut self,
        text: Vec<char>,
        read: impl FnOnce(&mut Self) -> Result<(), Cause>,
    ) -> Result<(), Cause> {
        let outer = (std::mem::replace(&mut self.text, text), std::mem::take(&mut self.at));
        let heredocs = std::mem::take(&mut self.heredocs);
        read(self)?;
        (self.text, self.at) = outer;
        self.heredocs = heredocs;
        Ok(())
    }

    /// Reads commands up to the end of the list.
    fn list(&mut self, end: End) -> Result<(), Cause> {
        // For each `case` that has begun, whether a pattern comes next.
        let mut cases: Vec<bool> = Vec::new();
        loop {
            self.skip_blanks();
            if cases.last() == Some(&true) && !matches!(self.peek(), Some('\n' | '#') | None) {
                self.pattern(&mut cases)?;
                continue;
            }
            match self.peek() {
                None if end == End::Text && cases.is_empty() => return Ok(()),
                None => return Err(Cause::Syntax),
                Some('#') => drop(self.take_while(|c| c != '\n')),
                Some('\n') => {
                    self.at += 1;
                    self.here_documents()?;
                    self.joint(Joint::Then);
                }
                Some(')') if end == End::Parenthesis && cases.is_empty() => {
                    self.at += 1;
                    // Their lines have not come yet: they would be read as commands.
                    return if self.heredocs.is_empty() { Ok(()) } else { Err(Cause::Syntax) };
                }
                Some(')') => return Err(Cause::Syntax),
                Some('(') if self.peek_at(1) == Some('(') => {
                    self.at += 2;
                    self.arithmetic_command()?;
                }
                Some('(') => {
                    self.at += 1;
                    self.nested(End::Parenthesis)?;
                }
                Some(';' | '&' | '|') if !self.is_redirect() => self.operator(&mut cases)?,
                Some(_) => self.command(&mut cases)?,
            }
        }
    }

    /// Blanks, and lines that go on.
    pub(crate) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.peek_at(1) == Some('\n') => {
                    let before = self.at.checked_sub(1).and_then(|at| self.text.get(at));
                    self.is_broken |= before.is_some_and(|c| !matches!(c, ' ' | '\t' | '\n'));
                    self.at += 2;
                }
                _ => return,
            }
        }
    }

    fn operator(&mut self, cases: &mut [bool]) -> Result<(), Cause> {
        if self.takes(";;&") || self.takes(";;") || self.takes(";&") {
            *cases.last_mut().ok_or(Cause::Syntax)? = true;
            self.joint(Joint::Then);
        } else if self.takes("&&") {
            self.joint(Joint::And);
        } else if self.takes("||") {
            self.joint(Joint::Or);
        } else if self.takes("|&") || self.takes("|") {
            self.joint(Joint::Pipe);
        } else if self.takes("&") {
            self.joint(Joint::Background);
        } else {
            self.at += 1;
            self.joint(Joint::Then);
        }
        Ok(())
    }

    /// Says of the last command what follows it, and of the next what stands before it.
    fn joint(&mut self, joint: Joint) {
        if let Some(last) = self.last.take().and_then(|last| self.found.commands.get_mut(last)) {
            last.after = joint;
        }
        self.before = joint;
    }

    /// A command, or a reserved word before one.
    fn command(&mut self, cases: &mut Vec<bool>) -> Result<(), Cause> {
        let mut raw = RawCommand {
            assignments: Vec::new(),
            words: Vec::new(),
            redirects: Vec::new(),
            shell: self.shell,
            before: self.before,
            after: Joint::Then,
            is_plain: self.compounds == 0 && !std::mem::take(&mut self.is_negated),
            is_in_loop: self.loops > 0,
        };
        loop {
            self.skip_blanks();
            if self.is_redirect() {
                raw.redirects.extend(self.redirect()?);
                continue;
            }
            match self.peek() {
                None | Some('\n' | ';' | '&' | '|' | ')') => break,
                Some('(') => {
                    self.parenthesis(&mut raw)?;
                    if raw.words.is_empty() && raw.assignments.is_empty() {
                        return Ok(());
                    }
                    continue;
                }
                Some(_) => {}
            }
            if self.peek() == Some('#') {
                drop(self.take_while(|c| c != '\n'));
                break;
            }
            let word = self.word()?;
            // A redirection that sets a variable, and in zsh the end of a group.
            let is_braced = word.written.starts_with('{') && word.written.ends_with('}');
            let is_first_word = raw.words.is_empty() && raw.assignments.is_empty();
            let is_brace = matches!(word.plain().as_deref(), Some("{" | "}")) && !is_first_word;
            if is_brace || (is_braced && matches!(self.peek(), Some('<' | '>'))) {
                return Err(Cause::Syntax);
            }
            let is_first = raw.words.is_empty() && raw.assignments.is_empty() && raw.redirects.is_empty();
            if let Some(first) = word.plain().filter(|_| is_first)
                && self.reserved(&first, cases)?
            {
                (self.before, self.last) = (Joint::Then, None);
                return Ok(());
            }
            match word.assignment() {
                Some((name, _)) if raw.words.is_empty() && word.begins_list() && self.peek() == Some('(') => {
                    raw.assignments.push((name, None));
                }
                Some((name, value)) if raw.words.is_empty() => raw.assignments.push((name, Some(value))),
                _ => raw.words.push(word),
            }
        }
        if self.found.commands.len() >= MAX_COMMANDS {
            return Err(Cause::TooLarge);
        }
        self.last = Some(self.found.commands.len());
        self.found.commands.push(raw);
        Ok(())
    }

    /// `(` after a word: a list of values, or the definition of a function, whose body comes next.
    fn parenthesis(&mut self, raw: &mut RawCommand) -> Result<(), Cause> {
        self.at += 1;
        let declares = raw.words.last().is_some_and(Word::begins_list);
        if declares || matches!(raw.assignments.last(), Some((_, None))) && raw.words.is_empty() {
            loop {
                self.skip_blanks();
                match self.peek().ok_or(Cause::Syntax)? {
                    ')' => {
                        self.at += 1;
                        return Ok(());
                    }
                    '\n' if self.heredocs.is_empty() => self.at += 1,
                    '#' => drop(self.take_while(|c| c != '\n')),
                    '\n' | ';' | '&' | '|' | '(' | '<' | '>' => return Err(Cause::Syntax),
                    // A subscript is evaluated.
                    '[' => return Err(Cause::Evaluates),
                    _ => drop(self.word()?),
                }
            }
        }
        self.skip_blanks();
        let is_name = raw.words.len() == 1 && raw.assignments.is_empty() && raw.redirects.is_empty();
        if !is_name || !self.takes(")") {
            return Err(Cause::Syntax);
        }
        raw.words.clear();
        self.found.has_functions = true;
        self.skip_blanks();
        // Shells differ on other bodies.
        if !matches!(self.peek(), Some('{' | '(' | '\n')) {
            return Err(Cause::Syntax);
        }
        Ok(())
    }
}
