#!/usr/bin/env python3
"""Makes the manual pages and the completions that `cmake --install` puts in place, from what the programs say.

  scripts/make-manual.py --bin build/bin --out FOLDER --version 1.2.3

FOLDER/man1 gets a page for each program and for each command of winnow; FOLDER/completions winnow.bash, winnow.zsh and
winnow.fish.
"""

import argparse
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True

from reference import command_line  # noqa: E402

SHELLS = ["bash", "zsh", "fish"]


def roff(text):
    """Text as it is printed: no dash becomes a hyphen, no line a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in escaped.split("\n"))


def entry(one):
    names = ", ".join(f"\\fB{roff(name)}\\fR" for name in one.names)
    value = one.value.replace("`", "").replace("\\", "")
    head = f"{names} \\fI{roff(value)}\\fR" if value else names
    meaning = "; ".join([one.meaning.rstrip("."), *(note.replace("`", "") for note in one.notes)])
    default = one.default if one.default in ("", "required") else f"default: {one.default}"
    return f".TP\n{head}\n{roff(meaning + (f' ({default})' if default else ''))}\n"


def page(words, said, others, version):
    """One page. `others`: the commands that it leads to, with their descriptions."""
    name = "-".join(words)
    lines = [f'.TH {name.upper()} 1 "" "Winnow {version}" "Winnow"\n.SH NAME\n{roff(name)} \\- {roff(said.description)}\n',
             f".SH SYNOPSIS\n.B {roff(said.usage)}\n"]
    for title, entries in said.groups:
        if entries:
            lines.append(f".SH {roff(title.upper())}\n" + "".join(map(entry, entries)))
    if others:
        lines.append(".SH COMMANDS\n" + "".join(f".TP\n\\fB{roff(other)}\\fR(1)\n{roff(text)}\n" for other, text in others))
    if said.footer:
        lines.append(f".SH NOTES\n.nf\n{roff(said.footer)}\n.fi\n")
    return "".join(lines)


def manual(programs, version):
    """{file name: text}"""
    pages = command_line.Pages(programs).helps
    found = {}
    for words, said in pages.items():
        others = [("-".join((*words, name)), text) for name, text in said.subcommands]
        found["-".join(words) + ".1"] = page(words, said, others, version)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--version", required=True)
    arguments = parser.parse_args()
    made = {f"man1/{name}": text for name, text in manual(arguments.bin, arguments.version).items()}
    for shell in SHELLS:
        made[f"completions/winnow.{shell}"] = subprocess.run(
            [arguments.bin / "winnow", "completion", shell], check=True, capture_output=True, text=True).stdout
    for name, text in made.items():
        file = arguments.out / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
