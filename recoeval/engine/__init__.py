"""The engine: one pass from lists to one row a query."""
