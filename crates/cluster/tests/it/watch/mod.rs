//! The watch against a server that plays a script.

mod group_controller;
mod kinds;
mod lists;
mod objects;
mod picture;
mod setup;
mod turns;
mod wire;
