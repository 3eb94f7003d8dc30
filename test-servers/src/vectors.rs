//! The parts that the emulated vector services share: filters, and writes that show up late.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Records by namespace and id, as a service shows them, and writes that it does not show yet.
pub(crate) struct LaggingRecords<R> {
    shown: BTreeMap<String, BTreeMap<String, R>>,
    waiting: Vec<(usize, RecordWrite<R>)>,
    /// The number of reads that do not see a write.
    lag: usize,
}

/// A write of some records.
pub(crate) enum RecordWrite<R> {
    Put(String, Vec<(String, R)>),
    Delete(String, Vec<String>),
    Drop(String),
}

impl<R> Default for LaggingRecords<R> {
    fn default() -> Self {
        Self {
            shown: BTreeMap::new(),
            waiting: Vec::new(),
            lag: 0,
        }
    }
}

impl<R> LaggingRecords<R> {
    /// Makes each further write invisible for this number of reads. 0 shows all of them.
    pub(crate) fn set_lag(&mut self, reads: usize) {
        self.lag = reads;
        if reads == 0 {
            self.show(|_| true);
        }
    }

    pub(crate) fn write(&mut self, write: RecordWrite<R>) {
        self.waiting.push((self.lag, write));
        if self.lag == 0 {
            self.show(|_| true);
        }
    }

    /// Returns the records for one read, after which older writes are closer to being visible.
    pub(crate) fn read(&mut self) -> &BTreeMap<String, BTreeMap<String, R>> {
        self.show(|left| left == 0);
        for (left, _) in &mut self.waiting {
            *left = left.saturating_sub(1);
        }
        &self.shown
    }

    /// Returns the records without being a read.
    pub(crate) fn peek(&self) -> &BTreeMap<String, BTreeMap<String, R>> {
        &self.shown
    }

    /// Applies the first writes that are due. A later one never overtakes an earlier one.
    fn show(&mut self, is_due: impl Fn(usize) -> bool) {
        let due = self.waiting.iter().take_while(|(left, _)| is_due(*left));
        let due = due.count();
        for (_, write) in self.waiting.drain(..due) {
            match write {
                RecordWrite::Put(namespace, records) => {
                    self.shown.entry(namespace).or_default().extend(records);
                }
                RecordWrite::Delete(namespace, ids) => {
                    if let Some(records) = self.shown.get_mut(&namespace) {
                        for id in ids {
                            records.remove(&id);
                        }
                    }
                }
                RecordWrite::Drop(namespace) => drop(self.shown.remove(&namespace)),
            }
        }
    }
}

/// Returns whether metadata passes a filter of the MongoDB kind, or why the filter is invalid.
pub(crate) fn passes(
    filter: &Map<String, Value>,
    metadata: &Map<String, Value>,
) -> Result<bool, String> {
    for (field, condition) in filter {
        let is_met = match field.as_str() {
            "$and" | "$or" => {
                let parts = condition.as_array().filter(|parts| !parts.is_empty());
                let parts = parts.ok_or_else(|| format!("{field} needs a list"))?;
                let mut met = Vec::new();
                for part in parts {
                    let part = part.as_object();
                    met.push(passes(part.ok_or("not an object")?, metadata)?);
                }
                match field.as_str() {
                    "$and" => met.iter().all(|met| *met),
                    _ => met.iter().any(|met| *met),
                }
            }
            _ => meets(metadata.get(field), condition)?,
        };
        if !is_met {
            return Ok(false);
        }
    }
    Ok(true)
}

fn meets(value: Option<&Value>, condition: &Value) -> Result<bool, String> {
    let Some(operators) = condition.as_object() else {
        return Ok(is_equal(value, condition));
    };
    for (operator, operand) in operators {
        let compare = |is: fn(f64, f64) -> bool| {
            let operand = operand
                .as_f64()
                .ok_or_else(|| format!("{operator} must be followed by a number"))?;
            Ok::<bool, String>(
                value
                    .and_then(Value::as_f64)
                    .is_some_and(|value| is(value, operand)),
            )
        };
        let list = || {
            let list = operand.as_array();
            list.ok_or_else(|| format!("{operator} must be followed by a list"))
        };
        let is_met = match operator.as_str() {
            "$eq" => is_equal(value, operand),
            "$ne" => !is_equal(value, operand),
            "$gt" => compare(|a, b| a > b)?,
            "$gte" => compare(|a, b| a >= b)?,
            "$lt" => compare(|a, b| a < b)?,
            "$lte" => compare(|a, b| a <= b)?,
            "$in" => list()?.iter().any(|one| is_equal(value, one)),
            "$nin" => !list()?.iter().any(|one| is_equal(value, one)),
            "$exists" => value.is_some() == operand.as_bool().unwrap_or_default(),
            _ => return Err(format!("{operator} is not a valid operator")),
        };
        if !is_met {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_equal(value: Option<&Value>, operand: &Value) -> bool {
    match value {
        Some(Value::Array(list)) => list.contains(operand),
        Some(Value::Number(_)) => value.and_then(Value::as_f64) == operand.as_f64(),
        value => value == Some(operand),
    }
}

/// Returns the product of two vectors of the same length.
pub(crate) fn product(one: &[f32], other: &[f32]) -> f64 {
    let pairs = one.iter().zip(other);
    pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}
