"""Two systems compared from what runs store of them: the sums of each slice with their replicates.

No sample is read again. Whoever calls must know that both systems scored the same samples under the same seed: only
then does replicate r of both draw the same. `stored_differences` is all that a gate or a ranking needs.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from metrics.statistics.measured import AnyBenchmark, Measured, measure
from metrics.statistics.paired import PairedDifference, paired_differences
from metrics.statistics.replicates import PackedReplicates
from metrics.statistics.sums import Sums
from transforms.finalize import SliceResult

ALL_SAMPLES = ""
"""The label of the slice of all samples."""


@dataclass(frozen=True)
class StoredSystem:
    """The sums of a system with their packed replicates, by the label of the slice.

    replicates: how many there are. clustered: whether the bootstrap drew clusters of samples.
    """

    slices: Mapping[str, tuple[Sums, PackedReplicates]]
    replicates: int
    clustered: bool

    @classmethod
    def of_document(cls, document: Mapping[str, Any], system: str) -> StoredSystem:
        """Returns a system of the document of a sums.json; raises ValueError or KeyError where it is not one."""
        stored = document["systems"][system]
        slices = {ALL_SAMPLES: stored, **stored["slices"]}
        return cls(
            {label: (Sums(each["sums"]), _packed(each["replicates"])) for label, each in slices.items()},
            document["bootstrap"]["replicates"],
            document["config"].get("cluster") is not None,
        )

    @classmethod
    def of_results(
        cls, overall: SliceResult, slices: Mapping[str, SliceResult], replicates: int, clustered: bool
    ) -> StoredSystem:
        """Returns a system of a run that is not written yet."""
        found = {ALL_SAMPLES: overall, **slices}
        return cls({label: (each.sums, each.replicates) for label, each in found.items()}, replicates, clustered)

    def measured(self, benchmark: AnyBenchmark, label: str) -> Measured:
        """Returns the metrics of a slice; raises ValueError where the replicates are damaged."""
        sums, packed = self.slices[label]
        return measure(benchmark, [sums, *packed.unpack(self.replicates)], self.clustered)


def stored_differences(
    benchmark: AnyBenchmark, baseline: StoredSystem, candidate: StoredSystem, confidence: float
) -> Iterator[tuple[str, dict[str, PairedDifference]]]:
    """Yields each slice that both systems have, by label, all samples first, with the difference of every metric.

    benchmark: under the options of the runs. Raises ValueError where the replicates are damaged or not as many.
    """
    if baseline.replicates != candidate.replicates:
        raise ValueError(f"{baseline.replicates} and {candidate.replicates} replicates do not pair")
    for label in sorted(baseline.slices.keys() & candidate.slices.keys()):
        before, after = baseline.measured(benchmark, label), candidate.measured(benchmark, label)
        yield label, paired_differences(benchmark, before, after, confidence)


def _packed(document: Mapping[str, Any]) -> PackedReplicates:
    return PackedReplicates(tuple(document["names"]), base64.b64decode(document["data"]))
