"""Findings of the audit, as they are shown."""

from typing import Any

from recoeval.report.findings import finding_table, findings_line
from recoeval.report.values import Word


def finding(severity: str, text: str, **values: Any) -> dict[str, Any]:
    return {"severity": severity, "code": "x", "text": text, "counts": {}, "fold": 0, **values}


FINDINGS = [
    finding("info", "ties at the cutoff"),
    finding("warn", "lists are old", generator="als"),
    finding("severe", "train rows after the cutoff"),
]


def test_the_severe_come_first_and_information_is_counted() -> None:
    found = finding_table(FINDINGS, full=False)
    assert found is not None
    assert found.rows == (
        (Word("severe", "bad"), "data", "train rows after the cutoff"),
        (Word("warning", "doubt"), "als", "lists are old"),
    )
    assert found.notes == ("1 more for information: -v shows them",)


def test_in_full() -> None:
    found = finding_table(FINDINGS, full=True)
    assert found is not None
    # By its code a finding can be looked up.
    assert found.rows[2] == (Word("information", "plain"), "data", "x: ties at the cutoff")
    assert found.notes == ()


def test_nothing_to_act_on_is_no_table() -> None:
    assert finding_table([], full=True) is None
    assert finding_table([finding("info", "x")], full=False) is None


def test_the_fold_is_told_where_there_are_several() -> None:
    found = finding_table([finding("warn", "a"), finding("warn", "b", fold=2)], full=False)
    assert found is not None
    assert [column.title for column in found.columns] == ["severity", "about", "fold", "finding"]
    assert [row[2] for row in found.rows] == ["0", "2"]
    assert found.notes == ()


def test_what_folds_have_in_common_is_told_once() -> None:
    findings = [
        finding("warn", "9 lists (1.5%) are old", generator="als", fold=0),
        finding("warn", "9 lists (1.5%) are old", generator="two_tower", fold=0),
        finding("warn", "1,200 lists (20%) are old", generator="als", fold=2),
        finding("severe", "9 lists (1.5%) are old", generator="als", fold=1),
        finding("warn", "judged@10 is 0.5", fold=0),
        finding("warn", "judged@100 is 0.5", fold=0),
        finding("warn", "judged@10 is 0.25", fold=1),
    ]
    found = finding_table(findings, full=False)
    assert found is not None
    assert [row[1:] for row in found.rows] == [
        ("als", "1", "9 lists (1.5%) are old"),
        ("als", "0, 2", "9 lists (1.5%) are old"),
        ("two_tower", "0", "9 lists (1.5%) are old"),
        ("data", "0, 1", "judged@10 is 0.5"),
        ("data", "0", "judged@100 is 0.5"),
    ]
    assert found.notes == ("numbers are those of the first fold that is named; -v shows each",)
    assert findings_line(findings).text == (
        "Audit: 1 severe, 4 warnings, 0 for information; what folds have in common counts once"
    )
    full = finding_table(findings, full=True)
    assert full is not None
    assert len(full.rows) == 7
    assert full.notes == ()


def test_findings_of_one_fold_are_each_counted() -> None:
    # Two columns of durations say the same with other numbers.
    findings = [
        finding("warn", f"{share}% of the rows are relevant", fold=fold)
        for fold in (0, 1)
        for share in (3, 5)
    ]
    assert findings_line(findings[:2]).text == "Audit: 0 severe, 2 warnings, 0 for information"
    assert findings_line(findings).text.startswith("Audit: 0 severe, 2 warnings, 0 ")
    found = finding_table(findings, full=False)
    assert found is not None
    assert [row[2:] for row in found.rows] == [
        ("0, 1", "3% of the rows are relevant"),
        ("0, 1", "5% of the rows are relevant"),
    ]


def test_information_of_several_folds_is_counted_once() -> None:
    findings = [finding("info", f"{fold} ties", fold=fold) for fold in range(3)]
    found = finding_table([finding("warn", "x"), *findings], full=False)
    assert found is not None
    assert found.notes == ("1 more for information: -v shows them",)
    assert findings_line(findings).text.startswith("Audit: 0 severe, 0 warnings, 1 for information")


def test_how_many_there_are() -> None:
    assert findings_line([]) == Word("Audit: 0 severe, 0 warnings, 0 for information", "good")
    assert findings_line(FINDINGS[:2]) == Word(
        "Audit: 0 severe, 1 warning, 1 for information", "doubt"
    )
    assert findings_line([*FINDINGS, FINDINGS[1]]) == Word(
        "Audit: 1 severe, 2 warnings, 1 for information", "bad"
    )
