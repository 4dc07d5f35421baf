//! What the daemon says of itself, against the pages of this repository.

mod reference;
