"""One environment a peer, under .peers/ of the repository; torch is installed once, for all."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PEERS", "Peer", "ensure_environment"]

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".peers"


@dataclass(frozen=True, slots=True)
class Peer:
    """A library that computes ranking metrics.

    Args:
        name: its short name, also of its environment and of its program `run_<name>.py`.
        title: its name in texts.
        requirements: what pip installs.
        torch: whether it needs torch.
        tolerance: largest difference that counts as equal: rounding in float64, or in float32.
    """

    name: str
    title: str
    requirements: tuple[str, ...]
    torch: bool = False
    tolerance: float = 1e-12


PEERS = (
    Peer("ranx", "ranx", ("ranx", "pandas<3")),
    Peer("ir_measures", "ir-measures", ("ir-measures",)),
    Peer("rectools", "RecTools", ("rectools",)),
    Peer("replay", "RePlay", ("replay-rec",)),
    Peer("lenskit", "LensKit", ("lenskit",), torch=True),
    Peer("torchmetrics", "torchmetrics", ("torchmetrics",), torch=True, tolerance=1e-6),
)


def ensure_environment(peer: Peer, cache: Path = CACHE) -> Path:
    """Returns the interpreter of the peer's environment, which is made at the first call."""
    folder = cache / peer.name
    stamp = folder / ".installed"
    wanted = f"{sys.version_info[:3]}\n{folder}\n{peer}\n"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        python = _make(folder)
        if peer.torch:
            shared = next(_torch().parents[1].glob("lib/python*/site-packages"))
            own = next(folder.glob("lib/python*/site-packages"))
            (own / "shared_torch.pth").write_text(f"{shared}\n", encoding="utf-8")
        _pip(python, "install", *peer.requirements)
        stamp.write_text(wanted, encoding="utf-8")
    return _python(folder)


def _torch() -> Path:
    """Returns the interpreter of the environment that holds nothing but torch."""
    folder = CACHE / "torch"
    if not (folder / ".installed").exists():
        python = _make(folder)
        # The build for CPUs, where pip is configured to find it; otherwise the default one.
        found = _pip(python, "install", "--no-index", "--no-deps", "torch", check=False)
        if found:
            print("pip finds no build of torch on this machine: installing the default, large one.")
        # Again with its dependencies: an installed torch is kept.
        _pip(python, "install", "torch")
        (folder / ".installed").touch()
    return _python(folder)


def _make(folder: Path) -> Path:
    print(f"Making {folder.relative_to(ROOT)} ...", flush=True)
    venv.create(folder, clear=True, with_pip=True)
    return _python(folder)


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _pip(python: Path, *arguments: str, check: bool = True) -> int:
    command = [python, "-m", "pip", "--disable-pip-version-check", "-qq", *arguments]
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(command, check=check, env=clean).returncode
