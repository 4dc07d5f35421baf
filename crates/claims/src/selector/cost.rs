//! How long an expression may take at most, from its text alone: CEL always ends, but loops within loops
//! over long lists may not within a lifetime.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators};

use super::macros::PAIRS;

/// Steps an expression may take (`CELSelectorExpressionMaxCost`).
pub const LIMIT: u64 = 1_000_000;

/// Size of what a device tells: at most 32 attributes and capacities, strings of 64 characters.
const DEVICE_SIZE: u64 = 64;

/// Characters that `format` makes of one of its own at most: a number has 309 digits before the point and
/// 100 behind it, and is written for two characters.
const NUMBER_SIZE: u64 = 256;

/// Elements that `lists.range` makes at most.
const RANGE_SIZE: u64 = 1_000_000;

/// Characters of what `validate` says of a text.
const PROBLEMS_SIZE: u64 = 512;

/// Steps to compile a regular expression, besides those for its length.
const PATTERN_STEPS: u64 = 5_000;

/// Names before a function that are part of its name.
const NAMESPACES: [&str; 6] = ["format", "ip", "lists", "optional", "sets", "strings"];

/// An upper bound of the steps of an expression.
pub fn estimate(expression: &IdedExpr) -> u64 {
    CostBound::default().of(expression).steps
}

/// Bounds of one expression.
#[derive(Clone, Copy)]
struct StepBound {
    /// Steps to evaluate it.
    steps: u64,
    /// Elements or characters of its value, those within it included.
    size: u64,
    /// Elements of its value, those within them not included.
    count: u64,
    /// Elements or characters of the largest element of its value, those within it included.
    largest: u64,
}

impl StepBound {
    /// A value that takes so many steps and has so many elements or characters, of which nobody knows
    /// how they are divided: all could be elements, or all within one.
    fn new(steps: u64, size: u64) -> Self {
        Self {
            steps,
            size,
            count: size,
            largest: size,
        }
    }
}

#[derive(Default)]
struct CostBound {
    /// Sizes of variables of the comprehensions around.
    sizes: Vec<(String, u64)>,
}

impl CostBound {
    fn of(&mut self, expression: &IdedExpr) -> StepBound {
        match &expression.expr {
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Ident(name) => StepBound::new(1, self.size_of(name)),
            Expr::List(list) => self.sum(list.elements.iter(), list.elements.len()),
            Expr::Map(map) => self.entries(map.entries.iter().map(|entry| &entry.expr)),
            Expr::Struct(made) => self.entries(made.entries.iter().map(|entry| &entry.expr)),
            Expr::Select(select) => {
                let operand = self.of(&select.operand);
                StepBound::new(operand.steps.saturating_add(1), operand.size)
            }
            Expr::Literal(literal) => {
                let size = match literal {
                    LiteralValue::String(text) => 1 + text.inner().len() as u64,
                    LiteralValue::Bytes(bytes) => 1 + bytes.inner().len() as u64,
                    _ => 1,
                };
                StepBound::new(1, size)
            }
            Expr::Unspecified => StepBound::new(1, 1),
        }
    }

    fn size_of(&self, name: &str) -> u64 {
        let known = self.sizes.iter().rev().find(|(known, _)| known == name);
        known.map_or(DEVICE_SIZE, |(_, size)| *size)
    }

