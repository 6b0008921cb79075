//! The key or word that was probably meant.

/// What other libraries call our keys.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("env_id", "env.id"),
    ("n_envs", "env.num_envs"),
    ("env_kwargs", "env.kwargs"),
    ("time_limit", "env.max_episode_steps"),
    ("n_timesteps", "algo.total_timesteps"),
    ("timesteps", "algo.total_timesteps"),
    ("n_steps", "algo.rollout_steps"),
    ("num_steps", "algo.rollout_steps"),
    ("minibatch_size", "algo.batch_size"),
    ("n_epochs", "algo.update_epochs"),
    ("lr", "algo.learning_rate"),
    ("clip_coef", "algo.clip_range"),
    ("clip_range_vf", "algo.clip_value"),
    ("discount", "algo.gamma"),
    ("ent_coef", "algo.entropy_coef"),
    ("vf_coef", "algo.value_coef"),
    ("norm_adv", "algo.normalize_advantages"),
    ("net_arch", "policy.hidden_sizes"),
    ("activation_fn", "policy.activation"),
    ("n_eval_episodes", "eval.episodes"),
    ("eval_freq", "eval.every"),
];

/// The closest of `words`, if close enough to suggest.
pub fn nearest<'a>(written: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A long text is near to nothing, and comparing it would cost its square.
    if written.len() > 64 {
        return None;
    }
    let written = written.to_lowercase();
    let mut best: Option<(f64, &str)> = None;
    for word in words {
        let score = similarity(&written, &word.to_lowercase());
        if score > 0.55 && best.is_none_or(|(of_best, _)| score > of_best) {
            best = Some((score, word));
        }
    }
    best.map(|(_, word)| word)
}

fn similarity(left: &str, right: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(left, right).max(strsim::jaro_winkler(left, right) - 0.2)
}

/// What to write instead of the unknown `key` in `section`, of all `paths`.
pub(crate) fn key_hint(paths: &[&str], section: &str, key: &str) -> String {
    if let Some(full) = elsewhere(paths, key) {
        return match full.split_once('.') {
            Some((of, own)) if of == section => format!("did you mean `{own}`?"),
            Some((of, own)) => format!("write `{own}` under `{of}`"),
            None => format!("write `{full}` at the top level"),
        };
    }
    let keys = keys_of(paths, section);
    match nearest(key, keys.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => match near_elsewhere(paths, key) {
            Some(full) => format!("did you mean `{full}`?"),
            None => format!("valid keys here: {}", keys.join(", ")),
        },
    }
}

/// What to write instead of the unknown dotted `path` of an override.
pub(crate) fn path_hint(paths: &[&str], path: &str) -> String {
    if let Some(key) = keys_of(paths, path).first().filter(|_| !path.is_empty()) {
        return format!("`{path}` contains other keys; set one of them, such as `{path}.{key}`");
    }
    let near = elsewhere(paths, last(path)).or_else(|| nearest(path, paths.iter().copied()));
    match near.or_else(|| near_elsewhere(paths, last(path))) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("valid keys start with: {}", keys_of(paths, "").join(", ")),
    }
}

/// The names of the keys directly within a section; `""` is the top level.
fn keys_of<'p>(paths: &[&'p str], section: &str) -> Vec<&'p str> {
    let mut keys = Vec::new();
    for path in paths {
        let key = match path.split_once('.') {
            Some((of, _)) if section.is_empty() => of,
            None if section.is_empty() => path,
            Some((of, key)) if of == section => key,
            _ => continue,
        };
        if keys.last() != Some(&key) {
            keys.push(key);
        }
    }
    keys
}

/// The full path of a key that is known by another name or in another section.
fn elsewhere<'p>(paths: &[&'p str], key: &str) -> Option<&'p str> {
    let find = |wanted: &dyn Fn(&str) -> bool| paths.iter().copied().find(|path| wanted(path));
    find(&|path| last(path) == key).or_else(|| {
        let (_, other) = OTHER_NAMES.iter().find(|(name, _)| *name == key)?;
        find(&|path| path == *other)
    })
}

fn near_elsewhere<'p>(paths: &[&'p str], key: &str) -> Option<&'p str> {
    nearest(key, paths.iter().map(|path| last(path))).and_then(|near| elsewhere(paths, near))
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<String> {
        crate::known_keys()
    }

    #[test]
    fn a_typo_finds_its_key() {
        let known = known();
        let paths: Vec<&str> = known.iter().map(String::as_str).collect();
        let check = |section, key, expected: &str| assert_eq!(key_hint(&paths, section, key), expected);
        check("algo", "learnig_rate", "did you mean `learning_rate`?");
        check("algo", "gama", "did you mean `gamma`?");
        check("algo", "n_steps", "did you mean `rollout_steps`?");
        check("", "gamma", "write `gamma` under `algo`");
        check("", "envs", "did you mean `env`?");
        check("env", "seeds", "write `seeds` at the top level");
        check("eval", "xyzzy", "valid keys here: every, episodes, deterministic, seed");
        assert_eq!(path_hint(&paths, "algo.learning_rat"), "did you mean `algo.learning_rate`?");
        assert_eq!(path_hint(&paths, "lr"), "did you mean `algo.learning_rate`?");
    }

    #[test]
    fn other_names_lead_to_real_keys() {
        let known = known();
        for (name, path) in OTHER_NAMES {
            assert!(known.iter().any(|key| key == path), "{path}");
            assert!(known.iter().all(|key| last(key) != *name), "{name}");
        }
    }
}
