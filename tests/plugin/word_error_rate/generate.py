"""Transcripts with made-up errors, for the laws that every benchmark keeps."""

import random
from typing import Any

WORDS = ["the", "lane", "ahead", "is", "closed", "keep", "right", "until", "two", "in", "the", "morning"]


def sample(index: int, seed: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Returns the records of one sample; the same for the same index and seed."""
    rng = random.Random(f"{seed}:{index}")
    words = rng.choices(WORDS, k=rng.randint(1, 12))
    sample_id = f"transcript-{index:05}"
    truth = {"sample_id": sample_id, "text": " ".join(words), "source": rng.choice(["phone", "studio"])}
    if rng.random() < 0.05:
        return truth, None
    heard = [rng.choice(WORDS) if rng.random() < 0.15 else word for word in words if rng.random() > 0.05]
    return truth, {"sample_id": sample_id, "text": " ".join(heard)}
