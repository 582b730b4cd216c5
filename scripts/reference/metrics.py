"""docs/reference/metrics.md: every Prometheus metric, from a running server's /metrics."""

import dataclasses
import re

from reference.markdown import anchored, escaped, head, table
from reference.protos import Lack

INTRODUCTION = """\
`GET /metrics` of `winnow-server --http` answers in Prometheus' text format; [operations](../operations.md) says how to
scrape it. The metrics:

"""

# Labels whose values are not all there from a server's start. Those of an enum: its values, in small letters.
LABELS = {
    ("winnow_build_info", "version"): "the server's version",
    ("winnow_call_duration_seconds", "service"): "the service, as [the API](api.md) names it",
    ("winnow_call_duration_seconds", "method"): "the method, as [the API](api.md) names it",
    ("winnow_call_duration_seconds", "code"): "how it ended, by gRPC's name: OK, NOT_FOUND, …",
    ("winnow_workers", "state"): ("Worker.State", {"LIVE", "LEAVING"}),
    ("winnow_workers", "scheduling"): ("Worker.Scheduling", None),
}
UNITS = {"seconds": "seconds", "bytes": "bytes"}
OF_TYPES = {"histogram": ("_bucket", "_sum", "_count")}


@dataclasses.dataclass
class Family:
    name: str
    type: str
    help: str
    labels: dict = dataclasses.field(default_factory=dict)  # name: values seen, in order


def unit(name):
    words = name.removesuffix("_total").split("_")
    return UNITS.get(words[-1], "")


def families(text):
    found, helps = [], {}
    for line in text.splitlines():
        if said := re.match(r"# HELP (\S+) (.*)", line):
            helps[said[1]] = said[2].replace("\\n", " ")
        elif said := re.match(r"# TYPE (\S+) (\S+)", line):
            found.append(Family(said[1], said[2], helps.get(said[1], "")))
        elif said := re.match(r"(\w+)(?:\{(.*)\})? \S+$", line):
            if said[1] not in {found[-1].name + end for end in ("", *OF_TYPES.get(found[-1].type, ()))}:
                raise Lack(f"/metrics: {said[1]} stands under {found[-1].name}")
            for label, value in re.findall(r'(\w+)="([^"]*)"', said[2] or ""):
                values = found[-1].labels.setdefault(label, [])
                if value not in values:
                    values.append(value)
    return found


def label_values(family, label, contract):
    said = LABELS.get((family.name, label))
    if said is None:
        return ", ".join(f"`{value}`" for value in sorted(family.labels[label]))
    if isinstance(said, str):
        return said
    enum, kept = said
    return ", ".join(f"`{value.name.lower()}`" for value in contract.enums[enum].named() if kept is None or value.name in kept)


def page(text, contract):
    rows, buckets, labels = [], [], []
    for family in sorted(families(text), key=lambda family: (not family.name.startswith("winnow_"), family.name)):
        if not family.help:
            raise Lack(f"the metric {family.name} has no help")
        if family.type == "histogram":
            buckets.append([f"`{family.name}`", ", ".join(family.labels.pop("le"))])
        names = ", ".join(f"`{label}`" for label in family.labels)
        rows.append([anchored(family.name, family.name), family.type, unit(family.name), names, escaped(family.help)])
        labels += [[f"`{family.name}`", f"`{label}`", label_values(family, label, contract)] for label in family.labels]
    result = head("Metrics: what the server measures", "a running server's /metrics") + "\n" + INTRODUCTION
    result += table(["metric", "type", "unit", "labels", "what it is"], rows)
    result += "\n## Labels\n\n" + table(["metric", "label", "values"], labels)
    result += "\n## Buckets\n\nA histogram `M` is `M_bucket` with the label `le`, `M_sum` and `M_count`. Where its buckets end:\n\n"
    return result + table(["metric", "upper bounds, in seconds"], buckets)
