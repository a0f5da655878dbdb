"""The workflow: configuration, run directory and pipeline."""
