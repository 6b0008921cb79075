"""Steps Gymnasium environments for rlx. Needs gymnasium and numpy only; rlx passes this file to `python -c`.

The protocol is described in docs/reference/bridge-protocol.md. Messages are lines of JSON on two pipes; batches of
steps are handed over in shared memory.
"""

import sys

MEMORY, INBOX, OUTBOX, WORKER = (int(word) for word in sys.argv[1:5])
PROJECT = sys.argv[5]
VERSION = 1
LONGEST_TRACEBACK = 16000
# Times to look for the next batch before sleeping. One look takes about half a microsecond.
LOOKS = 600
# A yield that takes this long, in seconds, gave the core to another program: then sleeping is faster, for a while.
LONG_YIELD, CONTENDED = 0.0002, 200
COMMAND, DONE, WORKER_SLEEPS, RLX_SLEEPS, COPY = range(5)
IDLE, STEP, RESET, STEP_ONCE = range(4)
LEAVE = 0xFFFFFFFF


def send(message):
    import json
    import os

    data = (json.dumps(message) + "\n").encode()
    while data:
        data = data[os.write(OUTBOX, data):]


def fail(call, copy, error, help=""):
    """Reports an exception and ends this process."""
    import os
    import traceback

    lines = traceback.format_exception(type(error), error, error.__traceback__)
    hidden = ('File "<string>"', 'File "<frozen ')
    text = "".join(line for line in lines if not line.lstrip().startswith(hidden))
    if isinstance(error, Refused) or type(error).__module__ == "gymnasium.error":
        # The message says it all; where Gymnasium noticed says nothing.
        text = ""
    if len(text) > LONGEST_TRACEBACK:
        text = text[:4000] + "\n[...]\n" + text[-(LONGEST_TRACEBACK - 4000):]
    message = str(error).strip().splitlines()
    first = message[0] if message else ""
    what = first if isinstance(error, Refused) else type(error).__name__ + (": " + first if first else "")
    if call == "render" and not isinstance(error, Refused):
        what = "`render` failed: " + what
    send({"error": {"call": call, "copy": copy, "message": what[:1000] + help, "traceback": text}})
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


class Refused(Exception):
    """The environment can't be used as it is; the message says what helps."""


def load(path):
    """The object that `module:name` names."""
    import importlib

    module, name = path.split(":", 1)
    value = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


NORMALISING = {"NormalizeObservation": "env.normalize_observations", "NormalizeReward": "env.normalize_rewards"}


def make(gym, asked):
    """One instance, with the wrappers of the config around it."""
    kwargs, cap = dict(asked["kwargs"]), asked["max_episode_steps"]
    if asked.get("render_mode"):
        kwargs["render_mode"] = asked["render_mode"]
    env = None
    if ":" in asked["id"]:
        module, name = asked["id"].split(":", 1)
        import importlib

        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if callable(found):
            if asked.get("render_mode"):
                check_filmable(asked["id"], found)
            env = found(**kwargs)
            if not hasattr(env, "step") or not hasattr(env, "reset"):
                raise Refused(f"{asked['id']} is not an environment: it has no step and reset")
            if cap is not None:
                env = gym.wrappers.TimeLimit(env, cap)
    if env is None:
        extra = {} if cap is None else {"max_episode_steps": cap}
        env = gym.make(asked["id"], disable_env_checker=True, **extra, **kwargs)
    limit = time_limit(env)
    if limit is None and asked["default_step_cap"] is not None:
        env = gym.wrappers.TimeLimit(env, asked["default_step_cap"])
    for wrapper in asked["wrappers"]:
        env = load(wrapper["class"])(env, **wrapper["kwargs"])
    inner = env
    while inner is not None:
        key = NORMALISING.get(type(inner).__name__)
        if key and type(inner).__module__.startswith("gymnasium."):
            raise Refused(f"{type(inner).__name__} keeps running means that can't be saved; use `{key}: true` instead")
        inner = inner.__dict__.get("env")
    return env


HOW_TO_DRAW = ("take `render_mode=None` in `__init__`, keep it as `self.render_mode`, set `metadata = "
               "{\"render_modes\": [\"rgb_array\"], \"render_fps\": 30}` and return an array of shape (height, width, 3) "
               "and type uint8 from `render`")


