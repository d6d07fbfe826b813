"""How scores travel: read, pair, score, slice, combine, write. Apache Beam; knows no benchmark by name."""
