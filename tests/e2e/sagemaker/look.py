"""Writes down everything that a script is given, as its model."""

import json
import os
import sys

base = os.environ["SAGEMAKER_BASE_DIR"]
seen = {"arguments": sys.argv[1:], "environment": dict(os.environ), "files": {}}
for folder, _, names in os.walk(base, followlinks=True):
    for name in names:
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8", errors="replace") as file:
            seen["files"][os.path.relpath(path, base)] = file.read()
if os.environ.get("WANTED_PACKAGE"):
    seen["package"] = __import__(os.environ["WANTED_PACKAGE"]).VALUE
with open(os.path.join(os.environ["SM_OUTPUT_DATA_DIR"], "notes.txt"), "w", encoding="ascii") as file:
    file.write("noted")
print("score: 0.25", file=sys.stderr)
print("loss=3.5\tscore: 0.75")
if "--fail" in sys.argv:
    with open(os.path.join(base, "output", "failure"), "w", encoding="utf-8") as file:
        file.write("the data are\nno good")
    sys.exit(3)
with open(os.path.join(os.environ["SM_MODEL_DIR"], "seen.json"), "w", encoding="utf-8") as file:
    json.dump(seen, file)