def check_filmable(name, made):
    """Refuses a class that doesn't take a render mode, before Python's TypeError does."""
    import inspect

    try:
        parameters = inspect.signature(made).parameters.values()
    except (TypeError, ValueError):
        return
    if not any(one.name == "render_mode" or one.kind is one.VAR_KEYWORD for one in parameters):
        raise Refused(f"{name} can't be filmed: its `__init__` takes no `render_mode`; {HOW_TO_DRAW}")


def prepare_display():
    """Lets pygame and MuJoCo draw without a screen. They read these variables when they are imported."""
    import os

    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("MUJOCO_GL")):
        import ctypes.util

        for library, name in (("EGL", "egl"), ("OSMesa", "osmesa")):
            if ctypes.util.find_library(library):
                os.environ["MUJOCO_GL"] = name
                break


# Pixels of the largest picture. Video players show less, and every copy has one in memory.
LARGEST_PICTURE = 1 << 24


def picture(np, env):
    """What the environment looks like now."""
    metadata = env.metadata
    modes = (metadata.get("render_modes") if isinstance(metadata, dict) else None) or []
    if "rgb_array" not in modes:
        has = ", ".join(str(mode) for mode in modes) or "none"
        raise Refused(f"it can't be filmed: its render modes are {has}, without rgb_array; {HOW_TO_DRAW}")
    try:
        drawn = env.render()
    except Exception as error:
        import os

        text = f"{type(error).__name__}: {error}".splitlines()[0]
        if any(word in text for word in ("OpenGL", "EGL", "OSMesa", "gladLoad", "GLFW", "X11", "video device")):
            raise Refused(f"it can't draw without a screen ({text[:300]}); install libegl1 or libosmesa6, "
                          f"or choose with MUJOCO_GL (now {os.environ.get('MUJOCO_GL', 'not set')})") from error
        raise
    array = np.asarray(drawn)
    if array.ndim != 3 or array.shape[2] != 3 or array.dtype != np.uint8 or array.size == 0:
        what = "None" if drawn is None else f"an array of shape {array.shape} and type {array.dtype}"
        raise Refused(f"it can't be filmed: `render` returned {what}; {HOW_TO_DRAW}")
    if array.shape[0] * array.shape[1] > LARGEST_PICTURE:
        raise Refused(f"it can't be filmed: its picture has {array.shape[1]} x {array.shape[0]} pixels, more than "
                      f"{LARGEST_PICTURE} in all; draw a smaller one")
    return array


def first_picture(np, gym, asked):
    """Size and rate of the pictures, from an instance of its own: drawing needs a reset, which would use up a seed."""
    env = make(gym, asked)
    try:
        env.reset(seed=0)
        height, width, _ = picture(np, env).shape
        rate = env.metadata.get("render_fps", 30)
    finally:
        env.close()
    if isinstance(rate, bool) or not isinstance(rate, (int, float, np.number)) or not 0 < rate < float("inf"):
        raise Refused(f"it can't be filmed: `metadata[\"render_fps\"]` is {rate!r}; it must be a number above 0")
    return {"width": int(width), "height": int(height), "per_second": max(1, min(round(float(rate)), 120))}


def drawer(np, frames, watched):
    """What draws a copy into the shared memory if rlx looks at it."""

    def draw(copy, env):
        if not watched[copy]:
            return
        array = picture(np, env)
        if array.shape != frames[copy].shape:
            raise Refused(f"its picture has shape {array.shape}; the first one had {frames[copy].shape}")
        frames[copy] = array

    return draw


def time_limit(env):
    while env is not None:
        for name in ("_max_episode_steps", "max_episode_steps"):
            value = env.__dict__.get(name)
            if isinstance(value, int) and type(env).__name__ == "TimeLimit":
                return value
        env = env.__dict__.get("env")
    return None


HELPS = {
    "Text": "remove the text with gymnasium.wrappers:FilterObservation or a wrapper of your own "
    "(MiniGrid: minigrid.wrappers:ImgObsWrapper or FlatObsWrapper)",
    "MissionSpace": "add the wrapper minigrid.wrappers:ImgObsWrapper or minigrid.wrappers:FlatObsWrapper",
    "Graph": "turn it into arrays with a wrapper of your own (gymnasium.wrappers:TransformObservation)",
    "Sequence": "give it a fixed length with a wrapper of your own (gymnasium.wrappers:TransformObservation)",
    "OneOf": "turn it into one array with a wrapper of your own (gymnasium.wrappers:TransformObservation)",
}


