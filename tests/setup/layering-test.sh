#!/usr/bin/env bash
# Who may include whom (DESIGN.md): the arrows between folders keep pointing one way.
set -uo pipefail
cd -- "${DLTRAIN_ROOT:-$(dirname -- "${BASH_SOURCE[0]}")/../..}" || exit 1
failures=0

# must_not <folder> <regex of an included name> <why>
must_not() {
    local found
    found=$(grep -rnE --include='*.h' --include='*.cc' \
        "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($2)" "$1")
    [[ -z $found ]] || { echo "FAILED: $1 $3:" && echo "$found" && failures=$((failures + 1)); }
}

for pure in contrib/rdma/core topologies collectives scenarios results; do
    must_not "$pure" 'ns3/|contrib/dltrain/|contrib/rdma/(model|helper|test)/' \
        'is pure: no ns-3, no simulator'
done
must_not contrib/rdma 'topologies/|collectives/|scenarios/|results/|contrib/dltrain/|ns3/dltrain' \
    'is useful alone: nothing above it'
must_not contrib/rdma 'nlohmann/' 'needs no more than ns-3 and Boost'
must_not topologies 'collectives/|scenarios/|results/' 'stands below'
must_not collectives 'scenarios/|results/' 'stands below'
must_not scenarios 'results/' 'stands below'

# A header reached over several paths (a link, a copy) must be recognised: that is what guards are
# for.
pragma=$(grep -rl --include='*.h' '^#pragma once' contrib/rdma)
[[ -z $pragma ]] || { echo "FAILED: include guards, not #pragma once: $pragma" &&
    failures=$((failures + 1)); }

echo "$failures failed"
exit $((failures > 0))
