# shellcheck shell=bash
# The pinned ns-3: one archive of each release, one checksum, a tree that is complete or not there.

# Debian ships upstream's ns-allinone-3.37.tar.bz2 as it is (its debian/watch repacks nothing), so
# the same sum holds for both places; a file with any other sum is not used, wherever it comes from.
# The sums are those of Debian's signed lists of sources.
declare -A ARCHIVE_SHA256=(
    [3.37]=dfa5ca1994ff3dbe1d4b23cef54e05e6079f5707a2ed6055f717bdd5b458c38d
    [3.43]=b8873410948be3ae468ff97e7dfca3d6d8248a2c831e9f24d015483009bafb8d
)

# pin <release>: sets RELEASE and its ARCHIVE, DEBIAN_SOURCE and UPSTREAM.
pin() {
    RELEASE=$1
    [[ -n ${ARCHIVE_SHA256[$RELEASE]-} ]] || fail "the source of ns-3 $RELEASE is not known here"
    ARCHIVE=ns3_$RELEASE.orig.tar.bz2
    DEBIAN_SOURCE=ns3=$RELEASE-2
    UPSTREAM=${DLTRAIN_NS3_UPSTREAM-https://www.nsnam.org/releases/ns-allinone-$RELEASE.tar.bz2}
}

# Where archives stay for the next clone; a home that cannot be written to is no obstacle.
cache_dir() {
    local dir=${DLTRAIN_CACHE:-$CACHE/dltrain}
    is_writable "$dir" || dir=$WORK/cache
    mkdir -p "$dir" && printf '%s' "$dir"
}

# need_tree: TREE is the pinned ns-3, unpacked; or the user's own.
need_tree() {
    if [[ -n ${NS3_DIR:-} ]]; then
        check_own_tree
    elif [[ ! -d $TREE ]] || ! has_files "$TREE"; then
        fetch_and_unpack
    fi
}

check_own_tree() {
    [[ -d $TREE ]] || usage_error "NS3_DIR=$NS3_DIR is no folder"
    TREE=$(cd -- "$TREE" && pwd)
    [[ -x $TREE/ns3 && -d $TREE/src/core && -r $TREE/VERSION ]] ||
        usage_error "NS3_DIR=$NS3_DIR is no ns-3 tree (it has no ns3 script, VERSION and src/core)"
    [[ $(<"$TREE/VERSION") == "$NS3_VERSION" ]] ||
        usage_error "NS3_DIR=$NS3_DIR is ns-3 $(<"$TREE/VERSION"), this is built on $NS3_VERSION"
    [[ -w $TREE && -w $TREE/contrib && -w $TREE/scratch ]] ||
        usage_error "NS3_DIR=$NS3_DIR cannot be written to; modules are linked into it and built" \
            "there"
}

fetch_and_unpack() { fetch "$NS3_VERSION" "" "$TREE"; }

# fetch_module <module> <to>: the folder src/<module> alone, of the release that is installed.
fetch_module() { fetch "$(installed_version)" "/src/$1" "$2"; }

# fetch <release> <folder in ns-3's tree> <to>
fetch() {
    local cache scratch archive
    pin "$1"
    need_packages "${SOURCE_PACKAGES[@]}"
    cache=$(cache_dir) || fail "cannot write to $WORK"
    # Below the cache, so that the finished archive is moved within one file system.
    scratch=$(mktemp -d "$cache/part.XXXXXX") || fail "cannot write to $cache"
    unpacking=$WORK/unpacking.$$
    # shellcheck disable=SC2064 # these very folders, whatever the variables are later
    trap "rm -rf -- '$scratch' '$unpacking'" EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    archive=$cache/$ARCHIVE
    obtain_archive "$archive" "$scratch"
    unpack "$archive" "$2" "$3"
    rm -rf -- "$scratch"
    trap - EXIT INT TERM HUP
}

# obtain_archive <archive> <scratch>: leaves the checked archive in its place.
obtain_archive() {
    local archive=$1 scratch=$2 got=$2/got
    if [[ -n ${DLTRAIN_NS3_ARCHIVE:-} ]]; then
        cp -- "$DLTRAIN_NS3_ARCHIVE" "$got" ||
            fail "cannot copy DLTRAIN_NS3_ARCHIVE=$DLTRAIN_NS3_ARCHIVE to $scratch"
        check_sum "$got" "$DLTRAIN_NS3_ARCHIVE"
    elif [[ -f $archive ]]; then
        check_sum "$archive" "$archive" "remove it to download it again"
        return
    else
        say "downloading ns-3 $RELEASE (40 MB, once, kept in $(dirname -- "$archive"))"
        from_debian "$scratch" "$got" || from_upstream "$got" "$scratch" ||
            no_network "$archive" "$scratch"
        check_sum "$got" "the downloaded archive"
    fi
    mv -- "$got" "$archive" || fail "cannot write $archive"
}

check_sum() {
    local file=$1 name=$2 hint=${3:-} sum
    sum=$(sha256sum <"$file") || fail "cannot read $file"
    [[ ${sum%% *} == "${ARCHIVE_SHA256[$RELEASE]}" ]] ||
        fail "wrong checksum of $name: SHA-256 is ${sum%% *}, not ${ARCHIVE_SHA256[$RELEASE]};" \
            "it is not used${hint:+; $hint}"
}

no_network() {
    cat "$2"/*.log >"$LOGS/download.log" 2>/dev/null || true
    fail "could not download ns-3 $RELEASE, neither as Debian source nor from" \
        "${UPSTREAM:-upstream} ($(relative "$LOGS/download.log")). Check the network; or put" \
        "$ARCHIVE into $(dirname -- "$1"), or name it in DLTRAIN_NS3_ARCHIVE, or an unpacked tree" \
        "in NS3_DIR"
}

# from_debian <scratch> <to>: the source package, from the mirrors this system uses for its
# packages.
from_debian() {
    local scratch=$1 log=$1/apt.log
    command -v apt-get >/dev/null || return 1
    mkdir -p "$scratch/parts" "$scratch/lists/partial" "$scratch/archives/partial" "$scratch/source"
    source_entries "$scratch/parts"
    local -a apt=(apt-get -q
        -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$scratch/parts"
        -o Dir::State::lists="$scratch/lists"
        -o Dir::Cache="$scratch" -o Dir::Cache::archives="$scratch/archives"
        -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
        -o Debug::NoLocking=true -o APT::Sandbox::User=root
        -o Acquire::Languages=none -o Acquire::Retries=2
        -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30)
    # Its status is not asked for: one dead mirror of several must not matter.
    "${apt[@]}" update </dev/null >"$log" 2>&1 || true
    (cd "$scratch/source" &&
        "${apt[@]}" source --download-only "$DEBIAN_SOURCE") </dev/null >>"$log" 2>&1 || return 1
    mv -- "$scratch/source/$ARCHIVE" "$2"
}

# source_entries <folder>: the system's own apt entries as source entries. Only those of the
# distribution's own suites: entries of third parties may lack sources, or be slow or dead.
source_entries() {
    local folder=$1 etc=${DLTRAIN_APT_ETC:-/etc/apt} suite
    # shellcheck source=/dev/null
    suite=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    suite="(${suite:+$suite|}stable|oldstable)"
    find "$etc/sources.list" "$etc/sources.list.d" -name '*.list' -type f -exec cat {} + \
        2>/dev/null |
        sed -nE "s/^deb(-src)?([[:space:]].*[[:space:]]$suite([-/[:space:]].*))/deb-src\\2/p" \
            >"$folder/own.list" || true
    find "$etc/sources.list.d" -name '*.sources' -type f -exec sh -c 'cat "$1" && echo' _ {} \; \
        2>/dev/null |
        awk -v suite="$suite" 'BEGIN { RS = ""; ORS = "\n\n" }
            $0 ~ "(^|\n)Suites:[^\n]*[ \t]" suite "([-/ \t\n]|$)" &&
                $0 !~ /(^|\n)Enabled:[ \t]*(no|false)/ {
                sub(/(^|\n)Types:[^\n]*/, "\nTypes: deb-src"); sub(/^\n/, ""); print
            }' >"$folder/own.sources" || true
}

