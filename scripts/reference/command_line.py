"""docs/reference/cli.md: every command and flag, from what the programs print for --help."""

import dataclasses
import os
import pathlib
import re
import subprocess

from reference.markdown import anchored, escaped, head, table
from reference.protos import Lack

PROGRAMS = ["winnow", "winnow-server", "winnow-worker", "winnow-gbdt", "winnow-mlp"]
OF_ALL = {"--help", "--version"}  # flags that every program has
WRAPPED = " " * 30  # before a text that stands below its flag

INTRODUCTION = """\
The output of `PROGRAM --help` and `PROGRAM COMMAND --help`, for every command. Each also takes `-h`, `--help`, and each
program `--version`. A value follows its flag: `--slots 4` or `--slots=4`.

"""


@dataclasses.dataclass
class Entry:
    names: list  # "-o", "--output"; or the one name of a positional
    value: str = ""  # what stands behind it
    default: str = ""
    meaning: str = ""
    notes: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Help:
    description: str
    usage: str
    groups: list  # (title, entries)
    subcommands: list  # (name, description)
    footer: str


def printed(command):
    environment = {**os.environ, "HOME": "/root", "LC_ALL": "C.UTF-8"}
    return subprocess.run([*command, "--help"], check=True, capture_output=True, text=True, env=environment).stdout


def number(text):
    return re.sub(r"e\+0*", "e", text)


def take_value(entry, text):
    """Reads what stands behind a flag's names: "N", "FILE REQUIRED", "NAME[=VALUE] ...", as flags/help_formatter.cc or the
    flag library itself prints it, "INT:INT in [1 - 64]=4 REQUIRED Excludes: --by"."""
    for word, note in (("Needs", "only with"), ("Excludes", "not with")):
        if found := re.search(rf"\s*{word}: (.*)$", text):
            entry.notes.append(f"{note} `{found[1].strip()}`")
            text = text[:found.start()]
    if text.endswith("REQUIRED"):
        entry.default, text = "required", text.removesuffix("REQUIRED").strip()
    if text.endswith(" ..."):
        if "may be given again" not in entry.meaning:
            entry.notes.append("may be given again")
        text = text.removesuffix("...").strip()
    elif text == "...":
        entry.value = "one or more"
        return
    value = ""
    bounds = re.fullmatch(r"(\S+?):(?:INT|UINT|FLOAT) in \[(\S+) - ([^\]]+)\](?:=(.*))?", text)
    choice = re.fullmatch(r"(\S+?):\{[^}]*\}(?:=(.*))?", text)
    if bounds:
        word, entry.default = bounds[1], bounds[4] or entry.default
        value = f", {number(bounds[2])} to {number(bounds[3])}"
    elif choice:
        word, entry.default = choice[1], choice[2] or entry.default
    elif re.fullmatch(r"[A-Z]+(=[A-Z]+|\[=[A-Z]+\])", text):
        word = text
    else:
        word, _, default = text.partition("=")
        entry.default = default or entry.default
    if re.search(r"[{}]|[a-z]:", word):
        raise Lack(f"{entry.names[-1]}: \"{text}\" is no value that a reader understands; give it an option_text")
    kinds = {"N": "integer", "INT": "integer", "UINT": "integer", "NUMBER": "number", "FLOAT": "number", "TEXT": "string", "": ""}
    entry.value = kinds.get(word, f"`{word}`") + value


def take_default(entry):
    """"(default: 10)", "(PEM; default: 10)", "text (default) or json" and "; required" in a flag's text say its default."""
    said = re.search(r" ?\((?:([^()]*); )?default:? ((?:[^()]|\([^()]*\))*)\)", entry.meaning)
    word = re.search(r"(\S+) \(default\)", entry.meaning)
    if said:
        kept = f" ({said[1]})" if said[1] else ""
        entry.default = said[2]
        entry.meaning = entry.meaning[:said.start()] + kept + entry.meaning[said.end():]
    elif entry.meaning.endswith("; required"):
        entry.default, entry.meaning = "required", entry.meaning.removesuffix("; required")
    elif word:
        entry.default = word[1]
        entry.meaning = entry.meaning.replace(" (default)", "")


def entry_of(name, meaning):
    names, _, value = name.strip().partition(" ")
    entry = Entry(names.split(","), meaning=meaning)
    take_value(entry, value.strip())
    take_default(entry)
    return entry


def entries_of(lines):
    """(name, meaning) of each flag, positional or subcommand of a group, as printed."""
    found = []
    for line in lines:
        text = line.strip()
        if line.startswith(WRAPPED):
            found[-1][1] += (" " if found[-1][1] else "") + text
        elif text:
            name, _, meaning = re.sub(r"(?<=\S) {2,}", "\0", text, count=1).partition("\0")
            found.append([name, meaning.strip()])
    return found


