//! `all`, `exists`, `exists_one`, `filter` and `map` over lists and maps.

use super::{Flow, Local, Machine, Operand, Place, element, merge};
use crate::ast::{Macro, MacroKind, Node};
use crate::error::Missing;
use crate::limits::MAX_MISSING;
use crate::value::Value;

/// The intermediate result of a macro.
struct Gathered {
    values: Vec<Value>,
    matched: usize,
    missing: Vec<Missing>,
}

/// Whether the elements left can still change the answer.
enum Next {
    Continue,
    Stop(bool),
}

impl<'a> Machine<'a> {
    pub(super) fn expand(&mut self, node: &'a Node, expanded: &'a Macro) -> Flow<Operand<'a>> {
        // The number of different reasons can end a macro, and so decide how many steps it takes.
        let names = std::mem::replace(&mut self.names, true);
        let result = self.visit_all(node, expanded);
        self.names = names;
        result
    }

    fn visit_all(&mut self, node: &'a Node, expanded: &'a Macro) -> Flow<Operand<'a>> {
        let range = self.eval(&expanded.range)?;
        let count = match &*range {
            Value::List(items) => items.len(),
            Value::Map(map) => map.entries().len(),
            other => return Err(self.wrong_type(&expanded.range, "list or map", other)),
        };
        let mut gathered = Gathered { values: Vec::new(), matched: 0, missing: Vec::new() };
        for at in 0..count {
            self.charge(node, 1)?;
            let outer = self.locals.len();
            self.bind(expanded, &range, at);
            let next = self.visit(expanded, &mut gathered);
            // Before the result is looked at: slots are counted from the outermost variable, so none may stay behind.
            self.locals.truncate(outer);
            match next {
                Ok(Next::Continue) => {}
                Ok(Next::Stop(truth)) => return Ok(truth.into()),
                Err(more) => merge(&mut gathered.missing, more),
            }
            // A later element may still decide `all` and `exists`; the other macros stay unknown.
            let stays_unknown = !matches!(expanded.kind, MacroKind::All | MacroKind::Exists);
            if self.steps.exhausted() || (stays_unknown && gathered.missing.len() >= MAX_MISSING) {
                break;
            }
        }
        self.finish(node, expanded.kind, gathered)
    }

    /// Puts the variables for one element on the stack.
    fn bind(&mut self, expanded: &'a Macro, range: &Operand<'a>, at: usize) {
        let range_node = &expanded.range;
        let (key, value, place) = match &**range {
            Value::List(items) => {
                let index = i64::try_from(at).unwrap_or(i64::MAX);
                let key = Operand::Owned(Value::Int(index));
                (key, element(range, items, at), Place::Index(at))
            }
            Value::Map(map) => {
                let Some((key, value)) = map.entries().get(at) else {
                    return;
                };
                let shared = match range {
                    Operand::Shared(Value::Map(map)) => map.entries().get(at),
                    _ => None,
                };
                let value = match shared {
                    Some((_, value)) => Operand::Shared(value),
                    None => Operand::Owned(value.clone()),
                };
                (Operand::Owned(key.to_value()), Some(value), Place::Key(key.clone()))
            }
            _ => return,
        };
        let Some(value) = value else {
            return;
        };
        let is_map = matches!(**range, Value::Map(_));
        if expanded.variables == 2 {
            let index = Place::Index(at);
            self.locals.push(Local { value: key, range: range_node, place: index });
            self.locals.push(Local { value, range: range_node, place });
        } else {
            let value = if is_map { key } else { value };
            self.locals.push(Local { value, range: range_node, place });
        }
    }

    fn visit(&mut self, expanded: &'a Macro, gathered: &mut Gathered) -> Flow<Next> {
        match expanded.kind {
            MacroKind::All if !self.condition(&expanded.body)? => return Ok(Next::Stop(false)),
            MacroKind::Exists if self.condition(&expanded.body)? => return Ok(Next::Stop(true)),
            MacroKind::All | MacroKind::Exists => {}
            MacroKind::ExistsOne => {
                gathered.matched += usize::from(self.condition(&expanded.body)?);
            }
            MacroKind::Filter => {
                if self.condition(&expanded.body)?
                    && let Some(local) = self.locals.last()
                {
                    // The last variable is the element, or the key of a map when there is only one, as in CEL.
                    gathered.values.push((*local.value).clone());
                }
            }
            MacroKind::Map => {
                let is_selected = match &expanded.filter {
                    Some(filter) => self.condition(filter)?,
                    None => true,
                };
                if is_selected {
                    gathered.values.push(self.eval(&expanded.body)?.into_value());
                }
            }
        }
        Ok(Next::Continue)
    }

    fn finish(&mut self, node: &'a Node, kind: MacroKind, gathered: Gathered) -> Flow<Operand<'a>> {
        // `all` and `exists` have returned already if an element decided, so an unknown element leaves all five
        // unknown.
        if !gathered.missing.is_empty() {
            return Err(gathered.missing);
        }
        match kind {
            MacroKind::All => Ok(true.into()),
            MacroKind::Exists => Ok(false.into()),
            MacroKind::ExistsOne => Ok((gathered.matched == 1).into()),
            MacroKind::Filter | MacroKind::Map => {
                self.charge_items(node, gathered.values.len())?;
                Ok(Operand::Owned(Value::from(gathered.values)))
            }
        }
    }
}
