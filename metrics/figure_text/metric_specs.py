"""The metrics of the figure_text benchmark."""

from __future__ import annotations

from ..benchmark import MetricSpec

METRICS = (
    MetricSpec(
        "detection.precision",
        "score of the detections that match (DetEval) / detections",
        main=1,
        denominator="detection.detections",
    ),
    MetricSpec(
        "detection.recall",
        "score of the regions that are matched (DetEval) / annotated regions",
        main=2,
        denominator="detection.regions",
    ),
    MetricSpec(
        "detection.f1",
        "harmonic mean of detection precision and recall",
        main=3,
        rank=1,
        denominator="detection.regions + detection.detections",
    ),
    MetricSpec(
        "detection.precision[SUBSET]",
        "detection precision with all regions outside the subset as don't-care",
        denominator="detection.detections[SUBSET] + detection.outside",
    ),
    MetricSpec(
        "detection.recall[SUBSET]",
        "detection recall over the regions of the subset",
        denominator="detection.regions[SUBSET]",
    ),
    MetricSpec(
        "detection.f1[SUBSET]",
        "harmonic mean of both over the subset",
        denominator="detection.regions[SUBSET] + detection.detections[SUBSET] + detection.outside",
    ),
    MetricSpec(
        "end_to_end.precision",
        "detections in the right place with the right text / detections",
        denominator="detection.detections",
    ),
    MetricSpec(
        "end_to_end.recall",
        "regions found in the right place with the right text / annotated regions with a text",
        denominator="detection.regions",
    ),
    MetricSpec(
        "end_to_end.f1",
        "harmonic mean of end-to-end precision and recall",
        main=4,
        rank=2,
        denominator="detection.regions + detection.detections",
    ),
    MetricSpec(
        "end_to_end.precision[SUBSET]",
        "end-to-end precision with all regions outside the subset as don't-care",
        denominator="detection.detections[SUBSET] + detection.outside",
    ),
    MetricSpec(
        "end_to_end.recall[SUBSET]",
        "end-to-end recall over the regions of the subset",
        denominator="detection.regions[SUBSET]",
    ),
    MetricSpec(
        "end_to_end.f1[SUBSET]",
        "harmonic mean of both over the subset",
        denominator="detection.regions[SUBSET] + detection.detections[SUBSET] + detection.outside",
    ),
    MetricSpec(
        "word_recognition.accuracy",
        "words read right / words, each given by its id",
        main=5,
        rank=3,
        denominator="word_recognition.words",
    ),
    MetricSpec(
        "word_recognition.accuracy[SUBSET]",
        "words read right / words, over the subset",
        denominator="word_recognition.words[SUBSET]",
    ),
    MetricSpec(
        "agreement.location",
        "regions in the same place in both annotations / regions of the reference annotation",
        denominator="detection.regions",
    ),
    MetricSpec(
        "agreement.text",
        "regions in the same place with the same text / regions of the reference annotation",
        denominator="detection.regions",
    ),
    MetricSpec(
        "agreement.location_max",
        "regions in the same place / regions of the larger annotation",
        denominator="detection.regions + detection.detections",
    ),
    MetricSpec(
        "agreement.text_max",
        "regions in the same place with the same text / regions of the larger annotation",
        denominator="detection.regions + detection.detections",
    ),
)

SAMPLE_METRICS = tuple(
    MetricSpec(spec.name, spec.meaning, main=1 if spec.name == "detection.f1" else None)
    for spec in METRICS
    if "[" not in spec.name
)
