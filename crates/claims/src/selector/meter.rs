//! What an evaluation takes is counted as it goes, and ended when it is too much: how long the lists are through
//! which an expression goes, its text does not always tell, and nobody is decided about meanwhile.
//!
//! Every round of every comprehension takes as many steps as its body has parts, those of comprehensions within it
//! aside. The compiled expression is changed so that each round asks for its steps first:
//!
//! ```text
//! loop condition             →   @steps(@left, 7) ? loop condition : false
//! @result + [element]        →   @steps(@left, 7) ? @result + [element] : @result
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators};
use cel::common::types::{CelBool, CelInt, INT_TYPE, Type};
use cel::common::value::CowVal;
use cel::{Context, DeclarationError, Env, ExecutionError, IdedExpr};

use super::failure::failed;
use super::values::value;

/// Steps that the comprehensions of the expressions of one request may take for one device: some 40 ms. What people
/// write takes a few dozen.
const MAX: i64 = 300_000;

/// What takes steps; no expression can name it.
const STEPS: &str = "@steps";
/// What is left of them; no expression can name it.
const LEFT: &str = "@left";

static STEPS_LEFT: Type = Type::new_unspecified_type("pumice.StepsLeft");

/// Steps that are left to an evaluation.
#[derive(Clone, Debug)]
struct StepsLeft(Arc<AtomicI64>);

value! { StepsLeft, STEPS_LEFT, }

/// Declares what metered expressions call.
pub fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_type(STEPS_LEFT.to_owned())?;
    env.add_overload(STEPS, STEPS, vec![STEPS_LEFT.to_owned(), INT_TYPE], take)
}

/// Steps that the expressions of one request may still take for one device.
pub struct SelectorSteps(StepsLeft);

impl Default for SelectorSteps {
    fn default() -> Self {
        Self(StepsLeft(Arc::new(AtomicI64::new(MAX))))
    }
}

impl SelectorSteps {
    /// An evaluation takes its steps from these.
    pub(super) fn lend(&self, context: &mut Context<'_, '_>) {
        context.add_variable_as_val(LEFT, Box::new(self.0.clone()));
    }
}

fn take<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let left = arguments[0].downcast_ref::<StepsLeft>();
    let steps = arguments[1].downcast_ref::<CelInt>();
    let (Some(left), Some(steps)) = (left, steps) else {
        return Err(failed(STEPS, "no number of steps".to_owned()));
    };
    let before = left.0.fetch_sub(*steps.inner(), Ordering::Relaxed);
    match before >= *steps.inner() {
        true => Ok(CowVal::owned(CelBool::from(true))),
        false => Err(failed(
            "selector",
            format!("it takes more than {MAX} steps on this device: look at shorter lists"),
        )),
    }
}

/// The expression that counts its steps.
pub fn metered(mut expression: IdedExpr) -> IdedExpr {
    meter(&mut expression);
    expression
}

/// Meters what is within; how many parts it has.
fn meter(expression: &mut IdedExpr) -> i64 {
    let within = match &mut expression.expr {
        Expr::Call(call) => all(call.target.as_deref_mut().into_iter().chain(&mut call.args)),
        Expr::Comprehension(comprehension) => meter_comprehension(comprehension),
        Expr::List(list) => all(&mut list.elements),
        Expr::Map(map) => entries(map.entries.iter_mut().map(|entry| &mut entry.expr)),
        Expr::Struct(made) => entries(made.entries.iter_mut().map(|entry| &mut entry.expr)),
        Expr::Select(select) => meter(&mut select.operand),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => 0,
    };
    within + 1
}

fn all<'e>(parts: impl IntoIterator<Item = &'e mut IdedExpr>) -> i64 {
    parts.into_iter().map(meter).sum()
}

fn entries<'e>(all: impl Iterator<Item = &'e mut EntryExpr>) -> i64 {
    all.map(|entry| match entry {
        EntryExpr::StructField(field) => meter(&mut field.value),
        EntryExpr::MapEntry(entry) => meter(&mut entry.key) + meter(&mut entry.value),
    })
    .sum()
}

/// Makes the rounds of a comprehension take their own steps, and says how many parts it has besides.
fn meter_comprehension(comprehension: &mut ComprehensionExpr) -> i64 {
    let ends = all([
        &mut comprehension.iter_range,
        &mut comprehension.accu_init,
        &mut comprehension.result,
    ]);
    let round = all([&mut comprehension.loop_cond, &mut comprehension.loop_step]);
    match gathers(comprehension) {
        // The library makes such a list in one go as long as its condition is a literal.
        true => {
            let step = &mut comprehension.loop_step;
            match &mut step.expr {
                Expr::Call(call) if call.func_name == operators::CONDITIONAL => {
                    ask(&mut call.args[0], literal(false), round);
                }
                _ => ask(step, ident(&comprehension.accu_var), round),
            }
        }
        false => ask(&mut comprehension.loop_cond, literal(false), round),
    }
    ends
}

/// A list is made of one element a round, or of those that are wanted.
fn gathers(comprehension: &ComprehensionExpr) -> bool {
    let is_result =
        |e: &IdedExpr| matches!(&e.expr, Expr::Ident(name) if *name == comprehension.accu_var);
    let appends = |e: &IdedExpr| match call_of(e, operators::ADD) {
        Some([result, made]) => is_result(result) && matches!(made.expr, Expr::List(_)),
        _ => false,
    };
    let step = &comprehension.loop_step;
    let appends_wanted = match call_of(step, operators::CONDITIONAL) {
        Some([_, wanted, otherwise]) => appends(wanted) && is_result(otherwise),
        _ => false,
    };
    is_result(&comprehension.result)
        && matches!(comprehension.loop_cond.expr, Expr::Literal(_))
        && (appends(step) || appends_wanted)
}

/// The arguments of a call of a function, if it is one.
fn call_of<'e>(expression: &'e IdedExpr, name: &str) -> Option<&'e [IdedExpr]> {
    match &expression.expr {
        Expr::Call(call) if call.func_name == name && call.target.is_none() => Some(&call.args),
        _ => None,
    }
}

/// `expression` becomes `@steps(@left, steps) ? expression : otherwise`.
fn ask(expression: &mut IdedExpr, otherwise: IdedExpr, steps: i64) {
    let steps = made(Expr::Literal(LiteralValue::Int(CelInt::from(steps))));
    let taken = call(STEPS, vec![ident(LEFT), steps]);
    let asked = std::mem::take(expression);
    *expression = call(operators::CONDITIONAL, vec![taken, asked, otherwise]);
}

fn call(function: &str, args: Vec<IdedExpr>) -> IdedExpr {
    made(Expr::Call(CallExpr {
        func_name: function.to_owned(),
        target: None,
        args,
    }))
}

fn ident(name: &str) -> IdedExpr {
    made(Expr::Ident(name.to_owned()))
}

fn literal(value: bool) -> IdedExpr {
    made(Expr::Literal(LiteralValue::Boolean(CelBool::from(value))))
}

fn made(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}
