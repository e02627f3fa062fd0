#!/usr/bin/env bash
# NS_LOG: a law compiled with NS3_LOG_ENABLE, as debug builds have it, says what it decides and why;
# compiled as this project builds by default, its object has none of these words.
# ctest: TIMEOUT 600
# shellcheck source=lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

mkdir -p "$TMP/include/ns3"
for header in "$ROOT"/contrib/rdma/{engine,link,nic,congestion}/*.h; do
    ln -s -- "$header" "$TMP/include/ns3/"
done
law=$ROOT/contrib/rdma/congestion
flags=(-std=c++17 "-I$TMP/include" "-I$ROOT")
cat >"$TMP/main.cc" <<'EOF'
#include "ns3/dcqcn-congestion-ops.h"

using namespace ns3;

int
main()
{
    RdmaCongestionState state;
    state.port = state.line = rdma::Gbps(100);
    state.mtu = 4096;
    const auto law = CreateObject<RdmaDcqcnCongestionOps>();
    law->Init(state);
    law->OnCnp(state, rdma::TimePoint(5000000));
    law->OnUpdate(state, rdma::TimePoint(state.nextUpdate));
}
EOF

begin "a debug build says what DCQCN decides"
try g++ "${flags[@]}" -O0 -DNS3_LOG_ENABLE -o "$TMP/law" "$TMP/main.cc" \
    "$law/rdma-congestion-ops.cc" "$law/dcqcn-congestion-ops.cc" -lns3-core -lns3-network
expect_status 0
try env NS_LOG=DcqcnCongestionOps=logic "$TMP/law"
expect_status 0
grep -qE '^rate .*, because of a CNP at 5000000 ps$' <<<"$out" || problem "no word of the CNP"
# The preset's cut comes some microseconds after the CNP.
grep -qE '^rate from 100000000000 to [0-9]+ bit/s, because a cut or an increase is due' <<<"$out" ||
    problem "no word of the cut"
try "$TMP/law"
[[ -z $out ]] || problem "it speaks without NS_LOG"

begin "a user's own program speaks, with an ns-3 that is compiled without"
cat >"$TMP/own.cc" <<'EOF'
#include "ns3/core-module.h"

NS_LOG_COMPONENT_DEFINE("MyOwn");

#ifdef NS3_LOG_ENABLE
#error "other headers of ns-3 have more members with it"
#endif

int
main()
{
    NS_LOG_INFO("my own words");
}
EOF
try g++ -std=c++17 -include "$ROOT/scripts/setup/user-log.h" -o "$TMP/own" "$TMP/own.cc" -lns3-core
expect_status 0
try env NS_LOG=MyOwn=info "$TMP/own"
[[ $out == "my own words" ]] || problem "no word: $out"
try "$TMP/own"
[[ -z $out ]] || problem "it speaks without NS_LOG"

begin "an optimized build has none of it"
try g++ "${flags[@]}" -O1 -c -o "$TMP/law.o" "$law/dcqcn-congestion-ops.cc"
expect_status 0
try grep -c 'because of a CNP' "$TMP/law.o"
[[ $out == 0 ]] || problem "the words are in the object"
finish
