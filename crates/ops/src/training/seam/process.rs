//! A throw-away environment in another process: a walker on a line in Python, connected by pipes. It can be
//! configured to die or to raise in the middle of a step, and its state can't be saved.
#![expect(clippy::disallowed_types, reason = "a test's environment may be a process")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rlxp_env::{
    Built, Call, EnvError, EnvInfo, KwargInfo, KwargKind, Order, Problem, Source, Space, StepBatch, VectorEnv,
};
use rlxp_spec::config::Kwarg;

const WORKER: &str = r#"
import os, random, signal, sys
die_at, raise_at, cap = map(int, sys.argv[1:4])
chance = [random.Random(int(seed)) for seed in sys.argv[4:]]
place, age, steps = [0] * len(chance), [0] * len(chance), 0
for line in sys.stdin:
    call, *actions = line.split()
    answer = []
    if call == "reset":
        place, age = [0] * len(chance), [0] * len(chance)
        answer = [0.0] * len(chance)
    else:
        steps += 1
        if steps == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        for copy, action in enumerate(actions):
            if steps == raise_at and copy == 2:
                answer = ["error", copy, "ValueError:", "the", "wind", "is", "too", "strong"]
                break
            place[copy] += 1 if (float(action) == 1.0) != (chance[copy].random() < 0.1) else -1
            age[copy] += 1
            last, ended, cut = place[copy] / 3, abs(place[copy]) == 3, age[copy] == cap
            if ended or cut:
                place[copy], age[copy] = 0, 0
            answer += [place[copy] / 3, last, max(last, 0) if ended else 0.0, int(ended), int(cut)]
    print(*answer, flush=True)
"#;

static INFO: EnvInfo = EnvInfo {
    id: "Process-v0",
    aliases: &[],
    summary: "a walker in another process",
    max_episode_steps: Some(10),
    reward_threshold: None,
    stochastic: true,
    kwargs: &[
        KwargInfo { name: "die_at", kind: KwargKind::Number, default: "0", meaning: "step that kills it" },
        KwargInfo { name: "raise_at", kind: KwargKind::Number, default: "0", meaning: "step that raises" },
    ],
    observation_names: &["place"],
    action_names: &["left", "right"],
};

/// Makes environments that run in a process of their own.
pub(crate) struct ProcessSource;

impl Source for ProcessSource {
    fn catalogue(&self) -> Vec<&'static EnvInfo> {
        vec![&INFO]
    }

    fn make(&self, order: Order<'_>, _: &mut Vec<Problem>) -> Result<Built, EnvError> {
        let number = |name: &str| match order.config.kwargs.get(name) {
            Some(Kwarg::Integer(value)) => value.to_string(),
            _ => "0".to_owned(),
        };
        let copies = order.copies.len();
        let seeds = order.copies.streams().into_iter().map(|mut stream| stream.below(1 << 30).to_string());
        let mut child = Command::new("python3")
            .args(["-c", WORKER, &number("die_at"), &number("raise_at")])
            .arg(order.step_cap.or(order.default_step_cap).unwrap_or(0).to_string())
            .args(seeds)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(Call::Start, error.to_string()))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let env = ProcessEnv {
            copies,
            observations: Space::vector(vec![-1.0], vec![1.0]),
            actions: Space::Discrete { n: 2 },
            child,
            input: input.expect("its input is piped"),
            output: BufReader::new(output.expect("its output is piped")),
            line: String::new(),
        };
        Ok(Built { env: Box::new(env), stochastic: true })
    }
}

struct ProcessEnv {
    copies: usize,
    observations: Space,
    actions: Space,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

fn failed(call: Call, message: String) -> EnvError {
    EnvError::Failed { copy: None, call, message }
}

impl ProcessEnv {
    /// Sends one line and takes the numbers of the answer.
    fn ask(&mut self, call: Call, question: &str, each: usize) -> Result<Vec<f32>, EnvError> {
        self.line.clear();
        let answered = writeln!(self.input, "{question}")
            .and_then(|()| self.input.flush())
            .and_then(|()| self.output.read_line(&mut self.line));
        if !matches!(answered, Ok(1..)) {
            let end = self.child.wait().map_err(|error| failed(call, error.to_string()))?;
            return Err(failed(call, format!("the worker process ended ({end})")));
        }
        if let Some((copy, message)) = self.line.strip_prefix("error ").and_then(|rest| rest.split_once(' '))
        {
            let message = message.trim().to_owned();
            return Err(EnvError::Failed { copy: copy.parse().ok(), call, message });
        }
        let numbers: Vec<f32> = self.line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        if numbers.len() != self.copies * each {
            return Err(failed(call, format!("the worker answered {:?}", self.line)));
        }
        Ok(numbers)
    }
}

impl VectorEnv for ProcessEnv {
    fn copies(&self) -> usize {
        self.copies
    }
    fn observation_space(&self) -> &Space {
        &self.observations
    }
    fn action_space(&self) -> &Space {
        &self.actions
    }
    fn reset(&mut self, observations: &mut [f32]) -> Result<(), EnvError> {
        observations.copy_from_slice(&self.ask(Call::Reset, "reset", 1)?);
        Ok(())
    }
    fn step(&mut self, actions: &[f32], out: &mut StepBatch) -> Result<(), EnvError> {
        let words: Vec<String> = actions.iter().map(f32::to_string).collect();
        let answer = self.ask(Call::Step, &format!("step {}", words.join(" ")), 5)?;
        for (copy, row) in answer.chunks_exact(5).enumerate() {
            (out.observations[copy], out.final_observations[copy], out.rewards[copy]) =
                (row[0], row[1], row[2]);
            (out.terminated[copy], out.truncated[copy]) = (row[3] == 1.0, row[4] == 1.0);
        }
        Ok(())
    }
    fn save(&self) -> Result<Option<Vec<u8>>, EnvError> {
        Ok(None)
    }
    fn restore(&mut self, _: &[u8]) -> Result<(), EnvError> {
        Err(failed(Call::Restore, "its state can't be saved".to_owned()))
    }
}

impl Drop for ProcessEnv {
    fn drop(&mut self) {
        // It may have ended already; either way no process is left behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
