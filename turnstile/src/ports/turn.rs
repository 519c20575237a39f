//! A lock on a bus in which the gate's relay goes first: a lamp or a sensor on the same wire
//! makes it wait for one exchange at most.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How much somebody's turn on a bus matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// The relay, the emergency input: somebody stands before the gate.
    First,
    /// Everything else.
    After,
}

/// A thing that is used by one at a time, the urgent ones first.
#[derive(Debug)]
pub(super) struct Turn<T> {
    thing: Mutex<T>,
    /// How many urgent ones wait.
    urgent: Mutex<usize>,
    none_urgent: Condvar,
}

impl<T> Turn<T> {
    pub fn new(thing: T) -> Self {
        Self {
            thing: Mutex::new(thing),
            urgent: Mutex::new(0),
            none_urgent: Condvar::new(),
        }
    }

    /// Uses it when it is one's turn.
    pub fn take<R>(&self, urgency: Urgency, work: impl FnOnce(&mut T) -> R) -> R {
        match urgency {
            Urgency::First => {
                *self.waiting() += 1;
                let mut thing = self.thing.lock().unwrap_or_else(PoisonError::into_inner);
                *self.waiting() -= 1;
                self.none_urgent.notify_all();
                work(&mut thing)
            }
            Urgency::After => {
                let waiting = self
                    .none_urgent
                    .wait_while(self.waiting(), |urgent| *urgent > 0);
                drop(waiting);
                work(&mut self.thing.lock().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, usize> {
        self.urgent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    #[test]
    fn who_is_urgent_goes_before_those_who_come_again_and_again() {
        let turn = Arc::new(Turn::new(Vec::new()));
        let (sender, entered) = channel();
        let lamp = {
            let turn = Arc::clone(&turn);
            thread::spawn(move || {
                turn.take(Urgency::After, |moves| {
                    sender.send(()).unwrap();
                    // Until the relay waits.
                    while *turn.waiting() == 0 {
                        thread::yield_now();
                    }
                    moves.push("lamp");
                });
                turn.take(Urgency::After, |moves| moves.push("lamp again"));
            })
        };
        entered.recv().unwrap();
        turn.take(Urgency::First, |moves| moves.push("relay"));
        lamp.join().unwrap();
        let moves = turn.take(Urgency::After, |moves| moves.clone());
        assert_eq!(moves, ["lamp", "relay", "lamp again"]);
    }
}
