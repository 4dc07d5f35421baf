//! Quantities: `500m`, `1.5Gi`, `2e3` … to exact numbers and back.
//!
//! The grammar is that of `k8s.io/apimachinery` `resource.Quantity`: a signed decimal number and a
//! decimal suffix (`n u m k M G T P E`), a binary one (`Ki Mi Gi Ti Pi Ei`) or an exponent (`e3`,
//! `E-3`). Like there, what is finer than a billionth is rounded away from zero to a billionth.

use std::fmt;

/// Decimal places kept.
const NANO_PLACES: i64 = 9;
const NANO: i128 = 1_000_000_000;
const MICRO: i128 = 1_000_000;

/// An exact number, in billionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nano: i128,
}

/// Why a text is not a quantity. Its text says what is wrong and gives an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuantityError {
    /// Empty text.
    Empty,
    /// There is no digit before the suffix.
    NoDigits(String),
    /// What follows the number is no suffix.
    Suffix {
        /// The whole text.
        text: String,
        /// The part after the number.
        suffix: String,
    },
    /// The number is beyond what 128 bits of billionths hold.
    TooLarge(String),
}

impl QuantityError {
    /// What is wrong.
    pub fn what(&self) -> String {
        match self {
            Self::Empty => "the quantity is empty".to_owned(),
            Self::NoDigits(text) => format!("{text:?} has no digits"),
            Self::Suffix { text, suffix } => {
                format!("{text:?} ends with {suffix:?}, which is no unit")
            }
            Self::TooLarge(text) => format!("{text:?} is too large"),
        }
    }

    /// What to write instead, with an example.
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Empty | Self::NoDigits(_) => {
                "write a number and perhaps a unit, for example \"500m\""
            }
            Self::Suffix { .. } => {
                "use n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent, \
                 for example \"4Gi\""
            }
            Self::TooLarge(_) => "write a smaller number, for example \"4Gi\"",
        }
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what(), self.help())
    }
}

impl std::error::Error for QuantityError {}

/// Reads a quantity.
///
/// # Errors
/// The text does not follow the grammar, or the number needs more than 128 bits.
pub fn parse(text: &str) -> Result<Quantity, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Empty);
    }
    let (negative, unsigned) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return Err(QuantityError::NoDigits(text.to_owned()));
    }
    let scale = match fraction.contains('.') {
        true => None,
        false => Scale::of(suffix),
    };
    let scale = scale.ok_or_else(|| QuantityError::Suffix {
        text: text.to_owned(),
        suffix: if fraction.contains('.') {
            number.to_owned()
        } else {
            suffix.to_owned()
        },
    })?;
    let nano =
        nano(whole, fraction, scale).ok_or_else(|| QuantityError::TooLarge(text.to_owned()))?;
    Ok(Quantity {
        nano: if negative { -nano } else { nano },
    })
}

/// What a suffix multiplies by: 2^`twos` × 10^`tens`.
#[derive(Clone, Copy)]
struct Scale {
    twos: u32,
    tens: i32,
}

impl Scale {
    fn of(suffix: &str) -> Option<Self> {
        let tens = |tens| Some(Self { twos: 0, tens });
        let twos = |twos| Some(Self { twos, tens: 0 });
        match suffix {
            "n" => tens(-9),
            "u" => tens(-6),
            "m" => tens(-3),
            "" => tens(0),
            "k" => tens(3),
            "M" => tens(6),
            "G" => tens(9),
            "T" => tens(12),
            "P" => tens(15),
            "E" => tens(18),
            "Ki" => twos(10),
            "Mi" => twos(20),
            "Gi" => twos(30),
            "Ti" => twos(40),
            "Pi" => twos(50),
            "Ei" => twos(60),
            _ => tens(suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
        }
    }
}

/// Billionths of `whole.fraction` × `scale`, rounded up; `None` when they do not fit.
fn nano(whole: &str, fraction: &str, scale: Scale) -> Option<i128> {
    let fraction = fraction.trim_end_matches('0');
    let digits = [whole, fraction].concat();
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    // A factor of 2^k is at most 10^19, and keeps the number of decimal places.
    let places = i64::try_from(fraction.len()).ok()? - i64::from(scale.tens);
    let shift = NANO_PLACES - places;
    if shift >= 0 {
        let tens = 10_i128.checked_pow(u32::try_from(shift).ok()?)?;
        let mantissa: i128 = digits.parse().ok()?;
        return mantissa
            .checked_mul(1_i128 << scale.twos)?
            .checked_mul(tens);
    }
    // Digits beyond the last kept place only round up, so very long texts need no wide arithmetic.
    scaled_down(digits, scale.twos, usize::try_from(-shift).ok()?)
}

/// ⌈`digits` × 2^`twos` / 10^`drop`⌉ by long division, digit by digit.
fn scaled_down(digits: &str, twos: u32, drop: usize) -> Option<i128> {
    let factor = 1_i128 << twos;
    let keep = digits.len().saturating_sub(drop);
    let (kept, dropped) = digits.split_at(keep);
    let kept: i128 = if kept.is_empty() {
        0
    } else {
        kept.parse().ok()?
    };
    // The fraction 0.000ddd × factor: places missing in front are zeros.
    let zeros = drop - dropped.len();
    let (carry, rest) = fraction_times(dropped, zeros, factor);
    kept.checked_mul(factor)?
        .checked_add(carry)?
        .checked_add(i128::from(rest))
}

/// Whole part of 0.(`zeros` zeros)(`digits`) × `factor`, and whether anything is left over.
fn fraction_times(digits: &str, zeros: usize, factor: i128) -> (i128, bool) {
    let mut carry = 0_i128;
    let mut rest = false;
    // From the last digit to the first: carry = ⌊(digit × factor + carry) / 10⌋.
    for digit in digits.bytes().rev() {
        let sum = i128::from(digit - b'0') * factor + carry;
        rest |= sum % 10 != 0;
        carry = sum / 10;
    }
    for _ in 0..zeros.min(39) {
        rest |= carry % 10 != 0;
        carry /= 10;
    }
    (carry, rest)
}

impl Quantity {
    /// A whole number.
    pub const fn whole(amount: i64) -> Self {
        Self {
            nano: amount as i128 * NANO,
        }
    }

