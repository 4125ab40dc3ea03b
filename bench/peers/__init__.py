"""The rows of bench/gpu_peers.py, by subject, and the protocol that they share."""
