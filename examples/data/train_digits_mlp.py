#!/usr/bin/env python3
"""Trains the demonstration's network on the first 1,347 digits and writes digits_mlp.bin beside this script.

64 inputs in [0, 1] -> 128 (GELU, exact form) -> 10 logits; cross entropy, Adam, weight decay, fixed seed. NumPy only.
Prints the accuracy on the 450 digits that training never sees.
"""
import gzip
import math
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
TRAINING_ROWS = 1347
HIDDEN = 128

erf = np.vectorize(math.erf)


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def gelu_gradient(x):
    return 0.5 * (1 + erf(x / math.sqrt(2))) + x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def main():
    with gzip.open(HERE / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    pixels, labels = table[:, :64] / 16, table[:, 64].astype(int)
    x, t = pixels[:TRAINING_ROWS], labels[:TRAINING_ROWS]
    random = np.random.default_rng(1)
    parameters = [random.normal(0, math.sqrt(2 / 64), (64, HIDDEN)), np.zeros(HIDDEN),
                  random.normal(0, math.sqrt(1 / HIDDEN), (HIDDEN, 10)), np.zeros(10)]
    first = [np.zeros_like(p) for p in parameters]
    second = [np.zeros_like(p) for p in parameters]
    step = 0
    for epoch in range(60):
        order = random.permutation(TRAINING_ROWS)
        for start in range(0, TRAINING_ROWS, 64):
            rows = order[start:start + 64]
            w1, b1, w2, b2 = parameters
            hidden = x[rows] @ w1 + b1
            active = gelu(hidden)
            logits = active @ w2 + b2
            logits -= logits.max(axis=1, keepdims=True)
            probability = np.exp(logits)
            probability /= probability.sum(axis=1, keepdims=True)
            probability[np.arange(len(rows)), t[rows]] -= 1
            d_logits = probability / len(rows)
            d_hidden = (d_logits @ w2.T) * gelu_gradient(hidden)
            gradients = [x[rows].T @ d_hidden, d_hidden.sum(0), active.T @ d_logits, d_logits.sum(0)]
            step += 1
            rate = 2e-3 * 0.5 * (1 + math.cos(math.pi * epoch / 60))
            for p, g, m, v in zip(parameters, gradients, first, second):
                m += 0.1 * (g - m)
                v += 0.001 * (g * g - v)
                p -= rate * (m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8) + 1e-3 * p)
    with open(HERE / "digits_mlp.bin", "wb") as file:
        for p in parameters:
            file.write(p.astype("<f4").tobytes())
    w1, b1, w2, b2 = [p.astype("<f4") for p in parameters]
    guess = (gelu(pixels[TRAINING_ROWS:] @ w1 + b1) @ w2 + b2).argmax(axis=1)
    right = int((guess == labels[TRAINING_ROWS:]).sum())
    print(f"accuracy on {len(guess)} unseen digits: {right}/{len(guess)} = {right / len(guess):.4f}")


if __name__ == "__main__":
    main()
