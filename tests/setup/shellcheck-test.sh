#!/usr/bin/env bash
# The shell scripts pass ShellCheck.
cd -- "${DLTRAIN_ROOT:-$(dirname -- "${BASH_SOURCE[0]}")/../..}" || exit 1
command -v shellcheck >/dev/null || { echo "skipped: no shellcheck" && exit 77; }
shellcheck -x -P tests/setup ns3 .ci/run scripts/setup/*.sh tests/setup/*.sh && echo clean
