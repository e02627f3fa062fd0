# shellcheck shell=bash disable=SC2034,SC2153 # variables of, and for, the other parts
# Which ns-3 is used.
#   installed  Debian's built package, when it is a release that we know: ns-3 is not compiled
#   source     a source tree, built here: NS3_DIR, or "./ns3 configure --source"; needed for debug
#              profiles, sanitizers and ns-3's own options

NS3_RELEASES='3\.37|3\.43' # of packages that the tests have run with: Debian 12's and 13's
NS3_PACKAGE=libns3-dev

# find_ns3: sets ns3_from to installed or source. A choice that was made stays.
find_ns3() {
    if [[ -n ${NS3_DIR:-} || -n ${sanitize:-} ]]; then
        ns3_from=source
    elif [[ -f $WORK/ns3-from ]]; then
        ns3_from=$(<"$WORK/ns3-from")
    elif has_package; then
        ns3_from=installed
    else
        ns3_from=source
    fi
}

# choose_ns3 <installed|source>
choose_ns3() {
    lock
    ns3_from=$1
    echo "$1" >"$WORK/ns3-from"
}

# has_package: is a release that we know installed, or could apt install it?
has_package() {
    local version
    command -v dpkg-query apt-cache >/dev/null || return 1
    version=$(installed_version)
    if [[ -z $version ]]; then
        version=$(apt-cache policy "$NS3_PACKAGE" 2>/dev/null | sed -n 's/^ *Candidate: *//p')
        if [[ -z $version ]] && update_package_lists; then
            version=$(apt-cache policy "$NS3_PACKAGE" 2>/dev/null | sed -n 's/^ *Candidate: *//p')
        fi
    fi
    [[ $version =~ ^($NS3_RELEASES)([^0-9]|$) ]]
}

