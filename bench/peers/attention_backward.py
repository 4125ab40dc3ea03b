"""Attention's gradients, causal."""
import torch

from .protocol import check, normal
from .triton_kernels import attention_backward_kernel, attention_delta_kernel

# Of the kernel over keys and of the one over queries: BM, BN, warps, stages
TRIES = [((64, 128, 8, 0), (128, 64, 8, 0)), ((64, 128, 8, 2), (128, 64, 8, 2)), ((64, 64, 4, 0), (64, 64, 4, 0)),
         ((64, 64, 4, 2), (64, 64, 4, 2)), ((64, 64, 4, 2), (128, 64, 8, 0)), ((32, 128, 8, 0), (128, 128, 8, 0)),
         ((64, 128, 8, 0), (128, 128, 8, 2))]
# BM1, BN1, BM2, BN2, warps, stages; the first one is the tutorial's
TRIES_TRITON = [(32, 128, 128, 32, 4, 5), (32, 128, 128, 32, 4, 3), (32, 128, 128, 32, 8, 3), (64, 128, 128, 64, 8, 2),
                (64, 128, 128, 64, 8, 3), (64, 64, 64, 64, 4, 2), (32, 64, 64, 32, 4, 3)]


def constants(c):
    return {"BM": c[0], "BN": c[1], "warps": c[2], "stages": c[3]}


def teenys(rows, heads, seq, size, c):
    return lambda t: rows.teeny.launcher("attention_backward", "f16", t, [heads, seq, size], HEAD=size, CAUSAL=True,
                                         keys=constants(c[0]), queries=constants(c[1]))


def tritons(heads, seq, size, c):
    def launcher(t):
        q, k, v, out, dout, lse, delta, dq, dk, dv = t

        def run():
            attention_delta_kernel[(heads * seq // 128,)](out, dout, delta, HEAD=size, BM=128)
            attention_backward_kernel[(seq // c[1], heads)](q, k, v, dout, lse, delta, dq, dk, dv, seq, size**-0.5, HEAD=size,
                                                            CAUSAL=True, BM1=c[0], BN1=c[1], BM2=c[2], BN2=c[3], num_warps=c[4],
                                                            num_stages=c[5])

        return run

    return launcher


def library(t):
    """The backward pass alone: the forward one is run by the first call, on the stream that later records the graph."""
    state = []

    def run():
        if not state:
            leaves = [x[None].detach().requires_grad_() for x in t[:3]]
            state.extend([torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=True), leaves, t[4][None]])
        out, leaves, dout = state
        torch.autograd.grad(out, leaves, dout, retain_graph=True)

    return run


def reference(t, size, part):
    """dq, dk and dv of some heads, in f64."""
    q, k, v = (x[part].double().requires_grad_() for x in t[:3])
    score = (q @ k.transpose(1, 2)) * size**-0.5
    later = torch.ones(score.shape[1:], device="cuda", dtype=torch.bool).triu(1)
    out = torch.softmax(score.masked_fill(later, -float("inf")), 2) @ v
    return torch.autograd.grad(out, (q, k, v), t[4][part].double())


def attention_gradients(rows):
    heads, seq, size = 64, 4096, 128
    name = f"attention backward f16 D={size} N={seq} causal"
    if not rows.wants(name):
        return

    def inputs():
        q, k, v, dout = (normal(heads, seq, size, dtype=torch.float16) for _ in range(4))
        out, dq, dk, dv = (torch.empty_like(q) for _ in range(4))
        lse, delta = (torch.empty(heads, seq, device="cuda") for _ in range(2))
        rows.teeny.launcher("attention", "f16", (q, k, v, out, lse), [heads, seq, size], BM=128, BN=64, HEAD=size, CAUSAL=True,
                            LSE=True, warps=8)()
        return q, k, v, out, dout, lse, delta, dq, dk, dv

    t, part = inputs(), slice(0, 2)
    expected = reference(t, size, part)
    for peer, launches in (("teeny", [teenys(rows, heads, seq, size, c) for c in TRIES[:2]]),
                           ("triton", [tritons(heads, seq, size, TRIES_TRITON[0])])):
        for number, launcher in enumerate(launches):
            for gradient, got, right in zip(("dq", "dk", "dv"), t[7:], expected):
                check(f"{name} {peer} variant {number} {gradient}", launcher(t), got, right, 3e-3, part)
    del expected
    # Five products of [seq, seq, size], the scores computed again among them; half of each lies below the diagonal.
    work = 10 * heads * seq * seq * size // 2
    rows.row(name, work, "FLOP/s", inputs, 16 * heads * seq * size,
             {"teeny": [teenys(rows, heads, seq, size, c) for c in TRIES],
              "triton": [tritons(heads, seq, size, c) for c in TRIES_TRITON], "torch": [library]}, 1.0, ("triton",))
