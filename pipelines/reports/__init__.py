"""Reports of runs for people: one document, its pages and its Markdown."""
