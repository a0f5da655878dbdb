"""The example of a plug-in, installed by pip into a folder of its own and run from there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tests" / "plugins" / "recoeval-example"
CHANGES = ["generators.newest={max_age: 60d}", "generators.als=false", "constraints=[]"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the package in it; nothing is fetched for that."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(folder)]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    ran = subprocess.run(
        [*pip, *options, str(PACKAGE)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return folder


def recoeval(arguments: list[str], *folders: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), *map(str, folders)])
    return subprocess.run(
        [sys.executable, "-m", "recoeval", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def document(ran: subprocess.CompletedProcess[str]) -> Any:
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_it_is_listed(site: Path) -> None:
    listed = document(recoeval(["list", "generators", "--json"], site))
    (newest,) = (each for each in listed if each["name"] == "newest")
    assert newest["text"].startswith("Items that came last")
    assert newest["lines"][-1] == "From plug-in 'newest' of recoeval-example 0.1.0"


def test_it_runs(site: Path, tmp_path: Path) -> None:
    config = str(ROOT / "configs" / "quickstart.yaml")
    changes = [*CHANGES, f"output.path={tmp_path}"]
    options = [word for change in changes for word in ("--set", change)]
    ran = document(recoeval(["run", config, *options, "--json"], site))
    assert ran is not None
    (manifest,) = tmp_path.rglob("manifest.json")
    told = json.loads(manifest.read_text("utf-8"))
    assert told["versions"]["recoeval-example"] == "0.1.0"
    assert "newest" in told["generators"]
    assert (manifest.parent / "config.yaml").read_text("utf-8").count("max_age: 60d") == 1


def test_without_it_the_type_is_unknown() -> None:
    config = str(ROOT / "configs" / "quickstart.yaml")
    ran = recoeval(["check", config, "--set", "generators.newest={}"])
    assert ran.returncode == 2
    assert "unknown generator 'newest'" in ran.stderr
