# shellcheck shell=bash disable=SC2153,SC2154 # variables of common.sh
# The build in an ns-3 source tree: links our modules and programs into it, and lets it build them.

source_set_up() {
    prepare_tree
    is_configured || configure_quietly
}

prepare_tree() {
    check_path "$TREE" "ns-3's source"
    need_packages "${RUN_PACKAGES[@]}" "${SOURCE_PACKAGES[@]}" "${MPI_PACKAGES[@]}"
    need_tree
    check_place
    link_into_tree
    drop_stale_headers
}

# ---- links

link_into_tree() {
    local entry
    for entry in "$ROOT"/contrib/* "$ROOT"/scratch/*; do
        [[ ! -e $entry ]] || link_entry "$entry" "$TREE/$(relative "$entry")"
    done
    # A program that was removed here would stop CMake as a dangling link.
    for entry in "$TREE"/scratch/*; do
        [[ -L $entry && ! -e $entry ]] && rm -- "$entry"
    done
    return 0
}

link_entry() {
    local from=$1 to=$2
    [[ $(readlink -- "$to") == "$from" ]] && return
    [[ -L $to || ! -e $to ]] ||
        usage_error "$to exists in the ns-3 tree and is not ours: move it away"
    ln -sfn -- "$from" "$to" || fail "cannot link $from into the ns-3 tree"
}

# ns-3 writes a one-line header that includes the real one, once, and keeps it when the real one has
# been moved or removed (another branch, say): every later build would then fail.
drop_stale_headers() {
    local stub line
    local -a dropped=()
    [[ -f $(tree_lock) ]] || return 0
    while IFS=: read -r stub line; do
        line=${line#*\"} line=${line%\"*}
        [[ -e $line ]] || dropped+=("$stub")
    done < <(grep -H "^#include \"$TREE/contrib/" "$(tree_value out_dir)"/include/ns3/*.h \
        2>/dev/null)
    ((${#dropped[@]} == 0)) || rm -f -- "$(stamp)" "${dropped[@]}"
}

# ---- what ns-3 knows about its configuration: a Python file it writes last when it configures

tree_lock() { printf '%s' "$TREE/.lock-ns3_linux_build"; }
tree_value() { sed -n "s/^$1 = '\?\([^']*[^' ]\)'\? *\$/\1/p" "$(tree_lock)"; }

our_modules() {
    local -a modules=("$ROOT"/contrib/*/)
    modules=("${modules[@]%/}")
    local IFS=';'
    printf '%s' "${modules[*]##*/}"
}

# The stamp is written after our configure has succeeded, and goes away with "./ns3 clean". Its
# number goes up when configure_arguments changes, so that trees configured before are configured
# again.
stamp() { printf '%s' "$TREE/cmake-cache/dltrain-configured"; }
stamp_text() { printf '2 %s' "$(our_modules)"; }
is_configured() {
    [[ -f $(tree_lock) && -f $(stamp) && $(<"$(stamp)") == "$(stamp_text)" ]] &&
        has_files "$TREE/cmake-cache"
}
set_stamp() {
    stamp_text >"$(stamp)"
    save_configured "$TREE/cmake-cache" . "$(tree_value out_dir)/include"
}

# A tree that was moved or copied builds in the folder that it was configured in.
check_place() {
    local home
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$TREE/cmake-cache/CMakeCache.txt" \
        2>/dev/null) || true
    [[ -z $home || $home -ef $TREE ]] || usage_error "NS3_DIR=$TREE was configured in $home, and" \
        "would be built there: remove $TREE/cmake-cache and $(tree_lock)"
}

# ---- configure

