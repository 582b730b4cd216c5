#!/usr/bin/env python3
"""examples/notebook.ipynb, executed from top to bottom by Jupyter's own client. Skipped where that is not installed."""

import importlib.util
import os
import sys
import unittest

from servers import PACKAGE, PATIENCE, ROOT, WithFolder, main, processes

for needed in ("nbclient", "nbformat", "ipykernel", "pandas", "matplotlib"):
    if importlib.util.find_spec(needed) is None:
        print(f"skipped: {needed} is not installed")
        sys.exit(processes.SKIPPED)

import nbclient  # noqa: E402
import nbformat  # noqa: E402


class Notebook(WithFolder):
    def test_every_cell_succeeds_and_shows_what_it_should(self):
        os.environ.update(PYTHONPATH=str(PACKAGE), JUPYTER_PLATFORM_DIRS="1", HOME=self.folder)
        notebook = nbformat.read(ROOT / "examples/notebook.ipynb", as_version=4)
        nbclient.NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3",
                                resources={"metadata": {"path": self.folder}}).execute()
        shown = {}
        for cell in notebook.cells:
            if cell.cell_type == "code":
                shown[cell.source.splitlines()[-1]] = [set(output.get("data", {})) for output in cell.outputs]
        self.assertIn({"text/html", "text/plain"}, shown["job"])
        for figure in ("history", "curves", "parallel", "importance", "sieve"):
            self.assertTrue(any("image/png" in kinds for kinds in shown[f"job.plot.{figure}();"]), figure)
        self.assertIn("text/html", shown["simulated"][0])
        self.assertIn("text/html", shown['job.to_pandas().sort_values("value").head()'][0])


if __name__ == "__main__":
    main()
