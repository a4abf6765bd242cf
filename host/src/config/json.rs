//! `[component.config]` as the JSON object that a component gets.

use serde_json::{Map, Number, Value};

use super::mistake::Problem;
use super::node::{Node, NodeValue, Table};
use super::origin::Location;

/// A value that has no counterpart in JSON.
pub(super) struct Misfit {
    pub(super) location: Location,
    pub(super) key: String,
    pub(super) problem: Problem,
}

/// Translates a table; `path` is the key it stands under. What does not fit is left out and told.
pub(super) fn object(table: &Table, path: &str, misfits: &mut Vec<Misfit>) -> Map<String, Value> {
    table
        .iter()
        .map(|(key, node)| (key.clone(), value(node, &format!("{path}.{key}"), misfits)))
        .collect()
}

fn value(node: &Node, path: &str, misfits: &mut Vec<Misfit>) -> Value {
    let mut misfit = |what, expected| {
        misfits.push(Misfit {
            location: node.location.clone(),
            key: path.to_owned(),
            problem: Problem::NotJson { what, expected },
        });
        Value::Null
    };
    match &node.value {
        NodeValue::String(text) | NodeValue::Datetime(text) => Value::String(text.clone()),
        NodeValue::Integer(Some(number)) => Value::from(*number),
        NodeValue::Integer(None) => misfit(
            "an integer of more than 64 bits",
            "a smaller one, or a string",
        ),
        NodeValue::Float(number) => match Number::from_f64(*number) {
            Some(number) => Value::Number(number),
            None => misfit("a float that is not finite", "a finite one, or a string"),
        },
        NodeValue::Boolean(flag) => Value::Bool(*flag),
        NodeValue::Array(items) => items
            .iter()
            .enumerate()
            .map(|(at, item)| value(item, &format!("{path}[{at}]"), misfits))
            .collect(),
        NodeValue::Table(table) => Value::Object(object(table, path, misfits)),
    }
}
