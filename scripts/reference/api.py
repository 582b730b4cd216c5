"""docs/reference/api.md: every method of every service, from proto/winnow/v1, server/grpc/roles.cc and /v1/openapi.json."""

from reference import job_file, roles
from reference.markdown import anchored, escaped, first_sentence, head, one_line, paragraphs, table
from reference.protos import Lack

ORDER = ["tuning", "insight", "usage", "admin", "artifact", "worker"]  # of files, what most callers want first
OWN = ("HttpRule",)  # about the contract, not in it

INTRODUCTION = """\
The same methods over gRPC (`winnow.v1.SERVICE/METHOD`) and over HTTP, with the same messages as JSON;
[the HTTP API](../http-api.md) describes calls, errors, events, tokens and limits. JSON uses the field names below; requests
may also use lowerCamelCase. A Timestamp is a string as in RFC 3339, a Duration a string of seconds (`"1.5s"`), an
int64 a number, or a string beyond 2^53. On a server that requires tokens, a method needs a token of the role given;
submitters may do what viewers may, and admins may do everything.
"""


def anchor(name):
    return name.lower()


class Pages:
    def __init__(self, contract, permissions, openapi):
        self.contract, self.permissions, self.openapi = contract, permissions, openapi
        self.job_file = job_file.anchors(contract)
        methods = [method for service in contract.services for method in service.methods]
        self.asked = {method.request for method in methods}
        answers = [method.answer for method in methods]
        self.told = {name for name in answers if name.endswith("Response") and answers.count(name) == 1}
        order = {f"winnow/v1/{name}.proto": i for i, name in enumerate(ORDER)}
        self.files = sorted(contract.files, key=lambda name: order.get(name, len(ORDER)))
        declared = [name for file in self.files for name in contract.files[file]]
        self.types = [name for name in declared if name not in self.asked | self.told | self.job_file.keys() and name not in OWN]
        first = {file: i for i, file in enumerate(self.files)}
        where = {method.request: first[file] for file in self.files for method in methods if method.request in contract.files[file]}
        self.services = sorted(contract.services, key=lambda service: where[service.methods[0].request])

    def reference(self, name):
        if name in self.job_file:
            return f"[{name}]({job_file.PAGE}#{self.job_file[name]})"
        return f"[{name}](#{anchor(name)})" if name in self.types else name.removeprefix("google.protobuf.")

    def named(self, name):
        """A request or an answer: with a link if its fields are not in the method's own table."""
        if self.reference(name) != name:
            return self.reference(name)
        return f"`{name}`" + ("" if self.contract.messages[name].fields else " (no fields)")

    def type(self, field):
        if field.map_value:
            return f"map of {self.type(field.map_value)} by text"
        name = field.type if field.kind == "scalar" else self.reference(field.type)
        return f"list of {name}" if field.repeated else name

    def rows(self, message, where):
        """A row for each field; `where` says of its name whether it is in the path, the query, the body or the answer."""
        for field in message.fields:
            meaning = escaped(one_line(field.comment))
            if field.oneof:
                meaning = "one of " + ", ".join(f"`{name}`" for name in field.oneof) + (f": {meaning}" if meaning else "")
            yield [f"`{field.name}`", self.type(field), where(field.name), meaning]

    def role(self, service, method):
        name = f"{service.name}.{method.name}"
        return roles.in_words(self.permissions.get((service.name, method.name)), name)

    def check(self, method):
        said = self.openapi["paths"].get(method.path, {})
        if method.verb and method.verb.lower() not in said:
            raise Lack(f"{method.name}: the server's /v1/openapi.json has no {method.verb} {method.path}; build it anew")

    def method(self, service, method):
        if not method.comment:
            raise Lack(f"{service.name}.{method.name} has no comment")
        self.check(method)
        called = f"`{method.verb} {method.path}`" if method.verb else "Over gRPC only"
        asked = ("a stream of " if method.takes_stream else "") + self.named(method.request)
        told = ("a stream of " if method.gives_stream else "") + self.named(method.answer)
        rest = {"": "request", "POST": "body"}.get(method.verb, "query")
        rows = []
        if method.request not in self.types:
            rows += self.rows(self.contract.messages[method.request],
                              lambda name: "path" if f"{{{name}}}" in method.path else rest)
        if method.answer in self.told:
            rows += self.rows(self.contract.messages[method.answer], lambda name: "answer")
        return (f"\n### {method.name}\n\n{paragraphs(method.comment)}\n\n"
                f"{called} · role {self.role(service, method)} · takes {asked} · answers {told}\n"
                + ("\n" + table(["field", "type", "in", "meaning"], rows) if rows else ""))

    def service(self, service):
        text = f"\n## {service.name}\n\n{paragraphs(service.comment)}\n"
        return text + "".join(self.method(service, method) for method in service.methods)

    def contents(self):
        rows = []
        for service in self.services:
            rows.append([f"**[{service.name}](#{anchor(service.name)})**", "", "", escaped(first_sentence(service.comment))])
            for method in service.methods:
                called = f"`{method.verb} {method.path}`" if method.verb else "gRPC only"
                rows.append([f"[{method.name}](#{anchor(method.name)})", called, self.role(service, method),
                             escaped(first_sentence(method.comment))])
        return table(["method", "over HTTP", "role", "what it does"], rows)

    def own_paths(self):
        """The paths that are not methods."""
        methods = {(method.path, method.verb.lower()) for service in self.services for method in service.methods}
        rows = []
        for path, operations in sorted(self.openapi["paths"].items()):
            for verb, operation in sorted(operations.items()):
                if (path, verb) in methods:
                    continue
                token = "no" if operation.get("security") == [] else "yes"
                rows.append([f"`{verb.upper()} {path}`", token, escaped(one_line(operation["description"]))])
        return "\n## Paths that are not methods\n\n" + table(["path", "needs a token where they are required", "what it answers"], rows)

    def shape(self, name):
        """The rows of a message or an enum: one that begins it, then one for each field or value."""
        shape = self.contract.enums.get(name) or self.contract.messages[name]
        if name in self.contract.messages and not shape.comment:
            raise Lack(f"{name} has no comment")
        yield [f'<a id="{anchor(name)}"></a>**{name}**', "", escaped(one_line(shape.comment))]
        if name in self.contract.enums:
            yield from ([f"`{value.name}`", "", escaped(one_line(value.comment))] for value in shape.named())
        else:
            yield from ([field, kind, meaning] for field, kind, _, meaning in self.rows(shape, lambda name: ""))

    def shapes(self, file):
        """The messages and enums of a file, in one table."""
        rows = [row for name in self.types if name in self.contract.files[file] for row in self.shape(name)]
        return f"\n### {file.rsplit('/', 1)[1]}\n\n" + table(["field or value", "type", "meaning"], rows) if rows else ""

    def text(self):
        page = head("API: every method", "the comments in proto/winnow/v1, server/grpc/roles.cc and /v1/openapi.json")
        page += "\n" + INTRODUCTION + "\n" + self.contents()
        page += "\nAnd [the paths that are not methods](#paths-that-are-not-methods).\n"
        page += "\nMessages: " + " ".join(f"[{name}](#{anchor(name)})" for name in sorted(self.types)) + "\n"
        page += "".join(map(self.service, self.services)) + self.own_paths()
        page += "\n## Messages\n\nThe rows below a bold name are a message's fields or an enum's values. "
        page += "Messages of a job file are on [its page](job-file.md).\n"
        return page + "".join(map(self.shapes, self.files))


def page(contract, permissions, openapi):
    return Pages(contract, permissions, openapi).text()
