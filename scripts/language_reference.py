#!/usr/bin/env python3
"""Writes the operation table of docs/language.md from operations.def, between its two markers.

    language_reference.py            rewrites docs/language.md
    language_reference.py --check    exits with 1 where the table is not what operations.def says
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFINITIONS = ROOT / "include/teeny/detail/operations.def"
DOCUMENT = ROOT / "docs/language.md"
BEGIN, END = "<!-- operations: made from operations.def by scripts/language_reference.py -->", "<!-- end of operations -->"
ROW = re.compile(r'^TEENY_OPERATION\((\w+), (\w+), (\w+), (-?\d+), (\w+), "(.*)"\)$', re.MULTILINE)
TITLES = {
    "leaf": "Leaves", "shape": "Shape", "unary": "Element-wise, one operand", "binary": "Element-wise, two operands",
    "comparison": "Comparisons", "ternary": "Element-wise, three operands", "memory": "Memory", "matrix": "Matrix product",
    "region": "Reductions and scans", "control": "Control flow", "hint": "Promises", "debug": "Debugging",
}
# Where the language spells an operation otherwise than its name.
SPELLING = {
    "constant": "a literal", "neg": "`-x`", "bit_not": "`~x`", "add": "`a + b`", "sub": "`a - b`", "mul": "`a * b`",
    "div": "`a / b`, `tl::div`", "rem": "`a % b`", "bit_and": "`a & b`", "bit_or": "`a | b`", "bit_xor": "`a ^ b`",
    "shl": "`a << b`", "shr": "`a >> b`", "lt": "`a < b`", "le": "`a <= b`", "gt": "`a > b`", "ge": "`a >= b`",
    "eq": "`a == b`", "ne": "`a != b`", "addptr": "`p + offsets`", "splat": "`tl::full`, by itself", "broadcast": "by itself",
    "expand_dims": "`x(tl::all, tl::none)`", "make_descriptor": "`tl::make_tensor_descriptor`",
    "descriptor_load": "`d.load({i, j})`", "descriptor_store": "`d.store({i, j}, v)`",
    "atomic_rmw": "`tl::atomic_add`, `_max`, `_min`, `_and`, `_or`, `_xor`, `_xchg`",
    "reduce": "`tl::reduce`, `sum`, `max`, `min`, `argmax`, `argmin`", "scan": "`tl::associative_scan`, `cumsum`",
    "for_loop": "`for (auto i : tl::range(…))`", "while_loop": "`tl::while_`", "if_else": "`tl::if_`, `tl::return_if`",
}
HIDDEN = {"yield", "condition"}


def table():
    rows = ROW.findall(DEFINITIONS.read_text())
    if not rows:
        raise SystemExit(f"{DEFINITIONS}: no operations found")
    lines = []
    for kind, title in TITLES.items():
        mine = [row for row in rows if row[1] == kind and row[0] not in HIDDEN]
        if not mine:
            continue
        lines += ["", f"### {title}", "", "| operation | written | meaning |", "|---|---|---|"]
        for name, _, _, _, _, meaning in mine:
            meaning = re.sub(r" \[.*\]$", "", meaning).replace("|", "\\|")
            written = SPELLING.get(name, f"`tl::{name}`").replace("|", "\\|")
            lines.append(f"| {name} | {written} | {meaning} |")
    return "\n".join(lines) + "\n\n"


def main():
    text = DOCUMENT.read_text()
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    wanted = head + BEGIN + "\n" + table() + END + tail
    if "--check" in sys.argv[1:]:
        if wanted != text:
            print("docs/language.md: the table of operations is out of date; run scripts/language_reference.py")
            return 1
        return 0
    DOCUMENT.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
