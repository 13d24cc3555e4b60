"""The recurrent policy, `examples/recurrent_ppo.py`: its hidden states are right in play and learning, and it learns."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.interop.learning import assert_it_learns, load_script

EXAMPLE = Path(__file__).parents[2] / "examples" / "recurrent_ppo.py"
TABLES, STEPS = 16, 40


@pytest.fixture(scope="module")
def example() -> Any:
    return load_script(EXAMPLE)


@pytest.fixture(scope="module")
def rollout(example: Any) -> tuple[Any, dict[str, torch.Tensor]]:
    """An agent with preferences, and its steps at some tables from the first decisions of deals."""
    torch.manual_seed(3)
    agent = example.Agent()
    with torch.no_grad():
        agent.policy.weight *= 100
    tables = example.make_tables(TABLES)  # an illegal action raises
    now, steps = example.reset_tables(tables, 1), []
    for _ in range(STEPS):
        now, step = example.take_step(agent, tables, now)
        steps.append(step)
    return agent, {name: torch.cat([step[name] for step in steps]) for name in steps[0]}


def evaluate(example: Any, agent: Any, batch: dict[str, torch.Tensor]) -> tuple[Any, torch.Tensor]:
    """Return the policy and the values of the agent for whole sequences."""
    with torch.no_grad():
        arguments = [batch[name] for name in ("features", "legal", "starts")]
        policy, value, _ = agent(*arguments, torch.zeros(TABLES, example.WIDTH))
    return policy, value


def test_whole_sequences_give_the_same_as_single_steps(example: Any, rollout: Any) -> None:
    agent, batch = rollout
    policy, value = evaluate(example, agent, batch)
    np.testing.assert_allclose(policy.log_prob(batch["action"]), batch["logprob"], atol=1e-4)
    np.testing.assert_allclose(value, batch["value"], atol=1e-5)
    assert (policy.probs[~batch["legal"]] == 0).all()
    assert batch["legal"].gather(2, batch["action"][:, :, None]).all()


def test_a_hidden_state_ends_with_the_deal(example: Any, rollout: Any) -> None:
    agent, batch = rollout
    starts, over = batch["starts"], batch["over"]
    assert starts[0].all()
    assert torch.equal(starts[1:], over[:-1])
    assert over.sum() > 3 * TABLES
    features = batch["features"].clone()
    features[0] = 0
    _, value = evaluate(example, agent, batch | {"features": features})
    in_first_deal = starts.cumsum(dim=0) == 1
    assert torch.equal(value[~in_first_deal], batch["value"][~in_first_deal])
    later = in_first_deal.clone()
    later[0] = False
    assert (value[later] != batch["value"][later]).float().mean() > 0.9


def test_it_learns(example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    lines = assert_it_learns(capsys, example.main, decisions=24_000, deals=300)
    assert lines[-1] == "It beats random players."
