# SPDX-License-Identifier: GPL-2.0-only
"""What runs inside the captured processes: it makes a PyTorch without CUDA behave as one with it.

`start.apply` runs right after `import torch`; sitecustomize.py sees to that in every Python that a
script starts.
"""
