"""Finished runs in the formats of other tools: one function for each, from a `Run` to a document or a call."""
