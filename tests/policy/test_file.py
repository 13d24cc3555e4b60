"""Policy files: they are read as written, damaged ones are refused, and names find them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import noms_env
from noms_env._files import write_atomically
from noms_env.core.actions import NUM_ACTIONS
from noms_env.observation import layout
from noms_env.observation.layout import layout_digest
from noms_env.policy import file as policy_file
from noms_env.policy import player as policy_player
from noms_env.policy.encoding import make_encoding
from noms_env.policy.file import KEY, PolicyFileError, PolicyInfo, read_policy, save_policy
from noms_env.policy.player import load_policy
from noms_env.variants import game, given_options, make_rules
from noms_training.agents.registry import agent_spec
from tests.commands import disk_full
from tests.envs.play import KINDS
from tests.policy.test_player import ATTENTION, SMALL, decisions, make_actor, rules_of, save_small, tensors_of

INFO = PolicyInfo(
    (*rules_of("up_down"), make_rules(game("up_down"), 3, {"schedule": "up", "ranks": 7})),
    SMALL,
    training={"ppo": {"clip": 0.2}},
    seed=11,
    decisions=1234,
    score=0.75,
    revision="v1-2-gabc",
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policy") / "policy.safetensors"
    save_policy(path, tensors_of(make_actor(INFO.rule_sets, SMALL)), INFO)
    return path


def test_a_file_is_read_as_it_was_written(good: Path) -> None:
    info, encoding, tensors = read_policy(good)
    assert info == INFO
    assert info.packages["numpy"] == np.__version__
    assert encoding.digest == make_encoding(INFO.rule_sets).digest
    expected = {name: tensor.tobytes() for name, tensor in tensors_of(make_actor(INFO.rule_sets, SMALL)).items()}
    assert {name: tensor.tobytes() for name, tensor in tensors.items()} == expected
    assert set(load_file(good)) == set(expected), "an ordinary safetensors file"
    observation, legal = decisions(INFO.rule_sets, 20)
    by_file, by_folder = load_policy(good), load_policy(str(good.parent))
    assert (by_file.probabilities(observation, legal) == by_folder.probabilities(observation, legal)).all()
    assert noms_env.load_player(str(good)).act(observation, legal, np.random.default_rng(0)).shape == (20,)


@pytest.mark.parametrize("name", KINDS)
def test_options_in_json_make_the_same_rules(name: str) -> None:
    kind = KINDS[name]
    rules = make_rules(game(kind.variant), kind.seats, kind.options)
    options = given_options(rules)
    assert make_rules(rules.variant, rules.seats, json.loads(json.dumps(options))) == rules
    assert set(options) <= set(kind.options)


def rewritten(
    path: Path,
    target: Path,
    change: Callable[[dict[str, Any]], object] = lambda document: None,
    tensors: Callable[[dict[str, np.ndarray]], object] = lambda tensors: None,
) -> Path:
    """Write a changed copy of a file, with the right SHA-256."""
    arrays = {name: tensor.copy() for name, tensor in load_file(path).items()}
    document = document_of(path)
    change(document)
    tensors(arrays)
    document["sha256"] = policy_file._digest(document, arrays)
    save_file(arrays, target, {KEY: policy_file._text(document)})
    return target


def document_of(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    document: dict[str, Any] = json.loads(header["__metadata__"][KEY])
    return document


def test_an_older_file_without_the_former_input_is_read(good: Path, tmp_path: Path) -> None:
    assert read_policy(rewritten(good, tmp_path / "older", setter(rule_based_prior=False)))[0] == INFO


def setter(**values: Any) -> Callable[[dict[str, Any]], object]:
    """Return a function that puts values into a dictionary."""
    return lambda document: document.update(values)


DOCUMENTS = {
    "format": (setter(format="noms-policy/1"), "'noms-policy/1'; .*'noms-policy/2'"),
    "environment": (setter(environment=99), "version 99 of the environments; this is version 0"),
    "layout": (setter(layout="0" * 64), "another layout"),
    "encoding": (setter(encoding="0" * 64), "another encoding"),
    "entry missing": (lambda document: document.pop("seed"), "is damaged"),
    "entry added": (setter(extra=1), "is damaged"),
    "former input": (setter(rule_based_prior=True), "an input that this version of noms-env no longer has"),
    "former input, damaged": (setter(rule_based_prior="no"), "is damaged"),
    "seed": (setter(seed="five"), "says 'five' for seed"),
    "options": (setter(options=["jokers"]), "option 'jokers'"),
    "rules: too many": (setter(rules=[{"variant": "noms", "seats": 4, "options": {}}] * 5001), "does not say for which games"),
    "rules: unknown": (setter(rules=[{"variant": "skat", "seats": 3, "options": {}}]), "no variant 'skat'"),
    "rules: options": (setter(rules=[{"variant": "noms", "seats": 4, "options": {"min_bid": {}}}]), "min_bid must be"),
    "width": (setter(network=SMALL | {"width": 10**9}), "width from 4 to 8192"),
    "kind": (setter(network=ATTENTION | {"kind": "recurrent"}), "'recurrent'; .*mlp, attention"),
    "size of another kind": (setter(network=ATTENTION | {"width": 20}), "token_width from 4 to 8192, layers"),
    "heads": (setter(network=ATTENTION | {"heads": 3}), "3 heads, .* token_width, 20"),
    "blocks": (setter(network=SMALL | {"blocks": 2}), "lacks the tensor 'trunk.layers.1.bias'"),
    "other width": (setter(network=SMALL | {"width": 6}), r"has 'trunk.first.weight' as float32 of shape \(5, .* \(6, "),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_wrong_document_is_refused(good: Path, tmp_path: Path, name: str) -> None:
    change, sentence = DOCUMENTS[name]
    with pytest.raises(PolicyFileError, match=sentence):
        read_policy(rewritten(good, tmp_path / "changed", change))


def grow(tensors: dict[str, np.ndarray]) -> None:
    tensors["head.cards"][:] = tensors["head.play.weight"][:] = 1e30


TENSORS: dict[str, tuple[Callable[[dict[str, np.ndarray]], object], str]] = {
    "missing": (lambda tensors: tensors.pop("head.bias"), "lacks the tensor 'head.bias'"),
    "unknown": (setter(spare=np.zeros(2, np.float32)), "has an unknown tensor 'spare'"),
    "shape": (setter(**{"head.bias": np.zeros((NUM_ACTIONS, 1), np.float32)}), r"of shape \(150, 1\); .* of shape \(150,\)"),
    "type": (setter(**{"head.bias": np.zeros(NUM_ACTIONS, np.float64)}), "'head.bias' as F64; .* F32"),
    "NaN": (lambda tensors: tensors["head.cards"].__setitem__((3, 1), np.nan), "'head.cards' .* not finite"),
    "too large": (grow, "too large for float32"),
}


@pytest.mark.parametrize("name", TENSORS)
def test_wrong_tensors_are_refused(good: Path, tmp_path: Path, name: str) -> None:
    change, sentence = TENSORS[name]
    with pytest.raises(PolicyFileError, match=sentence):
        load_policy(rewritten(good, tmp_path / "changed", tensors=change))


def test_a_file_that_is_no_policy_is_refused(good: Path, tmp_path: Path) -> None:
    save_file({"weight": np.zeros(3, np.float32)}, tmp_path / "bare")
    refused: list[tuple[Callable[[Any], object], Any, str]] = [
        (load_policy, tmp_path / "nowhere.safetensors", r"no file .*nowhere\.safetensors"),
        (load_policy, tmp_path, r"no file .*policy\.safetensors"),
        (load_policy, tmp_path / "bare", "without 'noms-policy' in its metadata"),
        (read_policy, tmp_path, "cannot be read"),
        (noms_env.load_player, "\ud800.safetensors", r"'\\.*\.safetensors' cannot be the name of a file"),
        (noms_env.load_player, "x" * 300 + ".safetensors", "cannot be read: File name too long"),
    ]
    for load, path, sentence in refused:
        with pytest.raises(PolicyFileError, match=sentence):
            load(path)
    with pytest.raises(ValueError, match="name or a path, not a int"):
        noms_env.load_player(5)  # type: ignore[call-overload]
    text = policy_file._text(document_of(good))
    for damage in (text[:-1], "[" * 100_000, "5", text.replace(",", ", ", 1), text.replace("1234", "1235")):
        save_file(load_file(good), tmp_path / "damaged", {KEY: damage})
        with pytest.raises(PolicyFileError, match="damaged"):
            load_policy(tmp_path / "damaged")


def test_a_wrong_network_and_wrong_tensors_are_not_written(tmp_path: Path) -> None:
    tensors = tensors_of(make_actor(INFO.rule_sets, SMALL))
    with pytest.raises(PolicyFileError, match=r"'trunk\.first\.weight' as"):
        save_policy(tmp_path / "policy", tensors, replace(INFO, network=SMALL | {"width": 7}))
    tensors["head.bias"] = tensors["head.bias"] + np.nan
    with pytest.raises(PolicyFileError, match="not finite"):
        save_policy(tmp_path / "policy", tensors, INFO)
    assert list(tmp_path.iterdir()) == []


def test_the_layout_digest_follows_sections_and_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = layout_digest.__wrapped__()
    assert len(usual) == 64
    first, *others = layout.HIDDEN
    for name, value in [
        ("HIDDEN", (replace(first, name="palms"), *others)),
        ("OBSERVATION", tuple(replace(section, start=section.start + 8) for section in layout.OBSERVATION)),
        ("NUM_ACTIONS", NUM_ACTIONS - 1),
        ("action_word", lambda action, deck: str(action)),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(layout, name, value)
            assert layout_digest.__wrapped__() != usual, name
    with monkeypatch.context() as patch:
        patch.setattr(layout, "HIDDEN", (replace(first, meaning="in other words"), *others))
        assert layout_digest.__wrapped__() == usual


HUGE = """
import resource, sys
from noms_env.policy.player import load_policy
from noms_env.policy.file import PolicyFileError

