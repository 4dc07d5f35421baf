//! Addresses as Go's `net.Listen` takes them.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{TcpListener, lookup_host};

/// A server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The text is no address.
    #[error(
        "{flag}={address}: {problem}\n  = help: write `:8080`, `127.0.0.1:8080` or `[::1]:8080`"
    )]
    Malformed {
        /// The flag it came from.
        flag: &'static str,
        /// The text.
        address: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The system does not let us listen there.
    #[error("{flag}={address}: cannot listen: {error}\n  = help: {help}")]
    Refused {
        /// The flag it came from.
        flag: &'static str,
        /// The text.
        address: String,
        /// Why not.
        error: io::Error,
        /// What to do.
        help: &'static str,
    },
}

impl ListenError {
    /// The listener was made and its address cannot be read back.
    pub(super) fn lost(error: io::Error) -> Self {
        Self::Refused {
            flag: "address",
            address: String::from("unknown"),
            error,
            help: "start the process again",
        }
    }
}

/// Listens on an address given by a flag. No host means every address of the machine, by IPv6 and
/// IPv4 where there is IPv6.
pub(super) async fn listen(flag: &'static str, text: &str) -> Result<TcpListener, ListenError> {
    let malformed = |problem| ListenError::Malformed {
        flag,
        address: text.to_owned(),
        problem,
    };
    let (host, port) = split(text).map_err(malformed)?;
    let listener = if host.is_empty() {
        match TcpListener::bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).await {
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))).await
            }
            bound => bound,
        }
    } else {
        match lookup_host((host, port)).await {
            Ok(addresses) => TcpListener::bind(&*addresses.collect::<Vec<_>>()).await,
            Err(error) => Err(error),
        }
    };
    listener.map_err(|error| ListenError::Refused {
        flag,
        address: text.to_owned(),
        help: help(&error),
        error,
    })
}

fn help(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "end the other process that listens there, or choose a port",
        io::ErrorKind::PermissionDenied => "choose a port above 1023",
        _ => "choose an address of this machine, or leave the host out: `:8080`",
    }
}

/// Host and port; an empty host stands for every address.
fn split(text: &str) -> Result<(&str, u16), &'static str> {
    let (host, port) = text.rsplit_once(':').ok_or("the port is missing")?;
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').ok_or("the bracket `]` is missing")?,
        None if host.contains(':') => return Err("an IPv6 address must stand in brackets"),
        None => host,
    };
    let port = port
        .parse()
        .map_err(|_| "the port must be a number from 0 to 65535")?;
    Ok((host, port))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn addresses_are_split_as_go_splits_them() {
        for (text, expected) in [
            (":8080", Ok(("", 8080))),
            ("0.0.0.0:80", Ok(("0.0.0.0", 80))),
            ("localhost:0", Ok(("localhost", 0))),
            ("[::1]:11251", Ok(("::1", 11251))),
            ("8080", Err("the port is missing")),
            ("", Err("the port is missing")),
            ("::1:80", Err("an IPv6 address must stand in brackets")),
            ("[::1:80", Err("the bracket `]` is missing")),
            (":", Err("the port must be a number from 0 to 65535")),
            (":http", Err("the port must be a number from 0 to 65535")),
            (":70000", Err("the port must be a number from 0 to 65535")),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
