"""teeny beside Python Triton and PyTorch (cuBLAS) on one GPU, in one run.

    python3 bench/gpu_peers.py --library build/default/lib/libteeny_gpu_rows.so [--only matmul] [--json FILE]

One protocol for all: every row is a CUDA graph of launches over inputs that rotate beyond four times the L2 cache,
normally distributed; graphs of all peers are replayed in turn and timed by events; the figure is the median time of a
launch. teeny's kernels run on PyTorch's own stream and memory. Each peer may choose its constants from a list.
"""
import argparse, ctypes, json, math, os, statistics, subprocess, sys, tempfile, time

import torch
import triton
import triton.language as tl

L2_BYTES = 60 << 20
REPEATS = 25


# ---- Triton's side
@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def softmax_kernel(x, y, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n_cols
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    v = tl.load(x + row + cols, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row + cols, e / tl.sum(e, 0), mask=mask)


@triton.jit
def layer_norm_kernel(x, weight, bias, y, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n_cols
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    v = tl.load(x + row + cols, mask=mask, other=0).to(tl.float32)
    mean = tl.sum(v, 0) / n_cols
    centred = tl.where(mask, v - mean, 0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / n_cols + eps)
    w = tl.load(weight + cols, mask=mask).to(tl.float32)
    b = tl.load(bias + cols, mask=mask).to(tl.float32)
    tl.store(y + row + cols, centred * scale * w + b, mask=mask)


@triton.jit
def matmul_kernel(a, b, c, m, n, k, stride_a, stride_b, stride_c, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr, GROUP: tl.constexpr, PRECISION: tl.constexpr):
    program = tl.program_id(0)
    rows, columns = tl.cdiv(m, BM), tl.cdiv(n, BN)
    width = GROUP * columns
    first = program // width * GROUP
    height = min(rows - first, GROUP)
    row = first + program % width % height
    column = program % width // height
    rm = row * BM + tl.arange(0, BM)
    rn = column * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + (rm % m)[:, None] * stride_a + rk[None, :]
    pb = b + rk[:, None] * stride_b + (rn % n)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, tl.cdiv(k, BK)):
        left = k - k0 * BK
        av = tl.load(pa, mask=rk[None, :] < left, other=0)
        bv = tl.load(pb, mask=rk[:, None] < left, other=0)
        acc = tl.dot(av, bv, acc, input_precision=PRECISION)
        pa += BK
        pb += BK * stride_b
    mask = (rm < m)[:, None] & (rn < n)[None, :]
    tl.store(c + rm[:, None] * stride_c + rn[None, :], acc.to(c.dtype.element_ty), mask=mask)


@triton.jit
def attention_kernel(q, k, v, out, seq, scale, BM: tl.constexpr, BN: tl.constexpr, HEAD: tl.constexpr):
    base = tl.program_id(1) * seq * HEAD
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn, rd = tl.arange(0, BN), tl.arange(0, HEAD)
    query = tl.load(q + base + rm[:, None] * HEAD + rd[None, :])
    highest = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, HEAD), tl.float32)
    scale *= 1.44269504
    pk = k + base + rn[None, :] * HEAD + rd[:, None]
    pv = v + base + rn[:, None] * HEAD + rd[None, :]
    for _ in range(0, seq, BN):
        score = tl.dot(query, tl.load(pk))
        peak = tl.maximum(highest, tl.max(score, 1) * scale)
        p = tl.exp2(score * scale - peak[:, None])
        shrink = tl.exp2(highest - peak)
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype.element_ty), tl.load(pv), acc * shrink[:, None])
        highest = peak
        pk += BN * HEAD
        pv += BN * HEAD
    tl.store(out + base + rm[:, None] * HEAD + rd[None, :], (acc / total[:, None]).to(out.dtype.element_ty))


# ---- teeny's side
class Teeny:
    """libteeny_gpu_rows: kernels of teeny's library behind a C interface (bench/gpu_rows.cpp)."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.teeny_row_make.restype = ctypes.c_void_p
        self.library.teeny_row_make.argtypes = [ctypes.c_char_p]
        self.library.teeny_row_launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64),
                                                  ctypes.POINTER(ctypes.c_int64)]
        self.library.teeny_row_error.restype = ctypes.c_char_p

    def make(self, kernel, dtype, **constants):
        row = self.library.teeny_row_make(json.dumps({"kernel": kernel, "dtype": dtype, **constants}).encode())
        if not row:
            raise RuntimeError(self.library.teeny_row_error().decode())
        return row

    def launcher(self, kernel, dtype, buffers, sizes, **constants):
        row = self.make(kernel, dtype, **constants)
        pointers = (ctypes.c_uint64 * len(buffers))(*[t.data_ptr() for t in buffers])
        numbers = (ctypes.c_int64 * len(sizes))(*sizes)

        def run():
            stream = torch.cuda.current_stream().cuda_stream
            if self.library.teeny_row_launch(row, stream, pointers, numbers):
                raise RuntimeError(self.library.teeny_row_error().decode())

        return run

    def costs(self, which, launches, samples, count):
        """Seconds that teeny_launch_costs or teeny_graph_costs found."""
        seconds = (ctypes.c_double * count)()
        if getattr(self.library, which)(launches, samples, seconds):
            raise RuntimeError(self.library.teeny_row_error().decode())
        return list(seconds)


# ---- the protocol
def graph_of(launches):
    """A graph that runs the launches in order; they have run once before, so that everything is compiled."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for launch in launches:
            launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for launch in launches:
            launch()
    return graph


