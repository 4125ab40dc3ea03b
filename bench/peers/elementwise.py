"""Vector add, softmax and layer norm."""
import torch
import triton

from .protocol import DTYPES, check, normal, power_of_two
from .triton_kernels import add_kernel, layer_norm_kernel, softmax_kernel


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
