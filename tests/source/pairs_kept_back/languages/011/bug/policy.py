import contextlib

import numpy as np
import torch
from torch import nn


class ActorNet(nn.Module):
    def __init__(self, obs_dim, act_dim, width=256):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(obs_dim, width), nn.ELU(),
            nn.Linear(width, width), nn.ELU(),
        )
        self.mu = nn.Linear(width, act_dim)

    def forward(self, obs):
        return torch.tanh(self.mu(self.body(obs)))


class GraphedPolicy:
    """Replays the actor for a fixed number of environments."""

    def __init__(self, net, n_envs, obs_dim):
        self.device = torch.device("cuda", torch.cuda.current_device())
        self.net = net.to(self.device).eval()
        self.n_envs = n_envs
        self.obs = torch.zeros(n_envs, obs_dim, device=self.device)
        self.graph = torch.cuda.CUDAGraph()
        self._capture()

    def _capture(self):
        side = torch.cuda.Stream(self.device)
        side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(side), torch.no_grad():
            for _ in range(3):
                self.net(self.obs)
        torch.cuda.current_stream(self.device).wait_stream(side)
        with torch.no_grad(), torch.cuda.graph(self.graph):
            self.actions = self.net(self.obs)

    def act(self, obs):
        if obs.shape != self.obs.shape:
            raise ValueError(f"expected {tuple(self.obs.shape)}")
        self.obs = torch.from_numpy(obs).to(self.device)
        self.graph.replay()
        return self.actions.cpu().numpy()

    @torch.no_grad()
    def load(self, state):
        for name, p in self.net.named_parameters():
            p.copy_(state[name])


def evaluate(policy, envs, episodes, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    returns = []
    running = np.zeros(policy.n_envs, np.float64)
    obs = envs.reset().astype(np.float32)
    with contextlib.closing(envs):
        while len(returns) < episodes:
            a = policy.act(obs)
            if noise:
                a = a + rng.normal(0.0, noise, a.shape)
            obs, rew, done = envs.step(np.clip(a, -1.0, 1.0))
            obs = obs.astype(np.float32)
            running += rew
            for i in np.flatnonzero(done):
                returns.append(running[i])
                running[i] = 0.0
    return float(np.mean(returns[:episodes]))
