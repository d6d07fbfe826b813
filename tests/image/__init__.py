"""Builds the image of configs/dataflow/Dockerfile without Docker and without its base images."""
