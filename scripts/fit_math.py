#!/usr/bin/env python3
"""Fits the polynomials of the math expansion and writes src/compiler/transforms/expand_math_coefficients.hpp.

Method: a weighted Remez exchange in 60-digit arithmetic (mpmath). A function is approximated by sum c[k] * t**k with
the weighted error w(x) * (p(t(x)) - g(x)) equioscillating. Coefficients are then rounded to the format one after
another, lowest degree first, and the ones that follow are fitted again around the rounded ones.

Usage: scripts/fit_math.py > src/compiler/transforms/expand_math_coefficients.hpp    (needs: pip install mpmath)
"""
import sys
from mpmath import mp, mpf, matrix, lu_solve, cos, pi, exp, log, sqrt, erfc, sin, floor, frexp, ldexp, nint

mp.dps = 60
FORMATS = {"f32": 24, "f64": 53}


def round_to(value, bits):
    """The nearest number of `bits` significant bits."""
    if value == 0:
        return mpf(0)
    mantissa, exponent = frexp(value)
    return ldexp(nint(ldexp(mantissa, bits)), exponent - bits)


def remez(g, weight, variable, low, high, degree, fixed=(), iterations=8):
    """Minimax coefficients of degree 0..degree; the first len(fixed) are given. Returns (coefficients, error)."""
    first = len(fixed)
    count = degree + 1 - first
    middle, half = (low + high) / 2, (high - low) / 2
    grid_size = 40 * (count + 1)
    grid = [middle - half * cos(pi * (i + mpf(1) / 2) / grid_size) for i in range(grid_size)]
    values = [(variable(x), weight(x), g(x)) for x in grid]
    rows = []
    for t, w, y in values:
        known = sum((c * t**k for k, c in enumerate(fixed)), mpf(0))
        rows.append((t, w, w * (y - known)))
    nodes = [min(grid_size - 1, int((i + 0.5) * grid_size / (count + 1))) for i in range(count + 1)]
    for _ in range(iterations):
        system, right = matrix(count + 1), matrix(count + 1, 1)
        for row, index in enumerate(nodes):
            t, w, y = rows[index]
            for k in range(count):
                system[row, k] = w * t**(first + k)
            system[row, count] = (-1)**row
            right[row] = y
        solution = lu_solve(system, right)
        coefficients = list(fixed) + [solution[k] for k in range(count)]
        errors = [w * sum((coefficients[first + k] * t**(first + k) for k in range(count)), mpf(0)) - y for t, w, y in rows]
        new_nodes = exchange(errors, count + 1)
        if new_nodes is None or new_nodes == nodes:
            break
        nodes = new_nodes
    return coefficients, max(abs(e) for e in errors)


def exchange(errors, wanted):
    """The indices of `wanted` extrema of alternating sign, or None when the error has fewer sign changes."""
    runs = []
    for i, e in enumerate(errors):
        if runs and (errors[runs[-1]] < 0) == (e < 0):
            if abs(e) > abs(errors[runs[-1]]):
                runs[-1] = i
        else:
            runs.append(i)
    while len(runs) > wanted:
        if len(runs) == wanted + 1:
            runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
        else:
            weakest = min(range(len(runs) - 1), key=lambda i: max(abs(errors[runs[i]]), abs(errors[runs[i + 1]])))
            del runs[weakest:weakest + 2]
    return runs if len(runs) == wanted else None


def fit(name, fmt, g, weight, variable, low, high, degree, refit):
    """refit: after rounding a coefficient, fit the later ones again. Only where the weighted powers have no common zero
    inside of the interval, else the exchange theorem does not hold for what is left."""
    bits = FORMATS[fmt]
    low, high = mpf(low), mpf(high)
    coefficients, free_error = remez(g, weight, variable, low, high, degree)
    fixed = [round_to(c, bits) for c in coefficients]
    if refit:
        for k in range(1, degree + 1):
            coefficients, _ = remez(g, weight, variable, low, high, degree, tuple(fixed[:k]))
            fixed[k:] = [round_to(c, bits) for c in coefficients[k:]]
    error = max(abs(weight(x) * (sum(c * variable(x)**k for k, c in enumerate(fixed)) - g(x)))
                for x in (low + (high - low) * (i + mpf("0.5")) / 500 for i in range(500)))
    text = f"degree {degree}, largest weighted error 2^{float(log(error, 2)):.1f}"
    print(f"{name}_{fmt}: {text} (before rounding 2^{float(log(free_error, 2)):.1f})", file=sys.stderr)
    emit_array(f"{name}_{fmt}", fixed, text)


def emit_array(name, values, comment):
    body = ", ".join(float(v).hex() for v in values)
    lines, line = [], "   "
    for word in body.split(" "):
        if len(line) + len(word) + 1 > 116:
            lines.append(line)
            line = "   "
        line += " " + word
    lines.append(line)
    print(f"/// {comment}.\ninline constexpr double {name}[] = {{\n" + "\n".join(lines) + "};\n")


def parts(value, widths):
    """value as an unevaluated sum of numbers of the given widths in bits."""
    result = []
    for width in widths:
        part = round_to(value, width)
        result.append(part)
        value -= part
    return result


def erf_rate(a):
    """-log(erfc(a)) / a, whose limit at 0 is 2 / sqrt(pi)."""
    return 2 / sqrt(pi) if a == 0 else -log(erfc(a)) / a


