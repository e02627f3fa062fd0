#!/usr/bin/env bash
# Builds that fail, are interrupted or lose files; clones that cannot be written to. A stand-in for
# CMake does what a build would.
# shellcheck source=lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

# What configures writes files; what builds needs them, and links what is missing.
stub cmake <<'END'
echo "cmake $*" >>"$CMAKE_CALLS"
while (($#)); do
    case $1 in
    -B) build=$2 ;;
    --build) target=$2 ;;
    esac
    shift
done
if [[ -n ${build-} ]]; then
    mkdir -p "$build"/{CMakeFiles,include/ns3}
    touch "$build"/{build.ninja,CMakeCache.txt,CMakeFiles/rules.ninja,include/ns3/rdma.h}
    exit
fi
[[ ! -f $SAYS ]] || { cat "$SAYS" && exit 1; }
for file in build.ninja CMakeCache.txt CMakeFiles/rules.ninja include/ns3/rdma.h; do
    [[ -e $target/$file ]] || { echo "ninja: error: $file" && exit 1; }
done
if [[ -n ${WAITS-} ]]; then
    trap 'echo "ninja: build stopped: interrupted by user."; exit 2' INT
    touch "$WAITS"
    for _ in {1..100}; do sleep 0.1; done
fi
mkdir -p "$target/bin" "$target/lib"
touch "$target/lib/"{a,b,libdltrain-part-tcp}.so
printf '#!/bin/sh\nfor i in a b; do [ -e %s/lib/$i.so ] || exit 127; done; echo ran\n' "$target" \
    >"$target/bin/dltrain"
chmod +x "$target/bin/dltrain"
printf '1\t2\t3\tbin/dltrain\t4\n' >"$target/.ninja_log"
END
export CMAKE_CALLS=$TMP/calls SAYS=$TMP/says
export PATH=$TMP/stubs:$PATH
: >"$CMAKE_CALLS"
builds() { grep -c -- --build "$CMAKE_CALLS"; }
runs() {
    try "$CLONE/ns3" run dltrain
    expect_status 0
    [[ $(tail -n 1 <<<"$out") == ran ]] || problem "the program did not run ($1)"
}

begin "only a first build is said to take minutes"
new_clone clone
echo installed >"$CLONE/.ns3/ns3-from"
runs "the first time"
grep -q "some five minutes" <<<"$out" || problem "not a word about minutes"
rm -rf "$CLONE/.ns3/build/bin"
runs "without bin"
! grep -q minutes <<<"$out" || problem "minutes for one link"

begin "whatever was removed of .ns3 is made again, the program's own files at once"
for gone in build/lib build/lib/a.so build/bin programs build; do
    rm -rf "$CLONE/.ns3/$gone"
    runs "without $gone"
done
for gone in build/CMakeFiles build/CMakeFiles/rules.ninja build/include build/build.ninja \
    build/CMakeCache.txt build/.dltrain-files fresh logs parts; do
    rm -rf "$CLONE/.ns3/$gone" "$CLONE/.ns3/fresh"
    runs "without $gone"
done
before=$(builds)
runs "all is there"
rm "$CLONE/.ns3/build/lib/libdltrain-part-tcp.so" # built on first use
runs "without a part"
[[ $(builds) == "$before" ]] || problem "built although nothing was missing"

begin "what 'build' has built is up to date for 'run'"
touch "$CLONE/scratch/dltrain.cc"
try "$CLONE/ns3" build
before=$(builds)
runs "after build"
[[ $(builds) == "$before" ]] || problem "built twice"

begin "a long error keeps its last line"
{
    echo "FAILED: x.o" && echo g++ && seq -f 'x.cc:%g: error: no such thing, at some length' 5000
} >"$SAYS"
touch "$CLONE/scratch/dltrain.cc"
try "$CLONE/ns3" run dltrain
expect_status 1
expect_error "the build failed"
[[ $(wc -l <<<"$out") -lt 45 ]] || problem "more than 40 lines"

begin "Ctrl-C in a build is no failure"
rm "$SAYS"
export WAITS=$TMP/waits
# shellcheck disable=SC2317 # "interrupt" calls it
waiting() { [[ -e $WAITS ]]; }
interrupt waiting "$CLONE/ns3" run dltrain
expect_status 130
[[ $(grep -c . <<<"$out") == 1 && $out == "interrupted: "* ]] || problem "not just 'interrupted'"
unset WAITS
echo 'ninja: build stopped: interrupted by user.' >"$SAYS" # Ninja alone got the signal
try "$CLONE/ns3" run dltrain
expect_status 130
[[ $out == "interrupted: "* ]] || problem "not just 'interrupted'"
rm "$SAYS"

begin "a clone that cannot be written to runs what is built"
runs "before"
# (root could write all the same)
# shellcheck disable=SC2317 # "try" calls it
as_nobody() { if ((EUID == 0)); then setpriv --reuid=65534 --clear-groups "$@"; else "$@"; fi; }
chmod a+rx "$TMP"
chmod -R a+rX,a-w "$CLONE"
before=$(builds)
for command in "run dltrain" show; do
    # shellcheck disable=SC2086 # words
    try as_nobody "$CLONE/ns3" $command
    expect_status 0
done
[[ $(builds) == "$before" ]] || problem "tried to build"
chmod u+w "$CLONE/.ns3/fresh" && rm -f "$CLONE/.ns3/fresh/dltrain"
try as_nobody "$CLONE/ns3" run dltrain
expect_status 1
[[ $out == "error: cannot write to $CLONE/.ns3/lock: the clone must be writable to build in \
it" ]] ||
    problem "not one line"
chmod -R u+w "$CLONE"

finish
