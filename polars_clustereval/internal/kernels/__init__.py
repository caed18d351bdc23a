"""kernels: what numpy computes, in blocks and in threads."""
