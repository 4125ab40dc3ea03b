"""What compiles, launches and graphs cost."""
import json, os, statistics, subprocess, sys, tempfile, time

import torch

from .protocol import DTYPES, Teeny, normal
from .triton_kernels import add_kernel, matmul_kernel, softmax_kernel


# What is compiled first, second, …: kernel, dtype, sizes, constants, and the milliseconds wanted.
COMPILED = [("vector_add", "f32", [1 << 20], dict(BLOCK=1024, warps=4), 130),
            ("vector_add", "f32", [1 << 20], dict(BLOCK=2048, warps=4), 25),
            ("softmax", "f32", [64, 4096], dict(BLOCK=4096, warps=4), 45),
            ("matmul", "bf16", [256] * 3, dict(BM=128, BN=128, BK=32, warps=4, stages=4), 180),
            ("matmul_gelu", "f16", [256] * 3, dict(BM=128, BN=128, BK=32, warps=4, stages=4), 600)]
NAMES = ["first, vector add", "vector add", "softmax", "matmul", "matmul + GELU"]


def buffers_of(kernel, dtype, sizes):
    if kernel == "vector_add":
        return normal(sizes[0]), normal(sizes[0]), torch.empty(sizes[0], device="cuda")
    m, n = sizes[0], sizes[1]
    if kernel == "softmax":
        return normal(m, n), torch.empty(m, n, device="cuda")
    bias = [normal(m, dtype=DTYPES[dtype])] if kernel == "matmul_gelu" else []
    a, b, c = (normal(m, m, dtype=DTYPES[dtype]) for _ in range(3))
    return (a, b, *bias, c)


def compile_here(options):
    """Milliseconds from the call of each kernel of COMPILED, never run before in this process, to its end on the device."""
    teeny, times = Teeny(options.library), []
    normal(1)
    torch.cuda.synchronize()
    for kernel, dtype, sizes, constants, _ in COMPILED:
        buffers = buffers_of(kernel, dtype, sizes)
        torch.cuda.synchronize()
        start = time.perf_counter()
        teeny.launcher(kernel, dtype, buffers, sizes, **constants)()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps(times))


def compile_triton():
    """The same of Triton's vector add (twice), softmax and matrix product."""
    normal(1)
    times = []
    n = 1 << 20
    v, s, m = buffers_of("vector_add", "f32", [n]), buffers_of("softmax", "f32", [64, 4096]), buffers_of("matmul", "bf16", [256] * 3)
    for run in (lambda: add_kernel[(n // 1024,)](*v, n, BLOCK=1024), lambda: add_kernel[(n // 2048,)](*v, n, BLOCK=2048),
                lambda: softmax_kernel[(64,)](*s, 4096, BLOCK=4096),
                lambda: matmul_kernel[(4,)](*m, 256, 256, 256, 256, 256, 256, BM=128, BN=128, BK=32, GROUP=8, PRECISION="ieee")):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps(times))


def compiles(rows, script):
    """`script`: run with --worker it compiles in a process of its own."""
    if not rows.wants("compile"):
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TEENY_CACHE": folder + "/teeny", "TRITON_CACHE_DIR": folder + "/triton",
                       "CUDA_CACHE_DISABLE": "1"}

        def worker(what):
            command = [sys.executable, script, "--library", rows.options.library, "--worker", what]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
            if done.returncode:
                raise RuntimeError(done.stderr[-2000:])
            return json.loads(done.stdout.splitlines()[-1])

        cold, again, triton_cold = worker("teeny"), worker("teeny"), worker("triton")
    for i, name in enumerate(NAMES):
        theirs = f"  triton {triton_cold[i]:.0f} ms" if i < len(triton_cold) else ""
        print(f"compile {name} | teeny {cold[i]:.1f} ms (wanted {COMPILED[i][4]}){theirs} | from the disk cache {again[i]:.1f} ms "
              "(wanted 2)", flush=True)
        rows.table.append({"row": f"compile {name}", "unit": "ms", "teeny": cold[i], "from_disk": again[i],
                           "triton": triton_cold[i] if i < len(triton_cold) else None, "wanted": COMPILED[i][4]})


def host_seconds(launch, launches=500, samples=51):
    """Of one launch on the host: medians, with the driver's queue empty before each sample."""
    found = []
    for _ in range(samples + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(launches):
            launch()
        found.append((time.perf_counter() - start) / launches)
    torch.cuda.synchronize()
    return statistics.median(found[1:])


def launches(rows):
    """What a launch costs the host, and a replayed graph of 1,000 beside the same graph of bare launches."""
    if rows.wants("launch"):
        bare, handle, launch = rows.teeny.costs("teeny_launch_costs", 500, 101, 3)
        x, y, out = normal(1024), normal(1024), torch.empty(1024, device="cuda")
        seconds = {"bare": bare, "teeny handle": handle, "teeny::launch": launch,
                   "triton": host_seconds(lambda: add_kernel[(1,)](x, y, out, 1024, BLOCK=1024)),
                   "torch": host_seconds(lambda: torch.add(x, y, out=out))}
        rows.table.append({"row": "launch", "unit": "s", "seconds": seconds, "handle to bare": handle / bare,
                           "launch above handle": launch - handle})
        print("launch | µs: " + "  ".join(f"{name} {value * 1e6:.2f}" for name, value in seconds.items()) +
              f" | handle to bare {handle / bare:.3f}, wanted 1.1; teeny::launch above a handle "
              f"{(launch - handle) * 1e6:.2f}, wanted 0.3", flush=True)
    if rows.wants("graph"):
        bare, graph = rows.teeny.costs("teeny_graph_costs", 1000, 51, 2)
        rows.table.append({"row": "graph of 1000 launches", "unit": "s", "seconds": {"bare": bare, "teeny": graph},
                           "ratio": graph / bare})
        print(f"graph of 1000 launches | µs: bare {bare * 1e6:.1f}  teeny {graph * 1e6:.1f} | teeny to bare "
              f"{graph / bare:.3f}, wanted 1.05", flush=True)
