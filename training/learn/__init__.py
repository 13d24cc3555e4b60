"""The trainer: self-play and PPO, in torch.

Read `loop` (iterations, evaluations, checkpoints), `self_play` (collect -> advantages -> update), `rollout` and `decisions`
(the deals, and what is kept of them), `gae`, `ppo` (both updates and the loss), `network`. What comes on top: `schedule` (what
changes in the course of a run), `imitation`, `distillation`, `opponents`, `reward_norm`; and around it `checkpoint`, `log`,
`distributed`.
"""
