//! The engine from outside: objects in, decisions and what is said of them out.

mod decisions;
