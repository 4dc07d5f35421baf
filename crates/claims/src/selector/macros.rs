//! Macros beyond those of the CEL library: `cel.bind`, comprehensions with two variables, and what `format`
//! needs to write times (spec/09 §3).
//!
//! `range.all(k, v, …)` becomes a comprehension with one variable over the pairs of the range: index and
//! element of a list, key and value of a map.
//!
//! ```text
//! range.all(k, v, holds)   →   @pairs(range).all(@pair, bind k = @pair[0], v = @pair[1] in holds)
//! ```

use std::collections::HashMap;

use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, ListExpr, LiteralValue, operators};
use cel::common::types::{CelInt, CelList, CelMap, CelMapKey, DYN_TYPE, LIST_TYPE};
use cel::common::value::{CowVal, Val};
use cel::parser::{Macro, MacroExprHelper};
use cel::{DeclarationError, Env, ExecutionError, IdedExpr, ParseError};

use super::failure::failed;
use super::lists::elements;
use super::times;

/// Functions that macros call; no expression can name them.
pub const PAIRS: &str = "@pairs";
const ENTRIES: &str = "@entries";
const MERGED: &str = "@merged";
const WRITABLE: &str = "@writable";
/// Variables of macros; no expression can name them.
const PAIR: &str = "@pair";
const RESULT: &str = "@result";

type Expanded = Result<Option<IdedExpr>, ParseError>;

/// Declares the macros and what they call.
pub fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_overload(PAIRS, PAIRS, vec![DYN_TYPE], pairs)?;
    env.add_overload(ENTRIES, ENTRIES, vec![LIST_TYPE], entries)?;
    env.add_overload(MERGED, MERGED, vec![LIST_TYPE], merged)?;
    env.add_overload(WRITABLE, WRITABLE, vec![DYN_TYPE], writable)?;
    env.add_macro(Macro::receiver("bind", 3, bind))?;
    env.add_macro(Macro::receiver("format", 1, format))?;
    env.add_macro(Macro::receiver("all", 3, all))?;
    env.add_macro(Macro::receiver("exists", 3, exists))?;
    env.add_macro(Macro::receiver("existsOne", 3, exists_one))?;
    env.add_macro(Macro::receiver("exists_one", 3, exists_one))?;
    for count in [3, 4] {
        env.add_macro(Macro::receiver("transformList", count, transform_list))?;
        env.add_macro(Macro::receiver("transformMap", count, transform_map))?;
        env.add_macro(Macro::receiver("transformMapEntry", count, transform_entry))?;
    }
    Ok(())
}

fn ident(helper: &mut MacroExprHelper<'_>, name: &str) -> IdedExpr {
    helper.next_expr(Expr::Ident(name.to_owned()))
}

fn call(helper: &mut MacroExprHelper<'_>, function: &str, args: Vec<IdedExpr>) -> IdedExpr {
    helper.next_expr(Expr::Call(CallExpr {
        func_name: function.to_owned(),
        target: None,
        args,
    }))
}

fn literal(helper: &mut MacroExprHelper<'_>, value: LiteralValue) -> IdedExpr {
    helper.next_expr(Expr::Literal(value))
}

fn list(helper: &mut MacroExprHelper<'_>, elements: Vec<IdedExpr>) -> IdedExpr {
    helper.next_expr(Expr::List(ListExpr::new(elements)))
}

/// An expression in which a name has a value: a comprehension over nothing, of which only the start and
/// the result are evaluated.
fn bound(
    helper: &mut MacroExprHelper<'_>,
    name: &str,
    value: IdedExpr,
    result: IdedExpr,
) -> IdedExpr {
    let iter_range = list(helper, Vec::new());
    let loop_cond = literal(helper, LiteralValue::Boolean(false.into()));
    let loop_step = ident(helper, name);
    helper.next_expr(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range,
        iter_var: "#unused".to_owned(),
        iter_var2: None,
        accu_var: name.to_owned(),
        accu_init: value,
        loop_cond,
        loop_step,
        result,
    })))
}

