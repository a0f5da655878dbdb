"""Configuration documents: YAML as plain data with positions, checked against a model."""
