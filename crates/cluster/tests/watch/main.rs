//! The watch against a server that plays a script.

#[cfg(test)]
mod group_controller;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod objects;
#[cfg(test)]
mod picture;
#[cfg(test)]
mod server;
#[cfg(test)]
mod setup;
#[cfg(test)]
mod wire;
