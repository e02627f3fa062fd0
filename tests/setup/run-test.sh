#!/usr/bin/env bash
# How ./ns3 run starts a program, against a stand-in for a configured ns-3 tree.
# shellcheck source=lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

# new_tree: as much of an ns-3 tree as the wrapper looks at; its "ns3" script shows what it is
# asked.
new_tree() {
    export NS3_DIR=$TMP/tree
    mkdir -p "$NS3_DIR"/{src/core,contrib,scratch,cmake-cache,build/scratch}
    printf 3.37 >"$NS3_DIR/VERSION"
    printf "out_dir = '%s/build'\nBUILD_PROFILE = 'optimized'\nVERSION = '3.37' \n" "$NS3_DIR" \
        >"$NS3_DIR/.lock-ns3_linux_build"
    printf "2 dltrain;ordinary;rdma" >"$NS3_DIR/cmake-cache/dltrain-configured"
    cat >"$NS3_DIR/ns3" <<'EOF'
#!/usr/bin/env bash
printf 'real ns3:'
printf ' <%s>' "$@"
exit 3
EOF
    cat >"$NS3_DIR/build/scratch/ns3.37-dltrain-optimized" <<'EOF'
#!/usr/bin/env bash
echo "in $PWD"
for argument; do echo "<$argument>"; done
[[ ${1-} != --bad ]] || exit 2
if [[ ${1-} == --wait ]]; then
    trap 'echo interrupted; exit 130' INT
    echo waiting
    while true; do sleep 0.1; done
fi
EOF
    chmod +x "$NS3_DIR/ns3" "$NS3_DIR/build/scratch/ns3.37-dltrain-optimized"
}

new_clone clone
new_tree
says() { grep -qFx -- "$1" <<<"$out" || problem "does not say '$1'"; }

begin "arguments within the quotes and after --, in the caller's folder"
cd "$TMP" || exit 1
try "$CLONE/ns3" run "dltrain --model=bloom560m  --zero=2" --no-build -- --out "a b" --help
expect_status 0
says "in $TMP"
says "<--model=bloom560m>"
says "<--zero=2>"
says "<--out>"
says "<a b>"
says "<--help>"

begin "a * is an argument, not the files here"
try "$CLONE/ns3" run "dltrain --x=*" --no-build
says "<--x=*>"

begin "what stands in quotes stays together"
try "$CLONE/ns3" run "dltrain --launch='torchrun  --nproc_per_node=2 train.py' --zero=2" --no-build
says "<--launch=torchrun  --nproc_per_node=2 train.py>"
says "<--zero=2>"
try "$CLONE/ns3" run "dltrain --launch='torchrun" --no-build
expect_status 2
expect_error "quotes do not match"

begin "the program's exit status comes through"
try "$CLONE/ns3" run "dltrain --bad" --no-build
expect_status 2

begin "Ctrl-C reaches the program's own handler"
# shellcheck disable=SC2317 # "interrupt" calls it
waiting() { grep -q waiting "$TMP/out"; }
interrupt waiting "$CLONE/ns3" run "dltrain --wait" --no-build
expect_status 130
says interrupted

begin "the program stands in a command of the user's, in a folder of the user's"
try "$CLONE/ns3" run "dltrain --a" --no-build --command-template="echo before %s after" -- --b
expect_status 0
says "before $NS3_DIR/build/scratch/ns3.37-dltrain-optimized after --a --b"
mkdir -p "$TMP/folder"
try "$CLONE/ns3" run "dltrain" --no-build --cwd="$TMP/folder"
says "in $TMP/folder"

begin "other commands are handed on"
try "$CLONE/ns3" show profile
expect_status 3
says "real ns3: <show> <profile>"

begin "a header that was moved leaves nothing behind in the tree"
mkdir -p "$NS3_DIR/build/include/ns3" "$CLONE/contrib/rdma/link"
touch "$CLONE/contrib/rdma/link/here.h"
for name in here gone; do
    echo "#include \"$NS3_DIR/contrib/rdma/link/$name.h\"" >"$NS3_DIR/build/include/ns3/$name.h"
