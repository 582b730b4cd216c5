"""docs/reference/job-file.md: every field of a job file, from TuningJobSpec and what it holds."""

import re

from reference.markdown import anchored, escaped, head, one_line, paragraphs, table
from reference.protos import Lack

ROOT = "TuningJobSpec"
PAGE = "job-file.md"
NAME = "NAME"  # stands for the key of a map in a path

INTRODUCTION = """\
A job file is one JSON object. The [guide](../job-file.md) explains the strategies and shows whole files;
this page has every field. The fields of each block, with links:

"""

WRITTEN = """
## How values are written

Names are written as here, or in lowerCamelCase (`maxTrials`). Unknown fields, fields given twice and values of another
kind are errors, reported with their path. `null` is the same as leaving a field out.

| value | is written |
| --- | --- |
| string | `"auc"` |
| integer | `30`, or as a string: `"30"`, `3e1` |
| number | `0.1`, or as a string |
| boolean | `true`, `false` |
| duration | seconds as a string: `"90s"`, `"0.5s"` |
| enum | one of the words listed with the field, in upper or lower case: `"LOG"`, `"log"` |
| list | `["a", "b"]` |
| by name | an object with names of your choice: `{"train": …}` |
"""

SCALARS = {"string": "string", "bool": "boolean", "double": "number", "int64": "integer", "uint64": "integer",
           "int32": "integer", "google.protobuf.Duration": "duration"}
LISTS = {"string": "list of strings", "number": "list of numbers"}
MAPS = {"string": "strings by name", "number": "numbers by name", "integer": "integers by name"}


# Pages that tell more of a block.
GUIDES = {"trainer": "../trainer-contract.md", "channels.NAME": "../data-files.md", "cluster": "../clusters.md",
          "sampler": "../search.md#samplers", "pruner": "../search.md#pruners", "completion": "../search.md#when-a-job-ends",
          "parameters[].prior": "../search.md#priors",
          "warm_start": "../search.md#warm-start", "scheduling": "../clusters.md#who-comes-first"}


def anchor(path):
    return path.replace("[]", "").removesuffix(f".{NAME}")


def without_default(comment, where):
    """(default, the rest) of a field's comment. `where` is told if it says neither a default nor that it is required."""
    text = one_line(comment)
    said = re.search(r"(?:^| )(Default: (?P<default>.+?)|(?P<required>Required.*?))\.(?= |$)", text)
    if not said:
        raise Lack(f"{where}: the comment says neither \"Default: …\" nor \"Required\"")
    rest = (text[:said.start()] + text[said.end():]).strip()
    required = said["required"]
    return said["default"] or required[0].lower() + required[1:], rest


class Block:
    """The fields of one message, as they are reached in a job file."""

    def __init__(self, path, message):
        self.path, self.message = path, message

    def at(self, field):
        return f"{self.path}.{field.name}" if self.path else field.name


class Pages:
    def __init__(self, contract):
        self.contract = contract
        self.blocks = []
        self.enums = {}  # name: the path of the first field that takes it
        self.anchors = {}  # of each path, and of each message and enum
        self.walk("", ROOT)

    def walk(self, path, message_name):
        block = Block(path, self.contract.messages[message_name])
        self.blocks.append(block)
        self.anchors.setdefault(message_name, anchor(path) if path else "the-job")
        for field in block.message.fields:
            at = block.at(field)
            self.anchors[at.replace("[]", "")] = self.anchors[at] = anchor(at)
            value = field.map_value or field
            if value.kind == "enum" and value.type not in self.enums:
                self.enums[value.type] = at
                self.anchors[value.type] = anchor(at) + ".values"
            if value.kind == "message" and value.type in self.contract.messages:
                self.walk(at + (f".{NAME}" if field.map_value else "[]" if field.repeated else ""), value.type)

    def link(self, code):
        return "#" + self.anchors[code] if code in self.anchors and code not in self.contract.messages else ""

    def value(self, field):
        """What may stand there, in words."""
        value = field.map_value or field
        if value.kind == "enum":
            return f"[enum](#{self.anchors[value.type]})"
        if value.kind == "message" and value.type in self.contract.messages:
            what = "objects by name" if field.map_value else "list of objects" if field.repeated else "object"
            return f"[{what}](#{self.anchors[value.type]})"
        word = SCALARS[value.type]
        return MAPS[word] if field.map_value else LISTS[word] if field.repeated else word

    def row(self, block, field):
        at = block.at(field)
        if not field.comment:
            raise Lack(f"{at}: {block.message.name}.{field.name} has no comment")
        if field.oneof:
            default, meaning = "exactly one of these", one_line(field.comment)
        else:
            default, meaning = without_default(field.comment, f"{at}: {block.message.name}.{field.name}")
        is_block = (field.map_value or field).type in self.contract.messages
        name = f"`{at}`" if is_block else anchored(anchor(at), at)  # the block's own section is where links lead
        return [name, self.value(field), escaped(default, self.link), escaped(meaning, self.link)]

    def words(self, enum_name):
        """The words that an enum's fields take."""
        enum = self.contract.enums[enum_name]
        for value in enum.named():
            if not value.comment:
                raise Lack(f"{enum.name}.{value.name} has no comment")
        rows = [[f"`{value.name}`", escaped(one_line(value.comment), self.link)] for value in enum.named()]
        return f'\n<a id="{self.anchors[enum_name]}"></a>What `{self.enums[enum_name]}` may be:\n\n' + table(["word", "meaning"], rows)

    def section(self, block):
        text = f'\n## <a id="{anchor(block.path)}"></a>`{block.path}`\n\n' if block.path else "\n## The job\n\n"
        text += paragraphs(block.message.comment, self.link)
        text += f" [More]({GUIDES[block.path]})\n\n" if block.path in GUIDES else "\n\n"
        text += table(["field", "value", "default", "meaning"], [self.row(block, field) for field in block.message.fields])
        for field in block.message.fields:
            if field.kind == "enum" and self.enums[field.type] == block.at(field):
                text += self.words(field.type)
        return text

    def contents(self):
        lines = []
        for block in self.blocks:
            fields = " ".join(f"[`{field.name}`](#{anchor(block.at(field))})" for field in block.message.fields)
            name = f"`{block.path}`" if block.path else "the job"
            lines.append(f"- {name}: {fields}\n")
        return "".join(lines)

    def text(self):
        page = head("Job file: every field", "the comments of TuningJobSpec in proto/winnow/v1/tuning.proto")
        return page + "\n" + INTRODUCTION + self.contents() + "".join(map(self.section, self.blocks)) + WRITTEN


def page(contract):
    return Pages(contract).text()


def anchors(contract):
    """Where on the page each message and enum of a job file is: {name: anchor}."""
    pages = Pages(contract)
    return {name: at for name, at in pages.anchors.items() if name in contract.messages or name in contract.enums}
