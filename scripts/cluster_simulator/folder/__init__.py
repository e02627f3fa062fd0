# SPDX-License-Identifier: GPL-2.0-only
"""The files of a run's folder: which there are, what stands in them, and how they are opened.
Whoever reads results, reads them by this: results.py with data frames, scripts/report with what a
page has room for.

A folder may be anybody's, or half of a run. No import of anything that is not Python's own:
scripts/report runs at the end of every simulation.
"""
