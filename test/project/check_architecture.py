#!/usr/bin/env python3
"""ARCHITECTURE.md has a heading for every folder with sources, and names no folder that is not there."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = {".cpp", ".hpp", ".h", ".td", ".def"}
COVERED_AS_ONE = ("test", "examples", "bench")  # one paragraph describes what is inside


def main():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = {folder.rstrip("/") for line in re.findall(r"^### (.*)$", text, re.MULTILINE) for folder in re.findall(r"`([^`]+)`", line)}
    there = set()
    for top in ("include", "src", "tools", "bench", "examples", "test"):
        for path in (ROOT / top).rglob("*"):
            if path.suffix in SOURCES:
                folder = path.parent.relative_to(ROOT).as_posix()
                there.add(folder.split("/")[0] if folder.split("/")[0] in COVERED_AS_ONE else folder)
    wrong = [f"{folder}/ has sources and no heading" for folder in sorted(there - named)]
    wrong += [f"{folder}/ has a heading and is not there" for folder in sorted(named) if not (ROOT / folder).is_dir()]
    for line in wrong:
        print(f"ARCHITECTURE.md: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
