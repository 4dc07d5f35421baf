//! A queue of writes in which namespaces take turns: who asks for ten thousand waits for them, and
//! nobody else does.

use std::collections::{HashMap, VecDeque};

use tokio::sync::mpsc::UnboundedReceiver;

/// What waits, in the order of its namespace.
#[derive(Debug)]
struct Turns<T> {
    waiting: HashMap<String, VecDeque<T>>,
    /// Namespaces in which something waits, the next one first.
    order: VecDeque<String>,
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
pub(super) struct FairReceiver<T> {
    comes: UnboundedReceiver<T>,
    turns: Turns<T>,
    namespace: fn(&T) -> &str,
}

impl<T> FairReceiver<T> {
    /// Receives from this channel; `namespace` tells whose something is, and is empty for what is nobody's.
    pub(super) fn new(comes: UnboundedReceiver<T>, namespace: fn(&T) -> &str) -> Self {
        let turns = Turns {
            waiting: HashMap::new(),
            order: VecDeque::new(),
        };
        Self {
            comes,
            turns,
            namespace,
        }
    }

    /// The next one; nothing when the senders are gone and all is taken.
    pub(super) async fn next(&mut self) -> Option<T> {
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
}
