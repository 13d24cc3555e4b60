"""Build the sdist and from it the wheel, install the wheel into an empty environment, and use it outside of the checkout.

A missing data file or an undeclared dependency fails here. `make test` runs this with the build tools of its environment.
"""

import json
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

ONE_DEAL = """
import sys
from pathlib import Path

import noms_env

assert Path(noms_env.__file__).is_relative_to(sys.prefix), noms_env.__file__
env = noms_env.down_up_v0.env(episode="deal")
env.reset(seed=1)
decisions = 0
for agent in env.agent_iter():
    observation, _, termination, truncation, _ = env.last()
    done = termination or truncation
    env.step(None if done else int(observation["action_mask"].argmax()))
    decisions += not done
assert decisions > 0
print(f"one deal: {decisions} decisions")
"""

POLICIES = """
import json
import sys

from noms_env import load_player
from noms_env.policy.player import shipped_policies

shipped = shipped_policies()
assert all(file.is_relative_to(sys.prefix) for file in shipped.values()), shipped
for name in shipped:
    for variant in {kind.variant.name for kind in load_player(name).rule_sets}:
        assert variant in {kind.variant.name for kind in load_player(variant).rule_sets}, variant
print(json.dumps(sorted(shipped)))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Return the output of a command that must succeed, in an environment without the checkout."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    result = subprocess.run(command, cwd=cwd, env=env, text=True, capture_output=True, check=False)
    if result.returncode:
        words = " ".join(map(str, command))
        sys.exit(f"failed with exit status {result.returncode}: {words}\n{result.stdout}{result.stderr}")
    return result.stdout.strip()


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist and the wheel with the tools of this environment, without downloads."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, cwd=ROOT)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def shipped_files() -> list[str]:
    """Return the paths, in the checkout, of the policies in the package and of their cards."""
    files = [ROOT / "checkpoints" / "README.md"]
    for policy in (ROOT / "checkpoints").glob("*/policy.safetensors"):
        files += [policy.with_name(name) for name in ("README.md", "policy.safetensors", "runs.json")]
    return sorted(file.relative_to(ROOT).as_posix() for file in files)


def check_sdist(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= set(shipped_files()), set(shipped_files()) - names


def check_wheel(wheel: Path) -> None:
    """Check for the markers of typed packages, the licence and the policies, and against tests, measurements and caches."""
    assert wheel.stat().st_size <= 13_000_000, f"the wheel has {wheel.stat().st_size} bytes"
    names = zipfile.ZipFile(wheel).namelist()
    packages = {top for top in (name.split("/")[0] for name in names) if not top.endswith(".dist-info")}
    assert packages == {"noms_env", "noms_training"}, packages
    assert {"noms_env/py.typed", "noms_training/py.typed"} <= {*names}, "py.typed is missing"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names), "LICENSE is missing"
    assert {f"noms_env/{file}" for file in shipped_files()} == {name for name in names if "/checkpoints/" in name}
    assert not [name for name in names if "__pycache__" in name or name.endswith((".nbi", ".nbc"))]


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel and its dependencies into a new environment and return its folder of commands."""
    venv.create(folder, with_pip=True)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    options = ("-qq", "--disable-pip-version-check", "--constraint", ROOT / "constraints.txt")
    run(scripts / "python", "-m", "pip", "install", *options, wheel, cwd=folder)
    return scripts


def add_foreign_training(scripts: Path, folder: Path) -> None:
    """Add foreign packages `training` to the environment and to the current folder."""
    packages = run(scripts / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    for place in (Path(packages), folder):
        (place / "training").mkdir()
        (place / "training" / "__init__.py").write_text("raise ImportError('this is not part of noms-env')", encoding="utf-8")


def check_hint(scripts: Path, folder: Path) -> None:
    """Check that the error for a missing library names an extra of the installed package."""
    refused = subprocess.run([scripts / "noms", "train", "up_down"], cwd=folder, capture_output=True, text=True, check=False)
    hint = shlex.split(refused.stderr.partition("not installed: ")[2])
    assert hint[:2] == ["pip", "install"], refused.stderr
    out = run(scripts / "python", "-m", "pip", "install", "--dry-run", "--no-deps", "--no-index", *hint[2:], cwd=folder)
    assert "already satisfied" in out, out


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="noms-wheel-") as name:
        folder = Path(name).resolve()
        sdist, wheel = build(folder)
        check_sdist(sdist)
        check_wheel(wheel)
        scripts = install(wheel, folder / "env")
        add_foreign_training(scripts, folder)
        version = run(scripts / "noms", "--version", cwd=folder)
        assert version.split()[-1] == wheel.name.split("-")[1], f"noms --version says {version!r}"
        assert run(scripts / "python", "-m", "noms_training", "--version", cwd=folder) == version
        assert run(scripts / "noms", "list", cwd=folder), "noms list prints nothing"
        check_hint(scripts, folder)
        sizes = ("--variant", "up_down", "--deals", "2", "--matches", "0")
        assert run(scripts / "noms", "evaluate", "random", "greedy", *sizes, cwd=folder), "noms evaluate prints nothing"
        shipped = json.loads(run(scripts / "python", "-c", POLICIES, cwd=folder))
        assert shipped == sorted(file.parent.name for file in (ROOT / "checkpoints").glob("*/policy.safetensors")), shipped
        print(f"{wheel.name}: {len(shipped)} policies, {run(scripts / 'python', '-c', ONE_DEAL, cwd=folder)}")


if __name__ == "__main__":
    main()
