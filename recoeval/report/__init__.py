"""Reports: tables in, text out."""
