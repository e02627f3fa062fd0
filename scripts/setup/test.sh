# shellcheck shell=bash disable=SC2034,SC2153,SC2154 # variables of, and for, the other parts
# "./ns3 test": the tests, through one ctest.
#   --full           those that take long and seldom fail, too
#   --fuzz=MINUTES   instead: look for inputs that the programs do not stand (tests/fuzz/README.md)
#   --sanitize       the programs and tests under AddressSanitizer and
#                    UndefinedBehaviorSanitizer, built beside
#   --sanitize=threads  what runs on several threads under ThreadSanitizer, built beside

run_tests() {
    parse_test "$@"
    [[ -z $sanitize ]] || use_sanitized_tree
    export_environment
    find_needs "${test_args[@]}"
    lock
    need_packages "${RUN_PACKAGES[@]}" "${test_packages[@]}"
    set_up
    configure_tests
    build_for_tests
    if [[ -n $fuzz_minutes ]]; then
        unlock
        run_fuzz "${test_args[@]}"
    fi
    unlock
    # A test that is named runs, however long it takes.
    local -a without=()
    if [[ -n $full ]]; then
        export DLTRAIN_FULL=1
    elif ! is_given -R -L; then
        without=(-LE '^full$')
        export DLTRAIN_FULL=0 # a share of the cases (share_of in tests/system); unset: all
    fi
    # No test at all is a failure, whatever the reason: a wrong -R, or a broken set-up.
    exec ctest --test-dir "$tests" -j "$JOBS" --progress --output-on-failure --no-tests=error \
        "${without[@]}" "${test_args[@]}"
}

# is_given <option of ctest>...: one of them, or its long name?
is_given() {
    local -A long=([-R]=--tests-regex [-L]=--label-regex [-E]=--exclude-regex
        [-I]=--tests-information)
    local option
    for option; do
        ! has_option "$option" "${test_args[@]}" || return 0
        ! has_option "${long[$option]}" "${test_args[@]}" || return 0
    done
    return 1
}

# parse_test <arguments of test>: fills sanitize, fuzz_minutes and test_args, which are ctest's or
# the fuzzer's.
parse_test() {
    sanitize='' fuzz_minutes='' full='' test_args=()
    while (($#)); do
        case $1 in
        --full) full=yes ;;
        --sanitize) sanitize=yes ;;
        --sanitize=threads) sanitize=threads ;;
        --sanitize=*) usage_error "$1: allowed: --sanitize, --sanitize=threads" ;;
        --fuzz=*) fuzz_minutes=${1#*=} && check_minutes ;;
        --fuzz) fuzz_minutes=${2-} && check_minutes && shift ;;
        *) test_args+=("$1") ;;
        esac
        shift
    done
    [[ -n $fuzz_minutes ]] || check_test_args "${test_args[@]}"
    # Of the others none has a second thread to race with.
    [[ $sanitize != threads ]] || test_args=(-R '^(native\.node-windows|system\.engines)' \
        "${test_args[@]}")
}

# find_needs <ctest's arguments>: fills unit_targets, with_native, with_programs and test_packages:
# what the chosen tests need, and nothing else is installed or built.
find_needs() {
    local what value words needs
    unit_targets=() with_native='' with_programs='' test_packages=()
    if [[ -n $fuzz_minutes ]]; then
        with_programs=yes
        return
    fi
    if ! command -v python3 >/dev/null; then # it is among the packages that are about to come
        lock
        need_packages python3
    fi
    needs=$(python3 "$ROOT/scripts/setup/tests.py" "$ROOT" "$@") || exit
    while read -r what value; do
        case $what in
        target) unit_targets+=("$value") ;;
        package)
            read -ra words <<<"${TEST_PACKAGES[$value]}"
            test_packages+=("${words[@]}")
            ;;
        use) [[ $value == native ]] && with_native=yes || with_programs=yes ;;
        esac
    done <<<"$needs"
    # CMake asks for it wherever it configures a test.
    test_packages+=(libgtest-dev)
}

# What ctest would only refuse, or pass over, once everything is built.
check_test_args() {
    local word known value='' # value: of the option before
    known=$(ctest --help 2>/dev/null) || return 0 # not installed yet
    for word; do
        case $word in
        -*)
            # "--repeat until-pass:3", "--timeout=5", "-j4": known by what is before the value
            grep -qwe "$(sed 's/=.*//; s/^\(-[a-zA-Z]\)[0-9]\+$/\1/' <<<"$word")" <<<"$known" ||
                usage_error "test: unknown option '$word'; there are --full, --fuzz=MINUTES," \
                    "--sanitize and those of ctest"
            value=$word
            ;;
        '') usage_error "test: an empty word; to choose tests: -R REGEX" ;;
        *)
            [[ -n $value ]] || usage_error "test: what is '$word'? To choose tests: -R '$word'"
            value=''
            ;;
        esac
    done
    case $value in
    -R | -E | -L | -LE | -I | -O | --timeout | --repeat) usage_error "test: $value needs a value" ;;
    esac
}

check_minutes() {
    [[ $fuzz_minutes =~ ^[0-9]{1,5}(\.[0-9]{1,3})?$ && $fuzz_minutes =~ [1-9] ]] ||
        usage_error "--fuzz=$fuzz_minutes: needs a number of minutes, such as --fuzz=30"
}

