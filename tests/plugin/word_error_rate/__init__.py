"""Word error rate of transcripts: a benchmark that a package of its own brings to beamscore."""
