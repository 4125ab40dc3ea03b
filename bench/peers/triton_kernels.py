"""Triton's kernels: what a user of Python Triton would write first."""
import triton
import triton.language as tl


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
                  BK: tl.constexpr, GROUP: tl.constexpr, PRECISION: tl.constexpr, GELU: tl.constexpr = False, bias=None):
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
    if GELU:
        acc += tl.load(bias + rn, mask=rn < n, other=0).to(tl.float32)[None, :]
        acc = acc * 0.5 * (tl.erf(acc * 0.70710678118654752) + 1.0)
    tl.store(c + rm[:, None] * stride_c + rn[None, :], acc.to(c.dtype.element_ty), mask=mask)


@triton.jit
def attention_kernel(q, k, v, out, seq, scale, BM: tl.constexpr, BN: tl.constexpr, HEAD: tl.constexpr,
                     CAUSAL: tl.constexpr):
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
    whole = tl.program_id(0) * BM if CAUSAL else seq
    end = whole + BM if CAUSAL else seq
    for first in range(0, whole, BN):
        score = tl.dot(query, tl.load(pk + first * HEAD))
        peak = tl.maximum(highest, tl.max(score, 1) * scale)
        p = tl.exp2(score * scale - peak[:, None])
        shrink = tl.exp2(highest - peak)
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype.element_ty), tl.load(pv + first * HEAD), acc * shrink[:, None])
        highest = peak
    if CAUSAL:
        for first in range(whole, end, BN):
            score = tl.dot(query, tl.load(pk + first * HEAD))
            score = tl.where(rm[:, None] >= (first + rn)[None, :], score, -float("inf"))
            peak = tl.maximum(highest, tl.max(score, 1) * scale)
            p = tl.exp2(score * scale - peak[:, None])
            shrink = tl.exp2(highest - peak)
            total = total * shrink + tl.sum(p, 1)
            acc = tl.dot(p.to(v.dtype.element_ty), tl.load(pv + first * HEAD), acc * shrink[:, None])
            highest = peak
    tl.store(out + base + rm[:, None] * HEAD + rd[None, :], (acc / total[:, None]).to(out.dtype.element_ty))


@triton.jit
def attention_inner(acc, total, highest, query, keys, values, base, begin, end, scale, rm, rn, BN: tl.constexpr,
                    MASKED: tl.constexpr):
    for first in tl.range(begin, end, BN):
        score = tl.dot(query, keys.load([base + first, 0]).T)
        if MASKED:
            score = tl.where(rm[:, None] >= (first + rn)[None, :], score, -1.0e6)
        peak = tl.maximum(highest, tl.max(score, 1) * scale)
        p = tl.math.exp2(score * scale - peak[:, None])
        shrink = tl.math.exp2(highest - peak)
        acc = acc * shrink[:, None]
        acc = tl.dot(p.to(tl.float16), values.load([base + first, 0]), acc)
        total = total * shrink + tl.sum(p, 1)
        highest = peak
    return acc, total, highest


@triton.jit
def attention_descriptors_kernel(queries, keys, values, outs, seq, scale, BM: tl.constexpr, BN: tl.constexpr,
                                 HEAD: tl.constexpr, CAUSAL: tl.constexpr):
    """In the style of Triton's tutorial: tensor descriptors of [heads * seq, HEAD]."""
    base = tl.program_id(1) * seq
    start = tl.program_id(0) * BM
    rm, rn = start + tl.arange(0, BM), tl.arange(0, BN)
    query = queries.load([base + start, 0])
    highest = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, HEAD), tl.float32)
    scale *= 1.44269504
    whole = start if CAUSAL else seq
    acc, total, highest = attention_inner(acc, total, highest, query, keys, values, base, 0, whole, scale, rm, rn, BN, False)
    if CAUSAL:
        acc, total, highest = attention_inner(acc, total, highest, query, keys, values, base, start, start + BM, scale, rm,
                                              rn, BN, True)
    outs.store([base + start, 0], (acc / total[:, None]).to(tl.float16))


@triton.jit
def attention_delta_kernel(out, dout, delta, HEAD: tl.constexpr, BM: tl.constexpr):
    """Of as many rows as there are, a multiple of BM."""
    rows, rd = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, HEAD)
    at = rows[:, None] * HEAD + rd[None, :]
    tl.store(delta + rows, tl.sum(tl.load(out + at).to(tl.float32) * tl.load(dout + at).to(tl.float32), 1))


