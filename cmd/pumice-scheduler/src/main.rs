//! `pumice-scheduler`, the daemon: takes the place of `vc-scheduler`. Everything it does is in
//! `crates/daemon`.

use std::process::ExitCode;

use pumice_allocator as _;

fn main() -> ExitCode {
    pumice_daemon::main()
}
