//! Who got of what there was as much as was due: max-min fair shares by weight, and Jain's index of how evenly queues
//! came to theirs.

/// What each of some queues is due of so much, by weight: nobody more than it wants, and what one does not want goes to
/// the others.
pub fn due(capacity: f64, queues: &[(f64, f64)]) -> Vec<f64> {
    let mut due = vec![0.0; queues.len()];
    let mut open: Vec<usize> = (0..queues.len())
        .filter(|at| queues[*at].0 > 0.0 && queues[*at].1 > 0.0)
        .collect();
    // Those that want least for their weight are served first.
    open.sort_by(|left, right| {
        let wish = |at: &usize| queues[*at].0 / queues[*at].1;
        wish(left).total_cmp(&wish(right)).then(left.cmp(right))
    });
    let mut rest = capacity;
    let mut weights: f64 = open.iter().map(|at| queues[*at].1).sum();
    for at in open {
        let (wants, weight) = queues[at];
        let share = (rest * weight / weights).max(0.0);
        due[at] = wants.min(share);
        rest -= due[at];
        weights -= weight;
    }
    due
}

/// Jain's index of how much of what is due each has: 1 if all have the same part, 1/n if one of n has everything; `None`
/// where nobody is due anything.
pub fn jain(parts: &[(f64, f64)]) -> Option<f64> {
    let parts = parts.iter().filter(|(_, due)| *due > 0.0);
    let parts: Vec<f64> = parts.map(|(has, due)| has / due).collect();
    let (sum, squares) = (
        parts.iter().sum::<f64>(),
        parts.iter().map(|part| part * part).sum::<f64>(),
    );
    match parts.is_empty() {
        true => None,
        false if squares == 0.0 => Some(1.0),
        false => Some(sum * sum / (parts.len() as f64 * squares)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_does_not_want_goes_to_the_others() {
        assert_eq!(
            due(12.0, &[(2.0, 1.0), (20.0, 1.0), (20.0, 1.0)]),
            [2.0, 5.0, 5.0]
        );
        assert_eq!(due(12.0, &[(20.0, 1.0), (20.0, 3.0)]), [3.0, 9.0]);
        assert_eq!(due(12.0, &[(0.0, 1.0), (5.0, 1.0)]), [0.0, 5.0]);
        assert_eq!(due(0.0, &[(5.0, 1.0)]), [0.0]);
    }

    #[test]
    fn one_of_four_with_everything_is_a_quarter_fair() {
        let all = [(4.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)];
        assert_eq!(jain(&all), Some(0.25));
        assert_eq!(jain(&[(2.0, 4.0), (1.0, 2.0)]), Some(1.0));
        assert_eq!(jain(&[(0.0, 1.0)]), Some(1.0));
        assert_eq!(jain(&[(1.0, 0.0)]), None);
    }
}