EXTRAS = {"box2d": "box2d", "mujoco": "mujoco", "ale_py": "atari", "minigrid": "minigrid", "pygame": "classic-control"}


def needs(error):
    """What `rlx python setup` installs for an environment whose package is missing."""
    text = str(error).lower()
    for name, extra in EXTRAS.items():
        if name in text and ("install" in text or "no module" in text):
            return f"; run `rlx python setup --with {extra}`"
    if "ale/" in text or "namespace ale" in text:
        return "; run `rlx python setup --with atari` and use `env.id: ale_py:ALE/...`"
    return ""


def unusable(space):
    """The first part of a space that can't be a row of numbers."""
    parts = getattr(space, "spaces", None)
    if parts is not None and type(space).__name__ in ("Dict", "Tuple"):
        for part in parts.values() if hasattr(parts, "values") else parts:
            found = unusable(part)
            if found:
                return found
        return None
    known = {"Box", "Discrete", "MultiDiscrete", "MultiBinary"}
    names = [base.__name__ for base in type(space).__mro__]
    return None if known & set(names) else space


def describe(np, gym, space, what):
    """A space as JSON, how a value becomes a row of floats and how a row becomes a value."""
    bad = unusable(space)
    if bad is not None:
        name = type(bad).__name__
        raise Refused(f"its {what} space has a part of type {name}; " + HELPS.get(name, HELPS["OneOf"]))
    kind = next(base.__name__ for base in type(space).__mro__
                if base.__name__ in ("Box", "Discrete", "MultiDiscrete", "MultiBinary", "Dict", "Tuple"))
    if kind in ("Dict", "Tuple"):
        if what == "action":
            raise Refused(f"its action space is a {kind}; write a wrapper that turns one array into it")
        flat = gym.spaces.flatten_space(space)
        described, _, _ = describe(np, gym, flat, what)
        flatten = gym.spaces.flatten
        return described, (lambda value: flatten(space, value)), None
    if kind == "Discrete":
        n, start = int(space.n), int(getattr(space, "start", 0))
        choices = [np.int64(start + index) for index in range(min(n, 1 << 16))]

        def chosen(row):
            index = int(row[0])
            return choices[index] if index < len(choices) else np.int64(start + index)

        return {"type": "discrete", "n": n}, (lambda value: (int(value) - start,)), chosen
    if kind == "MultiDiscrete":
        nvec = np.asarray(space.nvec)
        start = np.asarray(getattr(space, "start", np.zeros_like(nvec)))
        shape, dtype = nvec.shape, space.dtype
        return (
            {"type": "multi_discrete", "nvec": [int(n) for n in nvec.ravel()]},
            (lambda value: (np.asarray(value) - start).ravel()),
            (lambda row: (row.reshape(shape) + start).astype(dtype)),
        )
    if kind == "MultiBinary":
        shape = tuple(space.shape)
        size = 1
        for axis in shape:
            size *= int(axis)
        return (
            {"type": "multi_binary", "n": size},
            (lambda value: np.asarray(value).ravel()),
            (lambda row: row.reshape(shape).astype(np.int8)),
        )
    shape, dtype = tuple(int(axis) for axis in space.shape), space.dtype
    bounds = lambda values: [None if np.isinf(x) else float(x) for x in np.asarray(values, np.float64).ravel()]
    described = {"type": "box", "shape": list(shape), "dtype": dtype.name,
                 "low": bounds(space.low), "high": bounds(space.high)}

    def checked(value):
        array = np.asarray(value)
        if array.shape != shape:
            raise ValueError(f"the observation has shape {array.shape}, but its space says {shape}")
        if not np.can_cast(array.dtype, dtype, "same_kind"):
            raise ValueError(f"the observation has type {array.dtype}, but its space says {dtype}")
        return array.ravel()

    if np.issubdtype(dtype, np.integer):
        return described, checked, (lambda row: np.rint(row).reshape(shape).astype(dtype))
    return described, checked, (lambda row: row.reshape(shape).astype(dtype))


def versions(np, gym):
    import platform

    found = {"python": platform.python_version(), "gymnasium": gym.__version__, "numpy": np.__version__}
    return found, sys.executable


