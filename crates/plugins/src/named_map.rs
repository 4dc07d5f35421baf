//! ConfigMaps that arguments name.

use pumice_conf::{Arg, Arguments, FormedText, TextForm};

/// How a ConfigMap is named.
pub const MAP_FORM: TextForm = TextForm {
    phrase: "namespace and name of a ConfigMap",
    example: "volcano-system/task-mix",
    fault: place_fault,
};

/// Namespace and name of the ConfigMap that an argument names, if it does.
pub fn place(argument: &Arg<FormedText>, arguments: &Arguments) -> Option<(String, String)> {
    let text = argument.read(arguments);
    let (namespace, name) = text.trim().split_once('/')?;
    Some((namespace.to_owned(), name.to_owned()))
}

/// Why a text names none.
pub fn place_fault(text: &str) -> Option<String> {
    let is_name = |name: &str| {
        let is_of_names = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_inside = |byte: u8| is_of_names(byte) || byte == b'-' || byte == b'.';
        name.len() <= 253
            && name.bytes().all(is_inside)
            && name.bytes().next().is_some_and(is_of_names)
    };
    match text.split_once('/') {
        Some((namespace, name)) if is_name(namespace) && is_name(name) => None,
        _ => Some("is not a namespace, a slash and a name".to_owned()),
    }
}