# Another tree, configured for itself, so that the normal build stays as it is.
use_sanitized_tree() {
    WORK=$WORK/sanitized${sanitize#yes}
    BUILD=$WORK/build
    OWN_TREE=$WORK/ns-$NS3_VERSION
    TREE=$OWN_TREE
    LOGS=$WORK/logs
    # Asserts on; -O1 compiles in half the time of -O2 and hides less. What GCC's "undefined" leaves
    # out: numbers that do not fit what they are cast to; indices beyond a container's end, and the
    # front of an empty one, where there is memory all the same.
    CONFIGURE_OPTIONS=(-d default --enable-sanitizers -- \
        "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1 -fno-omit-frame-pointer \
-fsanitize=float-cast-overflow -D_GLIBCXX_ASSERTIONS")
    unset NS3_DIR # a tree of the user's own is not configured for this
    if [[ $sanitize == threads ]]; then
        CONFIGURE_OPTIONS=(-d default -- \
            "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1 -fno-omit-frame-pointer -fsanitize=thread")
        export TSAN_OPTIONS=exitcode=99:halt_on_error=1
    fi
    # Everything that is reported ends the program with a status of its own: see
    # tests/fuzz/README.md.
    export DLTRAIN_SANITIZED=1
    export ASAN_OPTIONS=exitcode=99:detect_leaks=1:detect_stack_use_after_return=1
    UBSAN_OPTIONS=suppressions=$ROOT/tests/undefined-of-others.txt
    export UBSAN_OPTIONS+=:halt_on_error=1:exitcode=99:print_stacktrace=1
    export LSAN_OPTIONS=suppressions=$ROOT/tests/leaks-of-others.txt:print_suppressions=0
}

build_for_tests() {
    local program part targets=()
    : >"$WORK/begin"
    if [[ -n $with_programs ]]; then
        say "building the programs"
        for part in "${PARTS[@]}"; do
            "${ns3_from}_need_part" "$part"
            targets+=("dltrain-part-$part")
        done
        for program in $(programs); do
            targets+=("scratch_$program")
        done
    fi
    if [[ -n $with_native ]]; then
        say "building the native tests"
        targets+=(test-runner)
    fi
    # In one build with the programs, where there is one.
    [[ $ns3_from == source ]] || targets+=("${unit_targets[@]}")
    ((${#targets[@]} == 0)) || build_targets "${targets[@]}"
    if [[ $ns3_from == source ]] && ((${#unit_targets[@]})); then
        build_in "$tests" "$LOGS/tests.log" "${unit_targets[@]}"
    fi
    [[ -n $with_programs ]] || return 0
    printf '%s\n' "${PARTS[@]}" >"$WORK/parts"
    link_programs
    for program in $(programs); do
        mark_fresh "$program" "$WORK/begin"
    done
}

# All cases that were ever found, then new ones until the time is over.
run_fuzz() {
    local fuzz=$ROOT/tests/fuzz/fuzz.py
    export DLTRAIN_PROGRAMS=$WORK/programs
    /usr/bin/python3 "$fuzz" kept || exit
    exec /usr/bin/python3 "$fuzz" all --minutes="$fuzz_minutes" --jobs="$JOBS" "$@"
}

# configure_tests: sets tests, the folder of ctest. With an installed ns-3 it is that of the
# programs; beside a source tree it is as deep as the folder that ns-3 is built in: ccache knows a
# file by its path from there.
configure_tests() {
    # Unit tests that nobody names are in programs of many; those that failed are where they were.
    local -a units=(-DDLTRAIN_UNIT_TOGETHER=ON)
    if has_option --rerun-failed "${test_args[@]}"; then
        units=()
    elif is_given -R -E -I; then
        units=(-DDLTRAIN_UNIT_TOGETHER=OFF)
    fi
    if [[ $ns3_from == installed ]]; then
        tests=$BUILD
        installed_configure -DDLTRAIN_TESTS=ON -DDLTRAIN_PROGRAMS="$WORK/programs" \
            "${units[@]}" \
            -DDLTRAIN_TEST_RUNNER="$([[ -z $with_native ]] || echo "$BUILD/bin/test-runner")"
        return
    fi
    tests=$WORK/tests/build
    local log=$LOGS/tests-configure.log
    local -a generator=()
    [[ $(tree_value ENABLE_TESTS) == True ]] || configure_quietly
    ! command -v ninja >/dev/null || [[ -f $tests/CMakeCache.txt ]] || generator=(-G Ninja)
    # As configure_ns3 has it: ccache knows an object again by its options.
    CXXFLAGS="$(prefix_map "$TREE") ${CXXFLAGS-}" cmake \
        -S "$ROOT" -B "$tests" "${generator[@]}" -DDLTRAIN_PROGRAMS="$WORK/programs" \
        -DDLTRAIN_NS3="$TREE" "${units[@]}" \
        -DDLTRAIN_SANITIZE="$([[ -z $sanitize ]] || echo "${sanitize/yes/memory}")" \
        -DDLTRAIN_TEST_RUNNER="$([[ -z $with_native ]] || built utils test-runner)" >"$log" 2>&1 ||
        fail_with_log "$log" "the tests could not be configured"
}