fn name_of(helper: &mut MacroExprHelper<'_>, of: &IdedExpr) -> Result<String, ParseError> {
    match &of.expr {
        Expr::Ident(name) => Ok(name.clone()),
        _ => Err(helper.new_error(of.id, "a variable needs a simple name")),
    }
}

/// `cel.bind(name, value, expression)`.
fn bind(
    helper: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    arguments: &mut Vec<IdedExpr>,
) -> Expanded {
    let is_ours = target
        .as_ref()
        .is_some_and(|t| t.expr == Expr::Ident("cel".to_owned()));
    if !is_ours || arguments.len() != 3 {
        return Ok(None);
    }
    let name = name_of(helper, &arguments[0])?;
    let mut values = arguments.drain(1..);
    let (Some(value), Some(result)) = (values.next(), values.next()) else {
        return Ok(None);
    };
    Ok(Some(bound(helper, &name, value, result)))
}

/// `text.format(values)`, which knows nothing of durations and times: it is given their texts.
fn format(
    helper: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    arguments: &mut Vec<IdedExpr>,
) -> Expanded {
    let Some(values) = arguments.pop() else {
        return Ok(None);
    };
    let values = call(helper, WRITABLE, vec![values]);
    Ok(Some(helper.next_expr(Expr::Call(CallExpr {
        func_name: "format".to_owned(),
        target: target.take().map(Box::new),
        args: vec![values],
    }))))
}

/// The parts of a comprehension with two variables.
struct TwoVariables {
    range: IdedExpr,
    names: [String; 2],
    /// What comes behind the names: one expression, or a condition and one.
    expressions: Vec<IdedExpr>,
}

impl TwoVariables {
    fn read(
        helper: &mut MacroExprHelper<'_>,
        target: &mut Option<IdedExpr>,
        arguments: &mut Vec<IdedExpr>,
    ) -> Result<Option<Self>, ParseError> {
        let [first, second, ..] = &arguments[..] else {
            return Ok(None);
        };
        let names = [name_of(helper, first)?, name_of(helper, second)?];
        if names[0] == names[1] {
            let id = second.id;
            return Err(helper.new_error(id, format!("two variables are named {}", names[0])));
        }
        Ok(target.take().map(|target| Self {
            range: call(helper, PAIRS, vec![target]),
            names,
            expressions: arguments.drain(..).skip(2).collect(),
        }))
    }

    /// The last expression, with both names bound to the parts of the pair.
    fn last(&mut self, helper: &mut MacroExprHelper<'_>) -> Option<IdedExpr> {
        let mut expression = self.expressions.pop()?;
        for (at, name) in self.names.iter().enumerate().rev() {
            let pair = ident(helper, PAIR);
            let at = literal(helper, LiteralValue::Int((at as i64).into()));
            let part = call(helper, operators::INDEX, vec![pair, at]);
            expression = bound(helper, name, part, expression);
        }
        Some(expression)
    }

    /// Gathers over all pairs, as long as a condition holds.
    fn folded(
        self,
        helper: &mut MacroExprHelper<'_>,
        start: IdedExpr,
        condition: IdedExpr,
        step: IdedExpr,
        result: IdedExpr,
    ) -> IdedExpr {
        helper.next_expr(Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: self.range,
            iter_var: PAIR.to_owned(),
            iter_var2: None,
            accu_var: RESULT.to_owned(),
            accu_init: start,
            loop_cond: condition,
            loop_step: step,
            result,
        })))
    }

    /// A list of what `made` makes of each pair that fulfils the condition, if there is one.
    fn gathered(
        mut self,
        helper: &mut MacroExprHelper<'_>,
        made: impl FnOnce(&mut MacroExprHelper<'_>, IdedExpr) -> IdedExpr,
    ) -> Option<IdedExpr> {
        let value = self.last(helper)?;
        let value = made(helper, value);
        let more = list(helper, vec![value]);
        let before = ident(helper, RESULT);
        let mut step = call(helper, operators::ADD, vec![before, more]);
        if let Some(filter) = self.last(helper) {
            let before = ident(helper, RESULT);
            step = call(helper, operators::CONDITIONAL, vec![filter, step, before]);
        }
        let start = list(helper, Vec::new());
        let condition = literal(helper, LiteralValue::Boolean(true.into()));
        let result = ident(helper, RESULT);
        Some(self.folded(helper, start, condition, step, result))
    }
}

