//! A bounded number of places for connections, so shared out that nobody can keep others from one.
//!
//! Whoever comes always gets a place. When there is none, the client that has the most loses its
//! oldest; a client that has as many as one may have loses its own oldest. So a connection that
//! asks at once and is answered at once, as a probe is, ends before its turn comes, however many
//! connections others open and hold. A client is an address until somebody on the connection has
//! shown who it is, and then that user.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Who has connections: an address, or the network of one; a user, once one has shown who it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClientKey {
    /// Nobody has said who it is.
    Address(IpAddr),
    /// Whom the API server knows by this name and lets ask.
    User(Arc<str>),
}

impl ClientKey {
    /// Clients of a socket that is a file: whoever may open it.
    pub(crate) const OF_FILE: Self = Self::Address(IpAddr::V6(Ipv6Addr::UNSPECIFIED));

    /// The client at an address. One machine has all addresses of an IPv6 network of 64 bits, so
    /// those are one client.
    pub(crate) fn of(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
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
    by_client: BTreeMap<ClientKey, OfClient>,
    /// Whose each connection is.
    client_of: BTreeMap<u64, ClientKey>,
}

impl TakenPlaces {
    /// Ends the oldest connection of a client.
    fn displace(&mut self, client: &ClientKey) {
        let held = self.by_client.get(client);
        if let Some(oldest) = held.and_then(|held| held.keys().next().copied()) {
            drop(self.remove(oldest));
        }
    }

    fn insert(&mut self, client: ClientKey, number: u64, sender: oneshot::Sender<()>) {
        self.client_of.insert(number, client.clone());
        self.by_client
            .entry(client)
            .or_default()
            .insert(number, sender);
    }

    /// `None` of one that has lost its place already.
    fn remove(&mut self, number: u64) -> Option<oneshot::Sender<()>> {
        let client = self.client_of.remove(&number)?;
        let held = self.by_client.get_mut(&client)?;
        let sender = held.remove(&number);
        if held.is_empty() {
            self.by_client.remove(&client);
        }
        sender
    }

    fn of(&self, client: &ClientKey) -> usize {
        self.by_client.get(client).map_or(0, BTreeMap::len)
    }

    /// Who has the most; of several the one that has held one for longest.
    fn largest(&self) -> Option<ClientKey> {
        let clients = self.by_client.iter();
        let largest = clients.max_by_key(|(_, held)| {
            let oldest = held.keys().next().copied().unwrap_or(u64::MAX);
            (held.len(), std::cmp::Reverse(oldest))
        });
        largest.map(|(client, _)| client.clone())
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
        if taken.of(&client) >= self.limits.of_client {
            taken.displace(&client);
        } else if taken.client_of.len() >= self.limits.all
            && let Some(largest) = taken.largest()
        {
            taken.displace(&largest);
        }
        let number = taken.next;
        let (sender, displaced) = oneshot::channel();
        taken.next += 1;
        taken.insert(client, number, sender);
        ConnectionPlace {
            displaced,
            booking: PlaceBooking {
                number,
                places: Arc::clone(self),
            },
        }
    }

    fn taken(&self) -> MutexGuard<'_, TakenPlaces> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Under whose name a connection has its place.
#[derive(Clone)]
pub(crate) struct PlaceBooking {
    number: u64,
    places: Arc<ConnectionPlaces>,
}

impl PlaceBooking {
    /// The connection is this user's: it counts among those of the user, wherever they come from, and no longer among
    /// those of an address, which one proxy is for all who come through it. A user with as many as one may have loses
    /// the oldest.
    pub(crate) fn is_of(&self, user: &str) {
        let mut taken = self.places.taken();
        let client = match taken.client_of.get(&self.number) {
            Some(ClientKey::User(known)) if &**known == user => return,
            Some(_) => ClientKey::User(user.into()),
            None => return,
        };
        if taken.of(&client) >= self.places.limits.of_client {
            taken.displace(&client);
        }
        if let Some(sender) = taken.remove(self.number) {
            taken.insert(client, self.number, sender);
        }
    }
}

/// The place of one connection, given back when dropped.
pub(crate) struct ConnectionPlace {
    displaced: oneshot::Receiver<()>,
    booking: PlaceBooking,
}

impl ConnectionPlace {
    /// Returns when another connection has got the place.
    pub(crate) async fn displaced(&mut self) {
        // Nothing is ever sent: the sender is dropped.
        let _ = (&mut self.displaced).await;
    }

    /// For whoever finds out whose it is.
    pub(crate) fn booking(&self) -> PlaceBooking {
        self.booking.clone()
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        drop(self.booking.places.taken().remove(self.booking.number));
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
        assert_eq!(places.taken().client_of.len(), 0);
        assert!(places.taken().by_client.is_empty());
    }

    #[test]
    fn a_displaced_connection_gives_nothing_back_a_second_time() {
        let places = places(8, 1);
        let first = places.take(client(1));
        let second = places.take(client(1));
        drop(first);
        assert_eq!(places.taken().client_of.len(), 1);
        drop(second);
        assert_eq!(places.taken().client_of.len(), 0);
    }

    #[test]
    fn those_who_come_through_one_proxy_are_counted_each_for_themselves_once_they_are_known() {
        let places = places(100, 2);
        let mut held = Vec::new();
        for user in ["a", "b", "c"] {
            for _ in 0..2 {
                let place = places.take(client(1));
                place.booking().is_of(user);
                // As often as one asks on a connection.
                place.booking().is_of(user);
                held.push(place);
            }
        }
        let strangers: Vec<ConnectionPlace> = (0..20).map(|_| places.take(client(1))).collect();
        assert!(!held.iter_mut().any(is_displaced));
        assert_eq!(places.taken().of(&client(1)), 2);
        // Who has as many as one may have loses the oldest, from wherever the next one comes.
        let third = places.take(client(2));
        third.booking().is_of("b");
        let lost: Vec<bool> = held.iter_mut().map(is_displaced).collect();
        assert_eq!(lost, [false, false, true, false, false, false]);
        // A connection on which another one asks is that one's.
        third.booking().is_of("d");
        assert_eq!(places.taken().of(&ClientKey::User("b".into())), 1);
        drop((strangers, held, third));
        assert!(places.taken().by_client.is_empty() && places.taken().client_of.is_empty());
    }

    #[test]
    fn who_has_lost_a_place_is_not_counted_by_saying_who_it_is() {
        let places = places(8, 1);
        let first = places.take(client(1));
        let _second = places.take(client(1));
        first.booking().is_of("a");
        assert_eq!(places.taken().of(&ClientKey::User("a".into())), 0);
        assert_eq!(places.taken().client_of.len(), 1);
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