# Prints the version of the installed package, without Debian's revision: 3.37.
installed_version() {
    local version
    version=$(dpkg-query -W -f '${db:Status-Status} ${Version}' "$NS3_PACKAGE" 2>/dev/null) || true
    [[ $version == "installed "* ]] || return 0
    version=${version#installed } version=${version%%-*}
    printf '%s' "${version%%+*}"
}

# ---- what both ways have: ns3_WAY_set_up, ...

# set_up: from whatever state to a configured build. Holds the lock when it returns.
set_up() {
    export_environment
    lock
    settle_in_clone
    find_ns3
    [[ -n ${NS3_DIR:-} || -n ${sanitize:-} ]] || echo "$ns3_from" >"$WORK/ns3-from"
    echo "$ROOT" >"$WORK/root"
    "${ns3_from}_set_up"
}

build_targets() { "${ns3_from}_build_targets" "$@"; }
binary_of() { "${ns3_from}_binary_of" "$@"; }

# ---- a clone that was moved or copied

# What was configured in another folder names files there: it is configured anew. Only what is
# inside this clone is removed.
settle_in_clone() {
    local before=''
    [[ ! -f $WORK/root ]] || before=$(<"$WORK/root")
    [[ $before != "$ROOT" ]] || return 0
    if [[ -z $before && ! -e $BUILD && ! -e $WORK/programs && ! -e $OWN_TREE ]]; then
        return 0
    fi
    inside_clone "$WORK" || fail "$WORK is a link to $(readlink -f -- "$WORK"), where" \
        "${before:-another clone} is built; remove the link"
    say "this clone was set up ${before:+in }${before:-by an earlier version}: setting it up anew"
    remove_built
}

inside_clone() {
    local real
    real=$(readlink -f -- "$1") && [[ $real == "$ROOT"/* ]]
}

# remove_built: all that was built in the clone; not ns-3's source.
remove_built() {
    local folder
    rm -rf -- "$BUILD" "$WORK/tests" "$WORK/programs" "$WORK/fresh" "$WORK/parts" "$WORK/capture" \
        "$WORK/package"
    for folder in "$OWN_TREE" "$WORK"/sanitized*/ns-*; do
        [[ -d $folder && ! -L $folder ]] || continue
        rm -rf -- "$folder/build" "$folder/cmake-cache" "$folder/.lock-ns3_linux_build"
    done
    return 0
}

clean() {
    export_environment
    lock
    inside_clone "$WORK" || fail "$WORK is a link to $(readlink -f -- "$WORK"): remove what is" \
        "there yourself"
    remove_built
    rm -rf -- "$WORK"/sanitized*
    [[ -z ${NS3_DIR:-} ]] ||
        say "NS3_DIR=$NS3_DIR is left as it is: clean it with its own ./ns3 clean"
}

# ---- what is up to date

# Whatever a program is made of.
sources() {
    printf '%s\n' "$ROOT"/{CMakeLists.txt,contrib,scratch,topologies,collectives,scenarios,reports} \
        "$ROOT"/scripts/setup
    # A commit changes what --version says.
    [[ ! -f $ROOT/.git/logs/HEAD ]] || echo "$ROOT/.git/logs/HEAD"
    if [[ $ns3_from == installed ]]; then
        echo /usr/include/ns3/core-config.h
    else
        echo "$TREE/src"
    fi
}

# fresh_text: what has to be the same for a program to be up to date, beside the files themselves.
# (A part's library is made when a run asks for it.)
fresh_text() {
    printf '%s\n' "$ROOT" "${NS3_DIR-}" "${CXXFLAGS-}"
    local libraries
    mapfile -t libraries < <("${ns3_from}_libraries")
    printf '%s\n' "${libraries[@]/#*-part-*/}"
}

# is_fresh <program>: was it built after the last change of any file? ("Change" is ctime, which no
# copy or checkout sets back.) One look at the files, since a build that has nothing to do takes
# half a second to find that out. In a clone that cannot be built in, by mtime, as a build would: a
# chmod of everything is no reason to refuse.
is_fresh() {
    local stamp=$WORK/fresh/$1 files newer=-cnewer
    [[ -f $stamp ]] || return 1
    find_ns3
    [[ $(<"$stamp") == "$(fresh_text)" && -x $(binary_of "$1") && -e $WORK/programs/$1 ]] ||
        return 1
    [[ -w $WORK ]] || newer=-newer
    mapfile -t files < <(sources)
    [[ -z $(find "${files[@]}" "$newer" "$stamp" -print -quit 2>&1) ]]
}

# mark_fresh <program> <file that was made before the build began>
mark_fresh() {
    mkdir -p "$WORK/fresh"
    fresh_text >"$WORK/fresh/$1.new"
    touch -r "$2" "$WORK/fresh/$1.new"
    mv -- "$WORK/fresh/$1.new" "$WORK/fresh/$1"
}

# part_targets: of the parts that were once asked for, which would not fit programs otherwise.
part_targets() {
    local part
    [[ -f $WORK/parts ]] || return 0
    while read -r part; do
        echo "dltrain-part-$part"
    done <"$WORK/parts"
}

build_program() {
    local targets
    mapfile -t targets < <(part_targets)
    : >"$WORK/begin"
    build_targets "scratch_$1" "${targets[@]}"
    mark_fresh "$1" "$WORK/begin"
}

# ---- parts: what a run loads only when it is asked for (contrib/dltrain/parts)

PARTS=(mpi tcp)

build_part() {
    local part=$1
    [[ " ${PARTS[*]} " == *" $part "* ]] ||
        usage_error "build --part=$part: no such part; there are: ${PARTS[*]}"
    set_up
    grep -qxF "$part" "$WORK/parts" 2>/dev/null || say "building the part '$part', once"
    "${ns3_from}_need_part" "$part"
    build_targets "dltrain-part-$part"
    grep -qxF "$part" "$WORK/parts" 2>/dev/null || echo "$part" >>"$WORK/parts"
}