/// `range.all(k, v, holds)` and `range.exists(k, v, holds)`: ends with the first pair that decides.
fn quantified(
    helper: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    arguments: &mut Vec<IdedExpr>,
    all: bool,
) -> Expanded {
    let Some(mut parts) = TwoVariables::read(helper, target, arguments)? else {
        return Ok(None);
    };
    let Some(holds) = parts.last(helper) else {
        return Ok(None);
    };
    let start = literal(helper, LiteralValue::Boolean(all.into()));
    let mut goes_on = ident(helper, RESULT);
    if !all {
        goes_on = call(helper, operators::LOGICAL_NOT, vec![goes_on]);
    }
    let condition = call(helper, operators::NOT_STRICTLY_FALSE, vec![goes_on]);
    let before = ident(helper, RESULT);
    let joined = match all {
        true => operators::LOGICAL_AND,
        false => operators::LOGICAL_OR,
    };
    let step = call(helper, joined, vec![before, holds]);
    let result = ident(helper, RESULT);
    Ok(Some(parts.folded(helper, start, condition, step, result)))
}

fn all(
    helper: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    arguments: &mut Vec<IdedExpr>,
) -> Expanded {
    quantified(helper, target, arguments, true)
}

fn exists(
    helper: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    arguments: &mut Vec<IdedExpr>,
) -> Expanded {
    quantified(helper, target, arguments, false)
}

/// `range.existsOne(k, v, holds)`: looks at every pair.
fn exists_one(
    helper: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    arguments: &mut Vec<IdedExpr>,
) -> Expanded {
    let Some(mut parts) = TwoVariables::read(helper, target, arguments)? else {
        return Ok(None);
    };
    let Some(holds) = parts.last(helper) else {
        return Ok(None);
    };
    let number = |helper: &mut MacroExprHelper<'_>, value: i64| {
        literal(helper, LiteralValue::Int(value.into()))
    };
    let start = number(helper, 0);
    let condition = literal(helper, LiteralValue::Boolean(true.into()));
    let (before, one) = (ident(helper, RESULT), number(helper, 1));
    let more = call(helper, operators::ADD, vec![before, one]);
    let before = ident(helper, RESULT);
    let step = call(helper, operators::CONDITIONAL, vec![holds, more, before]);
    let (found, one) = (ident(helper, RESULT), number(helper, 1));
    let result = call(helper, operators::EQUALS, vec![found, one]);
    Ok(Some(parts.folded(helper, start, condition, step, result)))
}

/// `range.transformList(k, v, value)`, with a condition before the value if there are four.
fn transform_list(
    helper: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    arguments: &mut Vec<IdedExpr>,
) -> Expanded {
    let parts = TwoVariables::read(helper, target, arguments)?;
    Ok(parts.and_then(|parts| parts.gathered(helper, |_, value| value)))
}

/// `range.transformMap(k, v, value)`: keys stay.
fn transform_map(
    helper: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    arguments: &mut Vec<IdedExpr>,
) -> Expanded {
    let parts = TwoVariables::read(helper, target, arguments)?;
    let kept = parts.and_then(|parts| {
        parts.gathered(helper, |helper, value| {
            let pair = ident(helper, PAIR);
            let at = literal(helper, LiteralValue::Int(0.into()));
            let key = call(helper, operators::INDEX, vec![pair, at]);
            list(helper, vec![key, value])
        })
    });
    Ok(kept.map(|kept| call(helper, ENTRIES, vec![kept])))
}

