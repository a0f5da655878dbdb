"""Analysis: frames in, frames and verdicts out."""
