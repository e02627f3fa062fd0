# shellcheck shell=bash disable=SC2034 # variables used by the other parts
# Where things are, how to speak to the user, and the lock. Sourced by ./ns3, which sets ROOT.

NS3_VERSION=3.37                    # of the source; ns3.sh has the installed ones
WORK=$ROOT/.ns3                     # everything that is fetched, built or logged; ignored by git
BUILD=$WORK/build                   # on an installed ns-3
OWN_TREE=$WORK/ns-$NS3_VERSION      # ns-3's source, when it is built from that
TREE=${NS3_DIR:-$OWN_TREE}
LOGS=$WORK/logs
CONFIGURE_OPTIONS=()                # of the tree, when it is configured for the first time
CACHE=${XDG_CACHE_HOME:-${HOME:-$WORK}/.cache} # of the user, for all clones
JOBS=$(nproc 2>/dev/null || echo 2)
# The largest group of sources takes 1.3 GB to compile.
while read -r name kilobytes _; do
    [[ $name == MemAvailable: ]] || continue
    ((JOBS * 1300000 <= kilobytes)) || JOBS=$((kilobytes < 1300000 ? 1 : kilobytes / 1300000))
    break
done </proc/meminfo

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*" && exit 1; }
usage_error() { say "error: $*" && exit 2; }

# check_path <folder> [ns-3]: can a clone, or ns-3's source, be built there? To CMake, to the shells
# that it starts, or to PYTHONPATH other characters mean something. ns-3's own build splits at a
# space.
check_path() {
    local folder=$1 others='[][:cntrl:]\\"'\''`$;:&|<>(){}[*?!#%^=]' spaces=', spaces'
    [[ -z ${2-} ]] || others=${others/\[:/ [:} spaces=''
    # shellcheck disable=SC2053 # a pattern
    [[ $folder == *$others* ]] || return 0
    [[ $folder != *[[:cntrl:]]* ]] || printf -v folder %q "$folder"
    usage_error "cannot build ${2:+$2 }in $folder: its path may have letters, digits$spaces and" \
        "/ . _ - + @ ~ ,; move or rename the folder"
}

# prefix_map <folder>: the compiler's option that makes __FILE__ relative to it. CMake hands it to a
# shell. Without a space it has no quotes: ccache knows objects by their options.
prefix_map() {
    local option=-fmacro-prefix-map=$1/=
    [[ $1 != *' '* ]] || option="\"$option\""
    printf '%s' "$option"
}

relative() { printf '%s' "${1#"$ROOT"/}"; }

# has_option <option> <argument>...: is it there, alone or as <option>=value, before any "--"?
has_option() {
    local option=$1 argument
    shift
    for argument; do
        [[ $argument == "$option" || $argument == "$option="* ]] && return 0
        [[ $argument == -- ]] && return 1
    done
    return 1
}

# nearest <word> <name>...: ", nearest: NAME", or nothing.
nearest() {
    python3 -c 'import difflib, sys
for name in difflib.get_close_matches(sys.argv[1], sys.argv[2:], 1):
    print(", nearest: " + name)' "$@" 2>/dev/null || true
}

# fail_with_log <log> <message>: the end of the log is what a newcomer would be asked for.
fail_with_log() {
    local log=$1
    shift
    tail -n 30 "$log" | sed 's/^/    /' >&2
    fail "$* (the lines above are the end of $(relative "$log"))"
}

# One set-up or build at a time in a clone. The descriptor is closed before a program starts, so
# that a long simulation does not hold the lock.
lock() {
    [[ -n ${lock_fd:-} ]] && return
    mkdir -p "$WORK" "$LOGS" 2>/dev/null ||
        fail "cannot write to $WORK: the clone must be writable to build in it"
    command -v flock >/dev/null || return 0
    # (bash would say so itself, with a line of this file.)
    { exec {lock_fd}>"$WORK/lock"; } 2>/dev/null ||
        fail "cannot write to $WORK/lock: the clone must be writable to build in it"
    flock -n "$lock_fd" && return
    say "another ./ns3 is setting up or building in this clone: waiting for it"
    flock "$lock_fd"
}

unlock() {
    [[ -z ${lock_fd:-} ]] || exec {lock_fd}>&-
    lock_fd=''
}

# Runs the program's children as a user would expect of a simulator on one machine.
export_environment() {
    export DLTRAIN_ROOT=$ROOT
    # mpirun: allowed as root (containers), talks over loopback only, more ranks than cores allowed.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
    export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
    # Ranks wait for each other all the time: whoever waits gives its core to others.
    export OMPI_MCA_mpi_yield_when_idle=1
    # ccache: paths relative to the clone, so that a clone in another folder finds the same objects.
    export CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1
    export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    local dir=${CCACHE_DIR:-$CACHE/ccache}
    # ccache fails a compilation when it cannot write.
    is_writable "$dir" || export CCACHE_DIR=$WORK/ccache
}

# ---- what a configuration or an archive wrote: whatever is removed of it is made again

# save_files <folder> <file of the folder>...
save_files() { (cd -- "$1" && printf '%s\n' "${@:2}" >.dltrain-files); }

# has_files <folder>: those that were saved, if any were.
has_files() (
    cd -- "$1" 2>/dev/null && [[ -f .dltrain-files ]] || return 0
    while IFS= read -r file; do
        [[ -e $file ]] || return 1
    done <.dltrain-files
)

# save_configured <folder> <folder in it>...: files that CMake wrote, which no build makes again.
save_configured() {
    local files
    mapfile -t files < <(cd -- "$1" &&
        find "${@:2}" \( -name CMakeTmp -o -name Testing \) -prune -o -type f \
            -regextype egrep -regex '.*(\.(h|hxx|c|cc|cxx|cmake|ninja)|/Makefile[0-9]*)' \
            ! -name '*_tests.cmake' -print 2>/dev/null)
    save_files "$1" "${files[@]}"
}

# Is this folder writable, or can it be made?
is_writable() { mkdir -p "$1" 2>/dev/null && [[ -w $1 ]]; }
