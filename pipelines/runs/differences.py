"""Why the scores of two runs do not compare: one rule, as strict as each use of it needs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from ...metrics.version import VERSION
from ..config.settings import Configuration
from .documents import Fingerprint, Summary

NOT_SCORING = (
    *("ground_truth", "predictions", "output", "slices", "limits", "worst_samples", "pictures"),
    *("gates", "inconclusive", "max_rejected_fraction", "max_missing_fraction", "sample_id_type", "derived"),
)
"""The keys of a configuration that do not change what a sample scores, nor what the bootstrap draws; of `bootstrap`
its confidence does not either. Of `derived` two runs may have different metrics, but none of one name by two formulas.
"""


class RunSignature(msgspec.Struct, frozen=True):
    """With what a run scored, and what.

    config: as it is in summary.json. versions: those of run.json; None: not known. fingerprint: of the ground truth;
    None: not known.
    """

    benchmark: str
    version: str
    config: dict[str, Any]
    versions: Any = None
    fingerprint: Fingerprint | None = None

    @classmethod
    def of(
        cls, configuration: Configuration, versions: Any = None, fingerprint: Fingerprint | None = None
    ) -> RunSignature:
        """Returns the signature of a run that starts here and now."""
        config = msgspec.json.decode(msgspec.json.encode(configuration.resolved()), type=dict[str, Any])
        return cls(configuration.benchmark.name, VERSION, config, versions, fingerprint)


class Strictness(NamedTuple):
    """What must be the same for a use of two runs; the benchmark always.

    options: those by which a sample is scored from its two records, those by which replicates are drawn too, or the
    confidence of the intervals too; "compared" is all of the second but the replicates. exact_version: to the last
    number; else the first two, since no others change a score. surroundings: the versions of packages and programs.
    """

    options: Literal["scored", "compared", "drawn", "all"] = "drawn"
    exact_version: bool = False
    surroundings: bool = False
    ground_truth: bool = False


PAIRED = Strictness(ground_truth=True)
"""For the difference of stored sums, as gates and the history compute it."""
SCORED_ALIKE = Strictness()
"""For runs over other samples, and for one sample in two runs."""
CONFIGURED = Strictness(options="all")
"""For a configuration and the run whose gates it has, whose intervals are those of its confidence."""
COMPARED = Strictness(options="compared", exact_version=True, ground_truth=True)
"""For the comparison of rows, which draws replicates of its own."""
REUSED = Strictness(options="scored", exact_version=True, surroundings=True)
"""For scores that must be the same to the last bit."""


def differences(ours: RunSignature, theirs: RunSignature, strictness: Strictness, it: str = "it") -> list[str]:
    """Returns why the scores of a run, `theirs`, do not compare with ours, each in words; none where they do.

    it: what the run is called. What is not known compares with nothing. Runs of two benchmarks differ in nothing else.
    """
    if ours.benchmark != theirs.benchmark:
        return [f"{it} is a run of {theirs.benchmark}, not of {ours.benchmark}"]
    return [*_versions(ours, theirs, strictness, it), *_options(ours, theirs, strictness, it),
            *(surroundings(ours, theirs, it) if strictness.surroundings else ()),
            *(_ground_truth(ours, theirs, it) if strictness.ground_truth else ())]  # fmt: skip


_NOT_COMPARED = {"all": (), "drawn": (), "compared": ("bootstrap",), "scored": ("bootstrap", "cluster", "fields")}


def scoring_keys(config: Mapping[str, Any], options: str = "drawn") -> dict[str, Any]:
    """Returns the part of a resolved configuration that `options` of Strictness names."""
    keys = {key: value for key, value in config.items() if key not in (*NOT_SCORING, *_NOT_COMPARED[options])}
    if options == "drawn" and isinstance(drawn := keys.get("bootstrap"), Mapping):
        keys["bootstrap"] = {key: value for key, value in drawn.items() if key != "confidence"}
    return keys


def scoring_hash(config: Mapping[str, Any], derived: Mapping[str, str] | None = None) -> str:
    """Returns a hash, in hex, of the part of a resolved configuration by which samples are scored.

    derived: metrics of the configuration that the hash is of too.
    """
    keys = {**scoring_keys(config), **({"derived": derived} if derived else {})}
    return hashlib.blake2b(msgspec.json.encode(keys, order="sorted"), digest_size=8).hexdigest()


def signature(summary: Summary) -> str:
    """Returns one line by which a paper cites a run: what scored, by which protocol and options, and over what.

    Such as `beamscore 0.3.0 chart published missing=wrong n=60 gt=85e20da7 options=3f2a`: of the ground truth the
    number of samples and the beginning of its fingerprint, of the options that of their hash.
    """
    config, truths = summary.config, summary.fingerprint
    options = scoring_hash(config, config.get("derived"))
    of_truths = "" if truths is None else f" n={truths.samples} gt={truths.hash[:8]}"
    parts = ["beamscore", summary.version, summary.benchmark, *([config["protocol"]] if "protocol" in config else [])]
    return f"{' '.join(parts)} missing={config.get('missing')}{of_truths} options={options[:4]}"


def scoring_version(version: str) -> str:
    """Returns the part of a version that changes when a score may change: the major and the minor number."""
    match = re.match(r"\d+\.\d+", version)
    return match.group() if match else version


def _versions(ours: RunSignature, theirs: RunSignature, strictness: Strictness, it: str) -> Iterator[str]:
    here, there = (
        (version if strictness.exact_version else scoring_version(version))
        for version in (ours.version, theirs.version)
    )
    if not there or here != there:
        made = f"beamscore {theirs.version}" if theirs.version else "an earlier version of beamscore"
        yield f"{it} was made by {made}, which may score otherwise than {ours.version or 'an earlier one'}"


def _options(ours: RunSignature, theirs: RunSignature, strictness: Strictness, it: str) -> Iterator[str]:
    here, there = (scoring_keys(each.config, strictness.options) for each in (ours, theirs))
    for key in sorted({*here, *there}):
        if here.get(key) != there.get(key):
            yield f"{it} used {key}: {_value(there.get(key))} instead of {_value(here.get(key))}"
    if strictness.options != "scored":
        ours_derived, theirs_derived = (each.config.get("derived") or {} for each in (ours, theirs))
        for name in redefined(ours_derived, theirs_derived):
            was, now = _value(theirs_derived[name]), _value(ours_derived[name])
            yield f"{it} used derived.{name}: {was} instead of {now}"


def redefined(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """Returns the derived metrics that both define, by different formulas."""
    return [name for name in ours if name in theirs and ours[name] != theirs[name]]


def _value(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:57]}..."


def surroundings(ours: RunSignature, theirs: RunSignature, it: str = "it") -> Iterator[str]:
    """Yields in words which versions of packages and programs differ, that may change a score in its last digits."""
    for kind in ("packages", "tools"):
        here, there = (each.versions.get(kind) if isinstance(each.versions, dict) else None for each in (ours, theirs))
        if there is None or here != there:
            yield f"{it} used other versions of {kind}{_of_each(here, there)}"


def _of_each(here: Any, there: Any) -> str:
    if not isinstance(here, dict) or not isinstance(there, dict):
        return ""
    names = [name for name in sorted({*here, *there}) if here.get(name) != there.get(name)]
    return ": " + ", ".join(f"{name} {there.get(name, 'none')}, not {here.get(name, 'none')}" for name in names)


def _ground_truth(ours: RunSignature, theirs: RunSignature, it: str) -> Iterator[str]:
    here, there = ours.fingerprint, theirs.fingerprint
    if here is None or there is None:
        yield "the ground truth of a run has no fingerprint, so nothing tells whether both have the same"
    elif here != there:
        yield (
            f"{it} has a different ground truth: {there.samples} samples ({there.hash[:8]}) instead of "
            f"{here.samples} ({here.hash[:8]})"
        )
