//! Everything that talks to the API server: watches, effects, the lease.
