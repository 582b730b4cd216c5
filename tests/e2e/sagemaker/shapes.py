"""Answers beside what botocore's model says of them: in JSON, CBOR, and XML as S3 and forms have it. Stricter than botocore's parsers, which
leave out what they do not know."""

import datetime
import io
import json
import xml.etree.ElementTree

import botocore.parsers


def differences(shape, value, path="$"):
    """Where a value is not what the model says: unknown and missing members, wrong types and values."""
    kind = shape.type_name
    if kind == "structure":
        if not isinstance(value, dict):
            return [f"{path}: no structure"]
        found = [f"{path}.{name}: unknown" for name in value if name not in shape.members]
        found += [f"{path}.{name}: missing" for name in shape.required_members if name not in value]
        for name, member in value.items():
            if name in shape.members:
                found += differences(shape.members[name], member, f"{path}.{name}")
        return found
    if kind == "list":
        if not isinstance(value, list):
            return [f"{path}: no list"]
        return [each for n, member in enumerate(value) for each in differences(shape.member, member, f"{path}[{n}]")]
    if kind == "map":
        return [each for key, member in value.items() for each in differences(shape.value, member, f"{path}.{key}")]
    types = {"string": str, "boolean": bool, "integer": int, "long": int, "float": (int, float), "double": (int, float),
             "timestamp": (int, float, datetime.datetime)}
    if not isinstance(value, types[kind]) or (kind != "boolean" and isinstance(value, bool)):
        return [f"{path}: {value!r} is no {kind}"]
    if getattr(shape, "enum", None) and value not in shape.enum:
        return [f"{path}: {value!r} is none of {shape.enum}"]
    return []


def of_cbor(content):
    """The value; times are datetime only where they are tagged as such."""
    return botocore.parsers.BaseCBORParser().parse_data_item(io.BufferedReader(io.BytesIO(content)))


def local(element):
    return element.tag.rsplit("}", 1)[-1]


def scalar(shape, text, path):
    kind = shape.type_name
    try:
        value = {"string": str, "boolean": {"true": True, "false": False}.__getitem__, "integer": int, "long": int, "float": float, "double": float,
                 "timestamp": lambda text: datetime.datetime.strptime(text[:19] + text[-1:], "%Y-%m-%dT%H:%M:%SZ")}[kind](text)
    except (KeyError, ValueError):
        return None, [f"{path}: {text!r} is no {kind}"]
    return value, []


def xml_differences(shape, element, path="$"):
    """As differences, of an element."""
    kind = shape.type_name
    if kind == "structure":
        names = {}
        for name, member in shape.members.items():
            if "location" in member.serialization:
                continue
            flat = member.type_name == "list" and member.serialization.get("flattened")
            own = member.member.serialization.get("name") if flat else None
            names[own or member.serialization.get("name", name)] = (name, member, flat)
        found = [f"{path}.{local(each)}: unknown" for each in element if local(each) not in names]
        present = {names[local(each)][0] for each in element if local(each) in names}
        found += [f"{path}.{name}: missing" for name in shape.required_members if name not in present and "location" not in shape.members[
            name].serialization]
        for each in element:
            if local(each) in names:
                _, member, flat = names[local(each)]
                found += xml_differences(member.member if flat else member, each, f"{path}.{local(each)}")
        return found
    if kind == "list":
        name = shape.member.serialization.get("name", "member")
        found = [f"{path}: {local(each)} is no {name}" for each in element if local(each) != name]
        return found + [wrong for each in element for wrong in xml_differences(shape.member, each, f"{path}.{name}")]
    value, found = scalar(shape, element.text or "", path)
    return found or differences(shape, value, path)


def query_differences(model, content):
    """Of a form's answer."""
    root = xml.etree.ElementTree.fromstring(content)
    result, rest = list(root)[0], [local(each) for each in list(root)[1:]]
    found = [] if (local(root), local(result), rest) == (model.name + "Response", model.name + "Result", ["ResponseMetadata"]) else [
        f"{model.name}: a root {local(root)} with {local(result)} and {rest}"]
    return found + xml_differences(model.output_shape, result)


def s3_differences(model, content):
    """Of an answer of S3 with a body that is no object."""
    shape = model.output_shape
    if shape is None or not content:
        return [] if not content else [f"{model.name}: a body"]
    root = xml.etree.ElementTree.fromstring(content)
    payload = shape.serialization.get("payload")
    if model.name == "GetBucketLocation":  # whose root is the member
        return [] if local(root) == "LocationConstraint" and not list(root) else ["another root"]
    return xml_differences(shape.members[payload] if payload else shape, root)


def error_differences(protocol, model, content, headers, code):
    """Of an error, which clients know as `code`: that it is as the service models it, if it does."""
    shapes = {shape.metadata.get("error", {}).get("code", shape.name): shape for shape in model.error_shapes}
    shape = shapes.get(code)
    if protocol in ("query", "rest-xml"):
        root = xml.etree.ElementTree.fromstring(content)
        error = root if protocol == "rest-xml" else root.find("{*}Error")
        said = {local(each): each.text for each in error}
        wanted = {"Code", "Message"} | ({"Resource", "RequestId"} if protocol == "rest-xml" else {"Type"})
        found = [] if set(said) == wanted and said["Code"] == code and said["Message"] else [f"{model.name}: an error {said}"]
        if protocol == "query" and (local(root), root.find("{*}RequestId") is None) != ("ErrorResponse", False):
            found.append(f"{model.name}: an error without a request id")
        return found
    said = of_cbor(content) if protocol == "cbor" else json.loads(content)
    name = said.pop("__type", None)
    found = [] if name == (shape.name if shape else code) else [f"{model.name}: __type is {name}, of {code}"]
    if "x-amzn-query-error" in headers and headers["x-amzn-query-error"] != code + ";Sender":
        found.append(f"{model.name}: x-amzn-query-error is {headers['x-amzn-query-error']}")
    message = [each for each in ("message", "Message") if shape and each in shape.members]
    if set(said) != {message[0] if message else "message"}:
        found.append(f"{model.name}: an error with {sorted(said)}")
    return found
