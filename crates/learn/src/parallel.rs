//! Work over fixed shards.
//!
//! How work is split depends on its size alone, and results are combined in
//! shard order, so the number of threads never changes a bit of any result.

use std::ops::Range;

/// Runs `work` on every item, over at most `threads` threads. Item `k` goes to
/// thread `k mod threads`; the calling thread takes its share.
///
/// Threads are made per call: tens of microseconds, so callers split only work
/// that takes milliseconds.
pub(crate) fn for_each<T: Send>(threads: usize, items: &mut [T], work: impl Fn(usize, &mut T) + Sync) {
    let threads = threads.clamp(1, items.len().max(1));
    if threads == 1 {
        items.iter_mut().enumerate().for_each(|(index, item)| work(index, item));
        return;
    }
    let mut lanes: Vec<Vec<(usize, &mut T)>> = (0..threads).map(|_| Vec::new()).collect();
    for (index, item) in items.iter_mut().enumerate() {
        lanes[index % threads].push((index, item));
    }
    let run = |lane: Vec<(usize, &mut T)>| lane.into_iter().for_each(|(index, item)| work(index, item));
    std::thread::scope(|scope| {
        let own = lanes.remove(0);
        for lane in lanes {
            scope.spawn(|| run(lane));
        }
        run(own);
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
