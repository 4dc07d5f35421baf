//! How a function of an expression fails.

use cel::ExecutionError;

/// An error of a function, which it names.
pub fn failed(function: &str, message: String) -> ExecutionError {
    ExecutionError::FunctionError {
        function: function.to_owned(),
        message,
    }
}
