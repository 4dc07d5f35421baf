//! `pumice-controllers`: takes the place of `vc-controller-manager`. Everything it does is in
//! `crates/controller-manager` and `crates/controllers`.

use std::process::ExitCode;

use pumice_allocator as _;

fn main() -> ExitCode {
    pumice_controller_manager::main()
}
