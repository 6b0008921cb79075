"""An environment of your own to start from: walk to the end of a corridor that has the goal."""

import gymnasium as gym
import numpy as np


class Corridor(gym.Env):
    # `rlx video` needs render mode rgb_array and `render`; training needs neither.
    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, length=8, render_mode=None):
        self.length, self.render_mode = length, render_mode
        # Where the walker is, from -1 to 1, and on which side the goal is.
        self.observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
        self.action_space = gym.spaces.Discrete(2)

    def _observe(self):
        return np.array([self.place / self.length, self.goal], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = 0, 0
        self.goal = int(self.np_random.choice([-1, 1]))
        return self._observe(), {}

    def step(self, action):
        self.place += 1 if action == 1 else -1
        self.steps += 1
        terminated = abs(self.place) == self.length
        truncated = not terminated and self.steps >= 50
        success = self.place == self.goal * self.length
        # `success` of a finished episode becomes the metric success_rate.
        return self._observe(), float(success), terminated, truncated, {"success": success}

    def render(self):
        cells, size = 2 * self.length + 1, 16
        picture = np.full((3 * size, cells * size, 3), 235, np.uint8)
        for place, color in ((self.goal * self.length, (46, 160, 67)), (self.place, (30, 90, 200))):
            left = (place + self.length) * size
            picture[size:2 * size, left:left + size] = color
        return picture
