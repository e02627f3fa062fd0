# shellcheck shell=bash disable=SC2034,SC2154 # variables of, and for, the other parts
# "./ns3 test": every test there is, through one ctest.
#   --fuzz=MINUTES   instead: look for inputs that the programs do not stand (tests/fuzz/README.md)
#   --sanitize       the programs and tests under AddressSanitizer and
#                    UndefinedBehaviorSanitizer, built beside
#   --sanitize=threads  what runs on several threads under ThreadSanitizer, built beside

run_tests() {
    parse_test "$@"
    [[ -z $sanitize ]] || use_sanitized_tree
    # As deep as the folder that ns-3 is built in: ccache knows a file by its path from there.
    local tests=$WORK/tests/build
    lock
    need_packages "${RUN_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
    set_up
    [[ $(tree_value ENABLE_TESTS) == True ]] || configure_quietly
    find_parts "${test_args[@]}"
    build_for_tests
    if [[ -n $fuzz_minutes ]]; then
        unlock
        run_fuzz "${test_args[@]}"
    fi
    configure_tests "$tests"
    if [[ -n $unit_targets ]]; then
        say "building the unit tests"
        build_in "$tests" "$LOGS/tests.log" "$unit_targets"
    fi
    unlock
    # No test at all is a failure, whatever the reason: a wrong -R, or a broken set-up.
    exec ctest --test-dir "$tests" -j "$JOBS" --progress --output-on-failure --no-tests=error \
        "${test_args[@]}"
}

# parse_test <arguments of test>: fills sanitize, fuzz_minutes and test_args, which are ctest's or
# the fuzzer's.
parse_test() {
    sanitize='' fuzz_minutes='' test_args=()
    while (($#)); do
        case $1 in
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

# find_parts <ctest's arguments>: fills unit_targets (which of the unit tests are to be built: all,
# the program of one folder, or none if empty) and with_native. Most of the time of a first test
# goes into building tests, and who asks for one kind by its label, or by the begin of its names,
# needs no other. Labels and names must both match, so each may leave out kinds by itself.
find_parts() {
    local word before='' begin='' label='' kind
    unit_targets=all with_native=yes
    for word; do
        case $before in
        -R | --tests-regex) begin=$word ;; # the last one counts
        -L | --label-regex) label=$word ;;
        esac
        before=$word
    done
    # Of an expression with alternatives nothing can be said.
    if [[ $begin =~ ^\^([a-z]+)($|\\?\.)[^\|]*$ ]]; then
        begin=${BASH_REMATCH[1]}
    else
        begin=''
    fi
    for kind in "$label" "$begin"; do
        case $kind in
        system | setup | identity | fuzz) unit_targets='' with_native='' ;;
        native) unit_targets='' ;;
        unit) with_native='' ;; # a label; as the begin of a name it is nobody's
        '') ;;
        *)
            [[ ! -d $ROOT/tests/unit/$kind ]] ||
                unit_targets=${unit_targets:+unit_$kind} with_native=''
            ;;
        esac
    done
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
                usage_error "test: unknown option '$word'; there are --fuzz=MINUTES and those of" \
                    "ctest"
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
    TREE=$WORK/ns-$NS3_VERSION
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
    local target targets=()
    for target in $(programs); do
        targets+=("$(target_of "$target")")
    done
    if [[ -n $fuzz_minutes || -z $with_native ]]; then
        say "building the programs"
    else
        say "building the programs and the native tests"
        targets+=(test-runner)
    fi
    build_targets "${targets[@]}"
    link_programs
}

# All cases that were ever found, then new ones until the time is over.
run_fuzz() {
    local fuzz=$ROOT/tests/fuzz/fuzz.py
    export DLTRAIN_PROGRAMS=$WORK/programs
    /usr/bin/python3 "$fuzz" kept || exit
    exec /usr/bin/python3 "$fuzz" all --minutes="$fuzz_minutes" --jobs="$JOBS" "$@"
}

configure_tests() {
    local log=$LOGS/tests-configure.log
    local -a generator=()
    ! command -v ninja >/dev/null || [[ -f $1/CMakeCache.txt ]] || generator=(-G Ninja)
    # As configure_ns3 has it: ccache knows an object again by its options.
    CXXFLAGS="-fmacro-prefix-map=$TREE/= ${CXXFLAGS-}" cmake \
        -S "$ROOT" -B "$1" "${generator[@]}" -DDLTRAIN_PROGRAMS="$WORK/programs" \
        -DDLTRAIN_NS3="$TREE" \
        -DDLTRAIN_SANITIZE="$([[ -z $sanitize ]] || echo "${sanitize/yes/memory}")" \
        -DDLTRAIN_TEST_RUNNER="$([[ -z $with_native ]] || built utils test-runner)" >"$log" 2>&1 ||
        fail_with_log "$log" "the tests could not be configured"
}
