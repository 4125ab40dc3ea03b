"""How teeny and its peers are timed beside each other on one GPU."""
import ctypes, json, math, statistics

import torch

L2_BYTES = 60 << 20
REPEATS = 25


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
    """A graph that runs the launches in order; they have run once before on its stream, so that everything is compiled."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for launch in launches:
            launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
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
