"""The peers: runs them, finds which option of ours equals which metric of theirs, writes it down.

Usage: scripts/peers [--no-run] [PEER ...]
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

from data import all_cases
from environments import CACHE, PEERS, ROOT, Peer, ensure_environment
from fixtures import write_cases, write_peer
from matching import match_peer, tie_orders
from page import Result, write_page

HERE = Path(__file__).resolve().parent
FIXTURES = ROOT / "tests" / "peers"
PAGE = ROOT / "docs" / "coming-from.md"


def run_peer(peer: Peer, cases: Path) -> None:
    """Writes what the peer computes to the cache."""
    python = ensure_environment(peer)
    print(f"Running {peer.title} ...", flush=True)
    program = HERE / f"run_{peer.name}.py"
    command = [python, "-W", "ignore", program, cases, _values(peer)]
    subprocess.run(command, check=True)


def compare(peer: Peer) -> Result:
    """Returns what of ours equals the values of the peer."""
    print(f"Comparing {peer.title} ...", flush=True)
    found = json.loads(_values(peer).read_text(encoding="utf-8"))
    matches = match_peer(found["values"], peer.tolerance)
    return Result(peer, found, matches, tie_orders(found["values"], matches, peer.tolerance))


def _values(peer: Peer) -> Path:
    return CACHE / f"{peer.name}.json"


def main() -> None:
    """Runs the peers that are named, or all; then compares all and writes fixtures and page."""
    parser = argparse.ArgumentParser(prog="scripts/peers", description=__doc__.splitlines()[0])
    parser.add_argument("peers", nargs="*", metavar="PEER", help="which to run; default: all")
    parser.add_argument("--no-run", action="store_true", help="compare what was computed before")
    asked = parser.parse_args()
    names = [peer.name for peer in PEERS]
    if unknown := set(asked.peers) - set(names):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(names)}")
    CACHE.mkdir(exist_ok=True)
    path = CACHE / "cases.json"
    path.write_text(json.dumps(all_cases()), encoding="utf-8")
    if not asked.no_run:
        for peer in PEERS:
            if not asked.peers or peer.name in asked.peers:
                run_peer(peer, path)
    results = [compare(peer) for peer in PEERS]
    page = write_page(results)
    write_cases(FIXTURES)
    for result in results:
        write_peer(FIXTURES, result.peer, result.found, result.matches, result.ties)
    PAGE.write_text(page, encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(ROOT)} and {FIXTURES.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