@triton.jit
def attention_keys_inner(dk, dv, key, value, q, dout, lse, delta, begin, end, rn, scale, HEAD: tl.constexpr, BM: tl.constexpr,
                         MASKED: tl.constexpr):
    rd = tl.arange(0, HEAD)
    for first in range(begin, end, BM):
        rm = first + tl.arange(0, BM)
        at = rm[:, None] * HEAD + rd[None, :]
        query = tl.load(q + at)
        p = tl.math.exp2(tl.dot(key, tl.trans(query)) * scale - tl.load(lse + rm)[None, :])
        if MASKED:
            p = tl.where(rm[None, :] >= rn[:, None], p, 0.0)
        grad = tl.load(dout + at)
        dv = tl.dot(p.to(tl.float16), grad, dv)
        dp = tl.dot(value, tl.trans(grad))
        dk = tl.dot((p * (dp - tl.load(delta + rm)[None, :])).to(tl.float16), query, dk)
    return dk, dv


@triton.jit
def attention_queries_inner(dq, query, grad, k, v, lse, delta, begin, end, rm, scale, HEAD: tl.constexpr, BN: tl.constexpr,
                            MASKED: tl.constexpr):
    rd = tl.arange(0, HEAD)
    for first in range(begin, end, BN):
        rn = first + tl.arange(0, BN)
        at = rn[None, :] * HEAD + rd[:, None]
        key = tl.load(k + at)
        p = tl.math.exp2(tl.dot(query, key) * scale - lse[:, None])
        if MASKED:
            p = tl.where(rm[:, None] >= rn[None, :], p, 0.0)
        dp = tl.dot(grad, tl.load(v + at))
        dq = tl.dot((p * (dp - delta[:, None])).to(tl.float16), tl.trans(key), dq)
    return dq


@triton.jit
def attention_backward_kernel(q, k, v, dout, lse, delta, dq, dk, dv, seq, scale, HEAD: tl.constexpr, CAUSAL: tl.constexpr,
                              BM1: tl.constexpr, BN1: tl.constexpr, BM2: tl.constexpr, BN2: tl.constexpr):
    """In the structure of Triton's tutorial: a program makes dk and dv of BN1 keys, then dq of as many queries (BM2 = BN1);
    blocks on the diagonal first, with masks. `scale` is in units of log2 where scores are exponentiated."""
    head, start = tl.program_id(1) * seq, tl.program_id(0) * BN1
    rd = tl.arange(0, HEAD)
    q, k, v, dout = q + head * HEAD, k + head * HEAD, v + head * HEAD, dout + head * HEAD
    lse, delta = lse + head, delta + head
    scale2 = scale * 1.44269504
    rn = start + tl.arange(0, BN1)
    own = rn[:, None] * HEAD + rd[None, :]
    key, value = tl.load(k + own), tl.load(v + own)
    dk_sum = tl.zeros((BN1, HEAD), tl.float32)
    dv_sum = tl.zeros((BN1, HEAD), tl.float32)
    begin = 0
    if CAUSAL:
        begin = start + BN1
        dk_sum, dv_sum = attention_keys_inner(dk_sum, dv_sum, key, value, q, dout, lse, delta, start, begin, rn, scale2, HEAD, BM1, True)
    dk_sum, dv_sum = attention_keys_inner(dk_sum, dv_sum, key, value, q, dout, lse, delta, begin, seq, rn, scale2, HEAD, BM1, False)
    tl.store(dv + head * HEAD + own, dv_sum.to(tl.float16))
    tl.store(dk + head * HEAD + own, (dk_sum * scale).to(tl.float16))

    rm = start + tl.arange(0, BM2)
    own = rm[:, None] * HEAD + rd[None, :]
    query, grad = tl.load(q + own), tl.load(dout + own)
    row_lse, row_delta = tl.load(lse + rm), tl.load(delta + rm)
    dq_sum = tl.zeros((BM2, HEAD), tl.float32)
    end = seq
    if CAUSAL:
        end = start
        dq_sum = attention_queries_inner(dq_sum, query, grad, k, v, row_lse, row_delta, start, start + BM2, rm, scale2, HEAD, BN2, True)
    dq_sum = attention_queries_inner(dq_sum, query, grad, k, v, row_lse, row_delta, 0, end, rm, scale2, HEAD, BN2, False)
    tl.store(dq + head * HEAD + own, (dq_sum * scale).to(tl.float16))


@triton.jit
def sum_kernel(x, out, n, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    """Reads n elements and little else: the bound of what a kernel can read in a second."""
    at = tl.program_id(0) * BLOCK * STEPS + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for step in range(STEPS):
        acc += tl.load(x + at + step * BLOCK, mask=at + step * BLOCK < n, other=0).to(tl.float32)
    tl.store(out + tl.program_id(0), tl.sum(acc, 0))
