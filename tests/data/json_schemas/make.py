#!/usr/bin/env python3
"""Makes cases.json: texts that follow JSON schemas or not, by PyPI's jsonschema: python tests/data/json_schemas/make.py

Tern writes a part of the texts that follow a schema: members in the schema's order, little space, numbers of 15 digits."""
import json
import pathlib

import jsonschema

PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 150},
                                           "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2}},
          "required": ["name", "age"], "additionalProperties": False}
NODE = {"$defs": {"node": {"type": "object", "properties": {"value": {"type": "number"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
                           "required": ["value", "next"], "additionalProperties": False}}, "$ref": "#/$defs/node"}
SHAPES = {"oneOf": [{"type": "object", "properties": {"kind": {"const": "disc"}, "radius": {"type": "number", "exclusiveMinimum": 0}},
                     "required": ["kind", "radius"], "additionalProperties": False},
                    {"type": "object", "properties": {"kind": {"enum": ["box", "cube"]}, "side": {"type": "integer", "multipleOf": 1}},
                     "required": ["kind"], "additionalProperties": False}, {"type": "null"}]}
# schema, texts that Tern writes if they are valid, texts that Tern never writes
CASES = [
    ({}, ["1", "-0.5e+10", '"a\\u00e9\\n"', '"é😀"', "[]", "[1, [2,\n  3]]", '{"a": {"b": null}, "c": [true, false]}', "{}", '{ "a": 1}', "1.", "01", "'a'", '"\x07"', '"\\x"',
          "[1,]", '{"a" 1}', "nul", '{"a":1,}', '"\\ud83d"'], ["1" * 20, "[1 , 2]", ' 1', '"\\ud83d\\ude00"']),
    ({"type": "object"}, ["{}", '{"x": 1, "y": "z"}', "[]", '"a"', "3"], []),
    (PERSON, ['{"name": "Ada", "age": 36}', '{"name":"Ada","age":150,"tags":["a", "b"]}', '{\n  "name": "A",\n  "age": 0,\n  "tags": []\n}', '{"name": "Ada"}',
              '{"name": "Ada", "age": 151}', '{"name": "Ada", "age": -1}', '{"name": "Ada", "age": 3.5}', '{"name": 1, "age": 3}',
              '{"name": "a", "age": 3, "tags": ["a", "b", "c"]}', '{"name": "a", "age": 3, "more": 1}', "{}"], ['{"age": 3, "name": "a"}']),
    (NODE, ['{"value": 1, "next": null}', '{"value": 1.5, "next": {"value": -2, "next": {"value": 3, "next": null}}}', '{"value": 1}', '{"value": 1, "next": 2}',
            '{"value": 1, "next": {"value": 2}}'], []),
    (SHAPES, ['{"kind": "disc", "radius": 2.5}', '{"kind": "box"}', '{"kind": "cube", "side": -3}', "null", '{"kind": "disc"}', '{"kind": "disc", "radius": 0}',
              '{"kind": "disc", "radius": 0.0001}', '{"kind": "box", "radius": 1}', '{"kind": "ring"}'], []),
    ({"type": "string", "minLength": 2, "maxLength": 3}, ['"ab"', '"abc"', '"é😀"', '"\\n\\t"', '"\\u00e9x"', '"a"', '"abcd"', '""', '"😀"'], []),
    ({"type": "string", "pattern": "^[a-c]{2,3}(x|yz)?$"}, ['"ab"', '"abcx"', '"abyz"', '"a"', '"abcd"', '"aby"', '"Xab"'], ['"\\u0061b"']),
    ({"type": "string", "pattern": "b+\\d"}, ['"ab1c"', '"bb7"', '"b"', '"1b"', '"é b0 \\" q"'], []),
    ({"type": "string", "pattern": "^[^\"]\"\\\\$"}, ['"a\\"\\\\"', '"é\\"\\\\"', '"\\"\\"\\\\"'], []),
    ({"type": "string", "pattern": "^(a|b*c)*$|^q"}, ['""', '"abbca"', '"b"', '"qxyz"', '"xq"'], []),
    ({"enum": ["red", 3, None, {"a": [1]}, True]}, ['"red"', "3", "null", '{"a":[1]}', "true", '"blue"', "4", "false"], []),
    ({"const": "tern"}, ['"tern"', '"gull"'], []),
    ({"type": ["integer", "null"]}, ["5", "null", "5.5", '"5"'], ["-0"]),
    ({"type": "integer", "minimum": -12, "maximum": 1034}, [str(n) for n in (-13, -12, -11, -10, -9, -1, 0, 7, 99, 100, 999, 1000, 1033, 1034, 1035, 1040, 2000)], []),
    ({"type": "integer", "exclusiveMinimum": 9, "exclusiveMaximum": 21}, [str(n) for n in (9, 10, 11, 19, 20, 21, 100)], []),
    ({"type": "integer", "minimum": -305, "exclusiveMaximum": -17.5}, [str(n) for n in (-306, -305, -300, -299, -100, -99, -18, -17, 0, 18)], []),
    ({"type": "number", "minimum": 0, "maximum": 1}, ["0", "1", "0.25", "0.0001", "1.1", "-0.1", "2"], ["1.0", "0.0", "1e-3"]),
    ({"type": "number", "exclusiveMinimum": -2, "maximum": 2.5}, ["-2", "-1.99", "-0.5", "0", "1.75", "2", "3", "2.6"], ["2.5", "2.25"]),
    ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False, "minItems": 1}, ['["a"]', '["a", 1]', "[]", "[1]", '["a", 1, 2]'], []),
    ({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "boolean"}, "minItems": 2, "maxItems": 4},
     ['["a", true]', '["a", true, false, true]', '["a"]', '["a", 1]', '["a", true, false, true, true]'], []),
    ({"type": "array", "items": {"type": "null"}, "minItems": 3}, ["[null, null, null]", "[null,null,null,null]", "[null, null]"], []),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, ["{}", '{"a": 1, "b": 2}', '{"a": "x"}'], []),
    ({"type": "object", "properties": {"a": {"type": "integer"}, "ab": {"type": "integer"}, "é": {"type": "null"}}, "required": ["ab"], "additionalProperties": {"type": "string"}},
     ['{"a": 1, "ab": 2, "x": "y"}', '{"ab": 2, "b": "y", "abc": "z"}', '{"ab": 2, "a": "x"}', '{"a": 1}', '{"ab": 1, "é": null, "è": "x"}', '{"ab": 1, "x": 3}', '{"ab": 1, "": "e"}'],
     ['{"x": "y", "ab": 2}']),
    ({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a", "b"]}, ['{"a": 1, "b": [2]}', '{"a": 1}'], ['{"a": 1, "b": 2, "c": 3}']),
    ({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"b": {"type": "null"}}, "required": ["b"]}]},
     ['{"a": 1, "b": null}', '{"a": 1}', '{"a": 1, "b": 2}'], []),
    ({"anyOf": [{"type": "string"}, {"type": "integer"}], "title": "either", "default": "x"}, ['"a"', "3", "null", "1.5"], []),
    ({"type": "string", "format": "date"}, ['"2026-11-28"', '"2026-13-01"', '"26-1-1"'], ['"2026-01-31"']),
    ({"type": "string", "format": "ipv4"}, ['"127.0.0.1"', '"255.255.255.255"', '"256.1.1.1"', '"1.1.1"'], []),
    ({"type": "string", "format": "uuid"}, ['"123e4567-e89b-12d3-a456-426614174000"', '"123e4567"'], []),
    (True, ["1", '"a"'], []),
]


def is_valid(schema, text):
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # no lone surrogates
        jsonschema.validate(value, schema, cls=jsonschema.Draft202012Validator, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    except (ValueError, jsonschema.ValidationError):
        return False
    return True


def main():
    cases = []
    for schema, texts, never in CASES:
        assert all(is_valid(schema, text) or schema == {} for text in never), (schema, never)
        cases.append({"schema": schema, "texts": {**{text: is_valid(schema, text) for text in texts}, **{text: False for text in never}}})
    path = pathlib.Path(__file__).with_name("cases.json")
    path.write_text("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]\n")
    print(sum(len(case["texts"]) for case in cases), "texts,", sum(sum(case["texts"].values()) for case in cases), "to write")


if __name__ == "__main__":
    main()
