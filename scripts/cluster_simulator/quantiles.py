# SPDX-License-Identifier: GPL-2.0-only
"""How many values a quantile wants: one rule for tables, pictures and the report.

No import of anything that is not Python's own: scripts/report runs at the end of every simulation.
"""

# 1 / (1 - q): of fewer it is only the largest of them. A median is shown of any.
LEAST = {"p50": 1, "p95": 20, "p99": 100, "p999": 1000}