def parsed(text):
    description, usage, footer, subcommands = [], "", [], []
    groups, title = [], ""  # of [title, lines]
    of_commands = []  # of those
    for line in text.splitlines():
        if line.startswith("Usage: "):
            usage = re.sub(r"\(1x\)", " [...]", line.removeprefix("Usage: "))
        elif not usage:
            description.append(line)
        elif group := re.fullmatch(r"\[Option Group: (.*)\]", line):
            groups.append([group[1], []])
            title = group[1]
        elif group := re.fullmatch(r"([A-Z][a-z ]+):", line):  # Positionals, Options, or commands of one kind
            groups.append([group[1], []])
            title = group[1]
            if title not in ("Positionals", "Options"):
                of_commands.append(groups[-1])
        elif line.startswith("  ") and title:
            groups[-1][1].append(line)
        elif line.strip() or footer:
            footer.append(line)
    shown = []
    for title, lines in groups:
        if any(lines is its for _, its in of_commands):
            subcommands += [tuple(entry) for entry in entries_of(lines)]
            continue
        notes = []
        if title not in ("Positionals", "Options"):  # a group of its own begins with what it is about
            flags = next(i for i, line in enumerate(lines) if line.strip() == "Options:")
            notes = [line.strip() for line in lines[:flags]]
            lines = lines[flags + 1:]
        entries = [entry_of(*entry) for entry in entries_of(lines)]
        for entry in entries:
            if title == "Positionals" and f"[{entry.names[0]}]" not in usage:
                entry.default = "required"
            if notes:
                entry.notes.append(notes[0][0].lower() + notes[0][1:])
            if any("At most 1" in note for note in notes[1:]):
                entry.notes.append("at most one of " + ", ".join(f"`{other.names[-1]}`" for other in entries))
        shown.append((title, entries))
    return Help(" ".join(description).strip(), usage, shown, subcommands, "\n".join(footer).strip())


class Pages:
    def __init__(self, folder):
        self.helps = {}  # of each command, in order: ("winnow", "trials")
        for program in PROGRAMS:
            self.walk(pathlib.Path(folder) / program, (program,))

    def walk(self, program, words):
        self.helps[words] = parsed(printed([program, *words[1:]]))
        for name, description in self.helps[words].subcommands:
            if not description:
                raise Lack(f"{' '.join(words)} {name} says nothing of what it does")
            self.walk(program, (*words, name))

    @staticmethod
    def anchor(words):
        return "-".join(words)

    def row(self, words, entry):
        name = next((name for name in entry.names if name.startswith("--")), entry.names[0])
        if not entry.meaning:
            raise Lack(f"{' '.join(words)} {name} has no help")
        others = "".join(f" `{other}`" for other in entry.names if other != name)
        meaning = "; ".join([entry.meaning.rstrip("."), *entry.notes])
        default = entry.default
        if re.fullmatch(r"\S*[\d/]\S*", default):
            default = f"`{number(default)}`"
        return [anchored(self.anchor(words) + "." + name.lstrip("-"), name) + others, entry.value.replace("|", "\\|"),
                escaped(default), escaped(meaning)]

    def section(self, words):
        said = self.helps[words]
        text = f"\n{'##' if len(words) == 1 else '###'} {' '.join(words)}\n\n`{said.usage}`: {escaped(said.description)}\n"
        entries = [entry for _, group in said.groups for entry in group if not OF_ALL & set(entry.names)]
        if entries:
            text += "\n" + table(["flag", "value", "default", "meaning"], [self.row(words, entry) for entry in entries])
        if said.footer and (len(words) == 1 or said.footer != self.helps[words[:1]].footer):
            text += f"\n```\n{said.footer}\n```\n"
        return text

    def contents(self):
        lines = []
        for words in self.helps:
            if len(words) > 1:
                continue
            commands = [f"[{' '.join(other[1:])}](#{self.anchor(other)})" for other in self.helps if other[:1] == words and len(other) > 1]
            lines.append(f"- [**{words[0]}**](#{self.anchor(words)}): {escaped(self.helps[words].description)}"
                         + (f"\n  Commands: {' · '.join(commands)}" if commands else "") + "\n")
        return "".join(lines)

    def text(self):
        page = head("Command line: every command and flag", "what the programs print for --help")
        return page + "\n" + INTRODUCTION + self.contents() + "".join(map(self.section, self.helps))


def page(folder):
    return Pages(folder).text()
