//! Worked cases of spec/07.
