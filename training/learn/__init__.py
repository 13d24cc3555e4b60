"""The trainer: self-play and PPO, in torch.

Read `train` first: an iteration is collect -> critic values -> advantages -> update. Its parts are `collect` (the deals, and
the one record of decisions), `gae` (advantages), `ppo` (the losses and both updates), `network`, and `schedule` (what changes
in the course of a run). `loop` repeats it, with evaluations and checkpoints.

Besides: `imitation` (of an expert, and of recorded decisions), `all_actions`, `expert_iteration`, `best_response`, `data`,
`checkpoint`, `log`, `progress`, `distributed`, `draw_rules`; `layers` is what is compiled of the networks on a processor.
"""
