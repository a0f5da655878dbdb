"""The command line: results on stdout, progress and errors on stderr, exit codes as defined.

Everything heavy is imported inside the commands, so that help and usage errors are instant.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recoeval.errors import ConfigError
from recoeval.report.streams import mend_streams, tell_error, write_err, write_out

if TYPE_CHECKING:
    from recoeval.report.sections import Results
    from recoeval.report.values import Section
    from recoeval.workflow.store import Run

__all__ = ["app", "main"]

INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM

app = typer.Typer(
    name="recoeval",
    help="Offline evaluation for the recall stage of recommender systems.",
    epilog="Exit codes: 0 ok, 1 a constraint failed, 2 configuration or usage, 3 data, "
    "4 a generator or the engine, 130 and 143 stopped by a signal.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


NewFile = Annotated[str, typer.Argument(metavar="FILE", help="File to write.")]
Config = Annotated[str, typer.Argument(metavar="CONFIG", help="Configuration, a YAML file.")]
MaybeConfig = Annotated[
    str | None, typer.Argument(metavar="CONFIG", help="Configuration, a YAML file.")
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a setting: generators.als.factors=128. Repeatable.",
    ),
]
Day = Annotated[
    str | None,
    typer.Option("--date", metavar="YYYY-MM-DD", help="What {date} in a path stands for."),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Verbose = Annotated[
    bool,
    typer.Option("-v", "--verbose", help="Cost of each stage on stderr; all tables in the report."),
]

Fresh = Annotated[
    bool, typer.Option("--fresh", help="Train anew, even if an earlier run stored the lists.")
]

# Of `check`.
Schema = Annotated[bool, typer.Option("--schema", help="Print the JSON Schema; needs no CONFIG.")]
Deep = Annotated[
    bool,
    typer.Option("--deep", help="Read the data: audit, truth health, self-check; may take long."),
]

# Of `report`.
RunFolder = Annotated[str, typer.Argument(metavar="RUN", help="Directory of a finished run.")]
Misses = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Add N lost pairs of each generator, and why they were lost."
    ),
]
Whole = Annotated[bool, typer.Option("-v", "--verbose", help="All tables, not the leading ones.")]

# Of `list`.
Kind = Annotated[
    str | None,
    typer.Argument(
        metavar="KIND",
        help="inputs, metrics, generators, policies, positives, splits, buckets, stages or "
        "formats; without it: these.",
    ),
]
Named = Annotated[str | None, typer.Argument(metavar="NAME", help="Explain this one.")]

# Of `evaluate`.
Recs = Annotated[
    str, typer.Option(metavar="FILE", help="Lists: user_id, item_id, rank or score; TREC run.")
]
Truth = Annotated[
    str, typer.Option(metavar="FILE", help="Truth: user_id, item_id, maybe gain; TREC qrels.")
]
Metrics = Annotated[
    str, typer.Option(help='Separated by commas: "ndcg(gain=exponential)@10,recall".')
]
Depths = Annotated[str, typer.Option("--k", help="Depths, separated by commas.")]
Train = Annotated[
    str | None, typer.Option(metavar="FILE", help="What users did before: user_id, item_id.")
]
Users = Annotated[
    str | None, typer.Option(metavar="FILE", help="Everyone who could be evaluated: user_id.")
]
Items = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="The catalogue: item_id, maybe created_at, available."),
]
Exposures = Annotated[
    str | None, typer.Option(metavar="FILE", help="What users were shown: user_id, item_id.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OURS=THEIRS",
        help="Columns of other names: user_id=uid,item_id=vid. Repeatable.",
    ),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="See recoeval list policies. Repeatable."),
]
Checks = Annotated[
    list[str] | None,
    typer.Option(metavar="CONSTRAINT", help='"recall@10 >= 0.2" must hold. Repeatable.'),
]
PerUser = Annotated[
    str | None, typer.Option(metavar="OUT.parquet", help="Write one row a generator and user.")
]


def _version(asked: bool) -> None:
    if asked:
        from recoeval import __version__

        typer.echo(f"recoeval {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command("init")
def init_config(file: NewFile = "recoeval.yaml") -> None:
    """Write a commented starter configuration."""
    from recoeval.workflow.templates import write_starter

    write_starter(Path(file))
    write_err(f"Wrote {file}. Next: put in your log and your rule, then recoeval check {file}")


@app.command("run")
def run_config(
    config: Config,
    *,
    changes: Changes = None,
    date: Day = None,
    fresh: Fresh = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> int:
    """Evaluate as CONFIG says, write the run, and show it."""
    from recoeval.workflow.arguments import parse_date
    from recoeval.workflow.pipeline import run
    from recoeval.workflow.progress import progress_for

    done = run(
        config,
        set=changes or (),
        date=parse_date(date),
        fresh=fresh,
        progress=progress_for(verbose=verbose),
    )
    _show_results(_results_of(done, {"config": config}), as_json=as_json, full=verbose)
    for failure in done.verdict.failures:
        write_err("\n".join(failure.messages))
    return done.verdict.exit_code


@app.command("report")
def report_run(
    run: RunFolder,
    misses: Misses = None,
    as_json: Json = False,
    verbose: Whole = False,
) -> None:
    """Show a stored run again."""
    from recoeval.workflow.misses import sample_of
    from recoeval.workflow.store import open_run

    stored = open_run(run)
    results = _results_of(stored, {"run": run})
    if misses is not None:
        sample = sample_of(stored, k=results.depth, count=misses)
        results = replace(results, misses=sample)
    _show_results(results, as_json=as_json, full=verbose)


@app.command("check")
def check_config(
    config: MaybeConfig = None,
    *,
    changes: Changes = None,
    date: Day = None,
    schema: Schema = False,
    deep: Deep = False,
    as_json: Json = False,
) -> int:
    """Check CONFIG and headers; show the plan."""
    if schema:
        from recoeval.workflow.config import json_schema

        _show_json(json_schema())
        return 0
    if config is None:
        raise ConfigError("recoeval check: name a CONFIG, or ask for --schema")
    from recoeval.report.planned import deep_sections, plan_sections
    from recoeval.workflow.arguments import parse_date
    from recoeval.workflow.planning import plan

    day = parse_date(date)
    planned = plan(config, set=changes or (), date=day)
    document: dict[str, Any] = {"config": config, **planned.as_dict()}
    if deep:
        from recoeval.workflow.deepcheck import deep_check
        from recoeval.workflow.loaded import load_config

        found = deep_check(load_config(config, sets=changes or (), date=day))
        document |= {
            "audit": [asdict(finding) for finding in found.findings],
            "health": found.health,
            "self_check": asdict(found.self_check),
        }
    if as_json:
        _show_json(document)
    else:
        _show_sections([*plan_sections(document), *(deep_sections(document) if deep else ())])
    return int(any(each["severity"] == "severe" for each in document.get("audit", ())))


@app.command("evaluate")
def evaluate_files(
    *,
    recs: Recs,
    truth: Truth,
    metrics: Metrics = "recall,precision,hit_rate,ndcg",
    k: Depths = "10,100",
    train: Train = None,
    users: Users = None,
    items: Items = None,
    exposures: Exposures = None,
    columns: Columns = None,
    policy: Policies = None,
    check: Checks = None,
    per_user: PerUser = None,
    as_json: Json = False,
) -> int:
    """Evaluate lists in files against a truth in a file."""
    from recoeval import __version__
    from recoeval.report.sections import Results
    from recoeval.workflow.arguments import table_path
    from recoeval.workflow.disk import write_file
    from recoeval.workflow.filetables import evaluate_tables

    place = None if per_user is None else table_path(per_user, "--per-user")
    named = {"recs": recs, "truth": truth, "train": train, "users": users}
    named |= {"items": items, "exposures": exposures}
    given = {name: path for name, path in named.items() if path is not None}
    found, verdict = evaluate_tables(
        given,
        metrics=metrics,
        k=k,
        policies=policy or (),
        checks=check or (),
        columns=columns or (),
    )
    if place is not None:
        write_file(place, found.per_user.write_parquet)
    facts = {"recoeval": __version__, "definitions": found.definitions, **found.counts}
    _show_results(Results(found, verdict, facts, given, per_user or ""), as_json=as_json)
    return verdict.exit_code


@app.command("list")
def list_choices(kind: Kind = None, name: Named = None, as_json: Json = False) -> None:
    """List what a configuration can name."""
    from recoeval.report.planned import choice_section
    from recoeval.report.values import Paragraph, Word
    from recoeval.workflow.choices import choices_of, explain, kinds

    found = kinds()
    if kind is not None:
        found = choices_of(kind) if name is None else [explain(kind, name)]
    if as_json:
        _show_json([asdict(choice) for choice in found])
    elif name is None:
        rows = [(choice.group, choice.name, choice.text) for choice in found]
        _show_sections([choice_section((kind or "kind", "what it is"), rows)])
    else:
        lines = tuple(Word(line, "plain") for line in found[0].lines)
        _show_sections([Paragraph(found[0].name, lines)])


def _results_of(run: Run, given: Mapping[str, str]) -> Results:
    from recoeval.report.sections import Results

    return Results(run.evaluation, run.verdict, run.manifest, given, str(run.path))


def _show_results(results: Results, *, as_json: bool, full: bool = False) -> None:
    if as_json:
        from recoeval.report.document import results_document

        _show_json(results_document(results))
    else:
        from recoeval.report.sections import report_sections

        _show_sections(report_sections(results, full=full))


def _show_sections(sections: Sequence[Section]) -> None:
    from recoeval.report.text import open_console, write_report

    write_out(lambda out: write_report(sections, open_console(out)))


def _show_json(document: Mapping[str, Any] | list[Any]) -> None:
    from recoeval.report.document import json_text

    text = json_text(document)
    write_out(lambda out: out.write(f"{text}\n"))


class _Terminated(BaseException):
    """SIGTERM has come: everything is closed on the way up."""


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _Terminated


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits with its code.

    Args:
        arguments: what stands behind the program's name; default: those of the process.

    Raises:
        SystemExit: always, with the exit code.
    """
    mend_streams()
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        code = _run(arguments)
    finally:
        signal.signal(signal.SIGTERM, before)
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    """Returns the exit code of a command; no error passes."""
    try:
        code = app(args=arguments, prog_name="recoeval", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except _Terminated:
        write_err("terminated")
        return TERMINATED
    except SystemExit:  # help that nobody reads to its end
        return 0
    except BaseException as error:  # noqa: BLE001 - the boundary of the process
        return tell_error(error)
    if code == INTERRUPTED:
        write_err("interrupted")
    return code or 0
