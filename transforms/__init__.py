"""How scores travel: read, pair, score, slice, combine, write. Apache Beam; knows no benchmark by name."""

import logging

# Apache Beam warns on import of optional packages that it does not find; with a handler on the root logger it
# does so there and not on the console.
logging.getLogger().addHandler(logging.NullHandler())
