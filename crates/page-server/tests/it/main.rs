//! The pages over HTTP, before a source that the test makes.

mod served;
