"""Rules of the project that no linter knows: what loads what, sizes, documents, pins."""

import ast
import importlib
import inspect
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import recoeval
from recoeval.metrics import METRICS, Accuracy

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "recoeval"
FILES = sorted(PACKAGE.rglob("*.py"))
HEAVY = (
    *("altair", "duckdb", "implicit", "matplotlib", "pandas", "pyarrow", "pyspark", "rich"),
    *("scipy", "sklearn", "typer"),
)
TERMINAL = ("recoeval.cli", "recoeval.report.text", "recoeval.__main__")
MODULES = sorted(
    {"recoeval"}
    | {found.name for found in pkgutil.walk_packages(recoeval.__path__, "recoeval.")}
    - {"recoeval.__main__"}
)

MAX_LINES_OF_A_FILE = 400
MAX_LINES_OF_A_FUNCTION = 60  # without its docstring


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def public_names(module: ModuleType) -> list[str]:
    return list(getattr(module, "__all__", ()))


def undocumented(owner: str, value: object) -> Iterator[str]:
    """Yields the public functions, classes and methods below a name that have no docstring.

    An override may inherit its text.
    """
    # A class needs a text of its own; inspect.getdoc would take that of a base.
    if not (value.__doc__ if inspect.isclass(value) else inspect.getdoc(value)):
        yield owner
    if inspect.isclass(value):
        for name, member in list(vars(value).items()):
            plain = inspect.unwrap(getattr(member, "__func__", getattr(member, "fget", member)))
            text = inspect.getdoc(getattr(value, name, None))
            if inspect.isfunction(plain) and not name.startswith("_") and not text:
                yield f"{owner}.{name}"


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


def test_no_import_loads_a_heavy_library() -> None:
    light = [module for module in MODULES if module not in TERMINAL]
    program = (
        "import importlib, sys\n"
        f"for module in {light!r}:\n"
        "    importlib.import_module(module)\n"
        f"    loaded = sorted(set({HEAVY!r}) & set(sys.modules))\n"
        "    assert not loaded, f'{module} loads {loaded}'\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_exists_and_is_documented(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    for public in public_names(module):
        value = getattr(module, public)
        if inspect.isclass(value) or inspect.isroutine(value):
            assert not list(undocumented(f"{name}.{public}", value))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_and_functions_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES_OF_A_FILE
    long = {
        function.name: size
        for function in functions(ast.parse(text))
        if (size := lines_of(function)) > MAX_LINES_OF_A_FUNCTION
    }
    assert not long


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = function.body[0]
    text = (first.end_lineno or 0) - first.lineno + 1 if ast.get_docstring(function) else 0
    return (function.end_lineno or 0) - function.lineno + 1 - text


def test_no_module_bears_the_name_of_a_public_function() -> None:
    clashes = []
    for name in MODULES:
        package = (
            name if hasattr(importlib.import_module(name), "__path__") else name.rpartition(".")[0]
        )
        siblings = {
            other.rpartition(".")[2] for other in MODULES if other.rpartition(".")[0] == package
        }
        module = importlib.import_module(name)
        clashes += [
            f"{name}.{public}"
            for public in public_names(module)
            if public in siblings and not inspect.ismodule(getattr(module, public))
        ]
    assert not clashes


def test_no_machine_and_no_registry_is_named(tracked: list[Path]) -> None:
    # Written in pieces, so that this file does not find itself.
    hosts = ["pypi" + ".org", "python" + "hosted", "npm" + "js", "anaconda" + ".", "index" + "-url"]
    folders = ["root", "work", "Users", "home"]
    pattern = re.compile(
        "|".join([*map(re.escape, hosts), rf"(?<![\w.~/-])/(?:{'|'.join(folders)})/\w"])
    )
    found = []
    for path in tracked:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{name_of(path)}: {hit[0]}" for hit in pattern.finditer(text)]
    assert not found


def test_constraints_are_pins() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert not [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", pin)]
    names = [re.sub(r"[._-]+", "-", pin.split("==")[0]).lower() for pin in pins]
    assert len(names) == len(set(names))

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    bare = {re.split(r"[^A-Za-z0-9._-]", text)[0].lower().replace("_", "-") for text in wanted}
    assert bare <= set(names)


def test_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.search(r"^## \[(\d+\.\d+\.\d+)\]", changelog, flags=re.MULTILINE)
    assert released is not None
    assert (
        project["project"]["version"] == released[1] == recoeval.__version__ == version("recoeval")
    )


def test_readme_names_the_scripts() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "scripts/demo" in readme
    assert "scripts/test" in readme


@pytest.mark.parametrize(
    "script",
    [
        "scripts/bench",
        "scripts/demo",
        "scripts/test",
        "scripts/mutants",
        "scripts/peers",
        "scripts/reproduce",
        ".ci/run",
    ],
)
def test_scripts_can_be_run(script: str) -> None:
    path = ROOT / script
    assert path.stat().st_mode & 0o111
    bash = shutil.which("bash")
    assert bash is not None
    subprocess.run([bash, "-n", str(path)], check=True)


def test_the_definitions_cover_every_metric_and_option() -> None:
    page = (ROOT / "docs" / "definitions.md").read_text(encoding="utf-8")
    for name, metric in METRICS.items():
        row = re.search(rf"^\| `{name}(@K)?` \|.*$", page, flags=re.MULTILINE)
        assert row is not None, f"{name} is not defined"
        assert bool(row[1]) is metric.takes_k, name
        # What all metrics of a kind take is defined once, below their table.
        for option in set(metric.model_fields) - set(Accuracy.model_fields):
            assert f"`{option}=" in row[0], f"{name}({option}=...) is not defined"
    assert all(f"takes `{option}=" in page for option in Accuracy.model_fields)


def test_links_between_documents_lead_somewhere(tracked: list[Path]) -> None:
    dead = [
        f"{name_of(path)}: {target}"
        for path in tracked
        if path.suffix == ".md"
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert not dead


def test_every_patch_of_the_mutants_fits_the_code() -> None:
    patches = yaml.safe_load((ROOT / "tests" / "mutants.yaml").read_text(encoding="utf-8"))
    stale = [
        patch
        for patch in patches
        if (ROOT / patch["file"]).read_text(encoding="utf-8").count(patch["old"]) != 1
    ]
    assert stale == []
    assert len(patches) >= 40
