//! Which of the cards that annotations tell a pod has: as many as its containers ask, and no more.
//!
//! Whoever may change a pod may write its annotations. So they say which cards it has, and never how much.

/// The need that each told card is for, by the container it is told for: that of its container, else the first that
/// lacks some. What is told beyond what is asked is for none.
pub fn share_out(told: &[u16], needs: &[(u16, u32)]) -> Vec<Option<usize>> {
    let mut left: Vec<u32> = needs.iter().map(|(_, count)| *count).collect();
    let mut shares: Vec<Option<usize>> = vec![None; told.len()];
    for is_own in [true, false] {
        let open = shares.iter_mut().zip(told);
        for (share, container) in open.filter(|(share, _)| share.is_none()) {
            let lacks = |(at, (of, _)): &(usize, &(u16, u32))| {
                left[*at] > 0 && (!is_own || of == container)
            };
            let found = needs.iter().enumerate().find(lacks).map(|(at, _)| at);
            if let Some(at) = found {
                left[at] -= 1;
                *share = Some(at);
            }
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::share_out;

    #[test]
    fn cards_go_to_the_container_they_are_told_for_and_then_to_who_lacks_some() {
        // Containers of told cards, containers and counts of needs, shares.
        type Case<'a> = (&'a [u16], &'a [(u16, u32)], &'a [Option<usize>]);
        let cases: &[Case] = &[
            (&[0], &[(0, 1)], &[Some(0)]),
            (&[0, 1], &[(1, 1)], &[None, Some(0)]),
            (&[0, 0, 1], &[(0, 1), (1, 2)], &[Some(0), Some(1), Some(1)]),
            (&[7, 8, 9], &[(0, 1), (2, 1)], &[Some(0), Some(1), None]),
            (&[0, 0, 0], &[(0, 2)], &[Some(0), Some(0), None]),
            (&[0], &[], &[None]),
            (&[], &[(0, 2)], &[]),
        ];
        for (told, needs, shares) in cases {
            assert_eq!(share_out(told, needs), *shares, "{told:?} {needs:?}");
        }
    }
}
