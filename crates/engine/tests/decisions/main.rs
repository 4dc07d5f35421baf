//! Decisions of whole cycles where Pumice differs from Volcano on purpose, or keeps what a user may
//! not expect: the tests that hold the rows of `docs/compatibility.md`.

mod awaiting;
mod bind_waits;
mod bindings;
mod claims;
mod claims_freed;
mod cluster;
mod company;
mod conditions;
mod device_changes;
mod device_quotas;
mod devices;
mod extender;
mod extender_victims;
mod gangs;
mod left_alone;
mod metrics_snapshot;
mod network;
mod newcomers;
mod npus;
mod operators;
mod placement;
mod queue_room;
mod queues;
mod reasons;
mod reports;
mod shuffle;
mod sleep;
mod ties;
mod usage;
mod vendor_cards;
mod victims;
mod victims_told;
mod views;
mod volumes;
mod work;
