//! Curves as a picture.

use crate::chart::{Chart, NamedCurve};

/// A picture of curves, each with its name: percent of all GPUs that is given out, from 1 percent arrived onwards.
pub fn svg(curves: &[(&str, &[f64])]) -> String {
    let most = curves.iter().map(|(_, curve)| curve.len()).max();
    let most = most.unwrap_or(1) as f64;
    let named = |(name, curve): &(&str, &[f64])| {
        let points = curve.iter().enumerate();
        NamedCurve {
            name: (*name).to_owned(),
            points: points
                .map(|(at, share)| (at as f64 + 1.0, *share))
                .collect(),
        }
    };
    Chart {
        right: &format!("arrived {most} % of all GPUs"),
        up: "given out, %",
        most: (most, 100.0),
        lines: &[0.0, 25.0, 50.0, 75.0, 100.0],
        height: 400.0,
        curves: &curves.iter().map(named).collect::<Vec<NamedCurve>>(),
    }
    .svg()
}
