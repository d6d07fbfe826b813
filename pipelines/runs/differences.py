"""Why the scores of two runs do not compare: one rule, with the strictness that each use needs."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from ...metrics.common.text import truncated
from ...metrics.derived import formulas_behind, normal_form
from ...metrics.version import VERSION
from ..config.settings import Configuration
from .documents import Fingerprint, Summary
from .provenance import PACKAGES

MAX_VALUE_LENGTH = 60

NOT_SCORING = (
    *("ground_truth", "predictions", "output", "slices", "limits", "worst_samples", "pictures"),
    *("gates", "inconclusive", "max_rejected_fraction", "max_missing_fraction", "sample_id_type", "derived"),
)
"""The keys of a configuration that change neither the score of a sample nor the draws of the bootstrap; nor does
`bootstrap.confidence`. Two runs may have different `derived` metrics, but not two formulas for the same name.
"""


class RunSignature(msgspec.Struct, frozen=True):
    """What a run scored, and with what.

    config: as in summary.json. versions: as in run.json; None: not known. fingerprint: of the ground truth; None: not
    known.
    """

    benchmark: str
    version: str
    config: dict[str, Any]
    versions: Any = None
    fingerprint: Fingerprint | None = None

    @classmethod
    def of(cls, configuration: Configuration, versions: Any = None) -> RunSignature:
        """Returns the signature of a run that starts here and now."""
        config = msgspec.json.decode(msgspec.json.encode(configuration.resolved()), type=dict[str, Any])
        return cls(configuration.benchmark.name, VERSION, config, versions)


class Strictness(NamedTuple):
    """What must be the same in two runs for a use; the benchmark always must be.

    options: "scored": the options that score a sample from its two records; "drawn": also those that draw replicates;
    "all": also the confidence of the intervals; "compared": as "drawn", without the replicates. exact_version: the
    whole version, else its first two numbers: no others change a score. surroundings: versions of packages and tools.
    """

    options: Literal["scored", "compared", "drawn", "all"] = "drawn"
    exact_version: bool = False
    surroundings: bool = False
    ground_truth: bool = False


PAIRED = Strictness(ground_truth=True)
"""For differences of stored sums, in gates and in the history."""
SCORED_ALIKE = Strictness()
"""For one sample in two runs."""
CONFIGURED = Strictness(options="all")
"""For a configuration whose gates judge a run, also one merged of several: its intervals have one confidence."""
COMPARED = Strictness(options="compared", exact_version=True, ground_truth=True)
"""For the comparison of rows, which draws its own replicates."""
REUSED = Strictness(options="scored", exact_version=True, surroundings=True)
"""For scores that must be the same to the last bit."""


def differences(ours: RunSignature, theirs: RunSignature, strictness: Strictness, it: str = "it") -> list[str]:
    """Returns why the scores of a run, `theirs`, do not compare with ours, as texts; empty if they do.

    it: what the run is called. Unknown values compare with nothing. Different benchmarks are the only reason reported.
    """
    if ours.benchmark != theirs.benchmark:
        return [f"{it} is a run of {theirs.benchmark}, not of {ours.benchmark}"]
    return [*_versions(ours, theirs, strictness, it), *_options(ours, theirs, strictness, it),
            *(surroundings(ours, theirs, it) if strictness.surroundings else _code(ours, theirs, it)),
            *(_ground_truth(ours, theirs, it) if strictness.ground_truth else ())]  # fmt: skip


_NOT_COMPARED = {"all": (), "drawn": (), "compared": ("bootstrap",), "scored": ("bootstrap", "cluster", "fields")}


def scoring_keys(config: Mapping[str, Any], options: str) -> dict[str, Any]:
    """Returns the part of a resolved configuration that `Strictness.options` selects, FILE.py:CLASS without folders."""
    keys = {key: value for key, value in config.items() if key not in (*NOT_SCORING, *_NOT_COMPARED[options])}
    if ".py:" in str(keys.get("benchmark")):
        # Its content is compared by its digest; the same file may be reached from several folders.
        keys["benchmark"] = posixpath.basename(str(keys["benchmark"]))
    if options == "drawn" and isinstance(drawn := keys.get("bootstrap"), Mapping):
        keys["bootstrap"] = {key: value for key, value in drawn.items() if key != "confidence"}
    return keys


def scoring_hash(config: Mapping[str, Any], derived: Mapping[str, str] | None = None, options: str = "drawn") -> str:
    """Returns a hash, in hex, of the part of a resolved configuration that determines scores.

    derived: derived metrics to include in the hash. options: see `scoring_keys`.
    """
    keys = {**scoring_keys(config, options), **({"derived": derived} if derived else {})}
    return hashlib.blake2b(msgspec.json.encode(keys, order="sorted"), digest_size=8).hexdigest()


def signature(summary: Summary) -> str:
    """Returns one line for citing a run in a paper: version, benchmark, protocol, options and ground truth.

    Such as `beamscore 0.4.0 chart published missing=wrong n=60 gt=85e20da7 options=3f2a`: `n` and `gt` are the size and
    the start of the fingerprint of the ground truth; `options` is the start of their hash.
    """
    config, truths = summary.config, summary.fingerprint
    derived = {name: normal_form(formula) for name, formula in config.get("derived", {}).items()}
    options = scoring_hash(config, derived)
    of_truths = "" if truths is None else f" n={truths.samples} gt={truths.hash[:8]}"
    parts = ["beamscore", summary.version, summary.benchmark, *([config["protocol"]] if "protocol" in config else [])]
    return f"{' '.join(parts)} missing={config.get('missing')}{of_truths} options={options[:4]}"


def scoring_version(version: str) -> str:
    """Returns the major and the minor number of a version: scores may change only if these change."""
    match = re.match(r"\d+\.\d+", version)
    return match.group() if match else version


def _versions(ours: RunSignature, theirs: RunSignature, strictness: Strictness, it: str) -> Iterator[str]:
    our_version, their_version = (
        (version if strictness.exact_version else scoring_version(version))
        for version in (ours.version, theirs.version)
    )
    if not their_version or our_version != their_version:
        made = f"beamscore {theirs.version}" if theirs.version else "an earlier version of beamscore"
        yield f"{it} was made by {made}, which may score differently from {ours.version or 'an earlier one'}"


def _options(ours: RunSignature, theirs: RunSignature, strictness: Strictness, it: str) -> Iterator[str]:
    our_keys, their_keys = (scoring_keys(each.config, strictness.options) for each in (ours, theirs))
    for key in sorted({*our_keys, *their_keys}):
        if our_keys.get(key) != their_keys.get(key):
            yield f"{it} used {key}: {_value(their_keys.get(key))} instead of {_value(our_keys.get(key))}"
    if strictness.options != "scored":
        our_derived, their_derived = (each.config.get("derived") or {} for each in (ours, theirs))
        for name in changed_formulas(our_derived, their_derived):
            was, now = _value(their_derived[name]), _value(our_derived[name])
            yield f"{it} used derived.{name}: {was} instead of {now}"


def changed_formulas(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """Returns the derived metrics that both define with different formulas."""
    return [name for name in ours if name in theirs and normal_form(ours[name]) != normal_form(theirs[name])]


def redefined(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """Returns the derived metrics of both whose values have different formulas, of their own or of their parts."""
    both = [name for name in ours if name in theirs]
    return [name for name in both if formulas_behind(name, ours) != formulas_behind(name, theirs)]


def _value(value: Any) -> str:
    return truncated(msgspec.json.encode(value).decode(), MAX_VALUE_LENGTH)


def surroundings(ours: RunSignature, theirs: RunSignature, it: str) -> Iterator[str]:
    """Yields the differing versions of packages and programs: they may change the last digits of a score."""
    for kind in ("packages", "tools"):
        here, there = (_versions_of(each, kind) for each in (ours, theirs))
        if there is None or here != there:
            yield f"{it} used different versions of {kind}{of_each(here, there)}"


def _code(ours: RunSignature, theirs: RunSignature, it: str) -> Iterator[str]:
    """Yields the benchmark's package or file if it has changed: nothing else tells that scores may differ."""
    here, there = code_versions(ours), code_versions(theirs)
    if here and there and here != there:
        yield f"{it} was scored by a different version of the benchmark{of_each(here, there)}"


