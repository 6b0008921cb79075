//! A table of several sources: environments of another program next to the
//! native ones, created, wrapped and rejected with the same messages.

use rlxp_env::{
    BadState, Built, Call, EnvError, EnvInfo, Environment, MakeError, NativeSource, Order, Problem, Source,
    Sources, Space, Step, StepBatch, Vectorized,
};
use rlxp_spec::config::{EnvConfig, WrapperConfig};
use rlxp_types::Stream;

use crate::config;

const INFO: EnvInfo = EnvInfo {
    id: "",
    aliases: &[],
    summary: "an environment of another program",
    max_episode_steps: None,
    reward_threshold: None,
    stochastic: true,
    kwargs: &[],
    observation_names: &[],
    action_names: &[],
};
static FINE: EnvInfo = EnvInfo { id: "Image-v0", max_episode_steps: Some(3), ..INFO };
static BROKEN: EnvInfo = EnvInfo { id: "Broken-v0", ..INFO };
static NONSENSE: EnvInfo = EnvInfo { id: "Nonsense-v0", ..INFO };
static SHADOWED: EnvInfo = EnvInfo { id: "CartPole-v1", summary: "never reached", ..INFO };

/// Two pixels that nothing changes.
struct Image {
    actions: usize,
}

impl Environment for Image {
    fn observation_space(&self) -> Space {
        let (low, high) = (vec![0.0; 2], vec![255.0; 2]);
        Space::Box { shape: vec![1, 2, 1], dtype: rlxp_env::Dtype::Uint8, low, high }
    }
    fn action_space(&self) -> Space {
        Space::Discrete { n: self.actions }
    }
    fn reset(&mut self, _: &mut Stream, observation: &mut [f32]) {
        observation.fill(7.0);
    }
    fn step(&mut self, _: &[f32], _: &mut Stream, _: &mut [f32]) -> Step {
        Step { reward: 1.0, terminated: false, truncated: false }
    }
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
    fn restore(&mut self, _: &[u8]) -> Result<(), BadState> {
        Ok(())
    }
}

struct Foreign;

impl Source for Foreign {
    fn catalogue(&self) -> Vec<&'static EnvInfo> {
        vec![&FINE, &BROKEN, &NONSENSE, &SHADOWED]
    }

    fn make(&self, order: Order<'_>, _: &mut Vec<Problem>) -> Result<Built, EnvError> {
        if order.info.id == BROKEN.id {
            let message = "No module named 'ale_py'".to_owned();
            return Err(EnvError::Failed { copy: None, call: Call::Start, message });
        }
        let actions = if order.info.id == NONSENSE.id { 0 } else { 2 };
        let env = Vectorized::new(|| Image { actions }, order.copies.streams(), order.step_cap);
        Ok(Built { env: Box::new(env), stochastic: order.info.stochastic })
    }
}

const TABLE: Sources<'static> = Sources::new(&[&NativeSource, &Foreign]);

fn streams() -> Vec<Stream> {
    (0..2).map(|copy| Stream::new(0, "env", copy)).collect()
}

/// The only problem of an environment that can't be made.
fn problem(config: &EnvConfig) -> (String, String) {
    let Err(error) = TABLE.make(config, streams()) else { panic!("{config:?} was made") };
    let [only] = &error.problems()[..] else { panic!("{error}") };
    (only.path.clone(), only.message.clone())
}

#[test]
fn an_environment_of_another_source_is_made_capped_and_wrapped_like_a_native_one() {
    let mut scaled = config("Image-v0");
    scaled.wrappers.push(WrapperConfig::ScaleReward { factor: 10.0 });
    let mut env = TABLE.make(&scaled, streams()).unwrap();
    let mut out = StepBatch::new(2, 2);
    env.reset(&mut out.observations).unwrap();
    assert_eq!(out.observations, [7.0; 4]);
    for step in 1..=6 {
        env.step(&[0.0; 2], &mut out).unwrap();
        assert_eq!((&out.rewards[..], out.truncated[1]), (&[10.0; 2][..], step % 3 == 0), "step {step}");
    }
    let (observations, _) = TABLE.spaces(&config("Image-v0")).unwrap();
    assert_eq!(observations.shape().as_ref(), [1, 2, 1]);
    assert!(TABLE.is_stochastic(&config("Image-v0")).unwrap());
    scaled.wrappers = vec![WrapperConfig::FreezeObservation { dimensions: Some(vec![2]) }];
    assert_eq!(problem(&scaled).0, "env.wrappers[0].dimensions[0]");
}

#[test]
fn the_first_source_that_has_an_id_makes_it() {
    assert_ne!(TABLE.find("CartPole-v1").unwrap().summary, SHADOWED.summary);
    assert_eq!(TABLE.make(&config("CartPole-v1"), streams()).unwrap().observation_space().width(), 4);
}

#[test]
fn an_unknown_id_is_offered_the_nearest_of_all_sources() {
    let nearest = |id: &str| TABLE.find(id).unwrap_err().nearest.first().copied();
    assert_eq!(nearest("image-v0"), Some("Image-v0"));
    assert_eq!(nearest("cartpole"), Some("CartPole-v1"));
    assert_eq!(problem(&config("Imago-v1")).1, "unknown environment \"Imago-v1\"");
}

#[test]
fn an_environment_that_does_not_start_or_makes_no_sense_is_refused() {
    let error = TABLE.make(&config("Broken-v0"), streams()).err().unwrap();
    assert!(matches!(&error, MakeError::Failed { env, .. } if env == "Broken-v0"), "{error:?}");
    let message = "it could not be started: No module named 'ale_py'".to_owned();
    assert_eq!(problem(&config("Broken-v0")), ("env.id".to_owned(), message));
    assert_eq!(problem(&config("Nonsense-v0")).1, "rlx can't use its actions: a choice of 0 values");
    // Problems of the config are reported first: the environment may be fine without it.
    let mut both = config("Broken-v0");
    both.max_episode_steps = Some(0);
    assert_eq!(problem(&both).0, "env.max_episode_steps");
}
