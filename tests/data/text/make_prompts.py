#!/usr/bin/env python3
"""Renders the templates of templates/ with jinja2, in the environment of transformers' apply_chat_template, and writes prompts.json.

usage: PYTHON make_prompts.py     (needs jinja2)
"""
import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

HERE = pathlib.Path(__file__).parent
NOW = 1735787045  # 2 January 2025, 03:04:05 UTC

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find_nests",
            "description": "Finds nests of a bird.",
            "parameters": {
                "type": "object",
                "properties": {
                    "bird": {"type": "string", "description": "A bird's \"name\"", "enum": ["tern", "gull"]},
                    "limit": {"type": "integer", "description": "The most nests", "default": 10},
                    "area": {"type": "array", "items": {"type": "number"}},
                    "seasons": {"type": "array", "items": {"type": "object", "properties": {"year": {"type": "integer"}, "name": {"type": "string"}}, "required": ["year"]}},
                    "note": {"type": ["string", "null"]},
                    "any": {"oneOf": [{"type": "string", "default": "x"}, {"type": "boolean", "description": "or not"}]},
                },
                "required": ["bird"],
            },
        },
    },
    {"type": "function", "function": {"name": "now", "description": "Gives the time <now> & here.", "parameters": {"type": "object", "properties": {}}}},
]
CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "abcdef123", "type": "function", "function": {"name": "find_nests", "arguments": {"bird": "tern", "limit": 2, "größe": 1.5, "x": None}}}]}
CONVERSATIONS = {
    "user": [{"role": "user", "content": "Where do terns nest?"}],
    "system": [{"role": "system", "content": "Answer briefly.\n"}, {"role": "user", "content": "  Hello ü 你好 🐦 "}],
    "turns": [
        {"role": "system", "content": "You know birds."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "<think>\nA greeting.\n</think>\n\nHello!"},
        {"role": "user", "content": "Which bird flies farthest?"},
        {"role": "assistant", "content": " The arctic tern. "},
        {"role": "user", "content": "Why?"},
    ],
    "answered": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}],
    "reasoning": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "reasoning_content": "Add.", "content": "4"}],
    "tools": [
        {"role": "user", "content": "Nests?"},
        CALL,
        {"role": "tool", "tool_call_id": "abcdef123", "content": "[1, 2]"},
        {"role": "assistant", "content": "Two nests."},
        {"role": "user", "content": "Thanks"},
    ],
    "pending": [{"role": "system", "content": "S"}, {"role": "user", "content": "Nests?"}, CALL, {"role": "tool", "tool_call_id": "abcdef123", "content": "none"}],
    "wrong": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
    "parts": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " See this "}]}],
    "empty": [],
}
OPTIONS = [
    {"add_generation_prompt": True},
    {"add_generation_prompt": False},
    {"add_generation_prompt": True, "tools": TOOLS},
    {"add_generation_prompt": True, "variables": {"enable_thinking": False, "reasoning_effort": "high", "tools_in_user_message": False, "date_string": "1 May 2025"}, "tools": TOOLS},
]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


class Generation(jinja2.ext.Extension):
    """The tag generation, whose body is output as it is."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime(form)
    return env


def main():
    env, cases = environment(), []
    for path in sorted((HERE / "templates").glob("*.jinja")):
        template = env.from_string(path.read_text(encoding="utf8"))
        for name, messages in CONVERSATIONS.items():
            for option in OPTIONS:
                case = {"template": path.name, "conversation": name, "option": OPTIONS.index(option)}
                try:
                    case["prompt"] = template.render(
                        messages=messages,
                        tools=option.get("tools"),
                        documents=None,
                        add_generation_prompt=option["add_generation_prompt"],
                        **{**TOKENS, **option.get("variables", {})},
                    )
                except Exception as error:  # templates refuse some conversations, and others lack what they read
                    case["error"] = str(error)
                if "tools" not in option or case.get("prompt") != cases[-1].get("prompt"):
                    cases.append(case)
    facts = {"time": NOW, "tokens": TOKENS, "conversations": CONVERSATIONS, "options": OPTIONS, "cases": cases}
    (HERE / "prompts.json").write_text(json.dumps(facts, ensure_ascii=False, indent=0) + "\n", encoding="utf8")
    print(len(cases), "prompts,", sum("error" in case for case in cases), "refused")


if __name__ == "__main__":
    main()
