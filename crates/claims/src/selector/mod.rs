//! CEL expressions that select devices (spec/09 §3).
//!
//! An expression sees one variable, `device`: its driver, its attributes and capacities by domain and name,
//! and whether several claims may have it. Compiled once, evaluated once a device; nothing that an
//! expression does reaches further than its own answer.

mod clock;
mod cost;
mod failure;
mod formats;
mod functions;
mod lists;
mod macros;
mod meter;
mod network;
mod operators;
mod patterns;
mod sets;
mod times;
mod urls;
mod values;

pub use meter::SelectorSteps;

use std::fmt;
use std::sync::Arc;

use cel::{Context, IdedExpr, ParseErrors, Value};

use crate::device::DraDevice;

/// Longest expression (`CELSelectorExpressionMaxLength`).
const MAX_LENGTH_BYTES: usize = 10 * 1024;

/// Operators, calls, selections and brackets of one expression: what is deeper could not be evaluated
/// within a stack.
const MAX_OPERATORS: usize = 512;

/// Whether a device passes selectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// All of them hold.
    Yes,
    /// One does not.
    No,
    /// One of them cannot be evaluated.
    Fails,
}

/// Why an expression is of no use: compile time or, on one device, evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorError {
    /// It is no expression, or one that would take too long.
    Compile(String),
    /// It fails on a device.
    Evaluate(String),
}

impl fmt::Display for SelectorError {
    /// `CEL compile error: …`, `CEL runtime error: …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compile(text) => write!(f, "CEL compile error: {text}"),
            Self::Evaluate(text) => write!(f, "CEL runtime error: {text}"),
        }
    }
}

impl std::error::Error for SelectorError {}

/// A compiled expression.
#[derive(Clone)]
pub struct DeviceSelector {
    expression: IdedExpr,
    cost: u64,
}

impl DeviceSelector {
    /// Compiles an expression.
    ///
    /// # Errors
    /// It is longer or would take longer than Kubernetes allows, or is no CEL.
    pub fn compile(text: &str) -> Result<Self, SelectorError> {
        let compile = SelectorError::Compile;
        if text.len() > MAX_LENGTH_BYTES {
            return Err(compile(format!("longer than {MAX_LENGTH_BYTES} bytes")));
        }
        if operators::count(text) > MAX_OPERATORS {
            return Err(compile(format!("more than {MAX_OPERATORS} operators")));
        }
        let program = functions::environment().compile(text);
        let program = program.map_err(|errors| compile(first_of(&errors)))?;
        let cost = cost::estimate(program.expression());
        if cost > cost::LIMIT {
            let limit = cost::LIMIT;
            return Err(compile(format!(
                "it may take {cost} steps, more than {limit}"
            )));
        }
        let expression = meter::metered(program.expression().clone());
        Ok(Self { expression, cost })
    }

    /// Steps that it takes at most for one device: about one for each operator, and for each element or
    /// character that one looks at.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Whether the expression holds for a device. What it takes is taken off `steps`.
    ///
    /// # Errors
    /// It cannot be evaluated: an attribute that the device does not have, a value of another type, too many
    /// rounds of comprehensions.
    pub fn holds(
        &self,
        driver: &str,
        device: &DraDevice,
        steps: &SelectorSteps,
    ) -> Result<bool, SelectorError> {
        let mut context = Context::with_env(Arc::clone(functions::environment()));
        context.add_variable_as_val("device", Box::new(values::view(driver, device)));
        steps.lend(&mut context);
        match Value::resolve(&self.expression, &context) {
            Ok(Value::Bool(holds)) => Ok(holds),
            Ok(_) => Err(SelectorError::Evaluate(
                "the result is not true or false".to_owned(),
            )),
            Err(error) => Err(SelectorError::Evaluate(shortened(&in_a_line(
                &error.to_string(),
            )))),
        }
    }
}

/// The first of the errors in an expression, without the expression itself.
fn first_of(errors: &ParseErrors) -> String {
    let Some(first) = errors.errors.first() else {
        return errors.to_string();
    };
    let (line, column) = first.pos;
    let (kind, words) = match first.msg.strip_prefix("Syntax error: ") {
        Some(words) => ("syntax error at", words),
        None => ("at", first.msg.as_str()),
    };
    // An error that the parser's framework does not know is written as Rust writes structures.
    let inner = words.strip_prefix("OtherError(");
    let inner = inner.and_then(|inner| inner.split_once("msg: \"")?.1.split_once('"'));
    let words = inner.map_or(words, |(words, _)| words);
    shortened(&in_a_line(&format!("{kind} {line}:{column}: {words}")))
}

/// A message without line breaks: of what is no regular expression, what is wrong with it, not where.
fn in_a_line(text: &str) -> String {
    let picture = text.split_once("\nregex parse error:");
    let why = picture.and_then(|(what, rest)| Some((what, rest.rsplit_once("\nerror: ")?.1)));
    let text = match why {
        Some((what, why)) => format!("{what} {why}"),
        None => text.to_owned(),
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// Values in messages of errors can be long.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
