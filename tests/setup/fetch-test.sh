#!/usr/bin/env bash
# Whatever goes wrong while ns-3 is fetched: one clear error, and no half-made state.
# shellcheck source=lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

run_dltrain() { try "$CLONE/ns3" run "dltrain"; }
right_sum=dfa5ca1994ff3dbe1d4b23cef54e05e6079f5707a2ed6055f717bdd5b458c38d

begin "an archive with the wrong checksum is refused"
new_clone wrong-sum source
echo "not ns-3" >"$TMP/wrong.tar.bz2"
DLTRAIN_NS3_ARCHIVE=$TMP/wrong.tar.bz2 run_dltrain
expect_status 1
expect_error "wrong checksum"
expect_no_tree
[[ -z $(ls "$DLTRAIN_CACHE") ]] || problem "the cache is not empty"

begin "so is one in the cache"
new_clone wrong-cache source
mkdir -p "$DLTRAIN_CACHE" && cp "$TMP/wrong.tar.bz2" "$DLTRAIN_CACHE/ns3_3.37.orig.tar.bz2"
run_dltrain
expect_status 1
expect_error "wrong checksum of .*remove it"
expect_no_tree

begin "no network"
new_clone no-network source
mkdir -p "$TMP/etc/sources.list.d"
echo "deb http://127.0.0.1:9/nowhere stable main" >"$TMP/etc/sources.list"
DLTRAIN_APT_ETC=$TMP/etc DLTRAIN_NS3_UPSTREAM=http://127.0.0.1:9/nowhere run_dltrain
expect_status 1
expect_error "could not download ns-3"
expect_no_tree

# From here on any file is "the right one", and tar is what the case needs.
stub sha256sum <<<"cat >/dev/null; echo '$right_sum  -'"
PATH=$TMP/stubs:$PATH
export DLTRAIN_NS3_ARCHIVE=$TMP/wrong.tar.bz2

begin "the disk is full while unpacking"
new_clone disk-full source
stub tar <<'EOF'
while [[ $1 != -C ]]; do shift; done
mkdir -p "$2/ns-3.37/src"
echo "tar: No space left on device" >&2
exit 2
EOF
run_dltrain
expect_status 1
expect_error "could not unpack"
grep -q "No space left" <<<"$out" || problem "tar's own words are missing"
expect_no_tree

begin "Ctrl-C while unpacking"
new_clone interrupted source
stub tar <<'EOF'
while [[ $1 != -C ]]; do shift; done
mkdir -p "$2/ns-3.37/src"
sleep 20
EOF
# shellcheck disable=SC2317 # "interrupt" calls it
unpacking() { compgen -G "$CLONE/.ns3/unpacking.*/ns-3.37" >/dev/null; }
interrupt unpacking "$CLONE/ns3" run "dltrain"
expect_status 130
expect_no_tree

begin "what is missing of a tree is unpacked again; the rest stays as it is"
new_clone incomplete source
stub tar <<'EOF'
while [[ $1 != -C ]]; do shift; done
mkdir -p "$2/ns-3.37"/{src/core,contrib,scratch,cmake-cache}
echo archive | tee "$2/ns-3.37/src/core/"{a,b}.h >"$2/ns-3.37/VERSION"
printf '#!/bin/sh\nexit 1\n' >"$2/ns-3.37/ns3" && chmod +x "$2/ns-3.37/ns3"
EOF
run_dltrain
tree=$CLONE/.ns3/ns-3.37
[[ -f $tree/src/core/a.h ]] || problem "not unpacked"
echo edited >"$tree/src/core/b.h" && rm "$tree/src/core/a.h"
run_dltrain
[[ -f $tree/src/core/a.h && $(<"$tree/src/core/b.h") == edited ]] || problem "not mended"
[[ -z $(compgen -G "$CLONE/.ns3/unpacking.*") ]] || problem "left behind: unpacking"

begin "a cache that cannot be written to is replaced by a folder of the clone"
new_clone no-cache source
stub tar <<<'exit 2'
DLTRAIN_CACHE=/dev/null/cache run_dltrain
expect_status 1
expect_error "could not unpack"
[[ -f $CLONE/.ns3/cache/ns3_3.37.orig.tar.bz2 ]] || problem "the archive is not in the clone"

finish
