"""Running pipelines: the launch, local worker processes, Flink and Dataflow."""
