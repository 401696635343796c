"""The hub: what a run leaves behind, as Parquet and JSON, and how other tables get there."""