def erf_slope(low, a):
    """(erf_rate(a) - erf_rate(low)) / (a - low)."""
    return (erf_rate(a) - erf_rate(low)) / (a - low)


def erf_weight(a):
    """How much a relative error of erf_rate moves erf: g / (exp(g) - 1), relative."""
    g = a * erf_rate(a)
    return (g / (exp(g) - 1) if g != 0 else mpf(1)) / erf_rate(a)


def main():
    print("// Made by scripts/fit_math.py: change it there.\n#pragma once\n\n#include <cstdint>\n")
    print("namespace teeny::compiler::coefficients {\n")
    ln2, half = log(mpf(2)), log(mpf(2)) / 2 * mpf("1.0001")
    small = lambda f: mpf("1e-25") if f == 0 else f
    identity = lambda x: x
    square = lambda x: x * x
    third = mpf(1) / 3 + mpf(2)**-20
    quarter_turn = pi / 4 * mpf("1.0001")
    degrees = {"f32": dict(expm1=4, exp2=5, log=8, erf=[(0, 4, 8)], sin=2, cos=2),
               "f64": dict(expm1=9, exp2=10, log=7, erf=[(0, 1, 13), (1, "2.5", 13), ("2.5", "6", 13)], sin=5, cos=5)}
    for fmt in ("f32", "f64"):
        d = degrees[fmt]
        print(f"// ---- exp(r) = 1 + r + r^2 q(r), |r| <= ln(2)/2; the weight makes exp(r) - 1 relatively exact")
        fit("expm1", fmt, lambda r: (exp(r) - 1 - r) / r**2,
            lambda r: r**2 / abs(exp(r) - 1), identity, -half, half, d["expm1"], False)
        print(f"// ---- 2^f = 1 + f h(f), |f| <= 1/2")
        fit("exp2", fmt, lambda f: (mpf(2)**f - 1) / f,
            lambda f: abs(f) / mpf(2)**f, identity, "-0.5", "0.5", d["exp2"], False)
        if fmt == "f32":
            print("// ---- log(1 + f) = f + f^2 q(f), |f| <= 1/3")
            fit("log", fmt, lambda f: (log(1 + f) - f) / f**2,
                lambda f: f**2 / abs(log(1 + f)), identity, -third, third, d["log"], False)
        else:
            print("// ---- log(1 + f) = 2 s + s^3 R(s^2), s = f / (2 + f), |s| <= 1/5")
            g = lambda s: (log((1 + s) / (1 - s)) - 2 * s) / s**3
            fit("log", fmt, g, lambda s: s**2 / 2, square, "1e-6", "0.20001", d["log"], True)
        for index, (low, high, degree) in enumerate(d["erf"]):
            low, high = mpf(low), mpf(high)
            print(f"// ---- erf(a) = 1 - exp(-a (c + t Q(t))), t = a - {float(low)}, {float(low)} <= a <= {float(high)}")
            emit_array(f"erf_start{index}_{fmt}", parts(erf_rate(low), [FORMATS[fmt]] * 2), "c in two parts")
            fit(f"erf{index}", fmt, lambda a: erf_slope(low, a), lambda a: (a - low) * erf_weight(a), lambda a: a - low,
                low, high, degree, False)
        print("// ---- sin(r) = r + r^3 S(r^2) and cos(r) = 1 - r^2/2 + r^4 C(r^2), |r| <= pi/4")
        fit("sin", fmt, lambda r: (sin(r) - r) / r**3,
            lambda r: r**3 / sin(r), square, "1e-6", quarter_turn, d["sin"], True)
        fit("cos", fmt, lambda r: (cos(r) - 1 + r**2 / 2) / r**4,
            lambda r: r**4 / cos(r), square, "1e-5", quarter_turn, d["cos"], True)
    print("// ---- constants as sums of shorter numbers: products with small integers are exact")
    emit_array("ln2_f32", parts(ln2, [14, 24]), "ln(2), the first part of 14 bits")
    emit_array("ln2_f64", parts(ln2, [40, 53]), "ln(2), the first part of 40 bits")
    emit_array("log2e_f32", parts(1 / ln2, [24, 24]), "log2(e)")
    emit_array("log2e_f64", parts(1 / ln2, [53, 53]), "log2(e)")
    emit_array("half_pi_fused_f32", parts(pi / 2, [24, 24, 24]), "pi/2 for fused reductions")
    emit_array("half_pi_fused_f64", parts(pi / 2, [53, 53, 53]), "pi/2 for fused reductions")
    emit_array("half_pi_short_f32", parts(pi / 2, [13, 13, 13, 24]), "pi/2 in parts of 13 bits")
    emit_array("half_pi_short_f64", parts(pi / 2, [33, 33, 33, 53]), "pi/2 in parts of 33 bits")
    mp.dps = 450
    bits = 20 * 64
    number = int(floor(ldexp(2 / pi, bits)))
    words = [(number >> (bits - 64 * (i + 1))) & (2**64 - 1) for i in range(20)]
    print("/// The first 1280 bits of 2/pi after the binary point, highest first.")
    print("inline constexpr std::uint64_t two_over_pi[] = {")
    for i in range(0, 20, 5):
        print("    " + ", ".join(f"0x{w:016x}" for w in words[i:i + 5]) + ("};" if i == 15 else ","))
    print("\n} // namespace teeny::compiler::coefficients")


main()
