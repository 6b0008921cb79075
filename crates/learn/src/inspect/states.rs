//! Representative states of a trajectory: the landmarks that a person would
//! point at, and then states as far from those as can be found.

use serde::Serialize;

use super::trajectory::Moment;

/// Why a state was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The first state of the first episode.
    Start,
    /// The last state in which the first episode asked for an action.
    End,
    /// The highest value estimate.
    HighestValue,
    /// The lowest value estimate.
    LowestValue,
    /// The estimate changes most from this state to the next.
    LargestValueChange,
    /// The farthest from all states chosen before, each dimension measured in
    /// its deviations.
    Spread,
}

/// Up to `count` moments with different observations and why each was chosen,
/// in the order of time. `parts` is given where observations are indices.
pub fn choose(moments: &[Moment], parts: Option<&[usize]>, count: usize) -> Vec<(usize, Vec<Reason>)> {
    let mut chosen: Vec<(usize, Vec<Reason>)> = Vec::new();
    for (reason, moment) in landmarks(moments) {
        let same = chosen.iter().position(|(at, _)| moments[*at].observation == moments[moment].observation);
        match same {
            Some(same) => chosen[same].1.push(reason),
            None if chosen.len() < count => chosen.push((moment, vec![reason])),
            None => {}
        }
    }
    let scales = scales(moments, parts.is_some());
    let distance = |a: usize, b: usize| -> f64 {
        let pairs = moments[a].observation.iter().zip(&moments[b].observation).zip(&scales);
        pairs.map(|((a, b), scale)| part_distance(*a, *b, *scale)).sum()
    };
    // Farthest first: each round needs only the distance to the newest choice.
    let mut nearest = vec![f64::INFINITY; moments.len()];
    let mut measured = 0;
    while chosen.len() < count && !moments.is_empty() {
        for (newest, _) in &chosen[measured..] {
            for (at, nearest) in nearest.iter_mut().enumerate() {
                *nearest = nearest.min(distance(at, *newest));
            }
            // Said outright, since the distance of NaN to itself is not zero.
            nearest[*newest] = 0.0;
        }
        measured = chosen.len();
        // Among equals the first in time: `max_by` would give the last.
        let mut farthest = 0;
        for at in 1..nearest.len() {
            if nearest[at] > nearest[farthest] {
                farthest = at;
            }
        }
        if nearest[farthest] <= 0.0 {
            break;
        }
        chosen.push((farthest, vec![Reason::Spread]));
    }
    chosen.sort_unstable();
    chosen
}

/// The moments that stand out, in the order in which they are taken.
fn landmarks(moments: &[Moment]) -> Vec<(Reason, usize)> {
    if moments.is_empty() {
        return Vec::new();
    }
    let end = moments.iter().take_while(|moment| moment.episode == moments[0].episode).count() - 1;
    let best = |score: &dyn Fn(usize) -> f64| {
        (0..moments.len()).fold(0, |best, at| if score(at) > score(best) { at } else { best })
    };
    let value = |at: usize| f64::from(moments[at].value);
    let change = |at: usize| match moments.get(at + 1) {
        Some(next) if next.episode == moments[at].episode => (f64::from(next.value) - value(at)).abs(),
        _ => 0.0,
    };
    let (highest, lowest, steepest) = (best(&value), best(&|at| -value(at)), best(&change));
    let mut landmarks = vec![(Reason::Start, 0), (Reason::End, end)];
    // Where all are equal, none is the highest.
    if value(highest) > value(lowest) {
        landmarks.extend([(Reason::HighestValue, highest), (Reason::LowestValue, lowest)]);
    }
    if change(steepest) > 0.0 {
        landmarks.push((Reason::LargestValueChange, steepest));
    }
    landmarks
}

/// One over the deviation of each dimension; zero for a dimension that never
/// changes, infinite for indices, which only are the same or not.
fn scales(moments: &[Moment], indices: bool) -> Vec<f64> {
    let width = moments.first().map_or(0, |moment| moment.observation.len());
    let count = moments.len() as f64;
    let scale = |column: usize| {
        if indices {
            return f64::INFINITY;
        }
        let values = || moments.iter().map(|moment| f64::from(moment.observation[column]));
        let mean = values().sum::<f64>() / count;
        let variance = values().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        if variance > 0.0 { 1.0 / variance.sqrt() } else { 0.0 }
    };
    (0..width).map(scale).collect()
}

fn part_distance(a: f32, b: f32, scale: f64) -> f64 {
    if scale.is_infinite() {
        return f64::from(u8::from(a != b));
    }
    ((f64::from(a) - f64::from(b)) * scale).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One episode of these observations and values.
    pub(super) fn episode(rows: &[([f32; 2], f32)]) -> Vec<Moment> {
        let moment = |(step, (observation, value)): (usize, &([f32; 2], f32))| Moment {
            episode: 0,
            step: step as u64,
            observation: observation.to_vec(),
            value: *value,
            probabilities: Vec::new(),
            mean: Vec::new(),
            deviation: Vec::new(),
            action: vec![0.0],
            reward: 0.0,
        };
        rows.iter().enumerate().map(moment).collect()
    }

    #[test]
    fn landmarks_come_first_and_share_a_state() {
        let moments = episode(&[
            ([0.0, 0.0], 1.0),
            ([1.0, 0.0], 5.0),
            ([2.0, 0.0], 4.0),
            ([9.0, 1.0], 3.5),
            ([4.0, 0.0], 0.5),
        ]);
        let chosen = choose(&moments, None, 4);
        assert_eq!(
            chosen,
            [
                (0, vec![Reason::Start, Reason::LargestValueChange]),
                (1, vec![Reason::HighestValue]),
                (3, vec![Reason::Spread]),
                (4, vec![Reason::End, Reason::LowestValue]),
            ]
        );
        assert_eq!(choose(&moments, None, 4), chosen, "the choice repeats");
        assert_eq!(choose(&moments, None, 99).len(), 5);
        assert_eq!(choose(&moments, None, 0), []);
        assert_eq!(choose(&[], None, 5), []);
    }

    #[test]
    fn the_same_state_is_never_chosen_twice() {
        let moments = episode(&[([3.0, 1.0], 0.0), ([3.0, 1.0], 0.0), ([4.0, 1.0], 0.0), ([3.0, 1.0], 0.0)]);
        for parts in [None, Some(&[5, 5][..])] {
            let chosen = choose(&moments, parts, 5);
            let level = vec![Reason::Start, Reason::End];
            assert_eq!(chosen, [(0, level), (2, vec![Reason::Spread])], "a level value has no highest point");
        }
    }

    #[test]
    fn the_largest_change_is_not_sought_across_episodes() {
        let mut moments =
            episode(&[([0.0, 0.0], 0.0), ([1.0, 0.0], 0.1), ([2.0, 0.0], 9.0), ([3.0, 0.0], 9.5)]);
        for late in &mut moments[2..] {
            late.episode = 1;
        }
        let chosen = choose(&moments, None, 5);
        let (at, _) =
            chosen.iter().find(|(_, reasons)| reasons.contains(&Reason::LargestValueChange)).unwrap();
        assert_eq!(*at, 2);
        let (at, _) = chosen.iter().find(|(_, reasons)| reasons.contains(&Reason::End)).unwrap();
        assert_eq!(*at, 1);
    }

    #[test]
    fn not_a_number_is_survived() {
        let moments =
            episode(&[([f32::NAN, 0.0], f32::NAN), ([1.0, f32::INFINITY], f32::NAN), ([2.0, 0.0], 1.0)]);
        assert!(!choose(&moments, None, 5).is_empty());
    }
}
