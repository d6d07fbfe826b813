"""How a pipeline runs: launching it, local worker processes, Flink and Dataflow."""
