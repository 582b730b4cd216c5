"""Who may call what, from the table in server/grpc/roles.cc."""

import re

from reference.protos import Lack


def bits(expression, known):
    """The roles of "Bit(v1::VIEWER) | kSubmitters"."""
    roles = set()
    for term in expression.split("|"):
        role = re.fullmatch(r"Bit\(v1::(\w+)\)", term.strip())
        roles |= {role[1]} if role else known[term.strip()]
    return roles


def read(source):
    """{(service, method): set of role names} of the text of server/grpc/roles.cc."""
    known = {}
    for name, expression in re.findall(r"constexpr unsigned (\w+) = ([^;]+);", source):
        known[name] = bits(expression, known)
    services = dict(re.findall(r'constexpr std::string_view (\w+) = "winnow\.v1\.(\w+)";', source))
    rows = re.findall(r'\{(k\w+), "(\w+)", (k\w+),\s*"[^"]+",\s*(?:"[\w.]+"|k\w+)(?:,\s*kAudited)?\}', source)
    return {(services[service], method): known[roles] for service, method, roles in rows}


def in_words(roles, where):
    """The least that a caller must be: who may do more may do it too."""
    if not roles:
        raise Lack(f"{where}: server/grpc/roles.cc has no row for it")
    least = set(roles) - {"ADMIN"} or {"ADMIN"}
    if "VIEWER" in least:
        least -= {"SUBMITTER"}
    return " or ".join(role.lower() for role in sorted(least, key=["VIEWER", "SUBMITTER", "WORKER", "ADMIN"].index))
