#!/usr/bin/env bash
# What is up to date is not built again; a clone that was moved or copied builds itself anew, and
# leaves the folder that it came from alone. A stand-in for CMake writes what a build would.
# shellcheck source=lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

# The program says which clone it was built from.
stub cmake <<'END'
echo "cmake $*" >>"$CMAKE_CALLS"
while (($#)); do
    case $1 in
    -B) build=$2 ;;
    -S) source=$2 ;;
    --build) target=$2 ;;
    esac
    shift
done
if [[ -n ${build-} ]]; then
    mkdir -p "$build" && touch "$build/build.ninja"
    echo "$source" >"$build/CMakeCache.txt"
else
    mkdir -p "$target/bin" "$target/lib"
    printf '#!/bin/sh\necho built from %s\n' "$(<"$target/CMakeCache.txt")" >"$target/bin/dltrain"
    chmod +x "$target/bin/dltrain"
    echo "[1/1] built"
fi
END
export CMAKE_CALLS=$TMP/calls
export PATH=$TMP/stubs:$PATH
calls() { if [[ -f $CMAKE_CALLS ]]; then grep -c -- --build "$CMAKE_CALLS"; else echo 0; fi; }
run_in() {
    try "$1/ns3" run dltrain
    expect_status 0
    grep -qFx "built from $1" <<<"$out" || problem "not built from $1"
}
expect_builds() { [[ $(calls) == "$1" ]] || problem "built $(calls) times, not $1 ($2)"; }

begin "what is up to date is not built"
new_clone first
echo installed >"$CLONE/.ns3/ns3-from"
run_in "$CLONE"
expect_builds 1 "the first time"
run_in "$CLONE"
expect_builds 1 "nothing has changed"

begin "whatever was edited, added, removed or set back to an older file is built"
count=1
for change in "touch contrib/rdma/new.cc" "rm contrib/rdma/new.cc" "touch reports/base/new.cc" \
    "rm reports/base/new.cc" "mkdir scenarios/more" "touch scripts/setup/x.cmake" \
    "touch -d 2001-01-01 CMakeLists.txt"; do
    sleep 0.02
    (cd "$CLONE" && $change)
    run_in "$CLONE"
    count=$((count + 1))
    expect_builds $count "$change"
done
begin "a run's own folder is no change"
mkdir "$CLONE/results/dltrain-1" && touch "$CLONE/results/dltrain-1/stats.json"
run_in "$CLONE"
expect_builds $count "a run's folder"

begin "other flags are another build"
CXXFLAGS=-g run_in "$CLONE"
expect_builds $((count + 1)) "CXXFLAGS"

begin "a copied clone builds itself, and leaves the original alone"
first=$CLONE
cp -a "$first" "$TMP/copy"
before=$(find "$first" -printf '%p %T@\n' | sort)
run_in "$TMP/copy"
grep -q "was set up in $first: setting it up anew" <<<"$out" || problem "not a word about it"
CLONE=$TMP/copy
try "$CLONE/ns3" clean
expect_status 0
[[ ! -e $CLONE/.ns3/build ]] || problem "the copy is not clean"
[[ $(find "$first" -printf '%p %T@\n' | sort) == "$before" ]] || problem "the original has changed"

begin "so does one that was moved"
mv "$first" "$TMP/moved"
run_in "$TMP/moved"

begin "a source tree that was configured elsewhere is configured anew"
new_clone with-tree source
tree=$CLONE/.ns3/ns-3.37
mkdir -p "$tree"/{build,cmake-cache,contrib,scratch,src/core} "$TMP/elsewhere/build"
printf 3.37 >"$tree/VERSION"
echo "out_dir = '$TMP/elsewhere/build'" >"$tree/.lock-ns3_linux_build"
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$TMP/elsewhere" >"$tree/cmake-cache/CMakeCache.txt"
echo "$TMP/elsewhere" >"$CLONE/.ns3/root"
# shellcheck disable=SC2016 # the words of a script
printf '#!/bin/sh\necho "real ns3 $*"\n[ "$1" != clean ] || rm -rf "%s"\nexit 1\n' \
    "$TMP/elsewhere/build" >"$tree/ns3"
chmod +x "$tree/ns3"
try "$CLONE/ns3" build
[[ ! -e $tree/cmake-cache && ! -e $tree/.lock-ns3_linux_build && -e $tree/src/core ]] ||
    problem "the tree is as it was"
echo "out_dir = '$TMP/elsewhere/build'" >"$tree/.lock-ns3_linux_build"
try "$CLONE/ns3" clean
expect_status 0
[[ -d $TMP/elsewhere/build ]] || problem "clean removed a folder outside the clone"

begin "a link to another clone's build is refused"
CLONE=$TMP/moved
mkdir "$TMP/linked"
cp -r "$CLONE"/[!.]* "$TMP/linked/"
ln -s "$CLONE/.ns3" "$TMP/linked/.ns3"
for command in "run dltrain" clean; do
    # shellcheck disable=SC2086 # words
    try "$TMP/linked/ns3" $command
    expect_status 1
    expect_error "is a link to $CLONE/.ns3"
done
run_in "$CLONE"

finish
