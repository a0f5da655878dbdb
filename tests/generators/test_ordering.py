from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval.errors import ConfigError
from recoeval.generators import ALS, Merge, Popularity, Precomputed, Rerank
from recoeval.generators.ordering import order_of, serves

ALONE = {"als": ALS(), "popularity": Popularity(), "files": Precomputed(path="lists.parquet")}


def merge(*names):
    return Merge(channels=dict.fromkeys(names))


def refused(**generators):
    with pytest.raises(ConfigError) as caught:
        order_of(generators)
    return str(caught.value).splitlines()


def test_who_is_read_or_asked_comes_first():
    generators = {
        "ranked": Rerank(of="merged", by="popularity"),
        "merged": merge("als", "inner"),
        "inner": merge("popularity", "files"),
        **ALONE,
    }
    assert order_of(generators) == ("als", "popularity", "files", "inner", "merged", "ranked")


def test_who_reads_nobody_stays_in_place():
    assert order_of(ALONE) == ("als", "popularity", "files")
    assert order_of({}) == ()


def test_unknown_names():
    names = "Generators: als, popularity, files, merged, ranked"
    assert refused(
        **ALONE, merged=merge("alss", "als", "x"), ranked=Rerank(of="merge", by="popularty")
    ) == [
        f"generators.{place}: unknown generator {name!r}.{hint} {names}"
        for place, name, hint in [
            ("merged.channels.alss", "alss", " Did you mean 'als'?"),
            ("merged.channels.x", "x", ""),
            ("ranked.of", "merge", " Did you mean 'merged'?"),
            ("ranked.by", "popularty", " Did you mean 'popularity'?"),
        ]
    ]


class Silent(Popularity):
    """Reads another one, and does not say which option names it."""

    def reads(self, k: int) -> Mapping[str, int]:
        return {"nobody": k, "nothing": k}


def test_unknown_names_that_no_option_shows():
    assert refused(own=Silent()) == [
        "generators.own: unknown generator 'nobody'. Generators: own",
        "generators.own: unknown generator 'nothing'. Generators: own",
    ]


def test_cycles():
    assert refused(a=merge("b"), b=merge("a")) == [
        "generators.a: a reads b, which reads a: break the cycle"
    ]
    assert refused(**ALONE, merged=merge("als", "merged")) == [
        "generators.merged: merged reads itself: break the cycle"
    ]
    assert refused(r=Rerank(of="als", by="m"), m=merge("x", "r"), x=merge("als"), **ALONE) == [
        "generators.r: r asks m, which reads r: break the cycle"
    ]


def test_each_cycle_once_and_not_who_waits_for_it():
    assert refused(
        late=merge("b"), a=merge("b"), b=merge("c"), c=merge("a"), d=merge("d"), e=merge("gone")
    ) == [
        "generators.e.channels.gone: unknown generator 'gone'. Generators: late, a, b, c, d, e",
        "generators.a: a reads b, which reads c, which reads a: break the cycle",
        "generators.d: d reads itself: break the cycle",
    ]


@given(st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from("abcdef"), max_size=3)))
def test_an_order_or_a_cycle(reads):
    generators = {
        name: merge(*sorted(others & set(reads))) if others & set(reads) else Popularity()
        for name, others in reads.items()
    }
    # Brute force: what a name leads to, as far as it goes.
    reached = {name: others & set(reads) for name, others in reads.items()}
    for _ in reads:
        reached = {n: o.union(*(reached[other] for other in o)) for n, o in reached.items()}
    if any(name in others for name, others in reached.items()):
        with pytest.raises(ConfigError, match="break the cycle"):
            order_of(generators)
        return
    order = order_of(generators)
    assert sorted(order) == sorted(reads)
    for name, others in reads.items():
        assert all(order.index(other) < order.index(name) for other in others & set(reads))


def test_what_is_served_follows_from_the_channels():
    generators = {
        "ranked": Rerank(of="warm", by="popularity"),
        "warm": merge("als"),
        "users": merge("als", "popularity"),
        "all": merge("users", "files"),
        **ALONE,
    }
    assert serves(generators, "als") == (False, False)
    assert serves(generators, "warm") == (False, False)
    assert serves(generators, "ranked") == (False, False)
    assert serves(generators, "users") == (True, False)
    assert serves(generators, "all") == (True, True)
    assert serves(generators, "files") == (True, True)
