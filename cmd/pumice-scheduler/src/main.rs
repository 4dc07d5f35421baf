//! The scheduler daemon.
mod flags;
mod settings;

fn main() {
    println!("{:?}", flags::CommandLine::read(std::env::args_os()));
}
