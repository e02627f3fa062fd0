# SPDX-License-Identifier: GPL-2.0-only
"""From the raw records of processes to a capture: docs/capture-format.md."""
