"""A real Flink cluster on this machine, for tests alone; it downloads about 400 MB once, into ~/.cache/beamscore."""
