#!/usr/bin/env python3
"""Makes copies of sources in which each mutation of mutations.py can be switched on, and a list of them:
mutate.py SOURCE_ROOT OUTPUT_FOLDER. A mutation whose line is not there exactly once is listed as missing."""

import pathlib
import sys

from mutations import MUTATIONS


def main():
    root, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    texts, rows = {}, []
    for number, (name, file, old, new) in enumerate(MUTATIONS, 1):
        text = texts.setdefault(file, (root / file).read_text())
        there = text.count(old) == 1
        if there:
            texts[file] = text.replace(old, new.replace("MUTATED", f"Mutated({number})"))
        rows.append(f'      {{{number}, "{name}", {str(there).lower()}}},')
    for file, text in texts.items():
        path = output / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('#include "tests/simulation/mutation.h"\n' + text)
    (output / "mutations.cc").write_text(
        '#include "tests/simulation/mutation.h"\n\nnamespace winnow {\n\nint active_mutation = 0;\n\n'
        "const std::vector<Mutation>& Mutations() {\n  static const std::vector<Mutation> list = {\n"
        + "\n".join(rows) + "\n  };\n  return list;\n}\n\n}  // namespace winnow\n")


main()