used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    try:
        load_policy(path)
    except PolicyFileError as error:
        print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used) // 1024)
"""


def test_a_false_size_takes_no_memory(tmp_path: Path) -> None:
    files = {}
    for name, length in [("header", 2**63 - 1), ("whole", 3 << 30), ("most", 90 << 20)]:
        files[name] = tmp_path / name
        with files[name].open("wb") as file:
            header = b'{"a":{"dtype":"F32","shape":[1000000000],"data_offsets":[0,4000000000]}}'
            file.write(length.to_bytes(8, "little") + header)
            file.truncate({"header": 1000, "whole": (3 << 30) + 8, "most": 100 << 20}[name])
    command = [sys.executable, "-c", HUGE, *map(str, files.values())]
    *errors, mebibytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for error, sentence in zip(errors, ("cut off", "larger than any policy", "cut off"), strict=True):
        assert sentence in error
    assert int(mebibytes) < 50


def test_a_failed_write_leaves_the_old_file(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "policy.safetensors"
    write_atomically(path, b"old")
    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match="No space left"):
        save_policy(path, load_file(good), INFO)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_checkout_also_finds_the_policies_in_checkpoints(package: Path, good: Path) -> None:
    with pytest.raises(PolicyFileError, match=r"no policy 'up_down'; .* none yet"):
        load_policy("up_down")
    for folder in ("noms_env/checkpoints/up_down", "checkpoints/late"):
        (package / folder).mkdir(parents=True)
        (package / folder / "policy.safetensors").write_bytes(good.read_bytes())
    assert load_policy("up_down").info == INFO
    with pytest.raises(PolicyFileError, match=r"no policy 'late'; .*: up_down"):
        load_policy("late")
    (package / "pyproject.toml").touch()
    assert load_policy("late").info == INFO
    assert list(policy_player.shipped_policies()) == ["up_down", "late"]


def ship(root: Path, name: str, *variants: str, decisions: int = 100) -> Path:
    """Put a policy into the package."""
    rule_sets = rules_of(*variants)
    file = root / "noms_env" / "checkpoints" / name / "policy.safetensors"
    file.parent.mkdir(parents=True)
    save_small(file, rule_sets, decisions=decisions)
    return file


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package without policies."""
    monkeypatch.setattr(policy_player, "PACKAGE", tmp_path / "noms_env")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_policy_is_found_by_each_of_its_games(package: Path) -> None:
    files = {"auctions": ship(package, "auctions", "small_ships", "noms"), "nonesuch": ship(package, "nonesuch", "nonesuch")}
    for name in ("auctions", "small_ships", "noms"):
        assert policy_player.policy_file_of(name) == files["auctions"]
        assert load_policy(name).rule_sets == rules_of("small_ships", "noms")
    assert policy_player.policy_file_of("nonesuch") == files["nonesuch"]
    with pytest.raises(PolicyFileError, match=r"no policy 'down_up'; .*: auctions \(small_ships, noms\), nonesuch$"):
        load_policy("down_up")