def code_versions(signature: RunSignature) -> dict[str, str]:
    """Returns the `code_version` of the benchmark of a run; empty if it is not known."""
    packages = _versions_of(signature, "packages")
    own = {name: packages[name] for name in packages if name not in PACKAGES} if isinstance(packages, dict) else {}
    # Earlier versions named a package like its module, and also that from which a file imports its class.
    return {name: own[name] for name in own if ".py:" in name} or {name.lower(): own[name] for name in own}


def _versions_of(signature: RunSignature, kind: str) -> Any:
    return signature.versions.get(kind) if isinstance(signature.versions, dict) else None


def of_each(ours: Any, theirs: Any) -> str:
    """Returns the versions that differ as text, with a colon before them; empty if one side is not known."""
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return ""
    names = [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]
    return ": " + ", ".join(f"{name} {theirs.get(name, 'none')}, not {ours.get(name, 'none')}" for name in names)


def _ground_truth(ours: RunSignature, theirs: RunSignature, it: str) -> Iterator[str]:
    our_truth, their_truth = ours.fingerprint, theirs.fingerprint
    if our_truth is None or their_truth is None:
        yield "the ground truth of a run has no fingerprint, so it is unknown whether both have the same"
    elif our_truth != their_truth:
        yield (
            f"{it} has a different ground truth: {their_truth.samples} samples ({their_truth.hash[:8]}) instead of "
            f"{our_truth.samples} ({our_truth.hash[:8]})"
        )
