//! What is filmed is what an evaluation plays.

use std::collections::BTreeMap;

use rlxp_env::View;
use rlxp_learn::{Actor, Episode, evaluate};
use rlxp_spec::Config;

use super::camera::{Recording, record};
use super::film::{Encoder, Layout, Setting, shoot};
use super::plan::Plan;
use super::{Show, VideoRequest, choose};
use crate::failure::Outcome;
use crate::training::envs::SOURCES;

fn config(env: &str) -> Config {
    let text = format!("env: {{{env}}}\nalgo: {{total_timesteps: 1}}\n");
    let source = rlxp_spec::Source { name: "test.yaml".into(), text };
    let ids: Vec<&str> = rlxp_env::NATIVE.catalogue().map(|info| info.id).collect();
    let known = rlxp_spec::Known { env_ids: &ids, cores: 1 };
    rlxp_spec::load(&source, &[], &known).unwrap_or_else(|problems| panic!("{problems}")).config
}

fn request(show: Show) -> VideoRequest {
    VideoRequest {
        checkpoint: "x".into(),
        show,
        seed: 20_000,
        sampled: false,
        overlay: true,
        max_steps: None,
        max_seconds: 60.0,
        frames_per_second: None,
        size: None,
        output: None,
    }
}

/// The episodes and everything that was seen of them.
fn watch(config: &Config, actor: Actor<'_>, count: usize) -> (Vec<Episode>, BTreeMap<usize, Recording>) {
    let episodes = evaluate(SOURCES, config, actor, count, 20_000).unwrap().episodes;
    let needed = episodes.iter().map(|episode| episode.length).enumerate().collect();
    let recordings = record(SOURCES, config, actor, 20_000, count, &needed).unwrap();
    (episodes, recordings)
}

#[test]
fn every_environment_is_filmed_from_start_to_end() {
    for info in rlxp_env::NATIVE.catalogue() {
        let config = config(&format!("id: {}, max_episode_steps: 40", info.id));
        for actor in [Actor::Random, Actor::Zero] {
            let (episodes, recordings) = watch(&config, actor, 7);
            assert_eq!(recordings.len(), 7, "{}", info.id);
            for (episode, recording) in episodes.iter().zip(recordings.values()) {
                assert_eq!(recording.moments.len() as u64, episode.length, "{}", info.id);
                let (_, action, total) = recording.at(episode.length).unwrap();
                assert_eq!((action, total), (None, episode.total), "{}", info.id);
                assert_eq!(recording.at(0).unwrap().2, 0.0);
                assert!(recording.at(episode.length - 1).unwrap().1.is_some());
            }
        }
    }
}

#[test]
fn the_end_that_is_seen_is_the_true_one() {
    let (episodes, recordings) = watch(&config("id: CartPole-v1"), Actor::Random, 5);
    for (episode, recording) in episodes.iter().zip(recordings.values()) {
        assert!(!episode.truncated);
        let Some(View::CartPole { position, angle, .. }) = recording.end else { panic!("{recording:?}") };
        let fallen = angle.abs() > rlxp_env::classic::cart_pole::ANGLE_LIMIT;
        assert!(fallen || position.abs() > rlxp_env::classic::cart_pole::POSITION_LIMIT);
        for moment in &recording.moments {
            let View::CartPole { angle, .. } = moment.view else { panic!("{moment:?}") };
            assert!(angle.abs() <= rlxp_env::classic::cart_pole::ANGLE_LIMIT);
        }
    }
}

#[test]
fn wrappers_change_neither_the_picture_nor_the_return() {
    let plain = config("id: CartPole-v1");
    let wrapped = config(
        "id: CartPole-v1, wrappers: [{freeze_observation: {}}, {scale_reward: {factor: 100}}, \
         {truncation_as_termination: {}}]",
    );
    // Random actions don't look at what wrappers change.
    assert_eq!(watch(&plain, Actor::Random, 3), watch(&wrapped, Actor::Random, 3));
    let (_, recordings) = watch(&wrapped, Actor::Random, 1);
    assert_ne!(recordings[&0].moments[0].view, recordings[&0].moments[5].view);
}

