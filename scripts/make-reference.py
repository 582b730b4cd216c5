#!/usr/bin/env python3
"""Makes docs/reference anew: a page for the job file, the hyperparameters, the command line, the API and the metrics, each from what the
programs are made of, so that none can say anything else. What a source does not say is an error that names it.
Also packaging/config: a configuration file for each service, with the help of every setting.

  scripts/make-reference.py --bin build/bin
"""

import argparse
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True

from reference import api, command_line, hyperparameters, job_file, metrics, protos, roles, server, settings  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]

CONTENTS = """# Reference

- [Job file](job-file.md): every field with its values and its default
- [Hyperparameters](hyperparameters.md): what winnow-gbdt and winnow-mlp take, with defaults
- [Command line](cli.md): every command and flag of every program
- [API](api.md): every method over gRPC and HTTP, the role it needs, every message
- [Metrics](metrics.md): every Prometheus metric with its unit and labels

`scripts/make-reference.py` makes these pages from the comments in `proto/`, the programs' `--help`, and
a running server. A test makes them again and compares: run the script after changing a source.
"""


def pages(folder):
    """{file name: text} by the programs of `folder`."""
    contract = protos.read(ROOT / "proto")
    permissions = roles.read((ROOT / "server/grpc/roles.cc").read_text())
    with server.running(folder) as running:
        openapi, measured = running.openapi(), running.metrics()
    return {"README.md": CONTENTS, job_file.PAGE: job_file.page(contract),
            hyperparameters.PAGE: hyperparameters.page(folder), "cli.md": command_line.page(folder),
            "api.md": api.page(contract, permissions, openapi), "metrics.md": metrics.page(measured, contract)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", help="folder of the built programs (default: build/bin)")
    parser.add_argument("--out", default=ROOT / "docs/reference", type=pathlib.Path, help="default: docs/reference")
    parser.add_argument("--config", default=ROOT / "packaging/config", type=pathlib.Path, help="default: packaging/config")
    arguments = parser.parse_args()
    try:
        made = {arguments.out / name: text for name, text in pages(arguments.bin).items()}
        made.update({arguments.config / name: text for name, text in settings.files(arguments.bin).items()})
    except (protos.Lack, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"make-reference.py: {error}")
    for file, text in made.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
