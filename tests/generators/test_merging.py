"""Lists that are numbered once merge as lists that are numbered for each merge."""

from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from recoeval.generators.merging import Numbered, merge_lists, merge_numbered
from tests.generators.test_combining import LISTS, NAMES, frames, merges


@given(merges(), st.fixed_dictionaries(dict.fromkeys(NAMES, LISTS)), st.integers(1, 8))
def test_other_channels_and_deeper_rows_change_nothing(merge, lists, k):
    known = frames(lists)
    alone = merge_lists({name: known[name] for name in merge.channels}, merge, k)
    among = merge_numbered(Numbered.of(known), merge, k)
    assert_frame_equal(among.lists, alone.lists)
    assert among.duplicates == alone.duplicates