def test_a_game_has_the_policy_of_its_name_or_the_longest_trained(package: Path) -> None:
    both, late = ship(package, "b", "noms", "up_down"), ship(package, "c", "noms", decisions=200)
    assert policy_player.policy_file_of("noms") == late
    assert policy_player.policy_file_of("up_down") == both
    earlier = ship(package, "a", "noms", decisions=200)
    assert policy_player.policy_file_of("noms") == earlier
    namesake = ship(package, "noms", "noms", decisions=1)
    assert policy_player.policy_file_of("noms") == namesake
    namesake.write_bytes(b"damaged")
    assert policy_player.policy_of_game("noms") == earlier
    assert policy_player.policy_file_of("noms") == namesake
    with pytest.raises(PolicyFileError, match="cut off"):
        load_policy("noms")
    with pytest.raises(PolicyFileError, match=r"a \(noms\), b \(noms, up_down\), c \(noms\), noms$"):
        load_policy("down_up")


def test_a_policy_of_the_package_goes_before_a_folder_of_that_name(package: Path, good: Path) -> None:
    (package / "noms").mkdir()
    (package / "noms" / "policy.safetensors").write_bytes(good.read_bytes())
    assert load_policy("noms").info == INFO
    file = ship(package, "auctions", "noms")
    assert policy_player.policy_file_of("noms") == file
    assert load_policy(Path("noms")).info == load_policy("./noms").info == INFO


