//! The table of the user document, row by row: AI cores, `vnpu-dvpp`, `vnpu-level`, downgrade,
//! template.

use super::*;

const TABLE: &str = "
    | 1                   | null      | Any value          | –   | vir01          |
    | 2                   | null      | low / other values | –   | vir02_1c       |
    | 2                   | null      | high               | No  | vir02          |
    | 2                   | null      | high               | Yes | vir02_1c       |
    | 4                   | yes       | low / other values | –   | vir04_4c_dvpp  |
    | 4                   | no        | low / other values | –   | vir04_3c_ndvpp |
    | 4                   | null      | low / other values | –   | vir04_3c       |
    | 4                   | yes       | high               | –   | vir04_4c_dvpp  |
    | 4                   | no        | high               | –   | vir04_3c_ndvpp |
    | 4                   | null      | high               | No  | vir04          |
    | 4                   | null      | high               | Yes | vir04_3c       |
    | 8 or multiples of 8 | Any value | Any value          | –   | –              |
";

const ANY: [&str; 6] = ["null", "yes", "no", "low", "high", "other"];

fn values(cell: &str) -> Vec<Option<&str>> {
    match cell {
        "Any value" => ANY.into_iter().map(Some).chain([None]).collect(),
        "low / other values" => vec![Some("low"), Some("other"), Some(""), Some("High"), None],
        // An absent label counts as null.
        "null" => vec![Some("null"), None],
        value => vec![Some(value)],
    }
}

/// A node on which a row's template is the one that is taken.
fn node_for(cores: &str, downgrade: &str) -> NodeCards {
    match (downgrade, cores) {
        ("Yes", "2") => {
            let made = |group| format!("Ascend310P-2c-{}-0_{group}", 100 + group);
            let mut cards = node(1);
            for group in 0..3 {
                run(&mut cards, &[("0-vir02", &made(group), 2)], Load::Held);
            }
            cards
        }
        ("Yes", _) => busy(1, &[("0-vir04", "Ascend310P-4c-100-0_0", 4)]),
        _ => node(4),
    }
}

#[test]
fn every_row_of_the_template_table_holds() {
    let mut rows = 0;
    for row in TABLE.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [cores, dvpp, level, downgrade, template] = cells[..] else {
            panic!("{row}");
        };
        rows += 1;
        let amounts: &[i64] = match cores {
            "8 or multiples of 8" => &[8, 16, 24, 32],
            "1" => &[1],
            "2" => &[2],
            _ => &[4],
        };
        let cards = node_for(cores, downgrade);
        for amount in amounts {
            for dvpp in values(dvpp) {
                for level in values(level) {
                    let dvpp = dvpp.map(|value| (DVPP, value));
                    let level = level.map(|value| (LEVEL, value));
                    let labels: Vec<_> = dvpp.into_iter().chain(level).collect();
                    let expected = match template {
                        "–" => (0..amount / 8)
                            .map(|id| id.to_string())
                            .collect::<Vec<_>>()
                            .join(","),
                        template => format!("0-{template}"),
                    };
                    let got = placed(&pod(*amount, &labels), &cards);
                    assert_eq!(got, expected, "{row}: {labels:?}");
                }
            }
        }
    }
    assert_eq!(rows, 12);
}

#[test]
fn what_the_table_does_not_have_is_not_dispatched() {
    for cores in [1, 2, 4] {
        for dvpp in ["yes", "no", "null", "low", "Null", "", "0"] {
            let is_listed = dvpp == "null" || (cores == 4 && ["yes", "no"].contains(&dvpp));
            let asked = family(&settings()).request(&vnpu(cores, dvpp, "high"), Tags::default());
            assert_eq!(asked.expect("it asks").is_ok(), is_listed, "{cores} {dvpp}");
        }
    }
}

#[test]
fn templates_fill_an_empty_chip_as_often_as_they_may() {
    for (cores, dvpp, level, most) in [
        (1, "null", "low", 7),
        (2, "null", "low", 4),
        (4, "null", "low", 2),
        (4, "no", "low", 2),
        (4, "yes", "low", 1),
    ] {
        let mut cards = node(1);
        let mut number = 0;
        while place(&vnpu(cores, dvpp, level), &cards).is_ok() {
            number += 1;
            take(
                &vnpu(cores, dvpp, level),
                &mut cards,
                number,
                Tags::default(),
            );
        }
        assert_eq!(number, most, "{cores} {dvpp} {level}");
    }
}
