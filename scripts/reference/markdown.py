"""Pieces of Markdown that the pages share."""

import re

COMMAND = "scripts/make-reference.py"


def head(title, sources):
    """The beginning of a page that is made of `sources`, in words."""
    return f"# {title}\n\n<!-- Made by {COMMAND} of {sources}: change these and run it again. -->\n"


def escaped(text, link=None):
    """`text` with nothing in it that Markdown or a table would take for its own; backticks stay. `link` makes what
    stands in backticks a link, or gives None."""
    parts = re.split(r"(`[^`]*`)", text)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            part = re.sub(r"([*<\[\]])", r"\\\1", part)
        elif link is not None and link(part[1:-1]):
            part = f"[{part}]({link(part[1:-1])})"
        parts[i] = part.replace("|", "\\|")
    return "".join(parts)


def table(columns, rows):
    """Columns that no row fills are left out."""
    kept = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line[i] for i in kept) + " |" for line in lines) + "\n"


def anchored(anchor, text):
    """`text` as code that #anchor leads to."""
    return f'<a id="{anchor}"></a>`{text}`'


def one_line(comment):
    return " ".join(comment.split())


def paragraphs(comment, link=None):
    """A comment as text: empty lines part paragraphs, indented lines stay as they are."""
    blocks = []
    for block in re.split(r"\n\s*\n", comment.strip("\n")):
        lines = [line.removeprefix(" ") for line in block.split("\n")]
        if all(line.startswith("  ") for line in lines):
            blocks.append("```\n" + "\n".join(line.strip() for line in lines) + "\n```")
        else:
            blocks.append(escaped(one_line(block), link))
    return "\n\n".join(blocks)


def first_sentence(comment):
    """Without its last point."""
    text = one_line(comment)
    return re.split(r"\.(?: |$)", text, maxsplit=1)[0]