    /// A number of thousandths.
    pub const fn milli(amount: i64) -> Self {
        Self {
            nano: amount as i128 * MICRO,
        }
    }

    /// Whether it is below 0.
    pub const fn is_negative(self) -> bool {
        self.nano < 0
    }

    /// Whether it is 0.
    pub const fn is_zero(self) -> bool {
        self.nano == 0
    }

    /// Thousandths, rounded away from zero as Kubernetes does, at most what 64 bits hold.
    pub fn milli_ceil(self) -> i64 {
        rounded(self.nano, MICRO)
    }

    /// Whole units, rounded away from zero as Kubernetes does, at most what 64 bits hold.
    pub fn whole_ceil(self) -> i64 {
        rounded(self.nano, NANO)
    }

    /// The sum, at most what 128 bits of billionths hold.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            nano: self.nano.saturating_add(other.nano),
        }
    }

    /// The difference, at most what 128 bits of billionths hold.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            nano: self.nano.saturating_sub(other.nano),
        }
    }

    /// How many steps of a size reach at least this far; 0 for a size that is not positive.
    pub fn steps_of(self, size: Self) -> i64 {
        match size.nano > 0 && self.nano > 0 {
            true => i64::try_from((self.nano - 1) / size.nano + 1).unwrap_or(i64::MAX),
            false => 0,
        }
    }

    /// The whole number it is, if it is one that 64 bits hold.
    pub fn as_whole(self) -> Option<i64> {
        match self.nano % NANO {
            0 => i64::try_from(self.nano / NANO).ok(),
            _ => None,
        }
    }

    /// About so much.
    pub fn approximate(self) -> f64 {
        self.nano as f64 / NANO as f64
    }

    /// The product with a count, at most what 128 bits of billionths hold.
    #[must_use]
    pub fn times(self, count: i64) -> Self {
        Self {
            nano: self.nano.saturating_mul(i128::from(count)),
        }
    }
}

impl serde::Serialize for Quantity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Quantity {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
        parse(&text).map_err(serde::de::Error::custom)
    }
}

fn rounded(nano: i128, unit: i128) -> i64 {
    let away = i128::from(nano % unit != 0) * nano.signum();
    let clamped = (nano / unit + away).clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    clamped as i64
}

impl fmt::Display for Quantity {
    /// The shortest of whole, `m`, `u` and `n` that is exact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, suffix) in [(NANO, ""), (MICRO, "m"), (1_000, "u")] {
            if self.nano % unit == 0 {
                return write!(f, "{}{suffix}", self.nano / unit);
            }
        }
        write!(f, "{}n", self.nano)
    }
}

/// Text of an amount in thousandths: `500m`, `2`.
pub fn format_milli(amount: i64) -> String {
    Quantity::milli(amount).to_string()
}

/// Text of a whole amount: `110`.
pub fn format_whole(amount: i64) -> String {
    amount.to_string()
}

/// Text of an amount in bytes: the largest binary unit that divides it (`4Gi`, `1536Mi`), else the
/// plain number.
pub fn format_bytes(amount: i64) -> String {
    const UNITS: [(u32, &str); 6] = [
        (60, "Ei"),
        (50, "Pi"),
        (40, "Ti"),
        (30, "Gi"),
        (20, "Mi"),
        (10, "Ki"),
    ];
    if amount == 0 {
        return "0".to_owned();
    }
    for (twos, suffix) in UNITS {
        let unit = 1_i64 << twos;
        if amount % unit == 0 {
            return format!("{}{suffix}", amount / unit);
        }
    }
    amount.to_string()
}

#[cfg(test)]
mod tests;