def time_graphs(graphs, launches, repeats=REPEATS):
    """Seconds of one launch: for each graph, one sample per repeat, taken in turn."""
    samples = {name: [] for name in graphs}
    for graph in graphs.values():
        graph.replay()
    for _ in range(repeats):
        for name, graph in graphs.items():
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            samples[name].append(start.elapsed_time(end) * 1e-3 / launches)
    return samples


class Rows:
    def __init__(self, options, teeny):
        self.options, self.teeny, self.table = options, teeny, []

    def wants(self, name):
        return not self.options.only or any(part in name for part in self.options.only.split(","))

    def row(self, name, work, unit, make_inputs, bytes_each, peers, wanted, against):
        """peers: {name: [function(inputs) -> launch]}: the fastest of each list stands for the peer."""
        if not self.wants(name):
            return
        rotations = max(1, min(64, math.ceil(4 * L2_BYTES / bytes_each)))
        inputs = [make_inputs() for _ in range(rotations)]
        count = max(rotations, 8)
        best = {}
        for peer, variants in peers.items():
            for number, variant in enumerate(variants):
                try:
                    graph = graph_of([variant(inputs[i % rotations]) for i in range(count)])
                    seconds = statistics.median(time_graphs({peer: graph}, count, 5)[peer])
                except Exception as error:
                    print(f"{name} | {peer} | variant {number} | failed: {str(error)[:300]}", flush=True)
                    continue
                if self.options.variants:
                    print(f"{name} | {peer} | variant {number} | {work / seconds / 1e9:.1f} G{unit}", flush=True)
                if peer not in best or seconds < best[peer][0]:
                    best[peer] = (seconds, graph, number)
        samples = time_graphs({peer: graph for peer, (_, graph, _) in best.items()}, count)
        medians = {peer: statistics.median(values) for peer, values in samples.items()}
        if "teeny" not in medians:
            return
        rivals = {peer: value for peer, value in medians.items() if peer in against}
        rival = min(rivals, key=rivals.get) if rivals else None
        ratios = sorted(r / t for r, t in zip(samples[rival], samples["teeny"])) if rival else [0]
        entry = {"row": name, "unit": unit, "figures": {peer: work / s / 1e9 for peer, s in medians.items()},
                 "seconds": medians, "variants": {peer: number for peer, (_, _, number) in best.items()},
                 "beside": rival, "ratio": statistics.median(ratios), "low": ratios[max(0, int(0.025 * len(ratios)))],
                 "wanted": wanted}
        self.table.append(entry)
        figures = "  ".join(f"{peer} {work / s / 1e9:.1f} (#{best[peer][2]})" for peer, s in medians.items())
        print(f"{name} | G{unit}: {figures} | ratio to {rival} {entry['ratio']:.3f} (low {entry['low']:.3f}), wanted "
              f"{wanted}", flush=True)


def check(name, launch, out, reference, tolerance, part=slice(None)):
    """`part`: of the first dimension, that the reference is of."""
    out.fill_(float("nan"))
    launch()
    torch.cuda.synchronize()
    error = ((out[part].double() - reference).norm() / reference.norm()).item()
    print(f"check {name}: relative error {error:.2e} {'ok' if error <= tolerance else 'WRONG'}", flush=True)


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def power_of_two(n):
    return 1 << (n - 1).bit_length()


def vector_add(rows):
    n = 1 << 28

    def inputs():
        return normal(n), normal(n), torch.empty(n, device="cuda")

    def ours(block, warps):
        return lambda t: rows.teeny.launcher("vector_add", "f32", t, [n], BLOCK=block, warps=warps)

    if rows.wants("vector add"):
        x, y, out = inputs()
        check("vector add", ours(1024, 4)((x, y, out)), out, x.double() + y.double(), 1e-7)
    rows.row("vector add f32 2^28", 12 * n, "B/s", inputs, 12 * n,
             {"teeny": [ours(1024, 4), ours(2048, 4), ours(1024, 8), ours(4096, 8)],
              "triton": [lambda t, b=b: lambda: add_kernel[(triton.cdiv(n, b),)](*t, n, BLOCK=b)
                         for b in (1024, 2048, 4096)],
              "torch": [lambda t: lambda: torch.add(t[0], t[1], out=t[2])]}, 0.985, ("triton", "torch"))


