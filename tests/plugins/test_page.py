"""docs/plugins.md shows files that are tested, word for word."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = "tests/plugins/recoeval-example"


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("toml", f"{EXAMPLE}/pyproject.toml"),
        ("python", f"{EXAMPLE}/recoeval_example/__init__.py"),
        ("python", "docs/examples/lenskit_generator.py"),
    ],
)
def test_the_page_shows_the_file(kind: str, file: str) -> None:
    page = (ROOT / "docs" / "plugins.md").read_text("utf-8")
    assert f"```{kind}\n{(ROOT / file).read_text('utf-8')}```\n" in page
