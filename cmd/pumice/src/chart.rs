//! Curves as a picture that needs nothing but itself.

use std::fmt::Write;

/// Width of the field with the curves.
const WIDTH: f64 = 640.0;
const MARGIN: f64 = 48.0;

/// Colours that the colour-blind can tell from each other.
const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#808080",
];

/// A curve with its name: points from left to right.
pub struct NamedCurve {
    /// What it is of.
    pub name: String,
    /// Right and up, in the units of the axes.
    pub points: Vec<(f64, f64)>,
}

/// A picture.
pub struct Chart<'a> {
    /// What is to the right.
    pub right: &'a str,
    /// What is up.
    pub up: &'a str,
    /// The largest value of each axis.
    pub most: (f64, f64),
    /// Values of the upright axis that get a line.
    pub lines: &'a [f64],
    /// Height of the field with the curves.
    pub height: f64,
    /// Curves, the first on the ground of the others.
    pub curves: &'a [NamedCurve],
}

impl Chart<'_> {
    /// As SVG.
    pub fn svg(&self) -> String {
        let (most_x, most_y) = (
            self.most.0.max(f64::MIN_POSITIVE),
            self.most.1.max(f64::MIN_POSITIVE),
        );
        let x = |at: f64| MARGIN + WIDTH * at / most_x;
        let y = |at: f64| MARGIN + self.height * (1.0 - at / most_y);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
            WIDTH + 2.0 * MARGIN,
            self.height + 2.0 * MARGIN
        );
        for line in self.lines {
            let (left, right, at) = (x(0.0), x(most_x), y(*line));
            let _ = writeln!(
                text,
                "<path d=\"M{left:.1} {at:.1}H{right:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{line}</text>",
                left - 6.0,
                at + 4.0
            );
        }
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <text x=\"{MARGIN}\" y=\"{:.1}\">{}</text>",
            x(most_x),
            y(0.0) + 20.0,
            escaped(self.right),
            MARGIN - 16.0,
            escaped(self.up)
        );
        for (at, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[at % COLOURS.len()];
            let points = curve.points.iter();
            let points: Vec<String> = points
                .map(|(right, up)| format!("{:.1},{:.1}", x(*right), y(up.min(most_y))))
                .collect();
            let _ = writeln!(
                text,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"{:.1}\" \
                 y=\"{:.1}\" fill=\"{colour}\">{}</text>",
                points.join(" "),
                x(0.0) + 12.0,
                MARGIN + 16.0 * (at as f64 + 1.0),
                escaped(&curve.name)
            );
        }
        text.push_str("</svg>\n");
        text
    }
}

/// Text that means itself in a page or a picture.
pub fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('"', "&quot;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}
