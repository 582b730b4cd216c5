"""The contract: messages, enums and services of proto/winnow/v1 with their comments, as protoc describes them."""

import dataclasses
import pathlib
import subprocess
import tempfile

PACKAGE = ".winnow.v1."
HTTP_RULE = 50700  # the method option of http.proto
VERBS = {1: "GET", 2: "POST", 3: "DELETE"}
SCALARS = {1: "double", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string", 12: "bytes"}
MESSAGE, ENUM, REPEATED = 11, 14, 3


class Lack(Exception):
    """A source does not say what a page needs; the text says what is missing where."""


@dataclasses.dataclass
class Value:
    name: str
    comment: str


@dataclasses.dataclass
class Enum:
    name: str  # without the package: "Trial.State"
    comment: str
    values: list

    def named(self):
        """The values that are said, without the one that stands for nothing said."""
        return [value for value in self.values if "UNSPECIFIED" not in value.name]


@dataclasses.dataclass
class Field:
    name: str
    json: str
    comment: str
    type: str  # a scalar's name, or the name of a message or enum without the package
    kind: str  # "scalar", "message" or "enum"
    repeated: bool
    oneof: tuple = ()  # names of all fields of its oneof, itself included
    map_value: "Field" = None  # of a map from text


@dataclasses.dataclass
class Message:
    name: str
    comment: str
    fields: list


@dataclasses.dataclass
class Method:
    name: str
    comment: str
    request: str
    answer: str
    takes_stream: bool
    gives_stream: bool
    verb: str = ""  # "": not over HTTP
    path: str = ""


@dataclasses.dataclass
class Service:
    name: str
    comment: str
    methods: list


@dataclasses.dataclass
class Contract:
    messages: dict  # by name
    enums: dict  # by name
    services: list  # in the order of the files
    files: dict  # name of a file: names of its messages and enums, in order


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def entries(data):
    """(number, value) of each field of an encoded message: an integer, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            size = {1: 8, 5: 4}[key & 7]
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def all_of(data, number):
    return [value for key, value in entries(data) if key == number]


def one(data, number, otherwise=None):
    return next(iter(all_of(data, number)), otherwise)


def text_of(data, number):
    return one(data, number, b"").decode()


class Reader:
    """One file's descriptors, numbered as google/protobuf/descriptor.proto numbers them."""

    def __init__(self, data, contract):
        self.contract = contract
        self.comments = {}
        for location in all_of(one(data, 9, b""), 1):
            path, at, packed = [], 0, one(location, 1, b"")
            while at < len(packed):
                number, at = varint(packed, at)
                path.append(number)
            said = [text_of(location, number) for number in (3, 4)]  # before it and behind it
            self.comments[tuple(path)] = "\n".join(text.rstrip("\n") for text in said if text)
        self.names = contract.files.setdefault(text_of(data, 1), [])
        for index, message in enumerate(all_of(data, 4)):
            self.message(message, (4, index), "")
        for index, enum in enumerate(all_of(data, 5)):
            self.enum(enum, (5, index), "")
        for index, service in enumerate(all_of(data, 6)):
            self.service(service, (6, index))

    def comment(self, path):
        return self.comments.get(path, "")

    def message(self, data, path, scope):
        name = scope + text_of(data, 1)
        self.names.append(name)
        maps = {}
        for index, nested in enumerate(all_of(data, 3)):
            if one(one(nested, 7, b""), 7, 0):  # an entry of a map: key 1, value 2
                value = all_of(nested, 2)[1]
                maps[PACKAGE + name + "." + text_of(nested, 1)] = self.field(value, (), {}, [])
            else:
                self.message(nested, path + (3, index), name + ".")
        for index, enum in enumerate(all_of(data, 4)):
            self.enum(enum, path + (4, index), name + ".")
        encoded = all_of(data, 2)
        fields = [self.field(field, path + (2, index), maps, encoded) for index, field in enumerate(encoded)]
        self.contract.messages[name] = Message(name, self.comment(path), fields)

    def field(self, data, path, maps, siblings):
        number, type_name = one(data, 5), text_of(data, 6)
        kind = {MESSAGE: "message", ENUM: "enum"}.get(number, "scalar")
        type_ = SCALARS[number] if kind == "scalar" else type_name.removeprefix(PACKAGE).removeprefix(".")
        oneof = ()
        if one(data, 9) is not None and not one(data, 17, 0):  # in a oneof that is more than "optional"
            oneof = tuple(text_of(other, 1) for other in siblings if one(other, 9) == one(data, 9))
        return Field(text_of(data, 1), text_of(data, 10), self.comment(path), type_, kind, one(data, 4) == REPEATED,
                     oneof, maps.get(type_name))

    def enum(self, data, path, scope):
        values = [Value(text_of(value, 1), self.comment(path + (2, index))) for index, value in enumerate(all_of(data, 2))]
        name = scope + text_of(data, 1)
        self.names.append(name)
        self.contract.enums[name] = Enum(name, self.comment(path), values)

    def service(self, data, path):
        methods = []
        for index, method in enumerate(all_of(data, 2)):
            request, answer = (text_of(method, number).removeprefix(PACKAGE) for number in (2, 3))
            rule = list(entries(one(one(method, 4, b""), HTTP_RULE, b"")))
            verb, where = (VERBS[rule[0][0]], rule[0][1].decode()) if rule else ("", "")
            methods.append(Method(text_of(method, 1), self.comment(path + (2, index)), request, answer,
                                  bool(one(method, 5, 0)), bool(one(method, 6, 0)), verb, where))
        self.contract.services.append(Service(text_of(data, 1), self.comment(path), methods))


def read(folder):
    """The contract of `folder`/winnow/v1/*.proto. REQUIRES protoc on the PATH."""
    files = sorted(path.relative_to(folder) for path in pathlib.Path(folder).glob("winnow/v1/*.proto"))
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "contract.pb"
        subprocess.run(["protoc", "-I", folder, "--include_source_info", f"--descriptor_set_out={out}", *files], check=True)
        contract = Contract({}, {}, [], {})
        for data in all_of(out.read_bytes(), 1):
            Reader(data, contract)
    return contract
