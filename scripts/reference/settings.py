"""packaging/config: a configuration file for each service, with the help of every setting, as the programs print it."""

import pathlib
import subprocess

# What the packaged services run with; everything else is a comment with its default.
GIVEN = {
    "server": ["--db", "/var/lib/winnow/winnow.db", "--require-tokens", "--local-workers", "0"],
    "worker": ["--server", "127.0.0.1:7070", "--token-file", "/etc/winnow/worker.token", "--run-as", "61184-61247"],
}


def files(folder):
    """{file name: text} by the programs of `folder`."""
    made = {}
    for program, flags in GIVEN.items():
        command = [pathlib.Path(folder).resolve() / f"winnow-{program}", *flags, "--show-config", "toml"]
        made[f"{program}.toml"] = subprocess.run(command, check=True, capture_output=True, text=True, env={}).stdout
    return made
