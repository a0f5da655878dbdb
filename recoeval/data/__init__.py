"""Data in: sources, splits, truth, queries, buckets, lists."""
