# shellcheck shell=bash
# Shared by the tests of the set-up: a throw-away clone, and checks that say what they saw.
set -uo pipefail
ROOT=${DLTRAIN_ROOT:-$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)}
unset NS3_DIR DLTRAIN_CACHE DLTRAIN_NS3_ARCHIVE DLTRAIN_NS3_UPSTREAM DLTRAIN_APT_ETC XDG_CACHE_HOME
export DLTRAIN_NO_INSTALL=1

TMP=$(mktemp -d)
trap 'rm -rf -- "$TMP"' EXIT
failures=0

# Without the packages of the first command the wrapper stops before what is tested here.
# shellcheck source=/dev/null
source "$ROOT/scripts/setup/packages.sh"
needed=("${RUN_PACKAGES[@]}" "${SOURCE_PACKAGES[@]}" "${MPI_PACKAGES[@]}" libns3-dev)
if command -v dpkg-query >/dev/null && [[ -n $(missing_packages "${needed[@]}") ]]; then
    echo "skipped: not installed: $(missing_packages "${needed[@]}")"
    exit 77
fi

# new_clone <name> [source]: the wrapper with empty modules, built on ns-3's source if that is said;
# sets CLONE and an empty DLTRAIN_CACHE.
new_clone() {
    CLONE=$TMP/$1
    mkdir -p "$CLONE"/contrib/{dltrain,ordinary,rdma} "$CLONE"/{scratch,scripts,reports/base,.ns3}
    mkdir -p "$CLONE"/{topologies,collectives,scenarios}
    touch "$CLONE/CMakeLists.txt" "$CLONE/reports/CMakeLists.txt" "$CLONE"/reports/base/x.{cc,h}
    [[ -z ${2-} ]] || echo source >"$CLONE/.ns3/ns3-from"
    cp -r -- "$ROOT/ns3" "$CLONE/"
    cp -r -- "$ROOT/scripts/setup" "$CLONE/scripts/"
    echo 'int main() {}' >"$CLONE/scratch/dltrain.cc"
    export DLTRAIN_CACHE=$CLONE/cache
}

# need_source: sets DLTRAIN_NS3 to ns-3's source, which is fetched into the clone if it is missing.
need_source() {
    [[ -z ${DLTRAIN_NS3:-} ]] || return
    unset DLTRAIN_CACHE
    # shellcheck source=/dev/null
    (for part in common packages ns3 fetch; do source "$ROOT/scripts/setup/$part.sh"; done &&
        lock && need_tree) || { echo "skipped: no source of ns-3" && exit 77; }
    DLTRAIN_NS3=$ROOT/.ns3/ns-3.37
}

# stub <name> <<body: a command that stands in for a real one.
stub() {
    mkdir -p "$TMP/stubs"
    { echo '#!/usr/bin/env bash' && cat; } >"$TMP/stubs/$1"
    chmod +x "$TMP/stubs/$1"
}

# try <command>...: runs it; sets status, and out (both streams).
try() {
    out=$("$@" 2>&1 </dev/null)
    status=$?
}

# interrupt <ready> <command>...: runs it as a job of its own, which gets SIGINT as the terminal would
# send it, as soon as <ready> says so; sets what "try" does.
interrupt() {
    local ready=$1 job
    shift
    set -m
    "$@" >"$TMP/out" 2>&1 </dev/null &
    job=$!
    for _ in $(seq 100); do
        "$ready" && break
        sleep 0.1
    done
    kill -INT -- "-$job"
    wait "$job"
    status=$? out=$(<"$TMP/out")
    set +m
}

expect_status() {
    [[ $status == "$1" ]] || problem "status is $status, not $1"
}

# One error, in one line, and it names the thing.
expect_error() {
    [[ $(grep -c '^error: ' <<<"$out") == 1 ]] || problem "not exactly one error"
    grep -q "^error: .*$1" <<<"$out" || problem "the error does not say '$1'"
}

expect_no_tree() {
    local left
    [[ ! -e $CLONE/.ns3/ns-3.37 ]] || problem "there is a tree"
    left=$(find "$CLONE/.ns3" "$DLTRAIN_CACHE" -name 'part.*' -o -name 'unpacking.*' 2>/dev/null)
    [[ -z $left ]] || problem "left behind: $left"
}

problem() {
    printf 'FAILED (%s): %s\n%s\n' "$test_case" "$*" "$out"
    failures=$((failures + 1))
}

begin() { test_case=$1 && echo "- $1"; }
finish() {
    echo "$failures failed"
    exit $((failures > 0))
}
