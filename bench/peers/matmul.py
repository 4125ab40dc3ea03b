"""Matrix products: square, of tall and of unaligned sizes, and with an epilogue."""
import torch
import triton

from .protocol import DTYPES, check, normal
from .triton_kernels import matmul_kernel, sum_kernel

# BM, BN, BK, warps, stages (and the most registers of a lane): of teeny, then of Triton
LANES = [(128, 128, 16, 8, 3, 128), (128, 128, 16, 8, 4, 128), (128, 128, 8, 8, 4, 128), (128, 128, 32, 8, 2, 128),
         (128, 64, 16, 4, 3, 128), (64, 64, 16, 4, 3, 0), (128, 128, 16, 8, 3, 0)]
LANES_TRITON = [(128, 128, 32, 8, 3), (64, 64, 32, 4, 3), (128, 64, 32, 4, 3)]
UNITS = [(128, 256, 64, 8, 4), (128, 256, 64, 8, 3), (128, 128, 64, 4, 4), (128, 128, 64, 8, 4), (256, 128, 64, 8, 4),
         (128, 128, 64, 4, 6), (64, 256, 64, 4, 4)]
UNITS_TRITON = [(128, 256, 64, 8, 3), (128, 128, 64, 4, 4), (128, 256, 64, 8, 4), (128, 128, 64, 8, 3)]
UNALIGNED = [(128, 128, 64, 8, 2), (128, 128, 32, 8, 2), (64, 128, 64, 8, 2), (128, 64, 64, 8, 2), (64, 128, 64, 4, 2),
             (128, 128, 64, 4, 3), (128, 256, 64, 8, 3)]
SMALL = [(64, 32, 64, 4, 4), (64, 64, 64, 4, 4), (32, 64, 64, 4, 4), (64, 64, 128, 4, 3), (128, 64, 64, 4, 4),
         (128, 128, 64, 4, 4), (128, 128, 64, 8, 4)]
TF32 = [(128, 128, 32, 4, 3), (128, 128, 32, 8, 3), (128, 256, 32, 8, 3), (128, 128, 16, 4, 4), (64, 128, 32, 4, 4)]
TF32_TRITON = [(128, 128, 32, 4, 3), (128, 128, 32, 8, 3), (128, 256, 32, 8, 3), (64, 128, 32, 4, 4)]
THIN = [(16, 64, 128, 4, 4), (16, 64, 64, 4, 6), (16, 32, 128, 4, 4), (16, 64, 256, 8, 3), (16, 32, 256, 4, 3),
        (16, 128, 64, 4, 5), (16, 64, 128, 8, 4)]
TOLERANCE = {"bf16": 4e-3, "f16": 5e-4, "ieee": 1e-5, "tf32": 5e-4}

# With a depth that programs share: constants and how many of them do
SMALL_SPLIT = [((64, 64, 64, 4, 4), 2), ((64, 128, 64, 4, 3), 4), ((128, 64, 64, 4, 4), 2), ((128, 128, 64, 4, 4), 4)]
THIN_SPLIT = [((16, 64, 128, 4, 4), 2), ((16, 128, 64, 4, 5), 4), ((16, 128, 128, 4, 3), 4), ((16, 256, 64, 8, 4), 4)]

# dtype, precision, (m, n, k), teeny's tries, Triton's, the ratio wanted and beside whom
SQUARES = [("bf16", "ieee", (2048,) * 3, UNITS, UNITS_TRITON, 0.95, ("torch",)),
           ("bf16", "ieee", (4096,) * 3, UNITS, UNITS_TRITON, 0.95, ("torch",)),
           ("bf16", "ieee", (8192,) * 3, UNITS, UNITS_TRITON, 0.95, ("torch",)),
           ("bf16", "ieee", (4095, 4097, 4093), UNALIGNED, UNALIGNED, 1.0, ("triton",)),
           ("f16", "ieee", (512,) * 3, SMALL, SMALL, 0.9, ("torch",)),
           ("f16", "ieee", (1024,) * 3, SMALL, SMALL, 0.9, ("torch",)),
           ("f16", "ieee", (2048,) * 3, UNITS, UNITS_TRITON, 0.9, ("torch",)),
           ("f16", "ieee", (4096,) * 3, UNITS, UNITS_TRITON, 0.95, ("torch",)),
           ("f32", "tf32", (4096,) * 3, TF32, TF32_TRITON, 0.9, ("torch",)),
           ("f32", "ieee", (4096,) * 3, LANES, LANES_TRITON, 0.8, ("triton", "torch"))]


def teenys(rows, dtype, precision, sizes, constants, kernel="matmul"):
    return lambda t: rows.teeny.launcher(
        kernel, dtype, t, sizes, BM=constants[0], BN=constants[1], BK=constants[2], warps=constants[3], stages=constants[4],
        max_registers=constants[5] if len(constants) > 5 else 0, GROUP_M=8, precision=precision)


