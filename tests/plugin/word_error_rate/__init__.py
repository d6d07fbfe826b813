"""Word error rate of transcripts, as a package, to which tests add the file of docs/how-to/new_benchmark.md."""
