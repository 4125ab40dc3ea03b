"""Attention forward, full and causal."""
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from .protocol import check, normal
from .triton_kernels import attention_descriptors_kernel, attention_kernel

# BM, BN, warps, stages
TRIES = {64: [(128, 64, 4, 3), (128, 128, 8, 3), (128, 64, 8, 3), (128, 64, 4, 2), (64, 64, 4, 3), (128, 128, 4, 3),
              (256, 64, 8, 3)],
         128: [(128, 128, 8, 3), (128, 64, 8, 3), (128, 64, 8, 4), (128, 128, 8, 2), (64, 64, 4, 3), (64, 128, 4, 3)]}
TRIES_TRITON = [(128, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 3), (128, 128, 8, 2), (64, 64, 4, 3), (128, 64, 4, 2),
                (128, 64, 8, 2)]


def teenys(rows, heads, seq, size, causal, c):
    return lambda t: rows.teeny.launcher("attention", "f16", t, [heads, seq, size], BM=c[0], BN=c[1], HEAD=size,
                                         CAUSAL=causal, warps=c[2], stages=c[3])


def tritons(heads, seq, size, causal, c):
    return lambda t: lambda: attention_kernel[(seq // c[0], heads)](
        *t, seq, size**-0.5, BM=c[0], BN=c[1], HEAD=size, CAUSAL=causal, num_warps=c[2], num_stages=c[3])


def tritons_by_descriptors(heads, seq, size, causal, c):
    def launcher(t):
        rows = (c[0], c[1], c[1], c[0])
        described = [TensorDescriptor.from_tensor(x.view(heads * seq, size), [rows, size]) for x, rows in zip(t, rows)]
        return lambda: attention_descriptors_kernel[(seq // c[0], heads)](
            *described, seq, size**-0.5, BM=c[0], BN=c[1], HEAD=size, CAUSAL=causal, num_warps=c[2], num_stages=c[3])

    return launcher


def library(causal):
    def launcher(t):
        q, k, v = (x[None] for x in t[:3])
        return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return launcher


def attentions(rows):
    heads, seq = 64, 4096
    for size in (64, 128):
        for causal in (False, True):
            name = f"attention f16 D={size} N={seq} {'causal' if causal else 'full'}"
            if not rows.wants(name):
                continue

            def inputs():
                return tuple(normal(heads, seq, size, dtype=torch.float16) for _ in range(3)) + (
                    torch.empty(heads, seq, size, device="cuda", dtype=torch.float16),)

            t = inputs()
            score = (t[0][:4].double() @ t[1][:4].double().transpose(1, 2)) * size**-0.5
            if causal:
                score = score.masked_fill(torch.ones(seq, seq, device="cuda", dtype=torch.bool).triu(1), -float("inf"))
            reference = torch.softmax(score, 2) @ t[2][:4].double()
            for c in TRIES[size][:2]:
                check(f"{name} {c}", teenys(rows, heads, seq, size, causal, c)(t), t[3], reference, 1e-3, slice(0, 4))
            del score, reference
            work = 4 * heads * seq * seq * size // (2 if causal else 1)
            rows.row(name, work, "FLOP/s", inputs, 8 * heads * seq * size,
                     {"teeny": [teenys(rows, heads, seq, size, causal, c) for c in TRIES[size]],
                      "triton": [tritons(heads, seq, size, causal, c) for c in TRIES_TRITON],
                      "triton descriptors": [tritons_by_descriptors(heads, seq, size, causal, c) for c in TRIES_TRITON],
                      "torch": [library(causal)]}, 1.1, ("triton", "triton descriptors"))
