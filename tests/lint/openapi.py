#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks docs/openapi.yaml, and that docs/openapi.json (what the server embeds) says the same.

Every $ref must resolve, every schema must be valid JSON Schema 2020-12, every example must
satisfy its schema, and operationIds must be unique. With --write the JSON is made anew.
"""
import json
import pathlib
import sys

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
YAML, JSON = ROOT / "docs/openapi.yaml", ROOT / "docs/openapi.json"


class Loader(yaml.SafeLoader):
    """YAML without time stamps (an example's time is a string) and without silent duplicates."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, exp) for tag, exp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def mapping(loader, node, deep=False):
    seen = set()
    for key, _ in node.value:
        name = loader.construct_object(key, deep=True)
        if name in seen:
            raise SystemExit(f"{YAML}:{key.start_mark.line + 1}: '{name}' stands twice")
        seen.add(name)
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)


def walk(node, path="#"):
    yield path, node
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from walk(child, f"{path}/{key}")


def check(doc):
    faults = []
    resolver = jsonschema.RefResolver("", doc)
    for path, node in walk(doc):
        if isinstance(node, dict) and isinstance(node.get("$ref"), str):
            try:
                resolver.resolve(node["$ref"])
            except jsonschema.RefResolutionError:
                faults.append(f"{path}: {node['$ref']} does not exist")
    if faults:
        return faults
    for name, schema in doc["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
        for i, example in enumerate(schema.get("examples", [])):
            for e in validator.iter_errors(example):
                faults.append(f"schema {name}, example {i}: {e.json_path}: {e.message}")
    ids = [op["operationId"] for item in doc["paths"].values() for verb, op in item.items() if verb != "parameters"]
    faults += [f"operationId {i} stands twice" for i in set(ids) if ids.count(i) > 1]
    return faults


def main():
    doc = yaml.load(YAML.read_text(), Loader)
    faults = check(doc)
    text = json.dumps(doc, indent=1, ensure_ascii=False) + "\n"
    if sys.argv[1:] == ["--write"]:
        JSON.write_text(text)
    elif not JSON.exists() or JSON.read_text() != text:
        faults.append("docs/openapi.json differs from docs/openapi.yaml: run tests/lint/openapi.py --write")
    for fault in faults:
        print(f"openapi: {fault}", file=sys.stderr)
    return 1 if faults else 0


sys.exit(main())
