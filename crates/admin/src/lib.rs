//! What operators see: HTTP endpoints, metrics, logging, the watch on the configuration file.
