//! Curves as a picture.

use std::fmt::Write;

/// Width and height of the field with the curves.
const FIELD: (f64, f64) = (640.0, 400.0);
const MARGIN: f64 = 48.0;

/// Colours that the colour-blind can tell from each other.
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"];

/// A picture of curves, each with its name: percent of all GPUs that is given out, from 1 percent arrived onwards.
pub fn svg(curves: &[(&str, &[f64])]) -> String {
    let (width, height) = FIELD;
    let most = curves
        .iter()
        .map(|(_, curve)| curve.len())
        .max()
        .unwrap_or(1) as f64;
    let x = |arrived: f64| MARGIN + width * arrived / most;
    let y = |share: f64| MARGIN + height * (1.0 - share / 100.0);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        width + 2.0 * MARGIN,
        height + 2.0 * MARGIN
    );
    for share in [0.0, 25.0, 50.0, 75.0, 100.0] {
        let (left, right, at) = (x(0.0), x(most), y(share));
        let _ = writeln!(
            text,
            "<path d=\"M{left:.1} {at:.1}H{right:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{share}</text>",
            left - 6.0,
            at + 4.0
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">arrived {most} % of all GPUs</text>\
         <text x=\"{MARGIN}\" y=\"{:.1}\">given out, %</text>",
        x(most),
        y(0.0) + 20.0,
        MARGIN - 16.0
    );
    for (at, (name, curve)) in curves.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let points = curve.iter().enumerate();
        let points =
            points.map(|(at, share)| format!("{:.1},{:.1}", x(at as f64 + 1.0), y(*share)));
        let points: Vec<String> = points.collect();
        let _ = writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"{:.1}\" \
             y=\"{:.1}\" fill=\"{colour}\">{}</text>",
            points.join(" "),
            x(0.0) + 12.0,
            MARGIN + 16.0 * (at as f64 + 1.0),
            escaped(name)
        );
    }
    text.push_str("</svg>\n");
    text
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}
