//! Trees, their budgets, and the types of scalars. Places inside scalars of another file are
//! tested in `conf`, which has the configurations for it.

mod scalars;
mod trees;
