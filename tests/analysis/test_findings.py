"""What a finding is, and what makes a verdict suspicious."""

import json
import re
from pathlib import Path

from recoeval.analysis.audit.view import number, percent
from recoeval.analysis.findings import Finding, doubts, in_order
from recoeval.analysis.health import health_of

INFO = Finding("info", "ties", "fine")
WARN = Finding("warn", "stale", "old", {"lists": 2}, "als")
SEVERE = Finding("severe", "leak", "wrong", {"rows": 3, "share": 0.5}, "als", 1)


def test_a_finding_goes_through_json() -> None:
    assert Finding.of(json.loads(json.dumps(SEVERE.as_dict()))) == SEVERE
    assert INFO.as_dict() == {
        "severity": "info",
        "code": "ties",
        "text": "fine",
        "counts": {},
        "generator": None,
        "fold": 0,
    }


def test_severe_findings_come_first_and_the_order_is_kept_within() -> None:
    other = Finding("severe", "again", "worse")
    assert in_order([INFO, SEVERE, WARN, other]) == (SEVERE, other, WARN, INFO)


def test_severe_findings_alone_raise_doubts_once_each() -> None:
    data = Finding("severe", "leak", "wrong")
    assert doubts([INFO, SEVERE, WARN, data, Finding.of(SEVERE.as_dict())]) == [
        ("als", "wrong"),
        ("data", "wrong"),
    ]


def test_counts_and_shares_in_words() -> None:
    assert [number(n, "row") for n in (0, 1, 2, 1452)] == [
        "0 rows",
        "1 row",
        "2 rows",
        "1,452 rows",
    ]
    assert percent(0, 3) == "0%"
    assert percent(3, 3) == "100.0%"
    assert percent(1, 3) == "33.3%"
    assert percent(1, 5000) == "below 0.1%"
    assert percent(4999, 5000) == "above 99.9%"


def test_the_page_explains_every_code(repository: Path) -> None:
    told = re.compile(
        r'(?:found|Finding)\(\s*(?:"(?:info|warn|severe)"|[\w.]+(?:\([^()]*\))?),\s*"(\w+)"'
        r'|yield "(\w+)", text'
    )
    codes = {
        code
        for path in (repository / "recoeval" / "analysis").rglob("*.py")
        if path.stem != "findings"
        for pair in told.findall(path.read_text(encoding="utf-8"))
        for code in pair
        if code
    }
    page = (repository / "docs" / "audit.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `(\w+)` \|", page.split("## Truth health")[0], re.MULTILINE))
    assert explained == codes
    assert len(codes) > 25


def test_the_page_names_every_table(repository: Path) -> None:
    page = (repository / "docs" / "audit.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\| `(\w+)` \|", page.split("## Truth health")[1], re.MULTILINE)
    told = re.findall(r"^    \| (\w+) \|", health_of.__doc__ or "", re.MULTILINE)
    assert tables == told[1:]
