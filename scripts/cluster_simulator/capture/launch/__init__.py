# SPDX-License-Identifier: GPL-2.0-only
"""Starting scripts as torchrun, srun and mpirun would, on this machine."""
