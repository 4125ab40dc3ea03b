#!/usr/bin/env python3
"""Wrong uses of the kernel language do not compile, with the words that a reader needs; their right twins do.

usage: run.py WRONG_USES INCLUDE_FOLDER WORK_FOLDER COMPILER...
"""
import concurrent.futures
import os
import subprocess
import sys

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror=format", "-Wno-unused-but-set-variable", "-Wno-parentheses", "-Wno-unused-variable"]
CLANG = ["-Werror=reorder-init-list", "-fno-color-diagnostics", "-ferror-limit=0", "-Wno-bitwise-conditional-parentheses"]

KERNEL = """
struct %s { int BLOCK = 64; bool FLAG = true;
  template <tl::Float D> void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::i32 n, tl::f32 s) const {
    auto c = tl::arange(0, BLOCK); auto mask = c < n; auto v = tl::load(x + c, {.mask = mask, .other = 0});
    auto t2 = tl::zeros<float>({32, 64}); auto c32 = tl::arange(0, 32); (void)t2; (void)c32; (void)s;
    %s
    tl::store(y + c, v, {.mask = mask}); } };
"""
FIXED = "struct Fixed { void operator()(tl::Ptr<const float> x, tl::Ptr<float> y, tl::i32 n) const { tl::store(y + n, tl::load(x)); } };\n"
MAIN = """
void test_%d(teeny::Device d, teeny::Buffer<float> f, const teeny::Buffer<float> cf, teeny::Buffer<std::int32_t> i) {
  (void)d; (void)f; (void)cf; (void)i;
  %s
}
"""


def snippet(name, statement, number):
    if name.startswith("main: "):
        return MAIN % (number, statement)
    kernel = "K%d" % number
    return KERNEL % (kernel, statement) + MAIN % (number, "teeny::launch(d, {1}, %s{}, f, f, 7, 1.0);" % kernel)


def start():
    return KERNEL % ("K", "") + FIXED


class Compiler:
    def __init__(self, path, include, work):
        self.clang = "clang" in os.path.basename(path)
        self.flags = FLAGS + (CLANG if self.clang else ["-fdiagnostics-color=never"])
        self.path, self.work = path, os.path.join(work, os.path.basename(path))
        os.makedirs(self.work, exist_ok=True)
        prefix = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prefix.hpp")
        self.base = [path] + self.flags + ["-I" + include]
        copy = os.path.join(self.work, "prefix.hpp")
        with open(prefix) as source, open(copy, "w") as target:
            target.write(source.read())
        if self.clang:
            subprocess.run(self.base + ["-x", "c++-header", copy, "-o", copy + ".pch"], check=True)
            self.use = ["-include-pch", copy + ".pch"]
        else:
            subprocess.run(self.base + ["-x", "c++-header", copy, "-o", copy + ".gch"], check=True)
            self.use = ["-include", copy]

    def compile(self, text):
        run = subprocess.run(self.base + self.use + ["-fsyntax-only", "-x", "c++", "-"], input=text, capture_output=True, text=True)
        return run.returncode, run.stderr


def main():
    uses, include, work = sys.argv[1:4]
    cases = []
    with open(uses) as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                cases.append(tuple(part.strip() for part in line.split(" ;; ")))
    failures = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compilers = list(pool.map(lambda path: Compiler(path, include, work), sys.argv[4:]))
        jobs = []
        for compiler in compilers:
            name = os.path.basename(compiler.path)
            everything = start() + "".join(snippet(case[0], case[3], number) for number, case in enumerate(cases))
            jobs.append((name, "all right twins", None, pool.submit(compiler.compile, everything)))
            for number, (case, words, wrong, right) in enumerate(cases):
                jobs.append((name, case, words, pool.submit(compiler.compile, start() + snippet(case, wrong, number))))
        for compiler, case, words, job in jobs:
            code, output = job.result()
            if words is None and code != 0:
                failures.append("%s: %s do not compile:\n%s" % (compiler, case, output[:4000]))
            elif words is not None and code == 0:
                failures.append("%s: '%s' compiles" % (compiler, case))
            elif words is not None and words not in output:
                failures.append("%s: '%s' fails without the words '%s':\n%s" % (compiler, case, words, output[:1500]))
    for failure in failures:
        print(failure)
    print("%d wrong uses with %s: %d failures" % (len(cases), ", ".join(os.path.basename(path) for path in sys.argv[4:]), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
