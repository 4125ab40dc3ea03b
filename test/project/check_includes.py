#!/usr/bin/env python3
"""Who may include what: the layers of ARCHITECTURE.md, read from the #include lines."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = ("mlir/", "llvm/", "lld/")
VENDOR = ("cuda", "hip/", "vulkan/", "nvrtc", "level_zero")
# Folder: what its files may include besides the standard library and themselves. The longest folder that fits counts.
ALLOWED = {
    "include/teeny": ("teeny/",),
    "src/support": ("teeny/", "support/"),
    "src/lang": ("teeny/", "support/", "lang/"),
    "src/runtime": ("teeny/", "support/", "lang/", "runtime/", "nlohmann/"),
    "src/runtime/driver/vulkan": ("teeny/", "support/", "lang/", "runtime/", "vulkan/"),
    "src/compiler": ("teeny/", "support/", "lang/trace", "compiler/", "nlohmann/") + COMPILER,
    "src/kernels": ("teeny/", "kernels/"),
    "tools/teeny": ("teeny/", "bench/", "kernels/", "conformance/", "CLI/", "nlohmann/"),
    "tools/teeny_opt": ("teeny/", "compiler/") + COMPILER,
    "bench": ("teeny/", "bench/", "kernels/", "nlohmann/"),
    "examples": ("teeny/", "bench/", "kernels/"),
}
# Tools of the compiler's own that sit outside of its folder.
ALLOWED["bench/dot_kernel_bench.cpp"] = ("bench/", "compiler/", "teeny/") + COMPILER
PROJECT = ("teeny/", "support/", "lang/", "runtime/", "compiler/", "kernels/", "bench/", "conformance/", "nlohmann/", "CLI/") + COMPILER + VENDOR
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)


def rule_of(path):
    name = path.relative_to(ROOT).as_posix()
    fitting = [folder for folder in ALLOWED if name == folder or name.startswith(folder + "/")]
    return max(fitting, key=len) if fitting else None


def main():
    wrong = []
    for top in ("include", "src", "tools", "bench", "examples"):
        for path in sorted((ROOT / top).rglob("*")):
            rule = rule_of(path) if path.suffix in (".cpp", ".hpp", ".h") else None
            if not rule:
                continue
            for included in INCLUDE.findall(path.read_text()):
                if included.startswith(PROJECT) and not included.startswith(ALLOWED[rule]):
                    wrong.append(f"{path.relative_to(ROOT)}: {included} may not be included from {rule}")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
