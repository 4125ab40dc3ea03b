"""teeny beside Python Triton and PyTorch (cuBLAS) on one GPU, in one run.

    python3 bench/gpu_peers.py --library build/default/lib/libteeny_gpu_rows.so [--only matmul] [--json FILE]

One protocol for all: every row is a CUDA graph of launches over inputs that rotate beyond four times the L2 cache,
normally distributed; graphs of all peers are replayed in turn and timed by events; the figure is the median time of a
launch. teeny's kernels run on PyTorch's own stream and memory. Each peer may choose its constants from a list.
"""
import argparse, json, os

import torch
import triton

from peers.attention import attentions
from peers.attention_backward import attention_gradients
from peers.costs import compile_here, compile_triton, compiles, launches
from peers.elementwise import normalisations, vector_add
from peers.matmul import matmuls, small_matmuls
from peers.protocol import Rows, Teeny, normal


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
    for group in (launches, vector_add, normalisations, matmuls, small_matmuls, attentions, attention_gradients):
        group(rows)
    compiles(rows, os.path.abspath(__file__))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows.table, file, indent=1)


main()
