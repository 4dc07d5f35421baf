//! The mix of tasks and the free cards on paper, for `top --mix` and `simulate`.

use std::io::Write;

use anstyle::Style;
use pumice_engine::view::{FreeCardsView, MixView, NoRoom};

use crate::columns::columns;

const HEAD: Style = Style::new().bold();
/// Classes that are named in a row of a table; JSON has more.
const MAX_NAMED: usize = 3;

/// Free cards by pool and type, and who is short of them.
pub fn free_cards(out: &mut dyn Write, view: &MixView) -> anyhow::Result<()> {
    writeln!(
        out,
        "{HEAD}FREE CARDS{HEAD:#} (useless: to every class of the mix)"
    )?;
    let cards = view.cards.iter().map(|cards| {
        let pool = match cards.pool.as_str() {
            "" => "-",
            pool => pool,
        };
        [
            pool.to_owned(),
            cards.card_type.clone(),
            cards.family.clone(),
            format!("{:.2}", cards.free_cards),
            format!("{:.2}", cards.useless_cards),
            format!("{:.1}%", cards.useless_percent),
            short(cards),
        ]
    });
    columns(
        out,
        ["POOL", "TYPE", "FAMILY", "FREE", "USELESS", "", "SHORT"],
        cards.collect(),
    )
}

/// Classes that such cards could serve and that find none of them now.
fn short(cards: &FreeCardsView) -> String {
    if cards.short_classes == 0 {
        return "-".to_owned();
    }
    let named = cards.short.iter().take(MAX_NAMED).map(String::as_str);
    let named: Vec<&str> = named.collect();
    match cards.short_classes - named.len() {
        0 => named.join("; "),
        more => format!("{}; and {more} more", named.join("; ")),
    }
}

/// Classes by weight, and those that do not count.
#[cfg(any(feature = "live", test))]
pub fn classes(out: &mut dyn Write, view: &MixView) -> anyhow::Result<()> {
    writeln!(out, "{HEAD}TASKS{HEAD:#} ({})", view.from)?;
    if let Some(doubt) = &view.doubt {
        writeln!(out, "{doubt}")?;
    }
    let classes = view.classes.iter().map(|class| {
        let asks = match class.no_room {
            None => class.asks.clone(),
            Some(no_room) => format!("{}  ({no_room})", class.asks),
        };
        [
            format!("{:.1}%", class.weight_percent),
            format!("{:.2}", class.usable_cards),
            format!("{:.1}%", class.useless_percent),
            asks,
        ]
    });
    columns(
        out,
        ["WEIGHT", "USABLE", "USELESS", "ASKS"],
        classes.collect(),
    )?;
    if view.left_out_classes == 0 {
        return Ok(());
    }
    writeln!(out, "\n{HEAD}NOT COUNTED{HEAD:#}")?;
    for class in &view.left_out {
        writeln!(out, "  {}: {}", class.asks, class.why)?;
    }
    let more = view.left_out_classes - view.left_out.len();
    if more > 0 {
        writeln!(out, "  … and {more} more")?;
    }
    Ok(())
}

/// How many classes find no room, for a reader who is not told of each.
pub fn without_room(view: &MixView) -> Option<String> {
    let count = |wanted: NoRoom| {
        let classes = view.classes.iter();
        classes
            .filter(|class| class.no_room == Some(wanted))
            .count()
    };
    let (now, ever) = (count(NoRoom::Now), count(NoRoom::Ever));
    let all = view.classes.len();
    let now =
        (now > 0).then(|| format!("{now} of {all} classes of tasks find no room for one more now"));
    let ever = (ever > 0).then(|| format!("for {ever} of {all} no node has room, were it idle"));
    let texts: Vec<String> = now.into_iter().chain(ever).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

#[cfg(test)]
mod tests {
    use pumice_engine::view::{LeftOutView, MixClassView};

    use super::*;

    #[test]
    fn who_is_short_of_which_cards_is_told_in_few_words() {
        let named = |name: &str| name.to_owned();
        let row = FreeCardsView {
            pool: named("a"),
            family: named("vgpu"),
            card_type: named("T4"),
            free_cards: 1.5,
            useless_cards: 0.25,
            useless_percent: 16.7,
            short: ["x", "y", "z", "w"].map(named).into(),
            short_classes: 21,
        };
        let class = |asks, no_room| MixClassView {
            asks: named(asks),
            no_room,
            ..MixClassView::default()
        };
        let view = MixView {
            from: named("what tasks asked"),
            classes: vec![
                class("x", Some(NoRoom::Now)),
                class("y", Some(NoRoom::Ever)),
                class("v", None),
            ],
            cards: vec![FreeCardsView::default(), row],
            left_out: vec![LeftOutView {
                asks: named("u"),
                why: named("no node has u"),
            }],
            left_out_classes: 3,
            ..MixView::default()
        };
        let mut out = Vec::new();
        free_cards(&mut out, &view).expect("written");
        classes(&mut out, &view).expect("written");
        let text = anstream::adapter::strip_str(&String::from_utf8_lossy(&out)).to_string();
        for line in [
            "a     T4    vgpu    1.50  0.25     16.7%  x; y; z; and 18 more",
            "-                   0.00  0.00     0.0%   -",
            "0.0%    0.00    0.0%     x  (no node has cards and room for one more now)",
            "TASKS (what tasks asked)",
            "  u: no node has u",
            "  … and 2 more",
        ] {
            assert!(text.lines().any(|told| told == line), "{line}\n{text}");
        }
        let expected = "1 of 3 classes of tasks find no room for one more now; for 1 of 3 no node has room, were it idle";
        assert_eq!(without_room(&view).as_deref(), Some(expected));
        assert_eq!(without_room(&MixView::default()), None);
    }
}
