//! A quantity over time, in parts of one length that grows with the time: memory is bounded, sums are exact.

/// Most parts that a curve has; with more, two become one.
pub const MAX_PARTS: usize = 400;

/// A quantity from a start on.
#[derive(Clone, Debug)]
pub struct Curve {
    start_s: i64,
    width_s: i64,
    /// Quantity times seconds, by part.
    sums: Vec<i128>,
    value: i64,
    at_s: i64,
}

impl Curve {
    /// A quantity that is 0 at first; parts of this length.
    pub fn new(start_s: i64, width_s: i64) -> Self {
        Self {
            start_s,
            width_s: width_s.max(1),
            sums: Vec::new(),
            value: 0,
            at_s: start_s,
        }
    }

    /// Now.
    pub fn value(&self) -> i64 {
        self.value
    }

    /// The quantity is another one from now on.
    pub fn set(&mut self, now_s: i64, value: i64) {
        self.advance(now_s);
        self.value = value;
    }

    /// The quantity is more from now on, or less.
    pub fn add(&mut self, now_s: i64, more: i64) {
        self.set(now_s, self.value.saturating_add(more));
    }

    /// Quantity times seconds so far.
    pub fn total(&self) -> i128 {
        self.sums.iter().sum()
    }

    /// Sums up to now.
    pub fn advance(&mut self, now_s: i64) {
        while self.at_s < now_s {
            let part = (self.at_s - self.start_s) / self.width_s;
            if part >= MAX_PARTS as i64 {
                self.widen();
                continue;
            }
            let part_ends_s = self.start_s + (part + 1) * self.width_s;
            let until_s = part_ends_s.min(now_s);
            self.sums.resize(self.sums.len().max(part as usize + 1), 0);
            let seconds = i128::from(until_s - self.at_s);
            self.sums[part as usize] += i128::from(self.value) * seconds;
            self.at_s = until_s;
        }
    }

    fn widen(&mut self) {
        let pairs = self.sums.chunks(2);
        self.sums = pairs.map(|pair| pair.iter().sum()).collect();
        self.width_s *= 2;
    }

    /// Length of a part.
    pub fn width_s(&self) -> i64 {
        self.width_s
    }

    /// The mean of each part, the last one as far as it goes.
    pub fn means(&self) -> Vec<f64> {
        let parts = self.sums.iter().enumerate();
        let mean = |(part, sum): (usize, &i128)| {
            let begins_s = self.start_s + part as i64 * self.width_s;
            let seconds = self.width_s.min(self.at_s - begins_s).max(1);
            *sum as f64 / seconds as f64
        };
        parts.map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_the_same_however_often_parts_were_joined() {
        let mut curve = Curve::new(10, 1);
        let mut expected = 0;
        for at in 0..5000 {
            curve.set(10 + at * 3, at % 7);
            expected += i128::from(at % 7) * 3;
        }
        curve.advance(10 + 5000 * 3);
        assert_eq!(curve.total(), expected);
        assert!(curve.means().len() <= MAX_PARTS);
        assert_eq!(curve.width_s(), 64);
    }

    #[test]
    fn the_last_part_counts_as_far_as_it_goes() {
        let mut curve = Curve::new(0, 10);
        curve.set(0, 4);
        curve.advance(15);
        assert_eq!(curve.means(), [4.0, 4.0]);
    }
}
