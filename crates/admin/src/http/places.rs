//! A bounded number of places for connections, so shared out that nobody can keep others from one.
//!
//! Whoever comes always gets a place. When there is none, the client that has the most loses its
//! oldest; a client that has as many as one may have loses its own oldest. So a connection that
//! asks at once and is answered at once, as a probe is, ends before its turn comes, however many
//! connections others open and hold.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Who has connections: an address, or the network of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClientKey(IpAddr);

impl ClientKey {
    /// Clients of a socket that is a file: whoever may open it.
    pub(crate) const OF_FILE: Self = Self(IpAddr::V6(Ipv6Addr::UNSPECIFIED));

    /// The client at an address. One machine has all addresses of an IPv6 network of 64 bits, so
    /// those are one client.
    pub(crate) fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) & !u128::from(u64::MAX);
                IpAddr::V6(network.into())
            }
            four @ IpAddr::V4(_) => four,
        })
    }
}

/// How many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlaceLimits {
    /// Connections at a time.
    pub all: usize,
    /// Those of one client.
    pub of_client: usize,
}

/// Each connection by its number, which grows; it is told to end by dropping the sender.
type OfClient = BTreeMap<u64, oneshot::Sender<()>>;

#[derive(Default)]
struct TakenPlaces {
    next: u64,
    count: usize,
    by_client: BTreeMap<ClientKey, OfClient>,
}

impl TakenPlaces {
    /// Ends the oldest connection of a client.
    fn displace(&mut self, client: ClientKey) {
        let held = self.by_client.get_mut(&client);
        if held.and_then(BTreeMap::pop_first).is_some() {
            self.left(client);
        }
    }

    fn release(&mut self, client: ClientKey, number: u64) {
        let held = self.by_client.get_mut(&client);
        if held.and_then(|held| held.remove(&number)).is_some() {
            self.left(client);
        }
    }

    fn left(&mut self, client: ClientKey) {
        self.count -= 1;
        if self.by_client.get(&client).is_some_and(BTreeMap::is_empty) {
            self.by_client.remove(&client);
        }
    }

    fn of(&self, client: ClientKey) -> usize {
        self.by_client.get(&client).map_or(0, BTreeMap::len)
    }

    /// Who has the most; of several the one that has held one for longest.
    fn largest(&self) -> Option<ClientKey> {
        let clients = self.by_client.iter();
        let largest = clients.max_by_key(|(_, held)| {
            let oldest = held.keys().next().copied().unwrap_or(u64::MAX);
            (held.len(), std::cmp::Reverse(oldest))
        });
        largest.map(|(client, _)| *client)
    }
}

/// All places of one server.
pub(crate) struct ConnectionPlaces {
    limits: PlaceLimits,
    taken: Mutex<TakenPlaces>,
}

impl ConnectionPlaces {
    pub(crate) fn new(limits: PlaceLimits) -> Arc<Self> {
        let taken = Mutex::default();
        Arc::new(Self { limits, taken })
    }

    /// A place for a new connection of this client.
    pub(crate) fn take(self: &Arc<Self>, client: ClientKey) -> ConnectionPlace {
        let mut taken = self.taken();
        if taken.of(client) >= self.limits.of_client {
            taken.displace(client);
        } else if taken.count >= self.limits.all
            && let Some(largest) = taken.largest()
        {
            taken.displace(largest);
        }
        let number = taken.next;
        let (sender, displaced) = oneshot::channel();
        taken.next += 1;
        taken.count += 1;
        taken
            .by_client
            .entry(client)
            .or_default()
            .insert(number, sender);
        ConnectionPlace {
            client,
            number,
            displaced,
            places: Arc::clone(self),
        }
    }

    fn taken(&self) -> MutexGuard<'_, TakenPlaces> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection, given back when dropped.
pub(crate) struct ConnectionPlace {
    client: ClientKey,
    number: u64,
    displaced: oneshot::Receiver<()>,
    places: Arc<ConnectionPlaces>,
}

impl ConnectionPlace {
    /// Returns when another connection has got the place.
    pub(crate) async fn displaced(&mut self) {
        // Nothing is ever sent: the sender is dropped.
        let _ = (&mut self.displaced).await;
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.places.taken().release(self.client, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(last: u8) -> ClientKey {
        ClientKey::of(IpAddr::from([10, 0, 0, last]))
    }

    fn places(all: usize, of_client: usize) -> Arc<ConnectionPlaces> {
        ConnectionPlaces::new(PlaceLimits { all, of_client })
    }

    fn is_displaced(place: &mut ConnectionPlace) -> bool {
        place.displaced.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn a_client_with_all_it_may_have_loses_its_oldest_and_nobody_else_does() {
        let places = places(100, 2);
        let mut other = places.take(client(2));
        let mut flood: Vec<ConnectionPlace> = (0..50).map(|_| places.take(client(1))).collect();
        let lost: Vec<bool> = flood.iter_mut().map(is_displaced).collect();
        assert_eq!(lost.iter().filter(|lost| !**lost).count(), 2);
        assert_eq!(lost[48..], [false, false]);
        assert!(!is_displaced(&mut other));
    }

    #[test]
    fn without_a_place_the_client_with_the_most_loses_its_oldest() {
        let places = places(4, 3);
        let mut many: Vec<ConnectionPlace> = (0..3).map(|_| places.take(client(1))).collect();
        let mut one = places.take(client(2));
        let mut new = places.take(client(3));
        let lost: Vec<bool> = many.iter_mut().map(is_displaced).collect();
        assert_eq!(lost, [true, false, false]);
        assert!(!is_displaced(&mut one) && !is_displaced(&mut new));
    }

    #[test]
    fn of_many_clients_with_one_each_the_one_that_holds_it_for_longest_goes() {
        let places = places(3, 3);
        let mut held: Vec<ConnectionPlace> =
            (1..=3).map(|last| places.take(client(last))).collect();
        let mut newest = places.take(client(9));
        let lost: Vec<bool> = held.iter_mut().map(is_displaced).collect();
        assert_eq!(lost, [true, false, false]);
        assert!(!is_displaced(&mut newest));
    }

    #[test]
    fn a_place_that_was_given_back_is_free() {
        let places = places(2, 2);
        let mut first = places.take(client(1));
        for _ in 0..10 {
            drop(places.take(client(1)));
        }
        assert!(!is_displaced(&mut first));
        drop(first);
        assert_eq!(places.taken().count, 0);
        assert!(places.taken().by_client.is_empty());
    }

    #[test]
    fn a_displaced_connection_gives_nothing_back_a_second_time() {
        let places = places(8, 1);
        let first = places.take(client(1));
        let second = places.take(client(1));
        drop(first);
        assert_eq!(places.taken().count, 1);
        drop(second);
        assert_eq!(places.taken().count, 0);
    }

    #[test]
    fn addresses_of_one_network_of_ipv6_are_one_client_and_mapped_ones_are_ipv4() {
        let of = |text: &str| ClientKey::of(text.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.7"), of("10.0.0.7"));
        assert_ne!(of("10.0.0.8"), of("10.0.0.7"));
    }
}