done
try "$CLONE/ns3" configure
[[ -f $NS3_DIR/build/include/ns3/here.h && ! -f $NS3_DIR/build/include/ns3/gone.h ]] ||
    problem "wrong headers dropped"
printf "2 dltrain;ordinary;rdma" >"$NS3_DIR/cmake-cache/dltrain-configured"

begin "configure keeps what dltrain needs and adds the user's options"
try "$CLONE/ns3" configure -d debug --enable-modules=internet --enable-asserts -- -DX=1
expected="real ns3: <configure> <--enable-mpi> <--enable-modules=dltrain;ordinary;rdma;internet>"
expected+=" <--enable-tests> <--filter-module-examples-and-tests=dltrain;ordinary;rdma>"
expected+=" <--disable-precompiled-headers> <-d> <debug> <--enable-asserts> <-->"
expected+=" <-DNS3_COLORED_OUTPUT=ON> <-DX=1>"
says "$expected"
printf "2 dltrain;ordinary;rdma" >"$NS3_DIR/cmake-cache/dltrain-configured"

begin "bad input"
try "$CLONE/ns3" run --no-build
expect_status 2
expect_error "run what"
try "$CLONE/ns3" run "nonsuch --a" --no-build
expect_status 2
expect_error "no program 'nonsuch'; there are: dltrain"
try "$CLONE/ns3" run dltrain b --no-build
expect_status 2
expect_error "one program"
try "$CLONE/ns3" nonsuch
expect_status 2
expect_error "unknown command 'nonsuch'"
try "$CLONE/ns3" ''
expect_status 2
expect_error "unknown command ''"
for words in "--cwd=/nonexistent|is no folder" "--command-template=x|needs %s" \
    "--jobs=none|a number" "--nonsuch|no such option" "--cwd|needs a value"; do
    try "$CLONE/ns3" run dltrain --no-build "${words%|*}"
    expect_status 2
    expect_error "${words#*|}"
done
try "$CLONE/ns3" build --part=nonsuch
expect_status 2
expect_error "no such part; there are: mpi tcp"
try "$CLONE/ns3" configure --installed
expect_status 2
expect_error "NS3_DIR=.* unset it"
# Before anything is built:
for words in "--fuz=3|unknown option '--fuz=3'" "-L|-L needs a value" \
    "--fuzz=0|needs a number of minutes" "core|-R 'core'"; do
    try "$CLONE/ns3" test "${words%|*}"
    expect_status 2
    expect_error "${words#*|}"
done
try "$CLONE/ns3" configure --disable-mpi
expect_status 2
expect_error "disable-mpi"

begin "a bad NS3_DIR"
NS3_DIR=$TMP/nowhere try "$CLONE/ns3" run "dltrain"
expect_status 2
expect_error "is no folder"
NS3_DIR=$TMP try "$CLONE/ns3" run "dltrain"
expect_status 2
expect_error "is no ns-3 tree"
printf 3.36 >"$NS3_DIR/VERSION"
try "$CLONE/ns3" run "dltrain"
expect_status 2
expect_error "is ns-3 3.36"
printf 3.37 >"$NS3_DIR/VERSION"
# (a tree that was copied from the folder where it was configured)
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$TMP/elsewhere" >"$NS3_DIR/cmake-cache/CMakeCache.txt"
try "$CLONE/ns3" build
expect_status 2
expect_error "was configured in $TMP/elsewhere"
rm "$NS3_DIR/cmake-cache/CMakeCache.txt"
rm "$NS3_DIR/contrib/rdma" && mkdir "$NS3_DIR/contrib/rdma"
try "$CLONE/ns3" run "dltrain"
expect_status 2
expect_error "contrib/rdma exists .* not ours"