    /// A value of so many elements with these parts: itself and all of them.
    fn sum<'e>(&mut self, parts: impl Iterator<Item = &'e IdedExpr>, count: usize) -> StepBound {
        let mut sum = StepBound {
            steps: 1,
            size: 1,
            count: count as u64,
            largest: 1,
        };
        for part in parts {
            let part = self.of(part);
            sum.steps = sum.steps.saturating_add(part.steps);
            sum.size = sum.size.saturating_add(part.size);
            sum.largest = sum.largest.max(part.size);
        }
        // Parts are copied.
        sum.steps = sum.steps.saturating_add(sum.size);
        sum
    }

    fn entries<'e>(&mut self, all: impl Iterator<Item = &'e EntryExpr>) -> StepBound {
        let (mut parts, mut count) = (Vec::new(), 0);
        for entry in all {
            count += 1;
            match entry {
                EntryExpr::StructField(field) => parts.push(&field.value),
                EntryExpr::MapEntry(entry) => parts.extend([&entry.key, &entry.value]),
            }
        }
        self.sum(parts.into_iter(), count)
    }

    fn call(&mut self, call: &CallExpr) -> StepBound {
        let target = call.target.as_deref();
        let target = target.filter(|target| !self.is_namespace(target));
        let mut steps = 1_u64;
        let mut arguments = Vec::new();
        for argument in target.into_iter().chain(&call.args) {
            let bound = self.of(argument);
            steps = steps.saturating_add(bound.steps);
            arguments.push(bound);
        }
        let sizes: Vec<u64> = arguments.iter().map(|argument| argument.size).collect();
        let (work, size) = work_and_size(call, &sizes);
        let bound = StepBound::new(steps.saturating_add(work), size);
        match &arguments[..] {
            [range] if call.func_name == PAIRS => StepBound {
                count: range.count,
                // The pair, and an index and an element or a key and a value.
                largest: range.largest.saturating_mul(2).saturating_add(2),
                ..bound
            },
            // Parts of a text, all of them together no longer than it is.
            [text, ..] if matches!(call.func_name.as_str(), "split" | "findAll") => StepBound {
                count: text.size.saturating_add(1),
                largest: text.size,
                ..bound
            },
            // Numbers.
            _ if call.func_name == "range" => StepBound {
                largest: 1,
                ..bound
            },
            _ => bound,
        }
    }

    /// Whether what stands before the point is a part of the function's name, as in `sets.contains`.
    fn is_namespace(&self, target: &IdedExpr) -> bool {
        let Expr::Ident(name) = &target.expr else {
            return false;
        };
        let is_variable = self.sizes.iter().any(|(known, _)| known == name);
        !is_variable && NAMESPACES.contains(&name.as_str())
    }

    /// Rounds times steps of a round. What is gathered grows by as much every round as in the first one:
    /// no macro uses what it gathers twice.
    fn comprehension(&mut self, all: &ComprehensionExpr) -> StepBound {
        let range = self.of(&all.iter_range);
        let rounds = range.count;
        let start = self.of(&all.accu_init);
        let before = self.sizes.len();
        self.sizes.push((all.iter_var.clone(), range.largest));
        if let Some(second) = &all.iter_var2 {
            self.sizes.push((second.clone(), range.largest));
        }
        self.sizes.push((all.accu_var.clone(), start.size));
        let condition = self.of(&all.loop_cond);
        let round = self.of(&all.loop_step);
        let growth = round.size.saturating_sub(start.size);
        let size = start.size.saturating_add(rounds.saturating_mul(growth));
        if let Some((_, known)) = self.sizes.last_mut() {
            *known = size;
        }
        let result = self.of(&all.result);
        self.sizes.truncate(before);
        // The element of each round is copied, and the value at the start.
        let one = condition.steps.saturating_add(round.steps);
        let rounds = rounds.saturating_mul(one.saturating_add(range.largest));
        let copied = start.size.saturating_add(result.size);
        let ends = range.steps.saturating_add(start.steps);
        let ends = ends.saturating_add(result.steps).saturating_add(copied);
        let steps = ends.saturating_add(rounds);
        StepBound::new(steps, result.size)
    }
}

/// Steps of a function and size of what it gives, from the sizes of its arguments. A function looks at
/// most at every part of one argument for every part of another, and gives no more, unless it stands here.
fn work_and_size(call: &CallExpr, sizes: &[u64]) -> (u64, u64) {
    let sum = sizes
        .iter()
        .fold(0_u64, |sum, size| sum.saturating_add(*size));
    let product = sizes.iter().fold(1_u64, |product, size| {
        product.saturating_mul((*size).max(1))
    });
    let name = call.func_name.as_str();
    let is_name = name.starts_with(char::is_alphabetic);
    let usual = if is_name && sizes.len() > 1 {
        product
    } else {
        sum
    };
    let compiled = match name {
        "matches" | "find" | "findAll" => PATTERN_STEPS,
        _ => 0,
    };
    match name {
        // Every other character may stand for an argument, each of which comes once, with quotes.
        "format" if sizes.len() > 1 => {
            let numbers = (sizes[0] / 2 + 1).saturating_mul(2 * NUMBER_SIZE);
            let size = sum.saturating_mul(4).saturating_add(numbers);
            (size, size)
        }
        "string" => (sum, sum.saturating_add(2 * NUMBER_SIZE)),
        "validate" => (product, PROBLEMS_SIZE),
        "matches" | "find" => (usual.saturating_add(compiled), usual),
        "split" | "findAll" if !sizes.is_empty() => {
            let size = sizes[0].saturating_mul(2).saturating_add(1);
            (usual.saturating_add(compiled), size)
        }
        // For a character an escape of three, or a key with a list and an empty text.
        "quote" | "getEscapedPath" | "getQuery" | PAIRS => (usual, usual.saturating_mul(4)),
        "range" => {
            let size = call.args.first().map_or(RANGE_SIZE, range_size);
            (size, size.saturating_add(1))
        }
        // Each element is compared about as often as the number of elements has bits.
        "sort" | "@sortByAssociatedKeys" => {
            (sum.saturating_mul(u64::from(sum.max(1).ilog2()) + 2), sum)
        }
        // True or false.
        operators::LOGICAL_AND
        | operators::LOGICAL_OR
        | operators::LOGICAL_NOT
        | operators::NOT_STRICTLY_FALSE
        | operators::EQUALS
        | operators::NOT_EQUALS
        | operators::LESS
        | operators::LESS_EQUALS
        | operators::GREATER
        | operators::GREATER_EQUALS => (sum, 1),
        // What is taken out of a value is no larger.
        operators::INDEX | operators::OPT_INDEX => (sum, sizes.first().copied().unwrap_or(1)),
        "distinct" => (sum.saturating_mul(sum), sum),
        _ => (usual, usual),
    }
}

/// Elements of the range up to a number.
fn range_size(end: &IdedExpr) -> u64 {
    match &end.expr {
        Expr::Literal(LiteralValue::Int(end)) => u64::try_from(*end.inner()).unwrap_or(0),
        _ => RANGE_SIZE,
    }
}
