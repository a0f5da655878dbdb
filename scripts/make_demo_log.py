"""Write the synthetic demo log: a small video service with a feed and a search.

    python scripts/make_demo_log.py [--days N] [--seed N] [--out DIR] [--users N] [--items N]

Nothing in it comes from real people. The same arguments write the same rows. What is simulated,
and what the two channels know, stands in datasets/README.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Requests = tuple[Ints, Ints, Bools]  # user, time (seconds from the start), is it a search

START = datetime(2026, 3, 2, tzinfo=UTC)  # a Monday
DAY = 86_400  # seconds
TEST_DAYS = 3  # the channels know nothing of these last days
EXPORT_HOURS = 6  # and were exported this long before them

CATEGORIES = ("art", "cars", "film", "food", "games", "music", "news", "pets", "sport", "travel")
STYLES = 4
COUNTRIES = ("DE", "FR", "NO", "PL", "SE")
COUNTRY_SHARES = (0.34, 0.26, 0.12, 0.18, 0.10)
WEEKDAYS = (0.95, 0.92, 0.92, 0.95, 1.05, 1.15, 1.06)  # Monday first
PAGE = {"feed": 10, "search": 6}
SEARCH_SHARE = 0.2
EXAMINED = 1.0 / np.arange(1, 11) ** 0.45  # chance that a position is looked at
BLOCK = 2_000  # requests drawn at once
TWO_TOWER_DEPTH, TWO_TOWER_MIN_VIEWS, EDITORIAL_DEPTH = 100, 5, 40


@dataclass(frozen=True, slots=True)
class Items:
    """The catalogue: one entry an item, position in the arrays = item index, id = index + 1.

    Args:
        created: seconds from the start of the log, negative for older items.
        category, style: what an item is about; tastes are over pairs of them.
        quality: log of the popularity that it would have among people who like its kind.
        bait: 1.0 if the title promises more than the video holds, else 0.0.
        duration: seconds.
        content: what a content encoder would see, items x dimensions.
    """

    created: Ints
    category: Ints
    style: Ints
    quality: Floats
    bait: Floats
    duration: Ints
    content: Floats


@dataclass(frozen=True, slots=True)
class Users:
    """The people: one entry a user.

    Args:
        country: index in COUNTRIES.
        signup: seconds from the start of the log, negative for older accounts.
        rate: requests a day.
        taste: log of (taste for the item + a little), users x items.
    """

    country: Ints
    signup: Ints
    rate: Floats
    taste: Floats


def make_items(rng: Generator, count: int, days: int) -> Items:
    """Returns a catalogue of which a quarter appears during the log."""
    created = np.where(
        rng.random(count) < 0.25,
        rng.integers(0, days * DAY, count),
        -rng.integers(1, 180 * DAY, count),
    )
    created.sort()
    category = rng.choice(len(CATEGORIES), count, p=_zipf(len(CATEGORIES), 0.5))
    style = rng.integers(0, STYLES, count)
    # About Zipf's law within a category: appeal falls with the log of the place.
    order = rng.permutation(count)
    place = np.empty(count, dtype=np.int64)
    for one in range(len(CATEGORIES)):
        members = order[category[order] == one]
        place[members] = np.arange(len(members))
    kinds = np.hstack([np.eye(len(CATEGORIES))[category], np.eye(STYLES)[style]])
    return Items(
        created=created,
        category=category,
        style=style,
        quality=-np.log(place + 3.0),
        bait=(rng.random(count) < 0.25).astype(np.float64),
        duration=np.clip(rng.lognormal(4.4, 0.8, count), 10, 1800).astype(np.int64),
        content=kinds + rng.normal(0, 0.25, kinds.shape),
    )


def make_users(rng: Generator, count: int, days: int, items: Items) -> Users:
    """Returns people with a heavy tail of activity; a fifth signs up during the log."""
    signup = np.where(
        rng.random(count) < 0.2,
        rng.integers(0, days * DAY, count),
        -rng.integers(1, 700 * DAY, count),
    )
    country = rng.choice(len(COUNTRIES), count, p=COUNTRY_SHARES)
    rate = np.minimum(rng.lognormal(-1.7, 1.25, count), 6.0)
    prior = _zipf(len(CATEGORIES), 0.6)
    local = np.array([np.roll(prior, shift) for shift in range(len(COUNTRIES))])
    # Casual users look at a bit of everything, regular ones know what they want.
    breadth = np.clip(np.sqrt(0.3 / rate), 0.5, 3.0)[:, None]
    category = _shares(rng.gamma(2.0 * breadth * (local[country] + prior)))
    style = _shares(rng.gamma(0.6 * breadth * np.ones(STYLES)))
    match = category[:, items.category] * style[:, items.style] * len(CATEGORIES) * STYLES
    return Users(country=country, signup=signup, rate=rate, taste=np.log(match + 0.05))


def _shares(weight: Floats) -> Floats:
    weight = np.maximum(weight, 1e-12)
    total: Floats = weight.sum(axis=-1, keepdims=True)
    return weight / total


def _zipf(count: int, power: float) -> Floats:
    return _shares(np.arange(1.0, count + 1.0) ** -power)


def draw_requests(rng: Generator, users: Users, day: int) -> Requests:
    """Returns the requests of a day, in time order."""
    expected = users.rate * WEEKDAYS[day % 7]
    user = np.repeat(np.arange(len(users.rate)), rng.poisson(expected))
    evening = rng.random(len(user)) < 0.6
    hour = rng.normal(np.where(evening, 19.5, 12.0), np.where(evening, 2.5, 3.5))
    time = day * DAY + ((hour * 3600).astype(np.int64) % DAY)
    search = rng.random(len(user)) < SEARCH_SHARE
    known = np.flatnonzero(time >= users.signup[user])
    order = known[np.lexsort((user[known], time[known]))]
    return user[order], time[order], search[order]


def draw_slates(
    rng: Generator,
    items: Items,
    users: Users,
    history: tuple[Bools, Bools],
    requests: Requests,
) -> Ints:
    """Returns the items shown, requests x positions, best first; -1 where a page is shorter.

    The feed mixes popularity, freshness and what it knows about the user's taste, which is
    more for users with a history; the search follows the taste.
    """
    user, time, search = requests
    shown, viewed = history
    views = viewed[user].sum(axis=1)
    known = views / (views + 6.0)
    trust = np.where(search, 1.2, 0.2 + 0.9 * known)[:, None]
    fame = (0.4 + 0.5 * known)[:, None]
    age = (time[:, None] - items.created[None, :]) / DAY
    fresh = np.where(age >= 0, np.exp(-np.maximum(age, 0) / 2.0), 0.0)
    score = fame * items.quality + trust * users.taste[user] + 1.2 * fresh * ~search[:, None]
    score += np.where(viewed[user], -1.3, np.where(shown[user], -1.0, 0.0))
    weight = np.where(age >= 0, np.exp(score), 0.0).astype(np.float32)
    # The largest weight / exponential: a draw without replacement in proportion to the weights.
    key = weight / np.maximum(rng.standard_exponential(weight.shape, dtype=np.float32), 1e-30)
    depth = min(PAGE["feed"], key.shape[1])
    top = np.argpartition(-key, depth - 1, axis=1)[:, :depth]
    key = np.take_along_axis(key, top, axis=1)
    top = np.take_along_axis(top, np.lexsort((top, -key), axis=1), axis=1)
    top[search, PAGE["search"] :] = -1
    return top


def react(
    rng: Generator, items: Items, users: Users, requests: Requests, slates: Ints
) -> pl.DataFrame:
    """Returns one row an impression, with click, dwell and like of the user."""
    row, place = np.nonzero(slates >= 0)
    user, time, search = (column[row] for column in requests)
    item = slates[row, place]
    taste, bait = users.taste[user, item], items.bait[item]
    attraction = 1.0 / (1.0 + np.exp(1.3 - 0.6 * taste - 2.5 * bait))
    click = rng.random(len(item)) < EXAMINED[place] * attraction
    patience = np.exp(3.2 + 0.6 * taste - 2.4 * bait + rng.normal(0, 0.8, len(item)))
    longest = items.duration[item] * rng.uniform(0.9, 1.3, len(item))
    dwell = np.round(np.minimum(patience, longest), 1)
    like = click & (rng.random(len(item)) < np.where(dwell > 30, 0.12, 0.01))
    delay = rng.integers(2, 30, len(item)) + 3 * place
    return pl.DataFrame(
        {
            "request": row,
            "user": user,
            "item": item,
            "time": time,
            "position": place + 1,
            "search": search,
            "click_time": time + delay,
            "dwell": dwell,
            "click": click,
            "like": like,
        }
    )


def simulate(rng: Generator, items: Items, users: Users, days: int) -> pl.DataFrame:
    """Returns all impressions of the log, one row each; requests are numbered from 1."""
    shape = (len(users.rate), len(items.created))
    shown, viewed = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    parts: list[pl.DataFrame] = []
    first = 1
    for day in range(days):
        today: list[pl.DataFrame] = []
        user, time, search = draw_requests(rng, users, day)
        for at in range(0, len(user), BLOCK):
            block = slice(at, at + BLOCK)
            requests = (user[block], time[block], search[block])
            slates = draw_slates(rng, items, users, (shown, viewed), requests)
            part = react(rng, items, users, requests, slates)
            today.append(part.with_columns(pl.col("request") + (first + at)))
        # The policy learns over night.
        for part in today:
            good = part.filter(pl.col("click") & (pl.col("dwell") > 30))
            shown[part["user"], part["item"]] = True
            viewed[good["user"], good["item"]] = True
        parts += today
        first += len(user)
    return pl.concat(parts)


def to_log(impressions: pl.DataFrame, days: int) -> pl.DataFrame:
    """Returns the log in time order: impressions, and rows for their clicks and likes."""
    none = pl.lit(None, pl.Float32)
    kinds = [
        ("impression", pl.lit(True), pl.col("time"), none),
        ("click", pl.col("click"), pl.col("click_time"), pl.col("dwell").cast(pl.Float32)),
        ("like", pl.col("like"), pl.col("click_time") + pl.col("dwell").cast(pl.Int64) + 1, none),
    ]
    rows = pl.concat(
        impressions.filter(keep).select(
            request_id=pl.col("request"),
            user_id=_user_id(pl.col("user")),
            item_id=(pl.col("item") + 1).cast(pl.Int32),
            timestamp=time,
            event=pl.lit(event),
            position=pl.col("position").cast(pl.Int8),
            scene=pl.when("search").then(pl.lit("search")).otherwise(pl.lit("feed")),
            dwell_seconds=dwell,
            kind=pl.lit(place),
        )
        for place, (event, keep, time, dwell) in enumerate(kinds)
    )
    return (
        rows.filter(pl.col("timestamp") < days * DAY)
        .sort("timestamp", "request_id", "kind", "position")
        .with_columns(_instant(pl.col("timestamp")))
        .drop("kind")
    )


def _user_id(index: pl.Expr) -> pl.Expr:
    return pl.format("u{}", (index + 1).cast(pl.String).str.zfill(5))


def _instant(seconds: pl.Expr) -> pl.Expr:
    start = int(START.timestamp())
    return ((seconds.cast(pl.Int64) + start) * 1_000_000).cast(pl.Datetime("us", "UTC"))


def two_tower(past: pl.DataFrame, items: Items, now: int) -> pl.DataFrame:
    """Returns lists from the content of what each user watched, one row a user.

    A user's vector is the mean content of the long views, half as heavy a week later. Users
    with fewer than TWO_TOWER_MIN_VIEWS of them get no list, as in many real exports.

    Args:
        past: the log before `now`.
        items: the catalogue.
        now: time of the export, seconds from the start of the log.
    """
    views = past.filter((pl.col("event") == "click") & (pl.col("dwell_seconds") > 30)).select(
        "user_id",
        item=pl.col("item_id").cast(pl.Int64) - 1,
        age=(pl.lit(START + timedelta(seconds=now)) - pl.col("timestamp")).dt.total_seconds(),
    )
    views = views.filter(pl.len().over("user_id") >= TWO_TOWER_MIN_VIEWS).sort(
        "user_id", maintain_order=True
    )
    served = views["user_id"].unique(maintain_order=True)
    item = views["item"].to_numpy()
    weight = 0.5 ** (views["age"].to_numpy() / (7 * DAY))
    vectors = np.zeros((len(served), items.content.shape[1]))
    row = views["user_id"].rle_id().to_numpy()
    np.add.at(vectors, row, items.content[item] * weight[:, None])
    watched = np.bincount(item, minlength=len(items.created))
    likeness = _unit(vectors) @ _unit(items.content).T
    # Rounded before it is sorted, so that the last bits of the sums decide nothing.
    score = np.round(likeness + 0.16 * np.log1p(watched), 4)
    old = np.flatnonzero(items.created < now)
    best = old[np.argsort(-score[:, old], axis=1, kind="stable")[:, :TWO_TOWER_DEPTH]]
    scores = np.take_along_axis(score, best, axis=1)
    return pl.DataFrame(
        {"user_id": served, "item_id": (best + 1).tolist(), "score": scores.tolist()},
        schema_overrides={"item_id": pl.List(pl.Int32), "score": pl.List(pl.Float32)},
    ).with_columns(built_at=_instant(pl.lit(now)))


def _unit(rows: Floats) -> Floats:
    length: Floats = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / length


def editorial(rng: Generator, items: Items, users: Users, now: int) -> pl.DataFrame:
    """Returns the same hand-picked items for all users of a country, one row an item and rank."""
    old = items.created < now
    parts = []
    for country in range(len(COUNTRIES)):
        appeal = items.quality - 0.5 * items.bait + rng.normal(0, 0.6, len(old))
        picks = np.argsort(np.where(old, -np.round(appeal, 6), np.inf), kind="stable")
        user = np.flatnonzero((users.country == country) & (users.signup < now))
        parts.append(
            pl.DataFrame({"user": user}).join(
                pl.DataFrame({"item_id": picks[:EDITORIAL_DEPTH] + 1}).with_row_index("rank", 1),
                how="cross",
            )
        )
    rows = pl.concat(parts).sort("user", "rank")
    return rows.select(_user_id(pl.col("user")).alias("user_id"), "item_id", "rank")


def make_tables(days: int, seed: int, users: int, items: int) -> dict[str, pl.DataFrame]:
    """Returns all tables by file name, relative to the folder of the data set."""
    streams = [Generator(PCG64(one)) for one in SeedSequence(seed).spawn(4)]
    catalogue = make_items(streams[0], items, days)
    people = make_users(streams[1], users, days, catalogue)
    log = to_log(simulate(streams[2], catalogue, people, days), days)
    now = (days - TEST_DAYS) * DAY - EXPORT_HOURS * 3600
    past = log.filter(pl.col("timestamp") < START + timedelta(seconds=now))
    user_rows = pl.DataFrame({"user": np.arange(users), "signup": people.signup})
    item_rows = pl.DataFrame({"created": catalogue.created}).with_row_index("item_id", 1)
    return {
        "interactions.parquet": log,
        "users.parquet": user_rows.select(
            user_id=_user_id(pl.col("user")),
            country=pl.Series([COUNTRIES[one] for one in people.country]),
            signup=_instant(pl.col("signup")),
        ),
        "items.parquet": item_rows.select(
            pl.col("item_id").cast(pl.Int32),
            created_at=_instant(pl.col("created")),
            category=pl.Series([CATEGORIES[one] for one in catalogue.category]),
            duration_seconds=pl.Series(catalogue.duration, dtype=pl.Int32),
        ),
        "channels/two_tower.parquet": two_tower(past, catalogue, now),
        "channels/editorial.csv.gz": editorial(streams[3], catalogue, people, now),
    }


def write(tables: dict[str, pl.DataFrame], out: Path) -> None:
    """Writes each table in the format of its ending."""
    for name, table in tables.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".parquet"):
            table.write_parquet(path, compression="zstd", compression_level=19)
        else:
            table.write_csv(path, compression="gzip")
        print(f"{path}: {table.height:,} rows, {path.stat().st_size / 1e3:,.0f} kB")


def main() -> None:
    """Reads the arguments and writes the data set."""
    parser = argparse.ArgumentParser(description="Write the synthetic demo log.")
    parser.add_argument("--days", type=int, default=28)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--users", type=int, default=3000)
    parser.add_argument("--items", type=int, default=2000)
    here = Path(__file__).resolve().parent.parent
    parser.add_argument("--out", type=Path, default=here / "datasets" / "demo")
    args = parser.parse_args()
    if args.days <= TEST_DAYS or min(args.users, args.items) < 100 or args.seed < 0:
        parser.error("expected days >= 4, users >= 100, items >= 100, seed >= 0")
    write(make_tables(args.days, args.seed, args.users, args.items), args.out)


if __name__ == "__main__":
    main()