#[test]
fn only_what_is_needed_is_kept() {
    let config = config("id: Pendulum-v1");
    let needed = BTreeMap::from([(1, 5), (3, 0)]);
    let recordings = record(SOURCES, &config, Actor::Zero, 20_000, 5, &needed).unwrap();
    let kept: Vec<(usize, usize)> =
        recordings.iter().map(|(episode, recording)| (*episode, recording.moments.len())).collect();
    assert_eq!(kept, [(1, 6), (3, 1)]);
    assert!(recordings.values().all(|recording| recording.end.is_none()));
    let (_, whole) = watch(&config, Actor::Zero, 5);
    assert_eq!(recordings[&1].moments[..], whole[&1].moments[..6]);
}

fn film(
    config: &Config,
    request: &VideoRequest,
    count: usize,
    threads: usize,
    stop: bool,
) -> (u64, Outcome<Vec<u8>>) {
    let episodes = evaluate(SOURCES, config, Actor::Random, count, 20_000).unwrap().episodes;
    let (chosen, _) = choose(request.show, &episodes);
    let plan = Plan::new(request, chosen, &episodes, 10);
    let recordings = record(SOURCES, config, Actor::Random, 20_000, count, &plan.steps_needed()).unwrap();
    let layout = Layout::new(request.show, request.size);
    let (_, actions) = SOURCES.spaces(&config.env).unwrap();
    let setting = Setting {
        plan: &plan,
        recordings: &recordings,
        episodes: &episodes,
        layout: &layout,
        overlay: request.overlay,
        names: SOURCES.find(&config.env.id).ok(),
        actions: &actions,
        threads,
    };
    let encoder = Encoder::new("clip.gif".as_ref(), layout.size(), 10).unwrap();
    let mut seen = 0;
    let bytes = shoot(&setting, encoder, &|| stop, &mut |progress| {
        seen = progress.done;
        assert_eq!(progress.total, plan.frames());
    });
    (seen, bytes)
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let config = config("id: FrozenLake-v1, max_episode_steps: 12");
    for show in [Show::Episodes(2), Show::BestAndWorst(4), Show::Grid(5)] {
        let asked = VideoRequest { size: Some((150, 100)), max_steps: Some(6), ..request(show) };
        let (frames, one) = film(&config, &asked, 5, 1, false);
        let (_, many) = film(&config, &asked, 5, 3, false);
        assert!(frames > 10);
        assert_eq!(one.unwrap(), many.unwrap());
    }
}

#[test]
fn an_interrupt_ends_the_film() {
    let config = config("id: CartPole-v1");
    let (frames, result) = film(&config, &request(Show::Episodes(1)), 1, 2, true);
    let failure = result.unwrap_err();
    assert_eq!((frames, failure.code, failure.exit.code()), (0, "interrupted", 130));
}

#[test]
fn best_and_worst_are_chosen_by_return() {
    let episode = |total: f64| Episode { seed: 0, total, length: 1, truncated: false, success: None };
    let check = |totals: &[f64], expected: &[(usize, &str)]| {
        let episodes: Vec<Episode> = totals.iter().map(|total| episode(*total)).collect();
        let (chosen, notes) = choose(Show::BestAndWorst(totals.len()), &episodes);
        let found: Vec<(usize, String)> =
            chosen.into_iter().map(|chosen| (chosen.episode, chosen.label.unwrap())).collect();
        let expected: Vec<(usize, String)> =
            expected.iter().map(|(index, label)| (*index, (*label).to_owned())).collect();
        assert_eq!(found, expected);
        assert_eq!(notes.is_empty(), expected.len() == 2);
    };
    check(&[1.0, 9.0, -3.0, 9.0, -3.0], &[(1, "best of 5"), (2, "worst of 5")]);
    check(&[4.0, 4.0], &[(0, "best and worst of 2")]);
    check(&[4.0], &[(0, "best and worst of 1")]);
}