def normalisations(rows):
    for kernel, dtype, m, n in (("softmax", "f32", 4096, 4096), ("softmax", "f32", 4096, 1000),
                                ("layer norm", "f16", 4096, 4096)):
        type_ = DTYPES[dtype]
        block = power_of_two(n)
        size = torch.finfo(type_).bits // 8

        if kernel == "softmax":
            def inputs():
                return normal(m, n, dtype=type_), torch.empty(m, n, device="cuda", dtype=type_)

            def ours(warps, registers=0):
                return lambda t: rows.teeny.launcher("softmax", dtype, t, [m, n], BLOCK=block, warps=warps,
                                                     max_registers=registers)

            def theirs(warps):
                return lambda t: lambda: softmax_kernel[(m,)](*t, n, BLOCK=block, num_warps=warps)

            def library(t):
                return lambda: torch.softmax(t[0], 1, out=t[1])

            def reference(t):
                return torch.softmax(t[0].double(), 1)
        else:
            def inputs():
                return (normal(m, n, dtype=type_), normal(n, dtype=type_), normal(n, dtype=type_),
                        torch.empty(m, n, device="cuda", dtype=type_))

            def ours(warps, registers=0):
                return lambda t: rows.teeny.launcher("layer_norm", dtype, t, [m, n], BLOCK=block, warps=warps,
                                                     max_registers=registers)

            def theirs(warps):
                return lambda t: lambda: layer_norm_kernel[(m,)](*t, n, 1e-5, BLOCK=block, num_warps=warps)

            def library(t):
                return lambda: torch.nn.functional.layer_norm(t[0], (n,), t[1], t[2], 1e-5)

            def reference(t):
                return torch.nn.functional.layer_norm(t[0].double(), (n,), t[1].double(), t[2].double(), 1e-5)

        name = f"{kernel} {dtype} {m}x{n}"
        if not rows.wants(name):
            continue
        t = inputs()
        check(name, ours(4)(t), t[-1], reference(t), 1e-6 if dtype == "f32" else 1e-3)
        rows.row(name, 2 * m * n * size, "B/s", inputs, 2 * m * n * size,
                 {"teeny": [ours(w) for w in (2, 4, 8, 16)] + [ours(1, 64), ours(2, 64), ours(4, 64), ours(8, 40), ours(16, 32)],
                  "triton": [theirs(w) for w in (2, 4, 8, 16)],
                  "torch": [library]}, 1.0, ("triton", "torch"))


# BM, BN, BK, warps, stages (and the most registers of a lane): of teeny, then of Triton
LANES = [(128, 128, 16, 8, 3, 128), (128, 128, 16, 8, 4, 128), (128, 128, 8, 8, 4, 128), (128, 128, 32, 8, 2, 128),
         (128, 64, 16, 4, 3, 128), (64, 64, 16, 4, 3, 0), (128, 128, 16, 8, 3, 0)]
LANES_TRITON = [(128, 128, 32, 8, 3), (64, 64, 32, 4, 3), (128, 64, 32, 4, 3)]
UNITS = [(128, 128, 32, 4, 4), (128, 128, 64, 4, 3), (128, 256, 32, 8, 4), (128, 256, 64, 8, 3), (256, 128, 64, 8, 3),
         (128, 128, 64, 8, 4), (64, 256, 32, 4, 4)]
UNITS_TRITON = [(128, 256, 64, 8, 3), (128, 128, 64, 4, 4), (128, 256, 64, 8, 4), (128, 128, 64, 8, 3)]
TF32 = [(128, 128, 32, 4, 3), (128, 128, 32, 8, 3), (128, 256, 32, 8, 3), (128, 128, 16, 4, 4), (64, 128, 32, 4, 4)]
TF32_TRITON = [(128, 128, 32, 4, 3), (128, 128, 32, 8, 3), (128, 256, 32, 8, 3), (64, 128, 32, 4, 4)]


