//! What older versions did that their snapshots don't say. A run is resumed,
//! reproduced, extended and described by the rules that it was recorded under,
//! so those rules are applied when its snapshot is read, and everything else
//! sees only what is really trained. What each format means is listed where
//! `rlxp-spec` reads snapshots.

use std::path::Path;

use rlxp_spec::{Config, Snapshot, Source, from_snapshot};
use rlxp_store::CONFIG_FILE;

use crate::training::envs::SOURCES;

/// Episodes that format 1 played at least where chance plays a part, whatever
/// `eval.episodes` said.
const FEWEST_EPISODES: usize = 100;

/// The recorded config with every value as training uses it.
pub(crate) fn as_trained(snapshot: Snapshot) -> Config {
    let Snapshot { mut config, format } = snapshot;
    if format == 1 && chance_plays_a_part(&config) {
        config.eval.episodes = config.eval.episodes.max(FEWEST_EPISODES);
    }
    config
}

/// The format of a run's snapshot that is used as a config, as commands do that
/// train a run again with something changed; nothing for any other file.
pub(crate) fn snapshot_format(path: &Path, source: &Source) -> Option<u64> {
    let is_snapshot = path.file_name().is_some_and(|name| name == CONFIG_FILE);
    is_snapshot.then(|| from_snapshot(source).ok()).flatten().map(|snapshot| snapshot.format)
}

/// Whether episodes of one policy may differ. An environment that this version
/// doesn't have can't be evaluated either, and says so where that is tried.
fn chance_plays_a_part(config: &Config) -> bool {
    !config.eval.deterministic || SOURCES.is_stochastic(&config.env).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use rlxp_spec::{Known, SNAPSHOT_FORMAT, Source, load};

    use super::*;

    fn episodes(format: u64, config: &str) -> usize {
        let ids = ["CartPole-v1", "CliffWalking-v1", "Gone-v0"];
        let loaded = load(&Source::new("c.yaml", config), &[], &Known { env_ids: &ids, cores: 1 }).unwrap();
        as_trained(Snapshot { config: loaded.config, format }).eval.episodes
    }

    #[test]
    fn only_the_first_format_plays_more_than_it_says() {
        let varies = "{env: {id: CartPole-v1}, eval: {episodes: 5}}";
        assert_eq!((episodes(1, varies), episodes(SNAPSHOT_FORMAT, varies)), (100, 5));
        let many = "{env: {id: CartPole-v1}, eval: {episodes: 250}}";
        assert_eq!((episodes(1, many), episodes(SNAPSHOT_FORMAT, many)), (250, 250));
        let fixed = "{env: {id: CliffWalking-v1}, eval: {episodes: 5}}";
        assert_eq!((episodes(1, fixed), episodes(SNAPSHOT_FORMAT, fixed)), (5, 5));
        let sampled = "{env: {id: CliffWalking-v1}, eval: {episodes: 5, deterministic: false}}";
        assert_eq!((episodes(1, sampled), episodes(SNAPSHOT_FORMAT, sampled)), (100, 5));
        assert_eq!(episodes(1, "{env: {id: Gone-v0}, eval: {episodes: 5}}"), 5);
    }
}