def sources(env, found):
    """Packages and source files of the environment and its wrappers."""
    import hashlib
    import inspect

    files, inner = {}, env
    while inner is not None:
        module = sys.modules.get(type(inner).__module__)
        top = type(inner).__module__.split(".")[0]
        if top not in ("gymnasium", "__main__"):
            version = getattr(sys.modules.get(top), "__version__", None)
            if isinstance(version, str):
                found.setdefault(top, version)
        try:
            path = inspect.getsourcefile(module) if module else None
            if path and top != "gymnasium":
                with open(path, "rb") as file:
                    files[path] = hashlib.sha256(file.read()).hexdigest()
        except (OSError, TypeError):
            pass
        inner = inner.__dict__.get("env")
    for name in ("box2d", "mujoco", "ale-py", "minigrid", "pygame"):
        try:
            import importlib.metadata

            if name.replace("-", "_") in sys.modules or (name == "box2d" and "Box2D" in sys.modules):
                found[name] = importlib.metadata.version(name)
        except Exception:
            pass
    return files


class Copies:
    """The environments of this worker, from `first` on."""

    def __init__(self, np, gym, asked, first, count):
        self.np, self.gym, self.asked, self.first = np, gym, asked, first
        # Idle workers look at the environment as well, so that every worker reports the same spaces.
        self.envs = [make(gym, asked) for _ in range(max(count, 1))]
        env = self.envs[0]
        self.spaces = (env.observation_space, env.action_space)
        self.observed, self.encode, _ = describe(np, gym, env.observation_space, "observation")
        self.acted, _, self.decode = describe(np, gym, env.action_space, "action")
        if count == 0:
            env.close()
            self.envs = []

    def describe(self):
        env = self.envs[0] if self.envs else make(self.gym, self.asked)
        found, executable = versions(self.np, self.gym)
        files = sources(env, found)
        found["executable"] = executable
        spec = getattr(env, "spec", None)
        threshold = getattr(spec, "reward_threshold", None)
        cap = time_limit(env)
        if cap is None:
            cap = getattr(spec, "max_episode_steps", None)
        answer = {"observation_space": self.observed, "action_space": self.acted, "max_episode_steps": cap,
                  "reward_threshold": threshold, "versions": found, "sources": files}
        if self.asked.get("render_mode"):
            answer["frame"] = first_picture(self.np, self.gym, self.asked)
        return answer

    def serve(self, layout, block):
        """Steps batches until rlx asks to leave."""
        import os
        import select
        import threading
        import time

        np, first, envs, count = self.np, self.first, self.envs, len(self.envs)
        columns = layout["columns"]

        def array(name):
            column = columns[name]
            return np.ndarray(tuple(column["shape"]), column["dtype"], block, column["offset"])

        def flat(name, code):
            column = columns[name]
            size = array(name).nbytes
            return memoryview(block)[column["offset"]:column["offset"] + size].cast(code)

        control = memoryview(block)[64 * WORKER:64 * WORKER + 64].cast("I")
        mine = range(first, first + count)
        actions = [array("actions")[copy, 0] for copy in mine]
        observations = [array("observations")[copy, 0] for copy in mine]
        finals = [array("final_observations")[copy, 0] for copy in mine]
        operations, seeds = flat("operations", "B"), flat("seeds", "q")
        rewards, returns, lengths = flat("rewards", "d"), flat("episode_returns", "d"), flat("episode_lengths", "q")
        terminated, truncated, success = flat("terminated", "B"), flat("truncated", "B"), flat("success", "b")
        draw = drawer(np, array("frames"), flat("watched", "B")) if "frames" in columns else None
        totals, steps = [0.0] * count, [0] * count
        encode, decode, sched_yield, getpid = self.encode, self.decode, os.sched_yield, os.getpid
        # rlx counts batches from 1 on and may have begun already.
        own, seen = getpid(), 0
        fresh = [True] * count
        box = self.observed["type"] == "box" and type(self.spaces[0]).__name__ == "Box"
        shape, dtype = (tuple(self.spaces[0].shape), self.spaces[0].dtype) if box else (None, None)
        one_axis = box and len(shape) == 1
        ndarray, now, contended = np.ndarray, time.perf_counter, 0
        lock = threading.Lock()

        def barrier():
            """Orders writes before it before reads after it: a lock is taken with an atomic operation."""
            lock.acquire()
            lock.release()

        def write(row, observation):
            if one_axis and type(observation) is ndarray and observation.dtype is dtype and observation.shape == shape:
                row[:] = observation
            else:
                row[:] = encode(observation)

        def reset(index):
            if self.asked["recreate"] and not fresh[index]:
                envs[index].close()
                envs[index] = make(self.gym, self.asked)
                spaces = (envs[index].observation_space, envs[index].action_space)
                if spaces != self.spaces:
                    raise Refused("its spaces changed when it was created again")
            fresh[index] = False
            seed = seeds[first + index]
            answer = envs[index].reset(seed=seed) if seed >= 0 else envs[index].reset()
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise Refused("reset must return (observation, info), as in Gymnasium 0.26 and later")
            totals[index], steps[index] = 0.0, 0
            write(observations[index], answer[0])

        while True:
            looks = LOOKS if contended else 0
            contended = max(contended - 1, 0)
            while control[COMMAND] == seen:
                if looks < LOOKS:
                    before = now()
                    sched_yield()
                    looks += 1
                    if now() - before > LONG_YIELD:
                        contended, looks = CONTENDED, LOOKS
                    continue
                control[WORKER_SLEEPS] = 1
                barrier()
                if control[COMMAND] == seen:
                    ready, _, _ = select.select([INBOX], [], [], 0.1)
                    if ready and not os.read(INBOX, 64):
                        os._exit(0)
                control[WORKER_SLEEPS] = 0
            seen = control[COMMAND]
            if seen == LEAVE:
                return
            if getpid() != own:
                # A copy of this process that an environment has forked.
                os._exit(0)
            index, call = None, "step"
            try:
                for index in range(count):
                    copy = first + index
                    operation = operations[copy]
                    if operation == IDLE:
                        continue
                    control[COPY] = copy
                    if operation == RESET:
                        call = "reset"
                        reset(index)
                        if draw:
                            call = "render"
                            draw(copy, envs[index])
                        continue
                    call = "step"
                    answer = envs[index].step(decode(actions[index]))
                    if len(answer) != 5:
                        raise Refused("step must return (observation, reward, terminated, truncated, info), as in "
                                      "Gymnasium 0.26 and later")
                    observation, reward, ended, cut, info = answer
                    rewards[copy] = reward
                    terminated[copy], truncated[copy] = 1 if ended else 0, 1 if cut else 0
                    totals[index] += reward
                    steps[index] += 1
                    if ended or cut:
                        write(finals[index], observation)
                        reached = info.get("success", info.get("is_success"))
                        success[copy] = -1 if reached is None else 1 if reached else 0
                        returns[copy], lengths[copy] = totals[index], steps[index]
                        if operation == STEP:
                            call = "reset"
                            reset(index)
                        else:
                            write(observations[index], observation)
                    else:
                        write(observations[index], observation)
                    if draw:
                        call = "render"
                        draw(copy, envs[index])
            except BaseException as error:
                fail(call, first + index, error)
            control[DONE] = seen
            barrier()
            if control[RLX_SLEEPS]:
                os.write(OUTBOX, b"\n")


