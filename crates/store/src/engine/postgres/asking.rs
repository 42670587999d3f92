//! Many questions in one statement.
//!
//! The writes of a group ask the same about different rows. Questions of the same text become one statement, which takes an array
//! for each parameter, and whose rows begin with the number of the question that they answer.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::engine::postgres::bind::Kind;
use crate::engine::postgres::connection::Connection;
use crate::engine::postgres::flight::Ready;
use crate::fault::Fault;
use crate::statement::{Question, Record, Text, Texts};
use crate::value::Value;

/// Which of the questions a statement answers, by their places.
pub(crate) struct Asked {
    places: Vec<usize>,
    /// Whether its rows begin with the number of the question.
    numbered: bool,
}

/// The questions, ready to go, and what each statement answers.
///
/// # Errors
/// When the server refuses one of them.
pub(crate) async fn ready(
    connection: &mut Connection,
    questions: Vec<Question>,
) -> Result<(Vec<Ready>, Vec<Asked>), Fault> {
    let Connection { client, statements: prepared, .. } = connection;
    let (mut all, mut asked) = (Vec::new(), Vec::new());
    for Alike { sql, texts, places, mut rows } in alike(questions) {
        let numbered = rows.len() > 1;
        match texts.filter(|_| numbered) {
            None => all.push(prepared.ready(client, &sql, rows.pop().unwrap_or_default()).await?),
            Some(texts) => {
                // The server knows the types of the parameters; a value that is NULL does not tell its own.
                let one = prepared.prepare(client, &sql).await?;
                let kinds = one.params().iter().map(Kind::of).collect::<Result<Vec<_>, _>>()?;
                let statement = prepared.prepare(client, &of_many(&texts.columns, &kinds)).await?;
                let columns = columns(rows, kinds.len()).into_iter().zip(kinds);
                let values = columns.map(|(column, kind)| kind.bind_all(column)).collect::<Result<_, _>>()?;
                all.push(Ready { statement, values });
            }
        }
        asked.push(Asked { places, numbered });
    }
    Ok((all, asked))
}

/// The answers in the order of the questions, of which there are so many.
pub(crate) fn answers(rows: Vec<Vec<Record>>, asked: &[Asked], questions: usize) -> Vec<Vec<Record>> {
    let mut answers: Vec<Vec<Record>> = Vec::new();
    answers.resize_with(questions, Vec::new);
    for (rows, Asked { places, numbered }) in rows.into_iter().zip(asked) {
        for Record(mut values) in rows {
            // Rows come in no order, and some questions have none: only the number tells whose answer a row is.
            let place = match (numbered, values.first()) {
                (true, Some(Value::Integer(number))) => {
                    let place = usize::try_from(number - 1).ok().and_then(|number| places.get(number));
                    values.remove(0);
                    place
                }
                _ => places.first(),
            };
            if let Some(answer) = place.and_then(|place| answers.get_mut(*place)) {
                answer.push(Record(values));
            }
        }
    }
    answers
}

/// Questions that become one statement.
struct Alike {
    sql: Cow<'static, str>,
    /// The texts of a question that may be shared.
    texts: Option<&'static Texts>,
    /// The place and the values of each question.
    places: Vec<usize>,
    rows: Vec<Vec<Value>>,
}

fn alike(questions: Vec<Question>) -> Vec<Alike> {
    let mut known: HashMap<Cow<'static, str>, usize> = HashMap::new();
    let mut all: Vec<Alike> = Vec::new();
    for (place, question) in questions.into_iter().enumerate() {
        let sql = question.sql();
        let texts = match question.text {
            Text::Shared(texts) => Some(texts),
            Text::Alone(_) => None,
        };
        let other = if texts.is_some() { known.get(&sql).and_then(|at| all.get_mut(*at)) } else { None };
        match other {
            Some(alike) => {
                alike.places.push(place);
                alike.rows.push(question.values);
            }
            None => {
                known.insert(sql.clone(), all.len());
                all.push(Alike { sql, texts, places: vec![place], rows: vec![question.values] });
            }
        }
    }
    all
}

/// The statement that answers many questions, of which `one` is the text with columns for its values, which have these kinds.
fn of_many(one: &str, kinds: &[Kind]) -> String {
    let arrays = kinds.iter().enumerate().map(|(column, kind)| format!("${}::{}", column + 1, kind.array()));
    let names = (1..=kinds.len()).map(|number| format!("value_{number}, "));
    format!(
        "SELECT batch.number, answer.* FROM unnest({}) WITH ORDINALITY AS batch ({}number), LATERAL ({one}) AS answer",
        arrays.collect::<Vec<_>>().join(", "),
        names.collect::<String>()
    )
}

/// The values of each parameter.
fn columns(rows: Vec<Vec<Value>>, count: usize) -> Vec<Vec<Value>> {
    let mut columns: Vec<Vec<Value>> = (0..count).map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::question;
    use crate::value::values;

    fn one(b: &str, c: i64) -> Question {
        question!("SELECT a FROM t WHERE b = {b} AND c = {c} AND d = '?'", b: b, c: c)
    }

    #[test]
    fn questions_of_one_text_are_one_statement() {
        let change = |a: i64| Question::alone("DELETE FROM t WHERE a = $1 RETURNING a", values![a]);
        let none = || Question::alone("SELECT 1", []);
        let all = alike(vec![one("x", 1), change(1), one("y", 2), change(2), none(), none()]);
        let places: Vec<_> = all.iter().map(|alike| alike.places.clone()).collect();
        assert_eq!(places, [vec![0, 2], vec![1], vec![3], vec![4], vec![5]]);
        assert_eq!(
            of_many(&all[0].texts.unwrap().columns, &[Kind::Text, Kind::Integer]),
            "SELECT batch.number, answer.* FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY \
             AS batch (value_1, value_2, number), \
             LATERAL (SELECT a FROM t WHERE b = batch.value_1 AND c = batch.value_2 AND d = '?') AS answer"
        );
        assert_eq!(columns(all[0].rows.clone(), 2), [values!["x", "y"].to_vec(), values![1_i64, 2_i64].to_vec()]);
    }

    #[test]
    fn answers_have_the_order_of_the_questions() {
        let asked = [
            Asked { places: vec![0, 2], numbered: true },
            Asked { places: vec![1], numbered: false },
            Asked { places: vec![3], numbered: false },
        ];
        let record = |values: &[Value]| Record(values.to_vec());
        let rows = vec![
            vec![record(&values![2_i64, "c"]), record(&values![1_i64, "a"]), record(&values![2_i64, "d"])],
            vec![record(&values!["b"])],
            vec![],
        ];
        let expected = [
            vec![record(&values!["a"])],
            vec![record(&values!["b"])],
            vec![record(&values!["c"]), record(&values!["d"])],
            vec![],
        ];
        assert_eq!(answers(rows, &asked, 4), expected);
    }
}
