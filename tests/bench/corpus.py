"""Generated corpora on disk, made once and kept."""

import hashlib
import importlib
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parents[2] / "out" / "bench"
SAMPLES_PER_TASK = 1000
SEED = 1


@dataclass(frozen=True)
class Corpus:
    """The two files of a corpus, and how many samples they hold."""

    count: int
    ground_truth: Path
    predictions: Path

    @property
    def benchmark(self) -> str:
        """The benchmark, as the names of the files tell."""
        return self.ground_truth.name.partition("-")[0]

    @property
    def bytes(self) -> int:
        return self.ground_truth.stat().st_size + self.predictions.stat().st_size


def generated(benchmark: str, count: int) -> Corpus:
    """Returns a corpus of `count` samples of tests.generate.BENCHMARK below FOLDER, made where it is missing.

    One of other code is removed.
    """
    code = [Path(__file__), Path(__file__).parents[1] / "generate" / f"{benchmark}.py"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in code)).hexdigest()[:12]
    paths = [FOLDER / f"{benchmark}-{count}-{digest}-{side}.jsonl" for side in ("truth", "prediction")]
    if not paths[1].exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        for path in FOLDER.glob(f"{benchmark}-{count}-*"):
            path.unlink()
        print(f"generating {count} samples of {benchmark}", file=sys.stderr)
        sample = importlib.import_module(f"tests.generate.{benchmark}").sample
        parts = [path.with_suffix(".part") for path in paths]
        with ProcessPoolExecutor() as pool, parts[0].open("wb") as truths, parts[1].open("wb") as answers:
            for truth, answer in pool.map(sample, range(count), repeat(SEED), chunksize=SAMPLES_PER_TASK):
                truths.write(msgspec.json.encode(truth) + b"\n")
                if answer is not None:
                    answers.write(msgspec.json.encode(answer) + b"\n")
        for part, path in zip(parts, paths, strict=True):
            part.rename(path)
    return Corpus(count, *paths)