/// `range.transformMapEntry(k, v, map)`: the maps in one; no key may come twice.
fn transform_entry(
    helper: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    arguments: &mut Vec<IdedExpr>,
) -> Expanded {
    let parts = TwoVariables::read(helper, target, arguments)?;
    let maps = parts.and_then(|parts| parts.gathered(helper, |_, map| map));
    Ok(maps.map(|maps| call(helper, MERGED, vec![maps])))
}

/// Index and element of a list, key and value of a map: one list of two for each.
fn pairs<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let range = &*arguments[0];
    let map = range.downcast_ref::<CelMap>();
    let mut pairs: Vec<Box<dyn Val + 'v>> = Vec::new();
    let mut all = elements("two variables", &arguments, 0)?;
    if map.is_some() {
        // A map has no order of its own, and every replica decides alike.
        all.sort_by_cached_key(|key| CelMapKey::try_from(key.clone_as_boxed()).ok());
    }
    for (at, one) in all.into_iter().enumerate() {
        let pair: [Box<dyn Val + 'v>; 2] = match map.and_then(|_| range.as_indexer()) {
            Some(map) => [one.clone_as_boxed(), map.get(one)?.into_owned()],
            None => [Box::new(CelInt::from(at as i64)), one.clone_as_boxed()],
        };
        pairs.push(Box::new(CelList::from(Vec::from(pair))));
    }
    Ok(CowVal::owned(CelList::from(pairs)))
}

/// A map of a list of keys and values.
fn entries<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let mut map = HashMap::new();
    for pair in elements("transformMap", &arguments, 0)? {
        let pair = pair.downcast_ref::<CelList>().map(CelList::inner);
        if let Some([key, value]) = pair {
            map.insert(
                CelMapKey::try_from(key.clone_as_boxed())?,
                value.clone_as_boxed(),
            );
        }
    }
    Ok(CowVal::owned(CelMap::from(map)))
}

/// A whole number as a key of the other type of whole numbers, which CEL takes for equal.
fn twin(key: &CelMapKey<'_>) -> Option<CelMapKey<'static>> {
    match key {
        CelMapKey::Int(one) => u64::try_from(*one.inner()).ok().map(CelMapKey::from),
        CelMapKey::UInt(one) => i64::try_from(*one.inner()).ok().map(CelMapKey::from),
        _ => None,
    }
}

/// Maps of a list in one.
///
/// # Errors
/// An element is no map, or a key comes twice.
fn merged<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let function = "transformMapEntry";
    let mut map: HashMap<CelMapKey<'v>, Box<dyn Val + 'v>> = HashMap::new();
    for one in elements(function, &arguments, 0)? {
        let found = one.get_type().name();
        let one = one.downcast_ref::<CelMap>();
        let one = one.ok_or_else(|| failed(function, format!("{found} is no map")))?;
        for (key, value) in one.inner() {
            let twice = twin(key).is_some_and(|twin| map.contains_key(&twin));
            let key = CelMapKey::try_from(key.inner().clone_as_boxed())?;
            if twice || map.insert(key, value.clone_as_boxed()).is_some() {
                return Err(failed(function, "a key comes twice".to_owned()));
            }
        }
    }
    Ok(CowVal::owned(CelMap::from(map)))
}

/// A list with the texts of the durations and times in it; what is no list as it is.
fn writable<'b, 'v>(mut arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let Ok(all) = elements("format", &arguments, 0) else {
        return Ok(arguments.remove(0));
    };
    let all = all.into_iter().map(|one| match times::text_of(one) {
        Some(text) => Box::new(text),
        None => one.clone_as_boxed(),
    });
    Ok(CowVal::owned(CelList::from(
        all.collect::<Vec<Box<dyn Val + 'v>>>(),
    )))
}
