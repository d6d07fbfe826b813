"""Generated clips of traffic signs: the rules on the sign, the lanes that they hold for, and a reader's errors."""

import random
from typing import Any

VALUES: dict[str, list[Any]] = {
    "LaneType": ["DirectionLane", "BusLane", "NonMotorizedLane", "EmergencyLane", "VariableDirectionLane", "TidalLane"],
    "LaneDirection": [["GoStraight"], ["TurnLeft"], ["TurnRight"], ["GoStraight", "TurnRight"], ["UTurn"], ["None"]],
    "AllowedTransport": ["None", "Bus", "Vehicle", "Non-Motor"],
    "EffectiveDate": ["None", "Workday", "Weekend"],
    "EffectiveTime": ["None", "7:00-9:00", "17:00-19:00", "7:00-9:00,17:00-19:00"],
    "LowSpeedLimit": ["None", "60", "80"],
    "HighSpeedLimit": ["None", "40", "80", "100", "120"],
}


def sample(index: int, seed: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Returns the ground truth of a clip and what a reader made of it; None where it gave nothing."""
    chance = random.Random(f"{seed}:{index}")
    sample_id = f"clip_{index:08d}"
    lanes = [str(10 * lane + chance.randrange(10)) for lane in range(1, chance.randint(2, 8))]
    rules = [_rule(chance, number, lanes) for number in range(chance.choice((0, 1, 1, 2, 2, 3, 4, 5)))]
    if len(rules) > 2 and chance.random() < 0.1:
        rules[1]["properties"] = rules[0]["properties"]
    truth = {
        "sample_id": sample_id,
        "source": ("urban", "highway", "ramp")[index % 3],
        "tags": [tag for tag in ("night", "rain", "occluded") if chance.random() < 0.3],
        "rules": rules,
    }
    if chance.random() < 0.04:
        return truth, None
    return truth, {"sample_id": sample_id, "rules": _predicted(chance, rules, lanes)}


def _rule(chance: random.Random, number: int, lanes: list[str]) -> dict[str, Any]:
    properties = {"RuleIndex": number, **{name: chance.choice(values) for name, values in VALUES.items()}}
    centerlines = sorted(chance.sample(lanes, chance.randint(0, min(3, len(lanes)))))
    return {"id": f"r{number}", "properties": properties, "centerlines": centerlines}


def _predicted(chance: random.Random, rules: list[dict[str, Any]], lanes: list[str]) -> list[dict[str, Any]]:
    predicted = [_misread(chance, rule, lanes) for rule in rules if chance.random() > 0.08]
    if predicted and chance.random() < 0.05:
        predicted.append({**chance.choice(predicted)})
    if chance.random() < 0.1:
        predicted.append(_rule(chance, 9, lanes))
        del predicted[-1]["id"]
    if len(predicted) > 1 and chance.random() < 0.08:
        predicted[0]["matches"], predicted[1]["matches"] = predicted[1].get("matches"), predicted[0].get("matches")
    chance.shuffle(predicted)
    return predicted


def _misread(chance: random.Random, rule: dict[str, Any], lanes: list[str]) -> dict[str, Any]:
    properties, centerlines = dict(rule["properties"]), list(rule["centerlines"])
    error, name = chance.random(), chance.choice(list(VALUES))
    if error < 0.2:
        properties[name] = chance.choice(VALUES[name])
    elif error < 0.24:
        del properties[name]
    elif error < 0.28:
        properties["Remark"] = chance.choice(["公交专用", "tow-away zone", ""])
    elif error < 0.32:
        properties["LaneDirection"] = properties["LaneDirection"][::-1] * 2
    error = chance.random()
    if error < 0.1 and centerlines:
        centerlines.pop()
    elif error < 0.2:
        centerlines.append(chance.choice(lanes))
    elif error < 0.25:
        centerlines = [chance.choice(lanes) for _ in centerlines]
    predicted = {"properties": properties, "centerlines": centerlines, "matches": rule["id"]}
    error = chance.random()
    if error < 0.06:
        del predicted["matches"]
    elif error < 0.08:
        predicted["matches"] = "r99"
    return predicted
