//! Work on fixed shards.
//!
//! How work is split depends only on its size, and results are combined in shard order, so the number of threads
//! never changes a result.

use std::ops::Range;
use std::sync::Mutex;
use std::thread::Builder;

/// Runs `work` on every item, on at most `threads` threads. A free thread takes the next item, so a thread that
/// starts late costs at most one item's time; the result doesn't depend on which thread works on an item.
///
/// Threads are created per call, which takes up to a millisecond, so callers only split work that takes several.
pub(crate) fn for_each<T: Send>(threads: usize, items: &mut [T], work: impl Fn(usize, &mut T) + Sync) {
    let threads = threads.clamp(1, items.len().max(1));
    if threads == 1 {
        items.iter_mut().enumerate().for_each(|(index, item)| work(index, item));
        return;
    }
    let queue = Mutex::new(items.iter_mut().enumerate());
    let lane = || {
        loop {
            let next = queue.lock().expect("nothing panics while it takes an item").next();
            let Some((index, item)) = next else { break };
            work(index, item);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Without a free thread this is slower, and that is all.
            if Builder::new().spawn_scoped(scope, lane).is_err() {
                break;
            }
        }
        lane();
    });
}

/// Splits `total` into ranges of `size`, the last one shorter if need be.
pub(crate) fn split(total: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..total).step_by(size).map(move |start| start..(start + size).min(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_with_its_index() {
        for threads in [1, 2, 3, 8] {
            let mut items = vec![0; 7];
            for_each(threads, &mut items, |index, item| *item += index + 1);
            assert_eq!(items, [1, 2, 3, 4, 5, 6, 7], "{threads} threads");
        }
        for_each(4, &mut Vec::<u8>::new(), |_, _| unreachable!());
    }

    #[test]
    fn a_split_covers_everything() {
        assert_eq!(split(10, 4).collect::<Vec<_>>(), [0..4, 4..8, 8..10]);
        assert_eq!(split(5, 3).collect::<Vec<_>>(), [0..3, 3..5]);
    }
}