def main():
    import faulthandler
    import json
    import os
    import signal

    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    for descriptor in (MEMORY, INBOX, OUTBOX):
        os.set_inheritable(descriptor, False)
    sys.argv = [""]
    sys.path[:0] = [os.path.join(PROJECT, "envs"), PROJECT]
    try:
        import gymnasium
        import numpy
    except ImportError as error:
        try:
            import gym

            found = f"it has gym {gym.__version__}, which Gymnasium replaced"
        except Exception:
            found = str(error)
        send({"missing": {"executable": sys.executable, "message": found}})
        return
    pending, copies, mapped = b"", None, None
    while True:
        while b"\n" not in pending:
            read = os.read(INBOX, 1 << 16)
            if not read:
                return
            pending += read
        line, pending = pending.split(b"\n", 1)
        if not line:
            continue
        message = json.loads(line)
        if "make" in message:
            if message["make"].get("render_mode"):
                prepare_display()
            try:
                copies = Copies(numpy, gymnasium, message["make"], message["first"], message["count"])
                answer = copies.describe()
            except BaseException as error:
                fail("start", None, error, needs(error))
            send({"made": answer})
        elif "map" in message:
            import mmap

            block = mmap.mmap(MEMORY, message["map"]["size"])
            send({"mapped": VERSION})
            copies.serve(message["map"], block)
            for env in copies.envs:
                try:
                    env.close()
                except Exception:
                    pass
            copies = None
            send({"left": True})
        sys.stdout.flush()


main()
