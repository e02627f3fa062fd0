#!/usr/bin/env bash
# contrib/rdma, copied alone into an ns-3 tree without MPI, configures, builds and can be used by a
# program; its examples print what they say.
# ctest: TIMEOUT 2400 PROCESSORS 2 FULL
# shellcheck source=lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
need_source

# A tree of links to the real one, with a build of its own: nothing is copied but the module.
alone=$TMP/ns-3.37
mkdir -p "$alone/contrib" "$alone/scratch"
for entry in "$DLTRAIN_NS3"/*; do
    case ${entry##*/} in
    build | cmake-cache | contrib | scratch) ;;
    *) ln -s -- "$entry" "$alone/" ;;
    esac
done
ln -s -- "$DLTRAIN_NS3/scratch/CMakeLists.txt" "$alone/scratch/"
cp -r -- "$ROOT/contrib/rdma" "$alone/contrib/"
cat >"$alone/scratch/alone.cc" <<'EOF'
#include "contrib/rdma/core/units.h"

#include "ns3/core-module.h"
#include "ns3/rdma-module.h"

int
main(int argc, char* argv[])
{
    return 0;
}
EOF

# The flags of ./ns3 but for MPI, so that ccache has ns-3 itself from the second time on.
export CCACHE_BASEDIR=$alone CCACHE_NOHASHDIR=1
export CXXFLAGS=-fmacro-prefix-map=$alone/=
quietly() {
    "$@" >"$TMP/log" 2>&1 || { tail -n 40 "$TMP/log" && echo "FAILED: $*" && exit 1; }
}
cd "$alone" || exit 1
unset USER
quietly ./ns3 configure -d optimized --enable-tests --enable-examples \
    --disable-precompiled-headers \
    --enable-modules=rdma --filter-module-examples-and-tests=rdma -- -DNS3_COLORED_OUTPUT=ON
examples=()
for source in contrib/rdma/examples/*.cc; do
    name=${source##*/}
    name=${name%.cc}
    [[ $name == rdma-on-nodes ]] || examples+=("$name")
done
quietly cmake --build cmake-cache -j 2 --target scratch_alone test-runner "${examples[@]}"
quietly build/scratch/ns3.37-alone-optimized
echo "built and run alone"
mapfile -t suites < <(build/utils/ns3.37-test-runner-optimized --list | grep '^rdma-')
((${#suites[@]} >= 15)) || { echo "FAILED: only ${#suites[@]} suites" && exit 1; }
for suite in "${suites[@]}"; do
    quietly build/utils/ns3.37-test-runner-optimized --suite="$suite"
done
echo "passed ${#suites[@]} suites alone"
# One example has another module's devices on the same nodes.
quietly ./ns3 configure -d optimized --enable-tests --enable-examples \
    --disable-precompiled-headers \
    --enable-modules="rdma;csma" --filter-module-examples-and-tests=rdma -- \
    -DNS3_COLORED_OUTPUT=ON
examples+=(rdma-on-nodes)
quietly cmake --build cmake-cache -j 2 --target rdma-on-nodes
/usr/bin/python3 "$ROOT/tests/setup/rdma-examples.py" build/contrib/rdma/examples "${examples[@]}" \
    || exit 1
