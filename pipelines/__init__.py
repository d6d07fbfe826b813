"""What a person runs: the command line, the configuration, the pipelines wired from transforms."""