def matmuls(rows):
    s = 4096
    for dtype, precision, ours_try, theirs_try, wanted, against in (
            ("bf16", "ieee", UNITS, UNITS_TRITON, 0.5, ("torch",)),
            ("f16", "ieee", UNITS, UNITS_TRITON, 0.5, ("torch",)),
            ("f32", "tf32", TF32, TF32_TRITON, 1.0, ("triton",)),
            ("f32", "ieee", LANES, LANES_TRITON, 0.8, ("triton", "torch"))):
        name = f"matmul {dtype} {precision} {s}^3" if dtype == "f32" else f"matmul {dtype} {s}^3"
        if not rows.wants(name):
            continue
        type_ = DTYPES[dtype]
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"

        def inputs():
            return normal(s, s, dtype=type_), normal(s, s, dtype=type_), torch.empty(s, s, device="cuda", dtype=type_)

        def ours(c):
            return lambda t: rows.teeny.launcher("matmul", dtype, t, [s, s, s], BM=c[0], BN=c[1], BK=c[2], warps=c[3],
                                                 stages=c[4], max_registers=c[5] if len(c) > 5 else 0, GROUP_M=8,
                                                 precision=precision)

        def theirs(c):
            grid = (triton.cdiv(s, c[0]) * triton.cdiv(s, c[1]),)
            return lambda t: lambda: matmul_kernel[grid](*t, s, s, s, s, s, s, BM=c[0], BN=c[1], BK=c[2], GROUP=8,
                                                         PRECISION=precision, num_warps=c[3], num_stages=c[4])

        t = inputs()
        check(name, ours(ours_try[0])(t), t[2], t[0].double() @ t[1].double(),
              {"bf16": 4e-3, "f16": 5e-4}.get(dtype, 1e-5 if precision == "ieee" else 5e-4))
        rows.row(name, 2 * s**3, "FLOP/s", inputs, 3 * s * s * torch.finfo(type_).bits // 8,
                 {"teeny": [ours(c) for c in ours_try], "triton": [theirs(c) for c in theirs_try],
                  "torch": [lambda t: lambda: torch.matmul(t[0], t[1], out=t[2])]}, wanted, against)


# BM, BN, warps, stages
ATTENTION = [(128, 64, 4, 2), (128, 64, 4, 3), (128, 64, 8, 3), (64, 64, 4, 3), (128, 32, 4, 4), (128, 128, 8, 2)]
ATTENTION_TRITON = [(128, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 3), (128, 128, 8, 2), (64, 64, 4, 3)]


def attentions(rows):
    heads, seq, size = 64, 4096, 64
    name = f"attention f16 D={size} N={seq}"
    if not rows.wants(name):
        return

    def inputs():
        return tuple(normal(heads, seq, size, dtype=torch.float16) for _ in range(3)) + (
            torch.empty(heads, seq, size, device="cuda", dtype=torch.float16),)

    def ours(c):
        return lambda t: rows.teeny.launcher("attention", "f16", t, [heads, seq, size], BM=c[0], BN=c[1], HEAD=size,
                                             warps=c[2], stages=c[3])

    def theirs(c):
        return lambda t: lambda: attention_kernel[(seq // c[0], heads)](
            *t, seq, size**-0.5, BM=c[0], BN=c[1], HEAD=size, num_warps=c[2], num_stages=c[3])

    def library(t):
        q, k, v = (x[None] for x in t[:3])
        return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)

    t = inputs()
    score = torch.softmax((t[0][:4].double() @ t[1][:4].double().transpose(1, 2)) * size**-0.5, 2)
    reference = score @ t[2][:4].double()
    check(name, ours(ATTENTION[0])(t), t[3], reference, 1e-3, slice(0, 4))
    rows.row(name, 4 * heads * seq * seq * size, "FLOP/s", inputs, 8 * heads * seq * size,
             {"teeny": [ours(c) for c in ATTENTION], "triton": [theirs(c) for c in ATTENTION_TRITON],
              "torch": [library]}, 0.5, ("triton",))


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
    return tuple(normal(m, m, dtype=DTYPES[dtype]) for _ in range(3))


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


def compiles(rows):
    if not rows.wants("compile"):
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TEENY_CACHE": folder + "/teeny", "TRITON_CACHE_DIR": folder + "/triton",
                       "CUDA_CACHE_DISABLE": "1"}

        def worker(what):
            command = [sys.executable, os.path.abspath(__file__), "--library", rows.options.library, "--worker", what]
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", required=True, help="libteeny_gpu_rows.so")
    parser.add_argument("--only", default="", help="rows whose names contain one of these, separated by commas")
    parser.add_argument("--variants", action="store_true", help="print every variant tried")
    parser.add_argument("--worker", choices=["teeny", "triton"], help="compile in this process and print the times")
    parser.add_argument("--json", help="write the rows to this file")
    options = parser.parse_args()
    if options.worker:
        return compile_here(options) if options.worker == "teeny" else compile_triton()
    print(f"torch {torch.__version__}, triton {triton.__version__}, {torch.cuda.get_device_name(0)}", flush=True)
    torch.cuda.init()
    normal(1)
    rows = Rows(options, Teeny(options.library))
    for group in (launches, vector_add, normalisations, matmuls, attentions, compiles):
        group(rows)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows.table, file, indent=1)


main()
