//! Work on many runs by two threads: one reads the cache and hands out what it finds, the other begins with it.

use std::sync::{Mutex, PoisonError, mpsc};

/// From this many items on, a second thread is worth starting.
const WORTH_A_THREAD: usize = 500;
/// How many items a thread takes at a time.
const ITEMS_PER_PART: usize = 200;

/// Some of the items.
struct Part<T> {
    /// How many items are in the parts before.
    first: usize,
    items: Vec<T>,
}

/// Applies `work` to everything that `feed` hands out, of which there is about `count`; the results in the same order.
/// The second thread works while this one feeds; then both work.
pub(super) fn in_order<T: Send, R: Send>(
    count: usize,
    feed: impl FnOnce(&mut dyn FnMut(T)),
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let (send, receive) = mpsc::channel::<Part<T>>();
    let receive = Mutex::new(receive);
    let work_on = || {
        let next = || receive.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
        let mut done: Vec<(usize, Vec<R>)> = Vec::new();
        while let Some(Part { first, items }) = next() {
            done.push((first, items.into_iter().map(&work).collect()));
        }
        done
    };
    let mut parts = std::thread::scope(|scope| {
        // Where no thread can be started, this one does it all.
        let helper =
            (count >= WORTH_A_THREAD).then(|| std::thread::Builder::new().spawn_scoped(scope, work_on));
        let mut part = Part { first: 0, items: Vec::new() };
        feed(&mut |item| {
            part.items.push(item);
            if part.items.len() == ITEMS_PER_PART {
                let first = part.first + part.items.len();
                drop(send.send(std::mem::replace(&mut part, Part { first, items: Vec::new() })));
            }
        });
        drop(send.send(part));
        drop(send);
        let mut parts = work_on();
        if let Some(Ok(helper)) = helper {
            parts.extend(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        parts
    });
    parts.sort_unstable_by_key(|(first, _)| *first);
    parts.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for count in [0, 1, 199, 200, 201, 5000] {
            let doubled = in_order(count, |take| (0..count).for_each(take), |number| 2 * number);
            assert_eq!(doubled, (0..count).map(|number| 2 * number).collect::<Vec<_>>());
        }
    }
}