def teenys_split(rows, dtype, sizes, constants, split):
    m, n, k = sizes
    partials = torch.empty(split, m, n, device="cuda")
    arrived = torch.zeros(triton.cdiv(m, constants[0]) * triton.cdiv(n, constants[1]), device="cuda", dtype=torch.int32)
    return lambda t: rows.teeny.launcher("matmul_split", dtype, (*t, partials, arrived), sizes, BM=constants[0], BN=constants[1],
                                         BK=constants[2], warps=constants[3], stages=constants[4], SPLIT=split)


def tritons(precision, sizes, constants, gelu=False):
    m, n, k = sizes
    block_m, block_n, block_k, warps, stages = constants[:5]
    grid = (triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)
    return lambda t: lambda: matmul_kernel[grid](
        *t[:2], t[-1], m, n, k, k, n, n, BM=block_m, BN=block_n, BK=block_k, GROUP=8, PRECISION=precision,
        GELU=gelu, bias=t[2] if gelu else None, num_warps=warps, num_stages=stages)


def matmuls(rows):
    for dtype, precision, sizes, ours, theirs, wanted, against in SQUARES:
        m, n, k = sizes
        shape = f"{m}^3" if m == n == k else f"{m}x{n}x{k}"
        name = f"matmul {dtype} {precision} {shape}" if dtype == "f32" else f"matmul {dtype} {shape}"
        if not rows.wants(name):
            continue
        type_ = DTYPES[dtype]
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"

        def inputs():
            return normal(m, k, dtype=type_), normal(k, n, dtype=type_), torch.empty(m, n, device="cuda", dtype=type_)

        t = inputs()
        check(name, teenys(rows, dtype, precision, sizes, ours[0])(t), t[2], t[0].double() @ t[1].double(),
              TOLERANCE[precision if dtype == "f32" else dtype])
        rows.row(name, 2 * m * n * k, "FLOP/s", inputs, (m * k + k * n + m * n) * torch.finfo(type_).bits // 8,
                 {"teeny": [teenys(rows, dtype, precision, sizes, c) for c in ours]
                           + [teenys_split(rows, dtype, sizes, c, split) for c, split in SMALL_SPLIT if ours is SMALL],
                  "triton": [tritons(precision, sizes, c) for c in theirs],
                  "torch": [lambda t: lambda: torch.matmul(t[0], t[1], out=t[2])]}, wanted, against)
    matmul_gelu(rows)


def matmul_gelu(rows):
    """Beside the product alone: what an epilogue costs."""
    s = 4096
    name = f"matmul + bias + GELU bf16 {s}^3"
    if not rows.wants(name):
        return

    def inputs():
        return (normal(s, s, dtype=torch.bfloat16), normal(s, s, dtype=torch.bfloat16), normal(s, dtype=torch.bfloat16),
                torch.empty(s, s, device="cuda", dtype=torch.bfloat16))

    t = inputs()
    reference = torch.nn.functional.gelu(t[0].double() @ t[1].double() + t[2].double())
    check(name, teenys(rows, "bf16", "ieee", (s, s, s), UNITS[0], "matmul_gelu")(t), t[3], reference, 4e-3)
    alone = [lambda t, c=c: teenys(rows, "bf16", "ieee", (s, s, s), c)((t[0], t[1], t[3])) for c in UNITS]
    rows.row(name, 2 * s**3, "FLOP/s", inputs, 6 * s * s,
             {"teeny": [teenys(rows, "bf16", "ieee", (s, s, s), c, "matmul_gelu") for c in UNITS], "alone": alone,
              "triton": [tritons("ieee", (s, s, s), c, True) for c in UNITS_TRITON],
              "torch": [lambda t: lambda: torch.nn.functional.gelu(torch.addmm(t[2], t[0], t[1], out=t[3]))]},
             0.93, ("alone",))


def small_matmuls(rows):
    """A few rows by a large matrix: bound by reading the matrix, and so beside a kernel that only sums it."""
    s = 8192
    for m in (1, 4, 16):
        name = f"matmul bf16 {m}x{s}x{s}"
        if not rows.wants(name):
            continue

        def inputs():
            return (normal(m, s, dtype=torch.bfloat16), normal(s, s, dtype=torch.bfloat16),
                    torch.empty(m, s, device="cuda", dtype=torch.bfloat16))

        sums = torch.empty(s * s // 8192, device="cuda")

        def reading(block, steps):
            return lambda t: lambda: sum_kernel[(s * s // (block * steps),)](t[1], sums, s * s, BLOCK=block, STEPS=steps)

        t = inputs()
        check(name, teenys(rows, "bf16", "ieee", (m, s, s), THIN[0])(t), t[2], t[0].double() @ t[1].double(), 4e-3)
        rows.row(name, 2 * s * s, "B/s", inputs, 2 * s * s,
                 {"teeny": [teenys(rows, "bf16", "ieee", (m, s, s), c) for c in THIN]
                           + [teenys_split(rows, "bf16", (m, s, s), c, split) for c, split in THIN_SPLIT],
                  "triton": [tritons("ieee", (m, s, s), c) for c in THIN],
                  "torch": [lambda t: lambda: torch.matmul(t[0], t[1], out=t[2])],
                  "reading": [reading(4096, 8), reading(8192, 8), reading(8192, 32), reading(4096, 2)]}, 0.85, ("reading",))