from_upstream() {
    local to=$1 log=$2/upstream.log
    [[ -n $UPSTREAM ]] || return 1
    if command -v curl >/dev/null; then
        curl --fail --location --silent --show-error --connect-timeout 20 --retry 2 --output "$to" \
            "$UPSTREAM" 2>"$log"
    elif command -v wget >/dev/null; then
        wget --quiet --timeout=20 --tries=2 --output-document="$to" "$UPSTREAM" 2>"$log"
    else
        python3 -c 'import sys, urllib.request; urllib.request.urlretrieve(*sys.argv[1:])' \
            "$UPSTREAM" "$to" 2>"$log"
    fi
}

# unpack <archive> <folder in ns-3's tree> <to>: into a folder of another name first, so that the
# tree is complete when it appears. Of a tree that is there, what is missing.
unpack() {
    local tree=ns-$RELEASE
    say "unpacking ns-3 $RELEASE"
    mkdir "$unpacking" || fail "cannot write to $WORK"
    tar -xjf "$1" -C "$unpacking" --no-same-owner --strip-components=1 \
        "ns-allinone-$RELEASE/$tree$2" 2>"$LOGS/unpack.log" ||
        fail_with_log "$LOGS/unpack.log" \
            "could not unpack ns-3 (is the disk full?); nothing was kept of it"
    local files from=$unpacking/$tree$2
    mapfile -t files < <(cd -- "$from" && find . -type f)
    save_files "$from" "${files[@]}"
    if [[ -d $3 ]]; then
        cp -a --no-clobber -- "$from/." "$3" || fail "cannot write $3"
    else
        mv -T -- "$from" "$3" || fail "cannot write $3"
    fi
    rm -rf -- "$unpacking"
}