def test_no_weights_are_read_to_find_a_policy(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = ship(package, "auctions", "noms")
    content = bytearray(file.read_bytes())
    content[-8:] = b"\xff" * 8
    file.write_bytes(content)
    monkeypatch.setattr(policy_file, "_read_tensors", lambda *arguments: pytest.fail("tensors were read"))
    assert policy_player.policy_file_of("noms") == file
    assert policy_file.read_info(file).rule_sets == rules_of("noms")
    monkeypatch.undo()
    with pytest.raises(PolicyFileError, match="is damaged: its content does not have the SHA-256"):
        load_policy(file)


def test_a_contestant_may_be_named_after_a_game(package: Path) -> None:
    ship(package, "auctions", "noms")
    ship(package, "thumb", "noms", decisions=1)
    for name in ("noms", "auctions@0", "noms@0"):
        assert agent_spec(name).rule_sets == rules_of("noms")
    assert agent_spec("thumb").rule_sets is None, "players go before policies"
    with pytest.raises(ValueError, match=r"no policy 'down_up'; .*: auctions \(noms\), thumb \(noms\)"):
        agent_spec("down_up")
    with pytest.raises(ValueError, match="no player 'chess'"):
        agent_spec("chess")


def test_a_policy_needs_no_torch(good: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import noms_env\n"
        "assert not [m for m in sys.modules if m.startswith(('safetensors', 'noms_env.players.'))"
        " and m.rpartition('.')[2] not in ('protocol', 'registry', 'foreign_code')]\n"
        f"print(noms_env.load_player({str(good)!r}).info.decisions)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1234\n"
