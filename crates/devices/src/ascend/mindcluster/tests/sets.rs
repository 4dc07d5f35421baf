//! What some chips of a node give alone (spec/10): by such pieces the rest of them is measured.

use super::*;

#[test]
fn whole_chips_are_pieces_of_pods_that_ask_several() {
    let cards = busy(3, &[("1-vir01", "", 1)]);
    let (now, two) = (LedgerTime::Now, request(&pod(16, &[])));
    assert_eq!(two.cards_at_once(), 2);
    let gives = |at: usize| two.piece(&cards, at, now).is_some();
    assert_eq!([gives(0), gives(1), gives(2)], [true, false, true]);
    let set = two.choose_of(&cards, &[0, 2], now).expect("two are idle");
    assert_eq!(
        set.iter().map(|one| one.card).collect::<Vec<_>>(),
        [Some(0), Some(2)]
    );
    assert!(two.choose_of(&cards, &[0], now).is_none());
}

#[test]
fn the_lesser_template_is_no_choice_while_another_chip_has_room_for_the_full_one() {
    let made = |group| format!("Ascend310P-2c-{}-0_{group}", 100 + group);
    let mut cards = node(2);
    for group in 0..3 {
        run(&mut cards, &[("0-vir02", &made(group), 2)], Load::Held);
    }
    let (now, high) = (LedgerTime::Now, request(&vnpu(2, "null", "high")));
    let gives = |at: usize| high.choose_of(&cards, &[at], now).is_some();
    assert_eq!([gives(0), gives(1)], [false, true]);
    // On a node that has this chip alone it is.
    assert!(high.piece(&cards, 0, now).is_some());
}
