//! What the expressions of the tests mean, without CEL.

use pumice_claims::{Attribute, DraDevice, Quantity};

/// What an expression says of a device of a driver; `None` where it fails.
type Meaning = fn(&str, &DraDevice) -> Option<bool>;

/// The driver of most devices.
pub const DRIVER: &str = "gpu.example.com";

/// Expressions, and what they mean.
pub const EXPRESSIONS: &[(&str, Meaning)] = &[
    (r#"device.driver == "gpu.example.com""#, |driver, _| {
        Some(driver == DRIVER)
    }),
    (r#"device.driver == "nic.example.com""#, |driver, _| {
        Some(driver == "nic.example.com")
    }),
    ("true", |_, _| Some(true)),
    ("!device.allowMultipleAllocations", |_, device| {
        Some(!device.shared)
    }),
    ("device.allowMultipleAllocations", |_, device| {
        Some(device.shared)
    }),
    // Fails where the attribute is not there.
    (
        r#"device.attributes["gpu.example.com"].model == "a""#,
        |driver, device| {
            let model = attribute(driver, device, "model")?;
            Some(model == Attribute::Text("a".to_owned()))
        },
    ),
    (
        r#""model" in device.attributes["gpu.example.com"] && device.attributes["gpu.example.com"].model == "a""#,
        |driver, device| {
            let model = attribute(driver, device, "model");
            Some(model == Some(Attribute::Text("a".to_owned())))
        },
    ),
    (
        r#"!("numa" in device.attributes["gpu.example.com"]) || device.attributes["gpu.example.com"].numa > 0"#,
        |driver, device| {
            let numa = attribute(driver, device, "numa");
            Some(numa.is_none_or(|numa| numa > Attribute::Int(0)))
        },
    ),
    (
        r#"device.capacity["gpu.example.com"].memory.compareTo(quantity("4")) >= 0"#,
        |driver, device| {
            let memory = device.capacity.get("memory");
            let memory = memory.filter(|_| driver == DRIVER)?;
            Some(memory.value >= Quantity::whole(4))
        },
    ),
    // Nobody knows it.
    ("device.colour == \"red\"", |_, _| None),
    // Not a boolean.
    ("device.driver", |_, _| None),
    // Cannot be compiled.
    ("device.driver ==", |_, _| None),
];

/// An attribute in the domain of the driver of most devices.
fn attribute(driver: &str, device: &DraDevice, name: &str) -> Option<Attribute> {
    let own = device.attributes.get(name).filter(|_| driver == DRIVER);
    let qualified = device.attributes.get(&format!("{DRIVER}/{name}"));
    own.or(qualified).cloned()
}

/// Whether the expression holds for the device; `None` where it fails.
pub fn holds(expression: &str, driver: &str, device: &DraDevice) -> Option<bool> {
    let found = EXPRESSIONS.iter().find(|(text, _)| *text == expression);
    let (_, meaning) = found.expect("an expression of the tests");
    meaning(driver, device)
}

/// The amount, which is a whole number in the tests.
pub fn whole(amount: Quantity) -> i64 {
    amount.as_whole().expect("a whole number")
}