# check_configure <option>...: those of ns-3's configure, as 3.37 has them. It stops with a
# traceback of Python.
check_configure() {
    local option name value
    local -a switches=(asserts des-metrics build-version clang-tidy dpdk examples gcov gsl gtk logs
        monolib mpi precompiled-headers python-bindings tests sanitizers static sudo verbose
        warnings werror)
    local -a alone=("${switches[@]/#/--enable-}" "${switches[@]/#/--disable-}" --lcov-report
        --lcov-zerocounters --force-refresh --trace-performance --dry-run --quiet -v --verbose)
    local -a valued=(-d --build-profile -G --cxx-standard --enable-modules --disable-modules
        --filter-module-examples-and-tests --out --output-directory --with-brite --with-click
        --with-openflow --prefix)
    local profiles='debug default release optimized minsizerel'
    while (($#)) && [[ $1 != -- ]]; do
        option=$1 name=${1%%=*} value=''
        if [[ " ${valued[*]} " == *" $name "* ]]; then
            if [[ $option == "$name" ]]; then
                (($# > 1)) || usage_error "configure $option: needs a value"
                shift
                value=$1
            else
                value=${option#*=}
            fi
            [[ $name != -d && $name != --build-profile || " $profiles " == *" $value "* ]] ||
                usage_error "configure $name $value: there are: $profiles"
        elif [[ " ${alone[*]} " != *" $option "* ]]; then
            usage_error "configure $option: no such option$(nearest "$option" --source --installed \
                "${alone[@]}" "${valued[@]}"); options of CMake stand behind --"
        fi
        shift
    done
}

# configure_arguments <the user's>: fills arguments with ours and theirs.
configure_arguments() {
    local modules users=() profile=() cmake=()
    modules=$(our_modules)
    has_option --disable-mpi "$@" && usage_error "--disable-mpi: dltrain needs ns-3's MPI module"
    while (($#)); do
        case $1 in
        --enable-modules=*) modules+=";${1#*=}" ;;
        --enable-modules) modules+=";${2?--enable-modules needs a value}" && shift ;;
        --) cmake=("${@:2}") && break ;;
        *) users+=("$1") ;;
        esac
        shift
    done
    # A profile chosen earlier stays.
    [[ -f $(tree_lock) ]] || has_option -d "${users[@]}" || profile=(-d optimized)
    # Tests of our modules only, for ever: "test" and "run" then share one configuration. No
    # precompiled headers: they gain little here and keep ccache from finding another clone's
    # objects.
    arguments=("${profile[@]}" --enable-mpi "--enable-modules=${modules//,/;}")
    has_option --disable-tests "${users[@]}" || arguments+=(--enable-tests)
    has_option --filter-module-examples-and-tests "${users[@]}" ||
        arguments+=("--filter-module-examples-and-tests=$(our_modules)")
    has_option --enable-precompiled-headers "${users[@]}" ||
        arguments+=(--disable-precompiled-headers)
    # Colour is asked for here, since ns-3 otherwise takes it from an environment variable that only
    # its own script sets: each change between that and a plain ninja would compile everything
    # again.
    arguments+=("${users[@]}" -- -DNS3_COLORED_OUTPUT=ON "${cmake[@]}")
}

configure_quietly() {
    local log=$LOGS/configure.log arguments
    configure_arguments "${CONFIGURE_OPTIONS[@]}"
    say "configuring ns-3"
    configure_ns3 "${arguments[@]}" >"$log" 2>&1 ||
        fail_with_log "$log" "ns-3 could not be configured"
    set_stamp
}

# The command: shows what ns-3 says, since that is what was asked for.
source_configure() {
    local arguments
    prepare_tree
    configure_arguments "$@"
    rm -f -- "$(stamp)"
    configure_ns3 "${arguments[@]}" || exit
    set_stamp
}

# ---- programs

# ns-3's script refuses to work when USER is root, which is what a container has.
real_ns3() { env -u USER "$TREE/ns3" "$@"; }
exec_real_ns3() { exec env -u USER "$TREE/ns3" "$@"; }

# __FILE__ in a header would be the clone's absolute path, and ccache find nothing of another clone.
# CMake takes CXXFLAGS when it configures for the first time.
configure_ns3() {
    CXXFLAGS="$(prefix_map "$TREE") ${CXXFLAGS-}" real_ns3 configure "$@"
}

profile_suffix() {
    local profile
    profile=$(tree_value BUILD_PROFILE)
    [[ $profile == release ]] || printf -- '-%s' "$profile"
}
built() { printf '%s/%s/ns%s-%s%s' "$(tree_value out_dir)" "$1" "$(<"$TREE/VERSION")" "$2" \
    "$(profile_suffix)"; }
source_libraries() { printf '%s\n' "$(tree_value out_dir)"/lib/*.so; }
source_binary_of() { built scratch "$1"; }

# knows_program <name>: is it one of ns-3's own?
knows_program() { grep -q "/ns[0-9.a-z]*-${1##*/}$(profile_suffix)'" "$(tree_lock)"; }

# ---- build

# source_targets: names of modules, programs and ns-3's documentation.
source_targets() {
    printf '%s\n' assemble-introspected-command-line check-version cmake-format coverage_gcc docs \
        doxygen doxygen-no-build sphinx manual models timeTraceReport tutorial contributing \
        install uninstall
    grep -o "'[^']*'" "$(tree_lock)" |
        sed -n "s/^'ns3-\([a-z0-9-]*\)'/\1/p; s/.*\/ns[0-9.]*-\(.*\)$(profile_suffix)'/\1/p"
}

# build_targets <target>...: only what they need.
source_build_targets() {
    compgen -G "$(tree_value out_dir)/lib/*.so" >/dev/null ||
        say "building ns-3 $NS3_VERSION and dltrain ($(tree_value BUILD_PROFILE)): about ten" \
            "minutes on two cores, once"
    build_in "$TREE/cmake-cache" "$LOGS/build.log" "$@"
}

# Its modules are configured from the beginning.
source_need_part() { :; }
