"""Files on any filesystem of Beam: JSONL and Parquet in, results out."""
