//! Queues in which namespaces take turns: who asks for ten thousand waits for them, and nobody else does.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

/// What waits, in the order of its namespace.
#[derive(Debug)]
struct Turns<T> {
    waiting: HashMap<String, VecDeque<T>>,
    /// Namespaces in which something waits, the next one first.
    order: VecDeque<String>,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self {
            waiting: HashMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<T> Turns<T> {
    fn put(&mut self, namespace: String, what: T) {
        if let Some(known) = self.waiting.get_mut(&namespace) {
            known.push_back(what);
            return;
        }
        self.order.push_back(namespace.clone());
        self.waiting.insert(namespace, VecDeque::from([what]));
    }

    fn take(&mut self) -> Option<T> {
        let namespace = self.order.pop_front()?;
        let waiting = self.waiting.get_mut(&namespace)?;
        let what = waiting.pop_front();
        match waiting.is_empty() {
            true => drop(self.waiting.remove(&namespace)),
            false => self.order.push_back(namespace),
        }
        what
    }
}

/// The receiving end of a channel, by turns of namespaces.
pub struct FairReceiver<T> {
    comes: UnboundedReceiver<T>,
    turns: Turns<T>,
    namespace: fn(&T) -> &str,
}

impl<T> FairReceiver<T> {
    /// Receives from this channel; `namespace` tells whose something is, and is empty for what is nobody's.
    pub fn new(comes: UnboundedReceiver<T>, namespace: fn(&T) -> &str) -> Self {
        Self {
            comes,
            turns: Turns::default(),
            namespace,
        }
    }

    /// The next one; nothing when the senders are gone and all is taken.
    pub async fn next(&mut self) -> Option<T> {
        loop {
            while let Ok(what) = self.comes.try_recv() {
                self.put(what);
            }
            if let Some(what) = self.turns.take() {
                return Some(what);
            }
            let first = self.comes.recv().await?;
            self.put(first);
        }
    }

    fn put(&mut self, what: T) {
        let namespace = (self.namespace)(&what).to_owned();
        self.turns.put(namespace, what);
    }
}

/// So many places, which those who wait get by turns of their namespaces.
#[derive(Clone)]
pub struct FairPlaces(Arc<Mutex<FreePlaces>>);

struct FreePlaces {
    free: usize,
    waiting: Turns<oneshot::Sender<FairPlace>>,
}

/// A place, until it is dropped.
pub struct FairPlace(FairPlaces);

impl FairPlaces {
    /// All of these places are free.
    pub fn new(count: usize) -> Self {
        let places = FreePlaces {
            free: count,
            waiting: Turns::default(),
        };
        Self(Arc::new(Mutex::new(places)))
    }

    /// Waits for a place. `namespace` is whose it will be, and is empty for what is nobody's.
    pub async fn take(&self, namespace: &str) -> FairPlace {
        let comes = {
            let mut places = self.held();
            if places.free > 0 {
                places.free -= 1;
                return FairPlace(self.clone());
            }
            let (gives, comes) = oneshot::channel();
            places.waiting.put(namespace.to_owned(), gives);
            comes
        };
        match comes.await {
            Ok(place) => place,
            // Whoever waits holds the places, and what waits is given one before it is forgotten.
            Err(_) => std::future::pending().await,
        }
    }

    fn held(&self) -> MutexGuard<'_, FreePlaces> {
        // What it holds is whole at every moment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who is the next to have a place that has come free, if anybody waits still.
    fn next(&self) -> Option<oneshot::Sender<FairPlace>> {
        let mut places = self.held();
        while let Some(waits) = places.waiting.take() {
            if !waits.is_closed() {
                return Some(waits);
            }
        }
        places.free += 1;
        None
    }
}

impl Drop for FairPlace {
    fn drop(&mut self) {
        if let Some(waits) = self.0.next() {
            // Who has gone in this very moment drops it, and it is handed on.
            let _ = waits.send(FairPlace(self.0.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[tokio::test]
    async fn who_asks_for_much_waits_behind_everybody_who_asks_for_little() {
        let (sender, receiver) = unbounded_channel();
        let mut fair = FairReceiver::new(receiver, |(namespace, _): &(&str, u32)| *namespace);
        for number in 0..10_000 {
            sender.send(("much", number)).expect("open");
        }
        for number in 0..2 {
            sender.send(("little", number)).expect("open");
        }
        sender.send(("", 0)).expect("open");
        drop(sender);
        let mut taken = Vec::new();
        while let Some(one) = fair.next().await {
            taken.push(one);
        }
        let first = [
            ("much", 0),
            ("little", 0),
            ("", 0),
            ("much", 1),
            ("little", 1),
            ("much", 2),
        ];
        assert_eq!(taken[..6], first);
        assert_eq!(taken.len(), 10_003);
        let much = taken.iter().filter(|(namespace, _)| *namespace == "much");
        assert!(much.map(|(_, number)| *number).eq(0..10_000));
        assert!(fair.turns.waiting.is_empty() && fair.turns.order.is_empty());
    }

    #[tokio::test]
    async fn a_place_goes_to_namespaces_by_turns_and_to_nobody_who_has_gone() {
        let places = FairPlaces::new(1);
        let held = places.take("much").await;
        let (log, mut heard) = unbounded_channel();
        let wait = |namespace: &'static str| {
            let (places, log) = (places.clone(), log.clone());
            tokio::spawn(async move {
                let _place = places.take(namespace).await;
                log.send(namespace).expect("open");
            })
        };
        let mut gone = Vec::new();
        for _ in 0..1000 {
            gone.push(wait("gone"));
            tokio::task::yield_now().await;
        }
        for _ in 0..1000 {
            wait("much");
            tokio::task::yield_now().await;
        }
        for _ in 0..2 {
            wait("little");
            tokio::task::yield_now().await;
        }
        for waits in &gone {
            waits.abort();
        }
        for waits in gone {
            let _ = waits.await;
        }
        drop((held, log));
        let mut taken = Vec::new();
        while let Some(one) = heard.recv().await {
            taken.push(one);
        }
        assert_eq!(taken[..5], ["much", "little", "much", "little", "much"]);
        assert_eq!(taken.len(), 1002);
        let places = places.held();
        assert_eq!(places.free, 1);
        assert!(places.waiting.waiting.is_empty());
    }
}