begin "help needs nothing"
NS3_DIR=$TMP/nowhere try "$CLONE/ns3" --help
expect_status 0
grep -q "./ns3 test" <<<"$out" || problem "no word about test"
grep -q -- "--fuzz=MINUTES" <<<"$out" || problem "no word about fuzzing"
grep -q -- "--sanitize" <<<"$out" || problem "no word about sanitizers"

begin "what is built and installed for some tests"
# The words of ctest, then what tests.py says of them.
while IFS=';' read -r given expected; do
    # shellcheck disable=SC2086 # words
    got=$(python3 "$ROOT/scripts/setup/tests.py" "$ROOT" $given | paste -sd,)
    [[ $got == "$expected" ]] || problem "test $given: needs '$got', not '$expected'"
done <<'EOF'
-L setup;
-R shellcheck;
-L unit;package unit,target unit_tests
-R ^core\.DcqcnRate;package unit,target unit_core_dcqcn-rate-test
-L unit -R ^core.Nearest;package unit,target unit_core_nearest-name-test
-L native;use native
-R ^native.rdma-pfc$;use native
-R ^system.udp;package python,use programs
-R ^system.traffic-pcap-snaplen$;package python,package tshark,use programs
-R ^system.report-browser;package browser,package python,use programs
EOF
all=$(python3 "$ROOT/scripts/setup/tests.py" "$ROOT" | paste -sd,)
[[ $all == *"target unit_tests,use native,use programs" ]] || problem "all tests need $all"

begin "a regex may reach into a parameter's name, of which the sources have the words"
# docs/extending.md adds this algorithm.
mkdir -p "$TMP/named/tests/unit" "$TMP/named/collectives"
cp -r "$ROOT/tests/unit/"{core,collectives} "$TMP/named/tests/unit/"
cp -r "$ROOT/tests/"{fuzz,identity} "$TMP/named/tests/"
cp "$ROOT"/collectives/core/registry.cc "$TMP/named/collectives/"
echo 'return "binomial";' >"$TMP/named/collectives/binomial.cc"
for regex in '^collectives.*Algorithms.*broadcast_binomial' broadcast_binomial; do
    try python3 "$ROOT/scripts/setup/tests.py" "$TMP/named" -R "$regex"
    # The second fits either test whose parameters are algorithms.
    expected=$'package unit\ntarget unit_collectives_algorithms-test'
    [[ $regex == ^* ]] || expected+=$'\ntarget unit_collectives_all-to-all-v-test'
    [[ $out == "$expected" ]] || problem "-R '$regex' needs other things"
done

begin "what no test matches, and what is no regex of ctest, is refused before anything else"
while IFS=';' read -r given expected; do
    # shellcheck disable=SC2086 # words
    try "$ROOT/ns3" test $given
    expect_status 2
    [[ $out == "error: test: $expected" ]] || problem "not '$expected'"
done <<'EOF'
-R nonsuch;no test matches -R 'nonsuch'; ./ns3 test alone runs all
-R ^collectives.*Algorithms.*nonsuch$;no test matches -R '^collectives.*Algorithms.*nonsuch$'; nearest: collectives.Registry/Algorithms
-R system.udpp;no test matches -R 'system.udpp'; nearest: system.udp
-L untit;no test matches -L 'untit'; nearest: -L unit
-L setup -R ^core;no test matches -L 'setup' -R '^core'; nearest: core
-R (;-R '(' is no regular expression of ctest: a ( without its )
-R a**;-R 'a**' is no regular expression of ctest: ** repeats a repetition
-E [;-E '[' is no regular expression of ctest: a [ without its ]
EOF

begin "minutes of fuzzing are a number"
for minutes in "" 0x1 -1 ten 1e3 "1 2"; do
    try "$CLONE/ns3" test "--fuzz=$minutes"
    expect_status 2
    says "error: --fuzz=$minutes: needs a number of minutes, such as --fuzz=30"
done

finish
