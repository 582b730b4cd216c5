"""docs/reference/hyperparameters.md: what the built-in trainers take, from what they print themselves."""

import pathlib
import subprocess

from reference.markdown import head

PAGE = "hyperparameters.md"

INTRODUCTION = """
What `winnow-gbdt hyperparameters` and `winnow-mlp hyperparameters` print. Words are understood in any case; a dash in a name counts
as an underscore; further names in the first column mean the same. A name that is unknown, a value outside its range and values that
contradict each other are refused before anything starts. A value without effect is warned of.
"""


def page(folder):
    text = head("Hyperparameters of the built-in trainers", "what winnow-gbdt and winnow-mlp print") + INTRODUCTION
    for trainer, guide in (("gbdt", "../gbdt.md"), ("mlp", "../mlp.md")):
        program = pathlib.Path(folder) / f"winnow-{trainer}"
        table = subprocess.run([program, "hyperparameters"], check=True, capture_output=True, text=True).stdout
        text += f"\n## {trainer}\n\n`\"builtin\": \"{trainer}\"`; the [guide]({guide}) tells more.\n\n{table}"
    return text
