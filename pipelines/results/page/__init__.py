"""report.html: one self-contained page of a finished run, for people."""
