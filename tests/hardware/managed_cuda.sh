#!/bin/sh
# Builds ManagedCuda with mono and runs a program over it, in order and not, under cuvet: on the GPU, or the emulated device if there is none.
# Usage: [PYTHON=python3] sh tests/hardware/managed_cuda.sh CHECKOUT, a checkout of https://github.com/kunzmi/managedCuda. It needs Debian's
# mono-runtime, mono-mcs and libmono-system-{core,data,drawing,numerics}4.0-cil; nothing is written outside a temporary directory.
set -eu
PYTHON=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
sources=$1/ManagedCUDA
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONPATH="$here/../../src${PYTHONPATH:+:$PYTHONPATH}"
export MONO_ENV_OPTIONS=--jitmap MONO_DEBUG=disable_omit_fp

find "$sources" -name '*.cs' ! -path '*/obj/*' >"$work/sources"
mcs -debug -unsafe -target:library -langversion:latest -nowarn:0162,0168,0169,0219,0414,0612,0649,1591 -r:System.Drawing,System.Numerics \
    -out:"$work/ManagedCuda.dll" "@$work/sources" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cp "$1/ConfigForLinux/ManagedCuda.dll.config" "$work"
mcs -debug -r:"$work/ManagedCuda.dll" -out:"$work/Program.exe" "$here/ManagedCudaProgram.cs"

failed=0
# expect HOW FINDINGS: runs the program so, and compares its output with what it prints without a mistake, and the rules in the report
expect() {
    code=0
    "$PYTHON" -m cuvet run --trace "$work/$1" --output "$work/report" -- mono "$work/Program.exe" "$1" >"$work/out" || code=$?
    cat "$work/out" "$work/report"
    rules=$(sed -n 's/^[a-z]*\[CV[0-9]*\].*(\([a-z-]*\))$/\1/p' "$work/report")
    if [ "$code" != 0 ] || [ "$rules" != "$2" ]; then
        echo "--- NOT as expected: exit code $code, findings: ${rules:-none}"
        failed=1
    fi
}
expect fine ""
expect undisposed ""
expect stale stream-use-after-destroy
exit $failed
