#!/usr/bin/env bash
# What ./ns3 refuses: one line, status 2, and nothing has changed. Stand-ins for CMake and Ninja.
# shellcheck source=lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

stub cmake <<'END'
while (($#)); do
    [[ $1 != -B ]] || build=$2
    shift
done
[[ -z ${build-} ]] || { mkdir -p "$build/lib" && touch "$build/CMakeCache.txt" "$build/x.cmake"; }
END
stub ninja <<'END'
printf '%s: phony\n' scratch_dltrain unit_core_x-test all
END
export PATH=$TMP/stubs:$PATH

# (Not what each command that builds writes: the lock, logs, and the clone's own path.)
state() {
    find "$CLONE" -type f ! -path '*/.ns3/l*' ! -path '*/.ns3/root' -printf '%p %s\n' | sort
}
# refused <error> <word>...
refused() {
    local before
    before=$(state)
    try "$CLONE/ns3" "${@:2}"
    expect_status 2
    [[ $out == "error: $1" ]] || problem "./ns3 ${*:2}: not just 'error: $1'"
    [[ $(state) == "$before" ]] || problem "./ns3 ${*:2} has changed something"
}
targets() { try "$CLONE/ns3" build scratch_dltrain; }

new_clone installed
echo installed >"$CLONE/.ns3/ns3-from"
targets
expect_status 0
none="options of CMake stand behind --"

begin "options of package"
kinds="deb wheel tar"
refused "package rpm: no such kind of package; there are: $kinds" package rpm
refused "package whee: no such kind of package, nearest: wheel; there are: $kinds" package whee
refused "package --outptu=x: no such option; there is --output=DIR" package --outptu=x
refused "package --output: needs a folder, --output=DIR" package deb --output=
refused "package --output=$CLONE/ns3: is no folder" package --output="$CLONE/ns3"

begin "options of configure"
refused "configure NONSENSE: no such option; $none" configure NONSENSE
refused "configure --source=foo: --source takes no value" configure --source=foo
refused "configure --enable-test: no such option, nearest: --enable-tests; $none" \
    configure --source --enable-test
refused "configure --installed --source: one of them, --source or --installed" \
    configure --installed --source
refused "configure --installed -d debug: only a source tree takes options" \
    configure --installed -d debug
refused "configure -d: needs a value" configure -d
refused "configure -d fast: there are: debug default release optimized minsizerel" \
    configure --source -d fast
[[ $(<"$CLONE/.ns3/ns3-from") == installed ]] || problem "switched to source"

begin "words of clean, show and build"
refused "clean --nonsense: clean takes no option and no word" clean --nonsense
words="profile version config targets all"
refused "show --x: show takes one of: $words" show --x
refused "build --part: needs a value, --part=NAME; there are: mpi tcp" build --part
refused "build -j: no such option; there are: --part=NAME" build -j 4
refused "build dltrian: no such target, nearest: dltrain; programs: dltrain" build dltrian
refused "build : no such target; programs: dltrain" build ''
refused "unknown command '-x'; see ./ns3 help" -x

begin "the same with ns-3's source"
new_clone source source
tree=$CLONE/.ns3/ns-3.37
echo "$CLONE" >"$CLONE/.ns3/root"
mkdir -p "$tree"/{build/scratch,cmake-cache,contrib,scratch,src/core}
printf 3.37 >"$tree/VERSION"
printf "out_dir = '%s/build'\nBUILD_PROFILE = 'optimized'\nns3_modules = ['ns3-core']\n" "$tree" \
    >"$tree/.lock-ns3_linux_build"
printf '2 dltrain;ordinary;rdma' >"$tree/cmake-cache/dltrain-configured"
printf '#!/bin/sh\necho "real ns3: $*"\n' >"$tree/ns3"
chmod +x "$tree/ns3"
try "$CLONE/ns3" build core dltrain # links, and the folders that there are from then on
expect_status 0
grep -qFx "real ns3: build core dltrain" <<<"$out" || problem "not handed on"
refused "configure NONSENSE: no such option; $none" configure NONSENSE
refused "show --x: show takes one of: $words" show --x
refused "build corr: no such target, nearest: core; programs: dltrain" build corr
refused "build --jbos=2: no such option; there are: -j N --jobs=N -v --verbose --quiet --dry-run" \
    build --jbos=2

begin "a source tree that could not be configured is not chosen"
rm -rf "$tree/cmake-cache" && mkdir "$tree/cmake-cache"
printf '#!/bin/sh\nexit 1\n' >"$tree/ns3"
echo installed >"$CLONE/.ns3/ns3-from"
try "$CLONE/ns3" configure --source
expect_status 1
[[ $(<"$CLONE/.ns3/ns3-from") == installed ]] || problem "switched to source"

begin "where a clone may be"
# The compiler's option stays one word.
stub cmake <<'END'
while (($#)); do
    [[ $1 != -B ]] || build=$2
    shift
done
[[ -z ${build-} ]] || eval "printf '<%s>' $CXXFLAGS" >"$FLAGS"
exit 1
END
export FLAGS=$TMP/flags
new_clone "with two spaces"
echo installed >"$CLONE/.ns3/ns3-from"
CXXFLAGS=-g try "$CLONE/ns3" build
[[ $(<"$FLAGS") == "<-fmacro-prefix-map=$CLONE/=><-g>" ]] || problem "flags are $(<"$FLAGS")"
# shellcheck disable=SC2016 # a $ in a name
for name in "it's" 'a"b' 'a$b' 'a\b' 'a:b' 'a;b' 'a=b' 'a#b' 'a(1)' $'a\nb'; do
    new_clone "$name"
    shown=$CLONE commands=(run)
    [[ $name != *$'\n'* ]] || printf -v shown %q "$CLONE"
    [[ $name != "it's" ]] || commands=(run build test capture clean)
    may="letters, digits, spaces and / . _ - + @ ~ ,"
    for command in "${commands[@]}"; do
        refused "cannot build in $shown: its path may have $may; move or rename the folder" \
            "$command"
    done
done
new_clone "a b" source
may="letters, digits and / . _ - + @ ~ ,"
refused "cannot build ns-3's source in $CLONE/.ns3/ns-3.37: its path may have $may; move or rename \
the folder" \
    configure --source

finish
