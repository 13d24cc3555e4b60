"""The trainer: self-play and PPO, in torch.

Read `train` first: an iteration is collect -> critic values -> advantages -> update. Its parts are `collect` (rollouts), `gae`
(advantages), `ppo` (losses and updates), `network`, and `schedule` (stages, learning rate and coefficients). `loop` repeats
iterations, with evaluations and checkpoints.

The rest: `imitation` (of experts and of recorded decisions), `all_actions`, `expert_iteration`, `best_response`, `data`,
`checkpoint`, `log`, `progress`, `distributed`, `draw_rules`, and `layers` (compiled CPU kernels of the networks).
"""
