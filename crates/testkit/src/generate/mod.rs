//! Random small clusters and configurations, repeatable by seed.
