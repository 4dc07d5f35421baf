//! How long an expression may take at most, from its text alone: CEL always ends, but loops within loops
//! over long lists may not within a lifetime.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue};

/// Steps an expression may take (`CELSelectorExpressionMaxCost`).
pub const LIMIT: u64 = 1_000_000;

/// Size of what a device tells: at most 32 attributes and capacities, strings of 64 characters.
const DEVICE_SIZE: u64 = 64;

/// Characters that `format` makes of one of its own at most: a number has 309 digits before the point and
/// 100 behind it, and is written for two characters.
const NUMBER_SIZE: u64 = 256;

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
            Expr::Ident(name) => StepBound {
                steps: 1,
                size: self.size_of(name),
            },
            Expr::List(list) => self.sum(list.elements.iter()),
            Expr::Map(map) => self.entries(map.entries.iter().map(|entry| &entry.expr)),
            Expr::Struct(made) => self.entries(made.entries.iter().map(|entry| &entry.expr)),
            Expr::Select(select) => {
                let operand = self.of(&select.operand);
                StepBound {
                    steps: operand.steps.saturating_add(1),
                    ..operand
                }
            }
            Expr::Literal(literal) => StepBound {
                steps: 1,
                size: match literal {
                    LiteralValue::String(text) => 1 + text.inner().len() as u64,
                    LiteralValue::Bytes(bytes) => 1 + bytes.inner().len() as u64,
                    _ => 1,
                },
            },
            Expr::Unspecified => StepBound { steps: 1, size: 1 },
        }
    }

    fn size_of(&self, name: &str) -> u64 {
        let known = self.sizes.iter().rev().find(|(known, _)| known == name);
        known.map_or(DEVICE_SIZE, |(_, size)| *size)
    }

    fn sum<'e>(&mut self, all: impl Iterator<Item = &'e IdedExpr>) -> StepBound {
        let nothing = StepBound { steps: 1, size: 1 };
        all.fold(nothing, |sum, one| {
            let one = self.of(one);
            StepBound {
                steps: sum.steps.saturating_add(one.steps),
                size: sum.size.saturating_add(one.size),
            }
        })
    }

    fn entries<'e>(&mut self, all: impl Iterator<Item = &'e EntryExpr>) -> StepBound {
        let mut parts = Vec::new();
        for entry in all {
            match entry {
                EntryExpr::StructField(field) => parts.push(&field.value),
                EntryExpr::MapEntry(entry) => parts.extend([&entry.key, &entry.value]),
            }
        }
        self.sum(parts.into_iter())
    }

    /// A function looks at most at every part of one argument for every part of another.
    fn call(&mut self, call: &CallExpr) -> StepBound {
        let arguments = call.target.as_deref().into_iter().chain(&call.args);
        let (mut steps, mut size, mut work) = (1_u64, 0_u64, 1_u64);
        let mut count = 0;
        for argument in arguments {
            let bound = self.of(argument);
            steps = steps.saturating_add(bound.steps);
            size = size.saturating_add(bound.size);
            work = work.saturating_mul(bound.size.max(1));
            count += 1;
        }
        let is_name = call
            .func_name
            .chars()
            .next()
            .is_some_and(char::is_alphabetic);
        let (work, size) = match is_name && count > 1 {
            true if call.func_name == "format" => {
                (work, work.saturating_add(size.saturating_mul(NUMBER_SIZE)))
            }
            true => (work, work),
            false => (size, size),
        };
        StepBound {
            steps: steps.saturating_add(work),
            size,
        }
    }

    /// Rounds times steps of a round. What is gathered grows by as much every round as in the first one:
    /// no macro uses what it gathers twice.
    fn comprehension(&mut self, all: &ComprehensionExpr) -> StepBound {
        let range = self.of(&all.iter_range);
        let rounds = match &all.iter_range.expr {
            Expr::List(list) => list.elements.len() as u64,
            _ => range.size,
        };
        let start = self.of(&all.accu_init);
        let before = self.sizes.len();
        self.sizes.push((all.iter_var.clone(), range.size));
        if let Some(second) = &all.iter_var2 {
            self.sizes.push((second.clone(), range.size));
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
        let one = condition.steps.saturating_add(round.steps);
        let rounds = rounds.saturating_mul(one);
        let ends = range.steps.saturating_add(start.steps);
        StepBound {
            steps: ends.saturating_add(rounds).saturating_add(result.steps),
            size: result.size,
        }
    }
}
