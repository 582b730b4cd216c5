#!/usr/bin/env python3
"""Writes files into a C++ source, so that they are part of the program.

  embed.py page --folder DIST --output page.cc     PageFiles() of server/http/page_files.h: every file of the folder
  embed.py bytes --file F --function Name --output name.cc     std::string_view winnow::Name(): the file's bytes
"""

import argparse
import gzip
import hashlib
import pathlib

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}
LEAST_GAIN = 0.9  # compressed files that are larger than this part are left out


def blob(symbol: str, path: pathlib.Path) -> str:
    """The file's bytes between two symbols; the assembler reads them."""
    return (f'__asm__(".pushsection .rodata\\n.balign 16\\n{symbol}_begin:\\n.incbin \\"{path}\\"\\n{symbol}_end:\\n.byte 0\\n.popsection\\n");\n'
            f"extern const char {symbol}_begin[] __asm__(\"{symbol}_begin\");\n"
            f"extern const char {symbol}_end[] __asm__(\"{symbol}_end\");\n")


def write_if_new(path: pathlib.Path, data: bytes) -> None:
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)


def page(folder: pathlib.Path, output: pathlib.Path) -> None:
    parts = output.parent / "embedded"
    parts.mkdir(parents=True, exist_ok=True)
    blobs, entries, digest = [], [], hashlib.sha256()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if folder / "index.html" not in files:
        raise SystemExit(f"{folder}: there is no index.html")
    for number, path in enumerate(files):
        data = path.read_bytes()
        zipped = gzip.compress(data, 9, mtime=0)
        tag = hashlib.sha256(data).hexdigest()[:20]
        digest.update(data)
        name = path.relative_to(folder).as_posix()
        digest.update(name.encode())
        kind = TYPES.get(path.suffix, "application/octet-stream")
        plain_file, zip_file = parts / f"{number}.plain", parts / f"{number}.gz"
        write_if_new(plain_file, data)
        blobs.append(blob(f"winnow_page_{number}", plain_file))
        packed = "{}"
        if len(zipped) < LEAST_GAIN * len(data):
            write_if_new(zip_file, zipped)
            blobs.append(blob(f"winnow_page_{number}_gz", zip_file))
            packed = f"Between(winnow_page_{number}_gz_begin, winnow_page_{number}_gz_end)"
        entries.append(f'      {{"{name}", "{kind}", "{tag}",\n       Between(winnow_page_{number}_begin, '
                       f"winnow_page_{number}_end), {packed}}},\n")
    output.write_text(
        f"// Made by embed.py; of content {digest.hexdigest()}.\n"
        '#include "server/http/page_files.h"\n\n' + "".join(blobs) +
        "\nnamespace winnow {\nnamespace {\n\n"
        "std::string_view Between(const char* begin, const char* end) {\n"
        "  return {begin, static_cast<size_t>(end - begin)};\n}\n\n}  // namespace\n\n"
        "const std::vector<PageFile>& PageFiles() {\n  static const std::vector<PageFile> kFiles = {\n" + "".join(entries) +
        "  };\n  return kFiles;\n}\n\n}  // namespace winnow\n")


def single(file: pathlib.Path, function: str, output: pathlib.Path) -> None:
    output.write_text(
        f"// Made by embed.py; of content {hashlib.sha256(file.read_bytes()).hexdigest()}.\n"
        "#include <cstddef>\n#include <string_view>\n\n" + blob(f"winnow_{function}", file) +
        f"\nnamespace winnow {{\n\nstd::string_view {function}();\nstd::string_view {function}() {{\n"
        f"  return {{winnow_{function}_begin, static_cast<size_t>(winnow_{function}_end - winnow_{function}_begin)}};\n"
        "}\n\n}  // namespace winnow\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    of_page = commands.add_parser("page")
    of_page.add_argument("--folder", type=pathlib.Path, required=True)
    of_page.add_argument("--output", type=pathlib.Path, required=True)
    of_bytes = commands.add_parser("bytes")
    of_bytes.add_argument("--file", type=pathlib.Path, required=True)
    of_bytes.add_argument("--function", required=True)
    of_bytes.add_argument("--output", type=pathlib.Path, required=True)
    flags = parser.parse_args()
    if flags.command == "page":
        page(flags.folder.resolve(), flags.output)
    else:
        single(flags.file.resolve(), flags.function, flags.output)


if __name__ == "__main__":
    main()
